"""Every way that is tried can be laid out, and what the plan fixes is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.serving_ways import COPIES, serving_ways
from gpuplanner.engine.training_ways import DEFAULT_MAX_GPUS, Shape, training_ways
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.training import Framework, Recomputation, Sharding, Training

MODEL = ModelChoice(catalog_id="m")


@given(st.integers(1, 16), st.sampled_from([8, 28, 32, 64, 71]), st.integers(1, 100), st.booleans())
def test_serving_ways_fill_whole_nodes(gpus_per_node, heads, layers, spanning):
    ways = serving_ways(gpus_per_node, heads, layers, None, None, spanning)
    assert ways is not None
    used = ways.tensor_parallel * ways.pipeline_parallel * ways.replicas
    assert (used == ways.nodes * gpus_per_node).all()
    assert (heads % ways.tensor_parallel == 0).all()
    assert (ways.pipeline_parallel <= layers).all()
    assert (ways.tensor_parallel <= gpus_per_node).all()
    if not spanning:
        assert (ways.nodes_of_replica == 1).all()


def test_serving_ways_of_one_layout_are_ordered_by_copies():
    ways = serving_ways(8, 64, 80, 8, 1, spanning=False)
    assert ways is not None
    assert list(ways.nodes) == list(COPIES)


@pytest.mark.parametrize(("tensor", "pipeline"), [(4, None), (None, 2), (2, 2)])
def test_serving_degrees_that_the_plan_fixes_are_kept(tensor, pipeline):
    ways = serving_ways(8, 64, 80, tensor, pipeline, spanning=True)
    assert ways is not None
    assert tensor is None or set(ways.tensor_parallel) == {tensor}
    assert pipeline is None or set(ways.pipeline_parallel) == {pipeline}


def test_no_way_where_heads_do_not_divide():
    assert serving_ways(8, 28, 28, 8, None, spanning=True) is None


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
