"""The search over training layouts: it finds what trying one by one finds, and says of each other offer why not."""

import math
from collections.abc import Callable

import pytest

from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import machine_of, with_nodes
from gpuplanner.engine.search.result import Broken
from gpuplanner.engine.search.searching import search
from gpuplanner.engine.training import estimate_training
from gpuplanner.engine.training_choice import MUCH_FASTER, shape_of
from gpuplanner.engine.training_ways import training_ways
from gpuplanner.messages import Language, Translator
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, MachineChoice, Objective, Plan
from gpuplanner.workload.training import Framework, Method, Training

MODEL_ID = "meta-llama/Llama-2-70b-hf"


@pytest.fixture(scope="module")
def model(shipped_catalog):
    return shipped_catalog.models[MODEL_ID].architecture


def plan_of(constraints=None, **fields):
    fixed = {"framework": Framework.MEGATRON, "method": Method.PRETRAINING, "global_batch": 256, "tokens": 1e9}
    workload = Training(model=ModelChoice(catalog_id=MODEL_ID), **(fixed | fields))
    return Plan(workload=workload, constraints=constraints or Constraints())


@pytest.fixture
def found(shipped_catalog, shipped_efficiencies, model):
    def run(plan, **more):
        return search(plan, model, shipped_catalog, shipped_efficiencies, shipped_catalog.currencies, **more)

    return run


def test_every_offer_is_a_candidate_or_says_why_not(found, shipped_catalog):
    result = found(plan_of())
    told = [c.machine.instance.id for c in result.candidates] + [r.instance.id for r in result.rejections]
    assert sorted(told) == sorted(shipped_catalog.instances)
    assert result.candidates
    assert not result.cancelled


@pytest.mark.parametrize("language", Language)
def test_each_rejection_is_a_sentence(found, language):
    translator = Translator(language)
    for plan in (plan_of(), plan_of(deadline_s=3600.0), plan_of(Constraints(budget_usd_per_job=1.0))):
        for rejection in found(plan).rejections:
            assert "{" not in translator.text(rejection.reason)


KEYS: dict[Objective, Callable[[int, float], tuple[float, float]]] = {
    Objective.COST: lambda nodes, job_s: (job_s * nodes, job_s),
    Objective.TIME: lambda nodes, job_s: (job_s, nodes),
    Objective.FEWEST_GPUS: lambda nodes, job_s: (nodes, job_s),
}


def test_the_best_way_is_that_of_trying_one_by_one(found, shipped_catalog, shipped_efficiencies, model):
    workload = plan_of().workload
    machine = machine_of(MachineChoice(instance_id="aws/p5.48xlarge"), shipped_catalog, {})
    tried = []
    for way in training_ways(8, shape_of(model), workload, 32):
        made = estimate_training(plan_of(), model, with_nodes(machine, way.nodes), shipped_efficiencies, way)
        if made.memory.needed.value <= 0.95 * made.memory.usable.value:
            tight = MUCH_FASTER if made.fit is Fit.TIGHT else 1.0
            tried.append((way.nodes, made.metrics["job_s"].value, tight))
    assert len(tried) > 50
    for objective, key in KEYS.items():
        result = found(plan_of(Constraints(objective=objective, max_gpus=32)))
        candidate = next(c for c in result.candidates if c.machine.instance.id == "aws/p5.48xlarge")
        tight = MUCH_FASTER if candidate.fit is Fit.TIGHT else 1.0
        ours = key(candidate.machine.nodes, candidate.metrics["job_s"] * tight)
        best = min(key(nodes, job_s * tight) for nodes, job_s, tight in tried)
        assert ours == pytest.approx(best), objective


def test_a_candidate_estimated_in_full_comes_to_the_same(found, shipped_efficiencies, model):
    for candidate in found(plan_of()).candidates:
        full = estimate(candidate.plan, model, candidate.machine, shipped_efficiencies)
        assert full.fit is candidate.fit
        assert full.memory.free == pytest.approx(candidate.free_bytes)
        for name, value in candidate.metrics.items():
            assert full.metrics[name].value == pytest.approx(value, rel=1e-9), name


def test_constraints_hold_for_every_candidate(found):
    constraints = Constraints(max_gpus=32, budget_usd_per_job=20_000.0, memory_free_share=0.2)
    result = found(plan_of(constraints, deadline_s=5 * 86_400.0))
    assert result.candidates
    for candidate in result.candidates:
        assert candidate.machine.gpus <= 32
        assert candidate.metrics["job_usd"] <= 20_000.0
        assert candidate.metrics["job_s"] <= 5 * 86_400.0
        assert candidate.fit is not Fit.DOES_NOT_FIT
    broken = {rejection.broken for rejection in result.rejections}
    assert {Broken.MEMORY, Broken.PRICE} <= broken
    for rejection in result.rejections:
        if rejection.over is not None:
            assert rejection.over > 0
            assert math.isfinite(rejection.over)


def test_filters_come_last_so_that_they_show_what_they_cost(found):
    everywhere = {c.machine.instance.id for c in found(plan_of()).candidates}
    only = found(plan_of(Constraints(providers=("AWS",))))
    assert {c.machine.instance.provider for c in only.candidates} == {"AWS"}
    missed = {r.instance.id for r in only.rejections if r.broken is Broken.PROVIDER}
    assert missed | {c.machine.instance.id for c in only.candidates} == everywhere


def test_more_is_never_needed_for_less(found):
    """A later deadline leaves at least the machines of an earlier one."""
    early = {c.machine.instance.id for c in found(plan_of(deadline_s=86_400.0)).candidates}
    late = {c.machine.instance.id for c in found(plan_of(deadline_s=30 * 86_400.0)).candidates}
    assert early <= late


def test_offers_without_a_known_network_stay_on_one_node(found):
    for candidate in found(plan_of(Constraints(objective=Objective.TIME))).candidates:
        if candidate.machine.host.network_bytes_per_s is None:
            assert candidate.machine.nodes == 1


def test_a_search_can_be_stopped_and_tells_how_far_it_is(found):
    shares: list[float] = []
    result = found(plan_of(), cancelled=lambda: bool(shares), progress=shares.append)
    assert result.cancelled
    assert len(shares) == 1
    shares.clear()
    assert not found(plan_of(), progress=shares.append).cancelled
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_bf16_is_refused_where_the_gpu_has_none(found):
    result = found(plan_of(method=Method.QLORA, framework=Framework.HUGGING_FACE))
    older = [r for r in result.rejections if r.machine and r.machine.gpu.id == "nvidia-t4"]
    assert older
    assert {r.broken for r in older} == {Broken.SUPPORT}


def test_bare_gpus_are_ranked_by_themselves(found):
    plan = plan_of(
        Constraints(bare_gpus=True, objective=Objective.FEWEST_GPUS),
        method=Method.QLORA,
        framework=Framework.HUGGING_FACE,
    )
    result = found(plan)
    assert result.candidates
    assert all(c.machine.instance is None for c in result.candidates)
    counts = [c.machine.gpus for c in result.candidates]
    assert counts == sorted(counts)


def test_what_fits_without_the_room_that_was_asked_for_is_told_apart_from_what_does_not_fit(found):
    """A reserve of all but a hundredth, which no run keeps: what had fitted breaks it, and nothing else is said."""
    fitting = {c.machine.instance.id for c in found(plan_of()).candidates}
    told = {r.instance.id: r for r in found(plan_of(Constraints(memory_free_share=0.99))).rejections}
    assert fitting
    assert fitting <= told.keys()
    assert {told[i].broken for i in fitting} == {Broken.HEADROOM}
