"""One estimate, whatever the workload kind: what its engine gives, completed with host, power and cost; explained.

The engines (`kinds.py`) say what fits and how long it takes; everything that follows from that and
from the machine alone is added here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.cost import cost_metrics
from gpuplanner.engine.data_advice import data_remarks
from gpuplanner.engine.deriving import derived
from gpuplanner.engine.estimate import Estimate, HostNeed, Memory, Part, Phase
from gpuplanner.engine.feed import host_of
from gpuplanner.engine.host import checkpoint_remark, host_needs, shortfalls
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.limits import budget_goals, missing_fact, unmet_budgets
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import with_nodes
from gpuplanner.engine.origins import WatchedEfficiencies, finder
from gpuplanner.engine.own_measurements import Own, site_of, with_own, with_own_origin
from gpuplanner.engine.own_parts import with_own_parts, with_parts_said
from gpuplanner.engine.power import power_metrics
from gpuplanner.engine.support import unsupported
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import recording
from gpuplanner.messages import InputError, Message
from gpuplanner.workload.plan import Plan

EXPLAINED = (Estimate, Memory, Phase, Part, HostNeed)
"""The types of an estimate that hold figures."""


def estimate(
    plan: Plan,
    subject: Any,
    machine: Machine,
    efficiencies: Efficiencies,
    rules: Iterable[Rule] = (),
    own: Sequence[Own] = (),
) -> Estimate:
    """The estimate of a plan on a machine.

    `subject`: what the workload runs, None where it names no model; `rules`: rules of thumb of the catalog, shown
    beside what they speak about; `own`: what a person measured, used where it is of the very same profile.

    Raises InputError when a fact is missing that the estimate cannot do without, or when the plan cannot be run so.
    """
    try:
        engine = KINDS[plan.workload.kind].estimate
        measured, said = machine, tuple[Message, ...]()
        if own:
            measured, said = with_own_parts(machine, own, site_of(with_nodes(machine, 1)), efficiencies)
        made = engine(plan, subject, measured, efficiencies)
        if own:
            made = with_parts_said(made, machine, said, efficiencies)
            made = with_own(made, own, efficiencies, lambda other: engine(other, subject, measured, efficiencies))
        return _completed(made, subject, efficiencies, rules)
    except MissingFactError as error:
        raise InputError(missing_fact(error)) from None


def explain(
    plan: Plan,
    subject: Any,
    machine: Machine,
    efficiencies: Efficiencies,
    rules: Iterable[Rule] = (),
    own: Sequence[Own] = (),
) -> Estimate:
    """The same estimate with the derivation of every figure, each input with where it comes from."""
    watched = WatchedEfficiencies(efficiencies)
    with recording() as kept:
        made = estimate(plan, subject, machine, watched, rules, own)
    asked = KINDS[plan.workload.kind].inputs(plan.workload)
    find = with_own_origin(finder(asked, subject, made.machine, made.way, watched.used), made.own)
    return derived(made, kept, find, EXPLAINED)


def _completed(made: Estimate, subject: Any, efficiencies: Efficiencies, rules: Iterable[Rule]) -> Estimate:
    machine = made.machine
    power, power_unknown = power_metrics(machine, made.limits, made.metrics, efficiencies)
    cost, cost_unknown = cost_metrics(machine, made.metrics)
    metrics = {**made.metrics, **cost, **power}
    kind = KINDS[made.plan.workload.kind]
    duty = kind.duty(made, subject, efficiencies)
    host = host_of(made.plan.workload, machine, efficiencies)
    needs = host_needs(duty, replace(machine, host=host), made.time, efficiencies, rules)
    interval = checkpoint_remark(duty, machine, efficiencies)
    no = unsupported(machine.gpu, kind.needs(made.plan.workload), efficiencies.software)
    fed = data_remarks(made, duty, needs, efficiencies)
    remarks = (*made.remarks, *machine.remarks, *fed, *shortfalls(needs), *((interval,) if interval else ()))
    return replace(
        made,
        metrics=metrics,
        host=needs,
        unknown=(*made.unknown, *cost_unknown, *power_unknown),
        remarks=remarks,
        unmet=(*((no,) if no else ()), *made.unmet, *unmet_budgets(made.plan, metrics)),
        goals=(*made.goals, *budget_goals(made.plan)),
    )
