"""Estimates of work in items: what every such kind has in common once it knows one step of one GPU.

A kind gives the bytes of each phase and the seconds of each part of a step; verdict, rates, shares and the job follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpuplanner.engine.estimate import Estimate, Goal, Limit, Memory, Part, Phase, Way
from gpuplanner.engine.feed import Fed, Feed, fed_items
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gpu_memory import phase_bytes
from gpuplanner.engine.formulas.items import (
    item_job_seconds,
    item_step_seconds,
    items_per_second,
    items_per_second_per_gpu,
)
from gpuplanner.engine.goals import missed
from gpuplanner.engine.limit_shares import limit_shares
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, inverse, ranged
from gpuplanner.engine.verdict import usable_figure, verdict
from gpuplanner.figures import Figure, exact
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan

JOB = "job_s"
"""The metric of the whole job, which there is only where somebody says how long it is."""


@dataclass(frozen=True, slots=True)
class ItemNames:
    """The ids of a kind's step and metrics: seconds of a step or item, items a second of all GPUs and of one."""

    step: str
    each: str
    rate: str
    rate_each: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one GPU. `bytes_by_phase`: by phase, the bytes of each part; `exact`: parts that are no estimate.

    `seconds`: by part, with what limits it. `items`: that one GPU finishes in the step;
    less than one where GPUs share an item. `at_once`: what it works on together, where that is counted otherwise.
    `feed`: how its items reach it, None where it waits for none.
    """

    usable_bytes: Number
    bytes_by_phase: Mapping[str, Mapping[str, Number]]
    seconds: Mapping[str, tuple[Number, Limit]]
    items: float
    memory_spread: Spread
    time_spread: Spread
    exact_parts: frozenset[str] = frozenset()
    at_once: int | None = None
    feed: Feed | None = None


def estimate_items(
    plan: Plan,
    machine: Machine,
    step: Step,
    names: ItemNames,
    *,
    in_all: float | None = None,
    goals: Sequence[Goal] = (),
    choices: Mapping[str, str] | None = None,
    metrics: Mapping[str, Figure] | None = None,
    unknown: tuple[Message, ...] = (),
    remarks: tuple[Message, ...] = (),
) -> Estimate:
    """The estimate of a plan whose GPUs share out the items. Without any seconds there are no rates.

    `in_all`: items of the whole job; `metrics`: figures of the kind's own, which come first.
    """
    if in_all is None and any(goal.metric == JOB for goal in goals):
        goals = [goal for goal in goals if goal.metric != JOB]
        remarks = (*remarks, msg("items.deadline_of_what"))
    memory = _memory(step, machine)
    fit, reason = verdict(memory.usable, memory.needed)
    parts = (
        Part(name, ranged(float(seconds), Unit.SECOND, step.time_spread), limit)
        for name, (seconds, limit) in step.seconds.items()
        if float(seconds) > 0
    )
    done = tuple(parts)
    fed = _fed(step, machine) if done else None
    time = tuple(sorted((*done, *(fed.parts if fed else ())), key=lambda part: -part.figure.value))
    found = dict(metrics or {})
    if fed:
        found |= _rates(step, fed, machine, names, in_all)
    return Estimate(
        plan=plan,
        machine=machine,
        way=Way(data_parallel=machine.gpus, micro_batch=step.at_once or max(int(step.items), 1), choices=choices),
        fit=fit,
        reason=reason,
        memory=memory,
        step_name=names.step,
        time=time,
        limits=limit_shares(time),
        metrics=found,
        host=(),
        unknown=unknown,
        remarks=remarks,
        unmet=tuple(missed(goals, found)),
        goals=tuple(goals),
    )


def _memory(step: Step, machine: Machine) -> Memory:
    phases = tuple(_phase(name, parts, step) for name, parts in step.bytes_by_phase.items())
    peak = max(phases, key=lambda phase: phase.total.value)
    return Memory(
        usable=usable_figure(float(step.usable_bytes), machine.gpu),
        needed=peak.total,
        reserved=peak.total,
        phases=phases,
        peak_phase=peak.id,
    )


def _phase(name: str, parts: Mapping[str, Number], step: Step) -> Phase:
    kept = {part: float(value) for part, value in parts.items() if float(value) > 0}
    known = sum(value for part, value in kept.items() if part in step.exact_parts)
    total = float(phase_bytes(tuple(kept.values())))
    spread = step.memory_spread
    low, high = (known + (total - known) * end for end in (spread.low, spread.high))
    return Phase(
        name,
        tuple(
            Part(part, exact(value, Unit.BYTE) if part in step.exact_parts else ranged(value, Unit.BYTE, spread))
            for part, value in kept.items()
        ),
        exact(total, Unit.BYTE) if total == known else replace(ranged(total, Unit.BYTE, spread), low=low, high=high),
    )


def _fed(step: Step, machine: Machine) -> Fed:
    """The whole step with what it waits for its data."""
    busy_s = item_step_seconds(tuple(s for s, _ in step.seconds.values() if float(s) > 0))
    if step.feed is None:
        return Fed(busy_s, step.time_spread, ())
    return fed_items(step.feed, step.items, machine, busy_s, step.time_spread)


def _rates(step: Step, fed: Fed, machine: Machine, names: ItemNames, in_all: float | None) -> dict[str, Figure]:
    spread = fed.spread
    seconds = float(fed.seconds)
    rate = float(items_per_second(machine.gpus, step.items, seconds))
    found = {
        names.each: ranged(seconds, Unit.SECOND, spread),
        names.rate: inverse(rate, Unit.PER_S, spread),
    }
    if machine.gpus > 1:
        found[names.rate_each] = inverse(float(items_per_second_per_gpu(rate, machine.gpus)), Unit.PER_S, spread)
    if in_all is not None:
        found[JOB] = ranged(float(item_job_seconds(in_all, rate)), Unit.SECOND, spread)
    return found
