"""One estimate, whatever the workload kind: what its engine gives, completed with host, power and cost; explained.

The engines (`kinds.py`) say what fits and how long it takes; everything that follows from that and
from the machine alone is added here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.cost import cost_metrics
from gpuplanner.engine.estimate import Estimate, HostNeed, Memory, Part, Phase
from gpuplanner.engine.formulas.terms import TERM_UNITS
from gpuplanner.engine.host import checkpoint_remark, host_needs, shortfalls
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.limits import missing_fact, unmet_budgets
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.origins import Tracer, WatchedEfficiencies, finder
from gpuplanner.engine.power import power_metrics
from gpuplanner.engine.support import unsupported
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Figure, Formula, Recording, Step, recording
from gpuplanner.messages import InputError
from gpuplanner.workload.plan import Plan

T = TypeVar("T")

AS_READ = "as_read"
EXPLAINED = (Estimate, Memory, Phase, Part, HostNeed)
"""The types of an estimate that hold figures."""


def estimate(
    plan: Plan, subject: Any, machine: Machine, efficiencies: Efficiencies, rules: Iterable[Rule] = ()
) -> Estimate:
    """The estimate of a plan on a machine.

    `subject`: what the workload runs, None where it names no model; `rules`: rules of thumb of the catalog, shown
    beside what they speak about.

    Raises InputError when a fact is missing that the estimate cannot do without, or when the plan cannot be run so.
    """
    try:
        made = KINDS[plan.workload.kind].estimate(plan, subject, machine, efficiencies)
        return _completed(made, subject, efficiencies, rules)
    except MissingFactError as error:
        raise InputError(missing_fact(error)) from None


def explain(
    plan: Plan, subject: Any, machine: Machine, efficiencies: Efficiencies, rules: Iterable[Rule] = ()
) -> Estimate:
    """The same estimate with the derivation of every figure, each input with where it comes from."""
    watched = WatchedEfficiencies(efficiencies)
    with recording() as kept:
        made = estimate(plan, subject, machine, watched, rules)
    tracer = Tracer(finder(plan, subject, machine, made.way, watched.used), _steps_by_value(kept))

    read = _read_as_they_are(kept)

    def derived(figure: Figure) -> Figure:
        given = figure.derivation or (None if tracer.step_of(figure.value) else read.get(id(figure.value)))
        step = tracer.completed(given) if given else tracer.step_of(figure.value)
        return figure if step is None else replace(figure, derivation=step)

    return _with_figures(made, derived)


def _completed(made: Estimate, subject: Any, efficiencies: Efficiencies, rules: Iterable[Rule]) -> Estimate:
    machine = made.machine
    power, power_unknown = power_metrics(machine, made.limits, made.metrics, efficiencies)
    cost, cost_unknown = cost_metrics(machine, made.metrics)
    metrics = {**made.metrics, **cost, **power}
    duty = KINDS[made.plan.workload.kind].duty(made, subject, efficiencies)
    needs = host_needs(duty, machine, made.time, efficiencies, rules)
    interval = checkpoint_remark(duty, machine, efficiencies)
    no = unsupported(machine.gpu, made.plan.workload, efficiencies.software)
    remarks = (*made.remarks, *machine.remarks, *shortfalls(needs), *((interval,) if interval else ()))
    return replace(
        made,
        metrics=metrics,
        host=needs,
        unknown=(*made.unknown, *cost_unknown, *power_unknown),
        remarks=remarks,
        unmet=(*((no,) if no else ()), *made.unmet, *unmet_budgets(made.plan, metrics)),
    )


def _steps(kept: Recording) -> Iterator[Step]:
    """Every recorded step, those outside before those inside."""
    waiting = list(kept.steps)
    while waiting:
        step = waiting.pop()
        yield step
        waiting += [argument.step for argument in step.arguments if argument.step is not None]
        waiting += step.inner


def _steps_by_value(kept: Recording) -> dict[int, Step]:
    """Every recorded step by the identity of its value, the outermost of several that give the very same number."""
    found: dict[int, Step] = {}
    for step in _steps(kept):
        if not isinstance(step.value, int):
            found.setdefault(id(step.value), step)
    return found


def _read_as_they_are(kept: Recording) -> dict[int, Step]:
    """By the identity of its value, each number that no formula gave but that went into one."""
    return {
        id(argument.value): Step(Formula(AS_READ, TERM_UNITS[argument.name], "", ""), argument.value, (argument,))
        for step in _steps(kept)
        for argument in step.arguments
        if argument.step is None and isinstance(argument.value, float) and argument.name in TERM_UNITS
    }


def _with_figures(value: T, change: Callable[[Figure], Figure]) -> T:
    """The same value with each figure in it changed."""
    changed: Any = value
    if isinstance(value, Figure):
        changed = change(value)
    elif isinstance(value, tuple):
        changed = tuple(_with_figures(item, change) for item in value)
    elif isinstance(value, Mapping):
        changed = {key: _with_figures(item, change) for key, item in value.items()}
    elif isinstance(value, EXPLAINED) and is_dataclass(value):
        changed = replace(value, **{f.name: _with_figures(getattr(value, f.name), change) for f in fields(value)})
    return cast(T, changed)
