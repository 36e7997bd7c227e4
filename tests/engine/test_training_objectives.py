"""DPO and GRPO beside plain training: what a reference model, pairs and a generating server add, and where."""

from dataclasses import replace

import pytest

from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import explain
from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.formulas.rollout import (
    rollout_bytes,
    rollout_ranks,
    rollout_seconds,
    rollout_sequences,
    rollout_token_seconds,
)
from gpuplanner.engine.machine import Host
from gpuplanner.engine.machines import bare
from gpuplanner.engine.search.searching import search
from gpuplanner.engine.training import estimate_training
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.units import GB, GIB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, Plan
from gpuplanner.workload.training import Method, Training

MODEL = "meta-llama/Meta-Llama-3.1-8B"
PARAMETERS = 8.03e9
NETWORK = Host(network_bytes_per_s=400 * GB)


@pytest.fixture(scope="module")
def estimated(shipped_catalog, shipped_efficiencies):
    model = shipped_catalog.models[MODEL].architecture
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]

    def made(per_node: int = 8, nodes: int = 1, *, explained: bool = False, **wanted: object) -> Estimate:
        settings = {
            "framework": "deepspeed", "sequence_length": 2048, "global_batch": 64, "micro_batch": 1,
            "sharding": "zero3", "recomputation": "full", **wanted,
        }  # fmt: skip
        plan = Plan(workload=Training(model=ModelChoice(architecture=model), **settings))
        machine = replace(bare(gpu, per_node, nodes), host=NETWORK)
        return (explain if explained else estimate_training)(plan, model, machine, shipped_efficiencies)

    return made


def parts(made: Estimate, phase: str | None = None) -> dict[str, float]:
    found = next(p for p in made.memory.phases if p.id == (phase or made.memory.peak_phase))
    return {part.id: part.figure.value for part in found.parts}


def times(made: Estimate) -> dict[str, float]:
    return {part.id: part.figure.value for part in made.time}


def said(made: Estimate) -> set[str]:
    return {remark.id for remark in made.remarks}


def test_dpo_passes_pairs_and_a_reference_model(estimated):
    plain, dpo, alone = (
        estimated(objective="next-token"),
        estimated(objective="dpo"),
        estimated(objective="dpo", reference_model=False),
    )
    assert parts(dpo)["activations"] == pytest.approx(2 * parts(plain)["activations"])
    assert parts(dpo, "backward")["loss"] == pytest.approx(2 * parts(plain, "backward")["loss"])
    assert parts(dpo)["reference"] == pytest.approx(2 * PARAMETERS / 8, rel=0.01)
    assert "reference" not in parts(plain)
    assert "reference" not in parts(alone)
    # Forward, backward and recomputation are four passes; the reference is a fifth; a pair is two sequences, whose rows
    # go through the matrices at once and so fill the last wave of tiles a little better.
    assert times(dpo)["matrices"] / times(alone)["matrices"] == pytest.approx(5 / 4, rel=0.01)
    assert times(alone)["matrices"] / times(plain)["matrices"] == pytest.approx(2, rel=0.04)
    assert {"training.dpo_pairs", "training.reference_copy"} <= said(dpo)
    assert "training.reference_copy" not in said(alone)


@pytest.mark.parametrize("method", [Method.LORA, Method.QLORA])
@pytest.mark.parametrize("objective", ["dpo", "grpo"])
def test_beside_adapters_the_base_is_the_reference(estimated, method, objective):
    made = estimated(method=method, objective=objective)
    assert "reference" not in parts(made)
    assert "training.reference_is_base" in said(made)


def test_a_replicated_reference_is_whole_on_each_gpu(estimated):
    made = estimated(objective="dpo", sharding="zero2")
    assert parts(made)["reference"] == pytest.approx(2 * PARAMETERS, rel=0.01)


def test_a_job_of_pairs_has_twice_the_tokens(estimated):
    plain, dpo = (estimated(objective=o, samples=1e5) for o in ("next-token", "dpo"))
    steps = [made.metrics["job_s"].value / made.metrics["step_s"].value for made in (plain, dpo)]
    assert steps == pytest.approx([1e5 / 64, 1e5 / 64])


def test_grpo_on_the_same_gpus_shares_their_memory(estimated):
    small, large = (estimated(method="lora", objective="grpo", rollout_memory_share=s) for s in (0.3, 0.6))
    usable = small.memory.usable.value
    assert parts(small)["rollout"] == pytest.approx(0.3 * usable)
    assert large.memory.needed.value - small.memory.needed.value == pytest.approx(0.3 * usable)
    assert times(large)["rollout"] <= times(small)["rollout"]
    assert {"training.rollout_same", "training.rollout_not_counted"} <= said(small)


def test_a_share_that_is_too_small_for_the_weights_is_not_believed(estimated):
    """16 GB of weights on a single GPU do not go into a tenth of it."""
    made = estimated(1, method="lora", objective="grpo", rollout_memory_share=0.1, global_batch=8, sharding="ddp")
    assert parts(made)["rollout"] > 16e9


def test_grpo_on_other_gpus_takes_none_of_the_trainers_memory(estimated):
    same = estimated(method="full", objective="grpo", global_batch=48)
    apart = estimated(method="full", objective="grpo", global_batch=48, rollout="other-gpus", rollout_gpus=2)
    assert apart.way.data_parallel == 6
    assert "rollout" not in parts(apart)
    assert apart.memory.needed.value < same.memory.needed.value
    assert times(apart)["rollout"] > times(same)["rollout"]
    assert "training.rollout_apart" in said(apart)


def test_whole_nodes_generate_where_there_are_several(estimated):
    made = estimated(8, 4, method="full", objective="grpo", rollout="other-gpus", rollout_gpus=16)
    assert made.way.data_parallel == 16


@pytest.mark.parametrize(("nodes", "apart"), [(1, 8), (1, 9), (2, 4), (2, 16)])
def test_gpus_that_leave_none_to_train_are_refused(estimated, nodes, apart):
    with pytest.raises(InputError) as refused:
        estimated(8, nodes, objective="grpo", rollout="other-gpus", rollout_gpus=apart)
    assert refused.value.message.id == "training.rollout_gpus_do_not_divide"
    for language in Language:
        assert str(apart) in Translator(language).text(refused.value.message)


def test_more_generated_tokens_take_longer_and_no_more_memory(estimated):
    short, long = (estimated(method="lora", objective="grpo", completion_tokens=n) for n in (256, 1792))
    assert times(long)["rollout"] > 4 * times(short)["rollout"]
    assert long.memory.needed.value == short.memory.needed.value


def test_nothing_measured_stands_behind_the_time_of_grpo(estimated):
    plain, dpo, grpo = (estimated(method="lora", objective=o).metrics["step_s"] for o in ("next-token", "dpo", "grpo"))
    assert grpo.rung is Rung.ROOFLINE
    widths = [figure.high / figure.low for figure in (plain, dpo, grpo)]
    assert widths == sorted(widths)
    assert len(set(widths)) == 3


@pytest.mark.parametrize("wanted", [{"objective": "dpo"}, {"objective": "grpo", "method": "qlora"}])
def test_every_figure_is_explained_down_to_its_inputs(estimated, wanted):
    made = estimated(explained=True, **wanted)
    for figure in (made.metrics["step_s"], made.memory.needed, made.metrics["mfu"]):
        rows = explanation(figure)
        assert rows
        lost = {r.term for r in rows if r.formula is None and r.origin is None and r.value not in {0, 1}}
        assert lost == set()


@pytest.mark.parametrize("wanted", [{"rollout": "same-gpus"}, {"rollout": "other-gpus", "rollout_gpus": 2}])
def test_a_machine_that_the_search_finds_is_estimated_alike(shipped_catalog, shipped_efficiencies, wanted):
    model = shipped_catalog.models[MODEL].architecture
    workload = Training(
        model=ModelChoice(catalog_id=MODEL), method="lora", objective="grpo", framework="hugging-face",
        sequence_length=2048, global_batch=48, **wanted,
    )  # fmt: skip
    plan = Plan(workload=workload, constraints=Constraints(gpus=("nvidia-h100-sxm5-80gb",), bare_gpus=True))
    found = search(plan, model, shipped_catalog, shipped_efficiencies, {})
    best = found.candidates[0]
    made = estimate_training(best.plan, model, best.machine, shipped_efficiencies)
    assert made.metrics["step_s"].value == pytest.approx(best.metrics["step_s"])
    assert made.fit is not Fit.DOES_NOT_FIT
    assert made.way.data_parallel == best.way.data_parallel


def test_formulas_of_the_rollout_by_hand():
    assert rollout_ranks(16 * GIB, 1 * GIB, 0.3, 80 * GIB, 8) == 1
    assert rollout_ranks(140 * GIB, 1 * GIB, 0.5, 80 * GIB, 8) == 4
    assert rollout_ranks(140 * GIB, 1 * GIB, 0.5, 80 * GIB, 2) == 2
    assert rollout_bytes(0.3, 80 * GIB, 16 * GIB, 1 * GIB, 1) == 24 * GIB
    assert rollout_bytes(0.1, 80 * GIB, 16 * GIB, 1 * GIB, 1) == 17 * GIB
    assert rollout_sequences(24 * GIB, 1, 16 * GIB, 1 * GIB, 64) == 8
    assert rollout_sequences(24 * GIB, 1, 16 * GIB, 1 * GIB, 4) == 4
    assert rollout_token_seconds(16e9, 8, 1e9, 1, 4e12, 0.5, 8e9, 1e15, 0.5, 32, 1e-4) == pytest.approx(0.01 + 0.0032)
    assert rollout_token_seconds(16e9, 1e6, 0, 1, 4e12, 0.5, 8e9, 1e15, 0.5, 0, 0) == pytest.approx(32)
    assert rollout_seconds(8e9, 64, 512, 1, 1e15, 0.5, 1024, 0.02, 32) == pytest.approx(1.048576 + 40.96)
