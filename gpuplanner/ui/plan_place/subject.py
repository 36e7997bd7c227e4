"""Which plan is estimated: the person's own with the machine and the ways of running that a search found. Pure."""

from gpuplanner.engine.machines import choice_of
from gpuplanner.engine.search.result import SearchResult
from gpuplanner.workload.plan import Plan

_PAIRED = frozenset({"concurrency", "request_rate"})
"""Of these two one is always empty, and means nothing."""


def subject_of(plan: Plan, result: SearchResult | None) -> Plan | None:
    """The plan with a machine and a way of running, `result` as far as it is known; None without a machine."""
    if plan.machine is not None:
        found = next((c for c in result.candidates if c.plan.machine == plan.machine), None) if result else None
        return plan if found is None else _as_found(plan, found.plan)
    if result is not None and result.candidates:
        return _as_found(plan, result.candidates[0].plan)
    nearest = next((r.machine for r in result.nearest if r.machine is not None), None) if result else None
    return None if nearest is None else plan.model_copy(update={"machine": choice_of(nearest)})


def _as_found(plan: Plan, found: Plan) -> Plan:
    """The plan on the machine of `found`, and what the plan leaves open as `found` has it."""
    machine = {"machine": found.machine}
    if plan.workload.kind != found.workload.kind:
        return plan.model_copy(update=machine)
    open_fields = [name for name, value in plan.workload if value is None and name not in _PAIRED]
    chosen = {name: getattr(found.workload, name) for name in open_fields}
    return plan.model_copy(update={"workload": plan.workload.model_copy(update=chosen), **machine})
