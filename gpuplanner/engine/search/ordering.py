"""The order of what a search found: candidates by the plan's objective, rejections by how near they came."""

from collections.abc import Iterable
from math import inf

from gpuplanner.engine.search.result import Broken, Candidate, Rejection
from gpuplanner.workload.plan import Objective, Plan

_ORDER = {broken: place for place, broken in enumerate(Broken)}


def ranked(plan: Plan, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first. A price that is not known ranks behind every known one; equal ones by time, then by GPUs."""
    objective = plan.constraints.objective
    return tuple(sorted(candidates, key=lambda candidate: _key(objective, candidate)))


def furthest_first(rejections: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """Those that broke the last constraint in the list first, among them the nearest to it first."""
    return tuple(sorted(rejections, key=lambda r: (-_ORDER[r.broken], inf if r.over is None else r.over)))


def _key(objective: Objective, candidate: Candidate) -> tuple[float, ...]:
    metrics = candidate.metrics
    hourly = inf if candidate.usd_per_hour is None else candidate.usd_per_hour
    cost = metrics.get("job_usd", inf) if "job_s" in metrics else hourly
    time = metrics.get("job_s", metrics.get("request_s", metrics.get("step_s", inf)))
    gpus = float(candidate.machine.gpus * candidate.machine.gpu_fraction)
    match objective:
        case Objective.COST:
            return cost, time, gpus
        case Objective.TIME:
            return time, cost, gpus
        case Objective.FEWEST_GPUS:
            return gpus, cost, time
