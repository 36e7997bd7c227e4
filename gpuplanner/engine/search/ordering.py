"""The order of what a search found: candidates by the plan's objective, rejections by how near they came."""

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isinf

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.cost import PER_THOUSAND
from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.search.result import Broken, Candidate, Rejection
from gpuplanner.workload.plan import Objective, Plan

EQUAL_COST = 0.01
"""Costs that differ by less are the same: they are shown with so many digits, and estimated with fewer."""
_ORDER = {broken: place for place, broken in enumerate(Broken)}


def ranked(plan: Plan, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first. A price that is not known ranks behind every known one; equal ones by time, then by GPUs.

    By cost, machines without a price come with the fewest GPUs first, of so many those that are not tight, then those
    with the least memory: what is smaller and does is rarely dearer.
    """
    ordered = sorted(candidates, key=lambda candidate: _key(plan, candidate))
    if plan.constraints.objective is not Objective.COST:
        return tuple(ordered)
    return tuple(_smallest_of_equals(plan, ordered))


def _smallest_of_equals(plan: Plan, ordered: Sequence[Candidate]) -> Iterator[Candidate]:
    """Of offers whose work without an end costs the same, those that fit, then the smallest bill.

    Costs count as the same within the rounding that they are shown with.
    """
    alike: list[Candidate] = []
    for candidate in ordered:
        if alike and not _same_cost(plan, alike[0], candidate):
            yield from sorted(alike, key=_bill)
            alike = []
        alike.append(candidate)
    yield from sorted(alike, key=_bill)


def _same_cost(plan: Plan, cheaper: Candidate, candidate: Candidate) -> bool:
    metric = cost_metric(plan, (cheaper, candidate))
    if metric in {"usd_per_hour", "job_usd"}:
        return False
    least, cost = _cost(plan, cheaper), _cost(plan, candidate)
    return not isinf(cost) and cost <= least * (1.0 + EQUAL_COST)


def _bill(candidate: Candidate) -> tuple[float, float, float]:
    hourly = inf if candidate.usd_per_hour is None else candidate.usd_per_hour
    return float(candidate.fit is not Fit.FITS), hourly, float(candidate.machine.gpus)


def cost_metric(plan: Plan, candidates: Sequence[Candidate]) -> str:
    """The id of the cost that puts these candidates in their order where cost does.

    Of the job where there is one; of a thousand items or a million trained tokens where the work has no end and no rate
    is asked for; else of an hour.
    """
    known = {name for candidate in candidates for name in candidate.metrics}
    if "job_s" in known:
        return "job_usd"
    if "tokens_per_s" in known:
        return "usd_per_mtoken"
    per_thousand = next((cost for rate, cost in PER_THOUSAND.items() if rate in known), None)
    if per_thousand is not None and KINDS[plan.workload.kind].rate_goal(plan.workload) is None:
        return per_thousand
    return "usd_per_hour"


def order_of(plan: Plan, candidates: Sequence[Candidate]) -> str:
    """What puts these candidates in their order: the plan's objective, or "no_price" where cost cannot.

    Text: message `limits.order.<name>`.
    """
    objective = plan.constraints.objective
    if objective is Objective.COST and all(isinf(_cost(plan, candidate)) for candidate in candidates):
        return "no_price"
    return objective.name.lower()


def furthest_first(rejections: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """Those that broke the last constraint in the list first, among them the nearest to it first."""
    return tuple(sorted(rejections, key=lambda r: (-_ORDER[r.broken], inf if r.over is None else r.over)))


def _key(plan: Plan, candidate: Candidate) -> tuple[float, ...]:
    metrics = candidate.metrics
    rate = metrics.get(KINDS[plan.workload.kind].headline, 0.0)
    time = metrics.get("job_s", metrics.get("request_s", metrics.get("step_s", 1.0 / rate if rate else inf)))
    cost = _cost(plan, candidate)
    gpus = float(candidate.machine.gpus * candidate.machine.gpu_fraction)
    tight = float(candidate.fit is not Fit.FITS)
    match plan.constraints.objective:
        case Objective.COST if isinf(cost):
            return cost, gpus, tight, _memory(candidate), time, float(candidate.machine.nodes)
        case Objective.COST:
            return cost, tight, time, gpus
        case Objective.TIME:
            return time, tight, cost, gpus
        case Objective.FEWEST_GPUS:
            return gpus, tight, cost, _memory(candidate), time


def _memory(candidate: Candidate) -> float:
    """Memory of all its GPUs; a GPU of unknown size has none to spare."""
    known = candidate.machine.gpu.known(GpuProperty.MEMORY_BYTES)
    return inf if known is None else known.value * candidate.machine.gpus * float(candidate.machine.gpu_fraction)


def _cost(plan: Plan, candidate: Candidate) -> float:
    """See `cost_metric`; infinite where no price is known."""
    metric = cost_metric(plan, (candidate,))
    if metric != "usd_per_hour":
        return candidate.metrics.get(metric, inf)
    return inf if candidate.usd_per_hour is None else candidate.usd_per_hour
