"""The smallest changes that help: each was tried, helps when it is estimated again, and is said in both languages."""

import pytest

from gpuplanner.engine import changes
from gpuplanner.engine.changes import GOODNESS, advised
from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare, choice_of, machine_of
from gpuplanner.messages import Language, Translator
from gpuplanner.workload.machine_counts import MOST_GPUS
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.precision import KvPrecision, WeightPrecision
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Framework, Method, Recomputation, Sharding, Training

SMALL = ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-8B")
LARGE = ModelChoice(catalog_id="meta-llama/Llama-2-70b-hf")

CASES = {
    "70B on two GPUs": (Serving(model=LARGE), "nvidia-a100-sxm4-80gb", 2),
    "a length that the pool does not hold": (
        Serving(model=SMALL, input_tokens=28_000, output_tokens=1_000, chunked_prefill=False),
        "nvidia-rtx-3090",
        1,
    ),
    "a goal for each token": (Serving(model=SMALL, concurrency=256, tpot_goal_s=0.02), "nvidia-l40s", 4),
    "full training on a card for games": (
        Training(model=SMALL, method=Method.FULL, framework=Framework.HUGGING_FACE, global_batch=16),
        "nvidia-rtx-4090",
        1,
    ),
    "full training with little sharding": (
        Training(
            model=SMALL,
            method=Method.FULL,
            framework=Framework.DEEPSPEED,
            sharding=Sharding.ZERO1,
            global_batch=64,
            micro_batch=4,
        ),
        "nvidia-a100-sxm4-80gb",
        4,
    ),
}


@pytest.fixture
def advise(shipped_catalog, shipped_efficiencies):
    def run(workload, gpu, count, nodes=1):
        model = shipped_catalog.models[workload.model.catalog_id].architecture
        machine = bare(shipped_catalog.gpus[gpu], count, nodes)
        plan = Plan(workload=workload, machine=choice_of(machine))
        made = estimate(plan, model, machine, shipped_efficiencies)
        return model, advised(made, model, shipped_efficiencies, shipped_catalog.gpus)

    return run


@pytest.mark.parametrize("case", CASES)
def test_every_change_helps_when_it_is_estimated_again(case, advise, shipped_catalog, shipped_efficiencies):
    model, made = advise(*CASES[case])
    assert made.fit is not Fit.FITS or made.unmet
    assert made.changes
    for change in made.changes:
        machine = machine_of(change.plan.machine, shipped_catalog, {})
        again = estimate(change.plan, model, machine, shipped_efficiencies)
        assert again.fit is change.fit is not Fit.DOES_NOT_FIT
        assert made.fit is Fit.FITS or GOODNESS[again.fit] > GOODNESS[made.fit]
        assert not again.unmet
        assert again.memory.free == pytest.approx(change.free_bytes)
        known = again.metrics.get(change.headline_id)
        assert change.headline == known
        assert known is not None or machine.nodes > made.machine.nodes
        assert change.plan != made.plan


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("case", CASES)
def test_every_change_is_said(case, language, advise):
    _, made = advise(*CASES[case])
    texts = [Translator(language).text(change.what) for change in made.changes]
    assert all(texts)
    assert len(set(texts)) == len(texts)


def test_settings_come_before_precision_and_both_before_other_machines(advise):
    _, made = advise(*CASES["a length that the pool does not hold"])
    ids = [change.what.id for change in made.changes]
    order = ["change.utilisation", "change.batched_tokens", "change.kv_precision", "change.weight_precision"]
    assert [i for i in ids if i in order] == order
    assert [change.what.id for change in made.changes if not change.gives_up][-1] == "change.machine"


def test_chunked_prefill_is_what_the_refused_length_needs(advise):
    """A public case: 29,000 tokens are refused where longer limits run, because these turn chunked prefill on."""
    _, made = advise(*CASES["a length that the pool does not hold"])
    assert made.fit is Fit.DOES_NOT_FIT
    chunked = next(change for change in made.changes if change.what.id == "change.batched_tokens")
    assert chunked.plan.workload.chunked_prefill


def test_training_that_does_not_fit_a_card_is_told_of_qlora(advise):
    _, made = advise(*CASES["full training on a card for games"])
    assert "change.qlora" in {change.what.id for change in made.changes}


def test_what_fits_and_meets_its_goals_is_left_alone(advise):
    _, made = advise(Serving(model=SMALL, concurrency=4), "nvidia-h100-sxm5-80gb", 1)
    assert made.fit is Fit.FITS
    assert made.changes == ()


def test_changes_that_help_only_together_are_found(advise):
    workload = Training(
        model=SMALL,
        method=Method.PRETRAINING,
        framework=Framework.DEEPSPEED,
        sharding=Sharding.ZERO1,
        recomputation=Recomputation.NONE,
        global_batch=64,
        micro_batch=8,
    )
    _, made = advise(workload, "nvidia-a100-sxm4-40gb", 8)
    assert made.fit is Fit.DOES_NOT_FIT
    assert [change.what.id for change in made.changes] == ["change.and"]
    changed = made.changes[0].plan.workload
    assert (changed.micro_batch, changed.fused_loss, changed.recomputation) == (1, True, Recomputation.FULL)
    text = Translator(Language.ENGLISH).text(made.changes[0].what)
    assert text.startswith("Micro-batch of 1, the rest accumulated · Fused loss")


def test_a_gpu_that_the_server_is_not_known_to_run_on_hears_what_would_fit(advise):
    _, made = advise(Serving(model=SMALL, input_tokens=60_000), "nvidia-p40", 1)
    assert made.fit is Fit.DOES_NOT_FIT
    assert made.unmet[0].id == "limits.support.capability"
    assert "change.length" in {change.what.id for change in made.changes}


def test_two_settings_are_found_where_none_helps_alone(advise):
    """A 70B in FP8 on one card: a larger share makes room, but the first token is late until requests are fewer."""
    workload = Serving(
        model=ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-70B"),
        weight_precision=WeightPrecision.FP8,
        kv_precision=KvPrecision.FP8,
        concurrency=64,
        ttft_goal_s=1.5,
        tpot_goal_s=0.05,
    )
    _, made = advise(workload, "nvidia-h100-sxm5-80gb", 1)
    assert made.fit is Fit.DOES_NOT_FIT
    both = made.changes[-1]
    assert both.what.id == "change.and"
    assert both.gives_up
    assert [change.what.id for change in made.changes[:-1] if change.gives_up] == []
    assert both.plan.machine == made.plan.machine
    assert both.plan.workload.memory_utilisation == 0.95
    assert 1 < both.plan.workload.concurrency < 64


def test_a_cluster_is_told_how_many_nodes_its_deadline_takes(shipped_catalog, shipped_efficiencies):
    workload = Training(
        model=LARGE,
        method=Method.PRETRAINING,
        framework=Framework.MEGATRON,
        global_batch=256,
        tokens=1e11,
        deadline_s=10 * 86_400.0,
    )
    choice = MachineChoice(instance_id="aws/p5.48xlarge", nodes=2)
    model = shipped_catalog.models[LARGE.catalog_id].architecture
    machine = machine_of(choice, shipped_catalog, {})
    made = estimate(Plan(workload=workload, machine=choice), model, machine, shipped_efficiencies)
    assert made.unmet
    found = advised(made, model, shipped_efficiencies, shipped_catalog.gpus).changes
    assert [change.what.id for change in found] == ["change.machine"]
    chosen = found[0].plan.machine
    assert chosen is not None
    assert chosen.nodes > 2


def test_no_change_is_a_machine_that_no_plan_can_name(advise):
    """The largest cluster that a plan takes is not doubled."""
    workload = Serving(model=SMALL, concurrency=1, tpot_goal_s=1e-6)
    _, made = advise(workload, "nvidia-l40s", 8, MOST_GPUS // 8)
    assert made.unmet
    assert all(c.plan.machine.gpus <= MOST_GPUS for c in made.changes)


FULL_70B = Training(model=LARGE, method=Method.FULL, framework=Framework.FSDP, global_batch=64)


def test_full_training_of_70b_is_told_how_many_more_gpus_hold_it(advise, shipped_catalog, shipped_efficiencies):
    """Sharded states shrink with the GPUs: a number that holds them is among the changes, and none smaller does."""
    model, made = advise(FULL_70B, "nvidia-a100-sxm4-80gb", 8)
    assert made.fit is Fit.DOES_NOT_FIT
    more = [c for c in made.changes if c.plan.machine.gpu_id == made.machine.gpu.id and c.plan.machine.gpus > 8]
    assert [change.what.id for change in more] == ["change.machine"]
    count = more[0].plan.machine.gpus
    assert more[0].fit is not Fit.DOES_NOT_FIT
    for nodes in range(2, count // 8):
        fewer = bare(shipped_catalog.gpus["nvidia-a100-sxm4-80gb"], 8, nodes)
        plan = Plan(workload=FULL_70B, machine=choice_of(fewer))
        if FULL_70B.global_batch % fewer.gpus == 0:
            assert estimate(plan, model, fewer, shipped_efficiencies).fit is not more[0].fit


def test_on_an_instance_more_nodes_are_told_with_their_rate(shipped_catalog, shipped_efficiencies):
    choice = MachineChoice(instance_id="aws/p4de.24xlarge")
    model = shipped_catalog.models[LARGE.catalog_id].architecture
    machine = machine_of(choice, shipped_catalog, {})
    made = estimate(Plan(workload=FULL_70B, machine=choice), model, machine, shipped_efficiencies)
    found = advised(made, model, shipped_efficiencies, shipped_catalog.gpus).changes
    machines = ((c, c.plan.machine) for c in found)
    more = next(c for c, m in machines if m is not None and m.instance_id == choice.instance_id and m.nodes > 1)
    assert more.headline is not None


def test_more_gpus_are_not_proposed_where_each_holds_everything(advise):
    """Replicated weights do not shrink with the number of GPUs, which is computed, not supposed."""
    workload = FULL_70B.model_copy(update={"sharding": Sharding.DDP})
    _, made = advise(workload, "nvidia-a100-sxm4-80gb", 8)
    same = [c for c in made.changes if c.plan.machine.gpu_id == made.machine.gpu.id]
    assert all(c.plan.machine.gpus == 8 for c in same)


def test_a_deadline_is_not_met_by_nodes_of_which_nobody_knows_how_fast_they_are(advise):
    workload = FULL_70B.model_copy(update={"tokens": 1e9, "deadline_s": 1e6})
    _, made = advise(workload, "nvidia-a100-sxm4-80gb", 8)
    assert all(change.headline is not None for change in made.changes)


def test_a_smaller_micro_batch_is_tried_before_the_smallest(advise):
    """Of several that help the one that changes least is said."""
    found = {}
    for micro in (2, 4, 8, 16, 32):
        workload = Training(
            model=SMALL, method=Method.FULL, framework=Framework.FSDP, global_batch=256, micro_batch=micro,
            sharding=Sharding.FSDP, recomputation=Recomputation.SELECTIVE,
        )  # fmt: skip
        _, made = advise(workload, "nvidia-h100-sxm5-80gb", 8)
        smaller = [c.plan.workload.micro_batch for c in made.changes if c.what.id == "change.micro_batch"]
        if smaller:
            found[micro] = smaller[0]
    assert found
    assert all(smaller < micro for micro, smaller in found.items())
    assert max(found.values()) > 1


def test_other_machines_come_last_the_smallest_first(advise, shipped_catalog):
    for case in CASES.values():
        _, made = advise(*case)
        whole = [change for change in made.changes if not change.gives_up]
        assert list(made.changes[: len(whole)]) == whole, (
            "what gives up a part of what was asked comes after all others"
        )
        ids = [change.what.id for change in whole]
        machines = ids.count("change.machine")
        assert ids[len(ids) - machines :] == ["change.machine"] * machines
        choices = [change.plan.machine for change in whole[len(ids) - machines :]]
        sizes = [c.gpus * shipped_catalog.gpus[c.gpu_id].properties["memory_bytes"].value for c in choices]
        assert sizes == sorted(sizes)


def test_the_fewest_gpus_that_carry_it_are_offered(advise, shipped_catalog, shipped_efficiencies):
    workload = Serving(model=SMALL, input_tokens=1000, output_tokens=300, concurrency=300, tpot_goal_s=0.04)
    _, made = advise(workload, "nvidia-l40s", 2)
    offered = next(c for c in made.changes if c.what.id == "change.machine" and c.plan.machine.gpu_id == "nvidia-l40s")
    assert 2 < offered.plan.machine.gpus <= 8
    for fewer in range(3, offered.plan.machine.gpus):
        machine = bare(shipped_catalog.gpus["nvidia-l40s"], fewer)
        plan = made.plan.model_copy(update={"machine": choice_of(machine)})
        subject = shipped_catalog.models[SMALL.catalog_id].architecture
        found = estimate(plan, subject, machine, shipped_efficiencies)
        assert found.unmet or found.fit is Fit.DOES_NOT_FIT


def test_fewer_requests_are_marked_as_giving_up_what_was_asked(advise):
    _, made = advise(Serving(model=SMALL, concurrency=256, tpot_goal_s=0.02), "nvidia-l40s", 2)
    marked = {change.what.id: change.gives_up for change in made.changes}
    assert marked["change.concurrency"]
    assert not marked["change.machine"]
    assert made.changes[-1].what.id == "change.concurrency"


def test_what_nothing_mends_is_given_up_after_a_while(advise, monkeypatch):
    tried = []

    def counted(plan, *rest):
        tried.append(plan)
        return estimate(plan, *rest)

    monkeypatch.setattr(changes, "estimate", counted)
    plan = Serving(
        model=ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-70B"),
        input_tokens=12_675,
        concurrency=None,
        request_rate=500.0,
        ttft_goal_s=1e-6,
    )
    _, made = advise(plan, "nvidia-l40s", 7)
    assert not made.changes
    assert 20 < len(tried) <= 2 * changes.MOST_EFFORT / changes.RATE_EFFORT + 2
