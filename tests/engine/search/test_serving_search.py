"""The search over ways of serving: enough machines for the load, goals kept, and the numbers of the full estimate."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.formulas.cost import usd_per_month
from gpuplanner.engine.machines import machine_of, with_nodes
from gpuplanner.engine.search.result import Broken
from gpuplanner.engine.search.searching import search
from gpuplanner.engine.serving import estimate_serving
from gpuplanner.engine.serving_choice import ways_on
from gpuplanner.engine.serving_ways import COPIES
from gpuplanner.messages import Language, Translator
from gpuplanner.units import HOURS_PER_MONTH
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, MachineChoice, Objective, Plan
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.serving import Server, Serving

MODEL_ID = "meta-llama/Llama-2-70b-hf"
SMALL_ID = "meta-llama/Meta-Llama-3.1-8B"
MIXTURE_ID = "deepseek-ai/DeepSeek-V3"

WORKLOADS: dict[str, dict[str, Any]] = {
    "clients": {"concurrency": 200},
    "goals": {"concurrency": 200, "ttft_goal_s": 3.0, "tpot_goal_s": 0.06},
    "a rate": {"concurrency": None, "request_rate": 5.0},
    "divided": {"concurrency": 200, "disaggregated": True},
    "divided, at a rate": {"concurrency": None, "request_rate": 5.0, "disaggregated": True},
    "a rate with goals": {"concurrency": None, "request_rate": 5.0, "ttft_goal_s": 3.0, "tpot_goal_s": 0.06},
}


def plan_of(constraints=None, model_id=MODEL_ID, **fields):
    workload = Serving(model=ModelChoice(catalog_id=model_id), **fields)
    return Plan(workload=workload, constraints=constraints or Constraints())


@pytest.fixture
def found(shipped_catalog, shipped_efficiencies):
    def run(plan, **more):
        model = shipped_catalog.models[plan.workload.model.catalog_id].architecture
        return search(plan, model, shipped_catalog, shipped_efficiencies, shipped_catalog.currencies, **more)

    return run


@pytest.fixture(scope="module")
def model(shipped_catalog):
    return shipped_catalog.models[MODEL_ID].architecture


@pytest.mark.parametrize("load", WORKLOADS)
def test_every_offer_is_a_candidate_or_says_why_not(load, found, shipped_catalog):
    result = found(plan_of(**WORKLOADS[load]))
    told = [c.machine.instance.id for c in result.candidates] + [r.instance.id for r in result.rejections]
    assert sorted(told) == sorted(shipped_catalog.instances)
    assert result.candidates
    translator = Translator(Language.CHINESE)
    assert not [r for r in result.rejections if "{" in translator.text(r.reason)]


@pytest.mark.parametrize("load", WORKLOADS)
def test_a_candidate_estimated_in_full_comes_to_the_same(load, found, model, shipped_efficiencies):
    for candidate in found(plan_of(**WORKLOADS[load])).candidates:
        full = estimate(candidate.plan, model, candidate.machine, shipped_efficiencies)
        assert full.fit is candidate.fit is not Fit.DOES_NOT_FIT
        assert not full.unmet
        assert full.memory.free == pytest.approx(candidate.free_bytes)
        assert (full.way.tensor_parallel, full.way.replicas) == (candidate.way.tensor_parallel, candidate.way.replicas)
        for name, value in candidate.metrics.items():
            assert full.metrics[name].value == pytest.approx(value, rel=1e-6), name


def test_requests_between_divided_workers_are_a_mean_in_both(found, shipped_catalog, shipped_efficiencies):
    """With few clients some wait for workers that answer, so that what is at work is no whole number."""
    small = shipped_catalog.models[SMALL_ID].architecture
    load = {"concurrency": 32, "input_tokens": 1000, "output_tokens": 300, "ttft_goal_s": 2.0}
    plan = plan_of(model_id=SMALL_ID, disaggregated=True, **load)
    parted = 0
    for candidate in found(plan).candidates:
        full = estimate(candidate.plan, small, candidate.machine, shipped_efficiencies)
        at_work = full.metrics["resident_sequences"]
        assert at_work.value == pytest.approx(candidate.metrics["resident_sequences"], rel=1e-6)
        assert at_work.high <= 32
        parted += at_work.value < 31.5
        assert at_work.exact == (at_work.value == 32)
    assert parted


@pytest.mark.parametrize("load", WORKLOADS)
def test_one_machine_fewer_would_not_do(load, found, model, shipped_catalog, shipped_efficiencies):
    """Every layout on fewer machines breaks the load or a goal: tried one by one."""
    plan = plan_of(**WORKLOADS[load])
    candidate = next(c for c in found(plan).candidates if c.machine.instance.id == "aws/g6e.12xlarge")
    nodes = candidate.machine.nodes
    assert nodes > 1
    one = machine_of(MachineChoice(instance_id="aws/g6e.12xlarge"), shipped_catalog, {})
    fewer = with_nodes(one, max(n for n in COPIES if n < nodes))
    for way in ways_on(fewer, model, plan.workload):
        made = estimate_serving(plan, model, fewer, shipped_efficiencies, way)
        holds = made.metrics.get("resident_sequences")
        waits = plan.workload.concurrency and not plan.workload.ttft_goal_s and holds and holds.value < 200 - 1e-6
        assert made.fit is Fit.DOES_NOT_FIT or made.unmet or waits


def test_a_larger_load_takes_no_fewer_machines(found):
    few = {c.machine.instance.id: c.machine.nodes for c in found(plan_of(concurrency=16)).candidates}
    many = {c.machine.instance.id: c.machine.nodes for c in found(plan_of(concurrency=400)).candidates}
    assert many.keys() <= few.keys()
    assert all(many[name] >= few[name] for name in many)
    assert any(many[name] > few[name] for name in many)


def test_goals_that_nothing_meets_are_named_with_the_nearest(found):
    result = found(plan_of(concurrency=8, tpot_goal_s=1e-4))
    assert not result.candidates
    missed = [r for r in result.rejections if r.broken is Broken.TPOT]
    assert missed
    assert all(r.over > 0 for r in missed)


@pytest.mark.parametrize("objective", Objective)
def test_candidates_are_ranked_by_the_objective(objective, found):
    result = found(plan_of(Constraints(objective=objective)))
    keys = {
        Objective.COST: [c.usd_per_hour for c in result.candidates if c.usd_per_hour is not None],
        Objective.TIME: [c.metrics["request_s"] for c in result.candidates],
        Objective.FEWEST_GPUS: [c.machine.gpus * c.machine.gpu_fraction for c in result.candidates],
    }[objective]
    assert keys == sorted(keys)


def test_a_price_that_is_not_known_ranks_last_when_cost_counts(found):
    prices = [c.usd_per_hour for c in found(plan_of()).candidates]
    known = [p is not None for p in prices]
    assert known == sorted(known, reverse=True)
    assert not all(known)


def test_budget_and_known_price(found):
    result = found(plan_of(Constraints(budget_usd_per_month=10_000.0)))
    assert result.candidates
    assert all(c.metrics["usd_per_month"] <= 10_000.0 for c in result.candidates)
    assert Broken.BUDGET_MONTH in {r.broken for r in result.rejections}
    dear = [r for r in result.rejections if r.broken is Broken.BUDGET_MONTH]
    # The amount over the budget is that of the nodes that the rejection names.
    for rejection in dear:
        assert usd_per_month(rejection.machine.usd_per_hour, HOURS_PER_MONTH) == pytest.approx(
            10_000.0 + rejection.over
        )
    assert any(r.machine.nodes > 1 for r in dear)
    assert all(r.machine.usd_per_hour is None for r in result.rejections if r.broken is Broken.PRICE)


def test_a_model_that_needs_several_nodes_is_spread_over_them(found):
    result = found(plan_of(model_id=MIXTURE_ID, weight_precision=WeightPrecision.BF16, concurrency=16))
    spread = [c for c in result.candidates if c.way.tensor_parallel * c.way.pipeline_parallel > c.machine.gpus_per_node]
    assert spread
    for candidate in spread:
        assert candidate.machine.nodes > 1
        assert candidate.machine.host.network_bytes_per_s is not None


def test_layer_split_servers_use_no_tensor_parallelism(found):
    plan = plan_of(model_id=SMALL_ID, server=Server.LLAMA_CPP, weight_precision=WeightPrecision.Q4_K_M, concurrency=1)
    assert {c.way.tensor_parallel for c in found(plan).candidates} == {1}


def test_software_that_does_not_run_there_is_refused(found):
    result = found(plan_of(model_id=SMALL_ID, server=Server.TENSORRT_LLM))
    refused = {r.gpu.vendor for r in result.rejections if r.broken is Broken.SUPPORT and r.gpu}
    assert "AMD" in refused
    assert {c.machine.gpu.vendor for c in result.candidates} == {"NVIDIA"}


def test_slices_of_gpus_are_planned_as_slices(found):
    plan = plan_of(model_id=SMALL_ID, weight_precision=WeightPrecision.AWQ, concurrency=1)
    slices = [c for c in found(plan).candidates if c.machine.gpu_fraction < 1]
    assert slices
    for candidate in slices:
        assert candidate.free_bytes < 96e9 * candidate.machine.gpu_fraction


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    server=st.sampled_from(Server),
    weights=st.sampled_from([None, *WeightPrecision]),
    input_tokens=st.integers(1, 30_000),
    output_tokens=st.integers(1, 4_000),
    concurrency=st.integers(1, 2_000),
    utilisation=st.none() | st.floats(0.05, 1.0),
    place=st.floats(0, 1, exclude_max=True),
)
def test_any_plan_is_searched_and_estimated_alike(
    found,
    shipped_catalog,
    shipped_efficiencies,
    server,
    weights,
    input_tokens,
    output_tokens,
    concurrency,
    utilisation,
    place,
):
    plan = plan_of(
        model_id=SMALL_ID,
        server=server,
        weight_precision=weights,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        concurrency=concurrency,
        memory_utilisation=utilisation,
    )
    result = found(plan)
    assert len(result.candidates) + len(result.rejections) == len(shipped_catalog.instances)
    if result.candidates:
        candidate = result.candidates[int(place * len(result.candidates))]
        architecture = shipped_catalog.models[SMALL_ID].architecture
        full = estimate(candidate.plan, architecture, candidate.machine, shipped_efficiencies)
        assert full.fit is candidate.fit
        for name, value in candidate.metrics.items():
            assert full.metrics[name].value == pytest.approx(value, rel=1e-6), name
