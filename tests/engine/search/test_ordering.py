"""What comes first: the plan's objective, and without a price the fewest GPUs, never "cheapest first"."""

from dataclasses import replace

import pytest

from gpuplanner.engine.estimate import Fit, Way
from gpuplanner.engine.machines import bare
from gpuplanner.engine.search.ordering import cost_metric, furthest_first, order_of, ranked
from gpuplanner.engine.search.result import Broken, Candidate, Rejection
from gpuplanner.messages import Language, Translator, msg
from gpuplanner.workload.diffusion import Diffusion
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, Objective, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

A4000, RTX_4090, H100 = "nvidia-rtx-a4000", "nvidia-rtx-4090", "nvidia-h100-sxm5-80gb"


def plan_of(objective: Objective = Objective.COST) -> Plan:
    workload = Serving(model=ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-8B"))
    return Plan(workload=workload, constraints=Constraints(objective=objective))


@pytest.fixture
def candidate(shipped_catalog):
    def made(gpu: str, count: int, request_s: float, fit: Fit = Fit.FITS, usd: float | None = None) -> Candidate:
        machine = replace(bare(shipped_catalog.gpus[gpu], count), usd_per_hour=usd)
        return Candidate(machine, Way(), plan_of(), fit, 1e9, {"request_s": request_s})

    return made


def names(plan, candidates):
    return [(c.machine.gpu.id, c.machine.gpus) for c in ranked(plan, candidates)]


def test_without_prices_the_fewest_gpus_come_first_then_what_is_not_tight_then_the_least_memory(candidate):
    found = [
        candidate(H100, 8, 1.0),
        candidate(H100, 1, 2.0),
        candidate(A4000, 1, 9.0, Fit.TIGHT),
        candidate(RTX_4090, 1, 5.0),
        candidate(RTX_4090, 2, 3.0),
    ]
    expected = [(RTX_4090, 1), (H100, 1), (A4000, 1), (RTX_4090, 2), (H100, 8)]
    assert names(plan_of(), found) == expected
    assert order_of(plan_of(), found) == "no_price"


def test_a_price_that_is_known_ranks_before_every_unknown_one(candidate):
    found = [candidate(RTX_4090, 1, 1.0), candidate(H100, 8, 2.0, usd=20.0), candidate(H100, 4, 3.0, usd=10.0)]
    assert names(plan_of(), found) == [(H100, 4), (H100, 8), (RTX_4090, 1)]
    assert order_of(plan_of(), found) == "cost"


def test_of_equal_cost_what_fits_comes_before_what_is_tight(candidate):
    found = [candidate(H100, 1, 1.0, Fit.TIGHT, usd=5.0), candidate(H100, 2, 2.0, usd=5.0)]
    assert names(plan_of(), found) == [(H100, 2), (H100, 1)]


@pytest.mark.parametrize("objective", [Objective.TIME, Objective.FEWEST_GPUS])
def test_other_objectives_are_told_by_their_own_name(candidate, objective):
    assert order_of(plan_of(objective), [candidate(H100, 1, 1.0)]) == objective.name.lower()


@pytest.mark.parametrize("language", list(Language))
def test_every_order_has_a_text(language):
    orders = ["no_price", *(objective.name.lower() for objective in Objective)]
    assert [order for order in orders if not Translator(language).has(f"limits.order.{order}")] == []


def test_of_those_that_broke_the_same_constraint_the_nearest_comes_first():
    """And before them those that came further down the list; an amount that is not known is the furthest."""
    broken = [(Broken.MEMORY, 0.1), (Broken.PRICE, None), (Broken.HEADROOM, 0.5), (Broken.HEADROOM, None)]
    broken += [(Broken.HEADROOM, 0.2)]
    rejections = [Rejection(None, None, None, what, msg("limits.broken.layout"), over) for what, over in broken]
    assert [(r.broken, r.over) for r in furthest_first(rejections)] == [
        (Broken.PRICE, None),
        (Broken.HEADROOM, 0.2),
        (Broken.HEADROOM, 0.5),
        (Broken.HEADROOM, None),
        (Broken.MEMORY, 0.1),
    ]


def test_of_equal_costs_of_work_without_an_end_the_smallest_bill_comes_first(candidate):
    """Ten GPUs at the price of ten make an image as cheap as one; what fits comes before what is tight."""
    plan = plan_of().model_copy(update={"workload": Diffusion(model=ModelChoice(catalog_id="sdxl"))})

    def priced(gpu, count, usd_per_kgenerated, usd, fit=Fit.FITS):
        metrics = {"generated_per_s": 1.0, "usd_per_kgenerated": usd_per_kgenerated}
        return replace(candidate(gpu, count, 1.0, fit, usd=usd), metrics=metrics)

    ten, one = priced(A4000, 8, 0.1500, 1.2), priced(A4000, 1, 0.1501, 0.15)
    tight, dearer = priced(RTX_4090, 1, 0.1499, 0.1, Fit.TIGHT), priced(H100, 1, 0.1600, 0.1)
    assert ranked(plan, [ten, dearer, one, tight]) == (one, ten, tight, dearer)


def test_training_without_a_size_is_ranked_by_what_a_token_costs(candidate):
    plan = plan_of().model_copy(update={"workload": Training(model=ModelChoice(catalog_id="x"))})

    def priced(gpu, usd, usd_per_mtoken):
        metrics = {"tokens_per_s": 1.0, "step_s": 1.0, "usd_per_mtoken": usd_per_mtoken}
        return replace(candidate(gpu, 8, 1.0, usd=usd), metrics=metrics)

    slow, quick = priced(A4000, 2.0, 9.0), priced(H100, 20.0, 1.0)
    assert ranked(plan, [slow, quick]) == (quick, slow)
    assert cost_metric(plan, [slow, quick]) == "usd_per_mtoken"
    job = [
        replace(c, metrics={**c.metrics, "job_s": 1.0, "job_usd": c.metrics["usd_per_mtoken"]}) for c in (slow, quick)
    ]
    assert cost_metric(plan, job) == "job_usd"
