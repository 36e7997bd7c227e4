"""Every way that is tried can be laid out, and what the plan fixes is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.serving_ways import COPIES, Degrees, serving_ways
from gpuplanner.engine.serving_ways import Shape as ServedShape
from gpuplanner.engine.training_ways import DEFAULT_MAX_GPUS, Shape, training_ways
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.training import Framework, Recomputation, Sharding, Training

MODEL = ModelChoice(catalog_id="m")


@given(st.integers(1, 16), st.sampled_from([8, 28, 32, 64, 71]), st.integers(1, 100), st.booleans())
def test_serving_ways_fill_whole_nodes(gpus_per_node, heads, layers, spanning):
    ways = serving_ways(gpus_per_node, ServedShape(heads, layers), Degrees(), spanning)
    assert ways is not None
    used = ways.tensor_parallel * ways.pipeline_parallel * ways.replicas
    assert (used == ways.nodes * gpus_per_node).all()
    assert (heads % ways.tensor_parallel == 0).all()
    assert (ways.pipeline_parallel <= layers).all()
    assert (ways.tensor_parallel <= gpus_per_node).all()
    if not spanning:
        assert (ways.nodes_of_replica == 1).all()


def test_serving_ways_of_one_layout_are_ordered_by_copies():
    ways = serving_ways(8, ServedShape(64, 80), Degrees(8, 1), spanning=False)
    assert ways is not None
    assert list(ways.nodes) == list(COPIES)


@pytest.mark.parametrize(("tensor", "pipeline"), [(4, None), (None, 2), (2, 2)])
def test_serving_degrees_that_the_plan_fixes_are_kept(tensor, pipeline):
    ways = serving_ways(8, ServedShape(64, 80), Degrees(tensor, pipeline), spanning=True)
    assert ways is not None
    assert tensor is None or set(ways.tensor_parallel) == {tensor}
    assert pipeline is None or set(ways.pipeline_parallel) == {pipeline}


def test_no_way_where_heads_do_not_divide():
    assert serving_ways(8, ServedShape(28, 28), Degrees(8), spanning=True) is None


def split_ways(experts=128, heads=28, spanning=False, **fixed):
    ways = serving_ways(8, ServedShape(heads, 60, experts), Degrees(**fixed), spanning)
    assert ways is not None
    return set(
        zip(ways.tensor_parallel, ways.attention_ranks, ways.expert_parallel, ways.nodes_of_replica, strict=True)
    )


def test_experts_are_spread_where_attention_is_split_by_requests():
    """28 heads divide into 4 at most; with attention split by requests they need not divide at all."""
    assert split_ways() == {
        (1, 1, 1, 1), (2, 1, 1, 1), (4, 1, 1, 1), (2, 2, 2, 1), (4, 4, 4, 1), (8, 8, 8, 1),
    }  # fmt: skip


def test_experts_are_spread_over_nodes_with_attention_inside_one_gpu():
    wide = {way for way in split_ways(spanning=True) if way[0] > 8}
    assert wide == {(16, 16, 16, 2), (32, 32, 32, 4), (64, 64, 64, 8)}
    assert not {way for way in split_ways(experts=24, spanning=True) if way[0] > 8}


@pytest.mark.parametrize(
    ("fixed", "splits"),
    [
        ({"tensor": 4}, {(1, 1)}),
        ({"tensor": 4, "spreads_experts": True}, {(1, 4), (4, 4)}),
        ({"tensor": 4, "spreads_experts": False}, {(1, 1)}),
        ({"tensor": 4, "attention": 2}, {(2, 4)}),
        ({"tensor": 4, "attention": 2, "spreads_experts": False}, {(2, 1)}),
    ],
)
def test_what_the_plan_says_of_experts_and_attention_is_kept(fixed, splits):
    assert {way[1:3] for way in split_ways(**fixed)} == splits


def test_a_dense_model_has_nothing_to_spread():
    assert {way[1:3] for way in split_ways(experts=0, spreads_experts=True)} == {(1, 1)}


def test_groups_that_do_not_divide_the_ranks_cannot_be():
    assert serving_ways(8, ServedShape(32, 60, 64), Degrees(tensor=4, attention=3), spanning=False) is None


def training(**fields):
    return Training(model=MODEL, **fields)


@pytest.mark.parametrize("framework", Framework)
@pytest.mark.parametrize("gpus_per_node", [1, 4, 6, 8])
def test_training_ways_divide_gpus_and_batch(framework, gpus_per_node):
    workload = training(framework=framework, global_batch=96, sequence_length=32_768)
    ways = training_ways(gpus_per_node, Shape(64, 80, 0), workload, DEFAULT_MAX_GPUS)
    assert ways
    for way in ways:
        gpus = gpus_per_node * way.nodes
        ranks, left = divmod(gpus, way.tensor_parallel * way.pipeline_parallel * way.context_parallel)
        assert left == 0
        assert workload.global_batch % (ranks * way.micro_batch) == 0
        assert way.tensor_parallel <= gpus_per_node
        assert way.expert_parallel == 1
        assert gpus <= DEFAULT_MAX_GPUS


def test_training_ways_keep_what_the_plan_fixes():
    workload = training(
        framework=Framework.MEGATRON,
        global_batch=256,
        micro_batch=2,
        tensor_parallel=4,
        pipeline_parallel=2,
        sharding=Sharding.ZERO1,
        recomputation=Recomputation.SELECTIVE,
    )
    ways = training_ways(8, Shape(64, 80, 0), workload, 64)
    assert {w.nodes for w in ways} == {1, 2, 4, 8}
    assert {(w.tensor_parallel, w.pipeline_parallel, w.micro_batch) for w in ways} == {(4, 2, 2)}
    assert {w.recomputation for w in ways} == {Recomputation.SELECTIVE}


def test_the_limit_of_gpus_is_kept_but_one_node_is_always_tried():
    ways = training_ways(8, Shape(64, 80, 0), training(global_batch=64), 4)
    assert {w.nodes for w in ways} == {1}


def test_experts_are_spread_only_where_there_are_any():
    dense = training_ways(8, Shape(64, 80, 0), training(framework=Framework.MEGATRON), 64)
    mixed = training_ways(8, Shape(64, 80, 128), training(framework=Framework.MEGATRON), 64)
    assert {w.expert_parallel for w in dense} == {1}
    assert {w.expert_parallel for w in mixed} == {1, 2, 4, 8, 16, 32, 64}


def test_frameworks_are_tried_with_what_they_can_do():
    ways = training_ways(8, Shape(64, 80, 0), training(framework=Framework.DEEPSPEED), 64)
    assert {w.sharding for w in ways} == {Sharding.ZERO1, Sharding.ZERO2, Sharding.ZERO3}
    assert {(w.tensor_parallel, w.pipeline_parallel) for w in ways} == {(1, 1)}
