"""What a person's own measurements make of a search: the ways that were measured count as they were measured. Pure.

Of each machine that a measurement is of, the times and rates of the measured way are put in before any constraint is
checked: it is judged, chosen and ranked by them. All other ways, and all other machines, stay the engine's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.columns import times
from gpuplanner.engine.estimate import Estimate, Way
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import with_nodes
from gpuplanner.engine.own_links import PASSED_OVER, WITH_STEP, OwnLink, passed_over
from gpuplanner.engine.own_measurements import WAY, Own, OwnMeasurement, measurable, nearness, site_of, with_own
from gpuplanner.engine.search.checks import Check, Failure, passing
from gpuplanner.engine.search.result import Broken, Candidate
from gpuplanner.engine.search.space import Computed, Space
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Figure, Origin
from gpuplanner.messages import InputError, Message
from gpuplanner.workload.plan import Plan

OF_MEMORY = frozenset({Broken.MEMORY, Broken.HEADROOM})
"""What no measurement of a time changes."""
OF_TIME: Mapping[Broken, str] = {Broken.TTFT: "ttft_s", Broken.TPOT: "tpot_s", Broken.DEADLINE: "job_s"}
"""The metric that a constraint limits from above."""
OF_RATE: Mapping[Broken, str] = {Broken.RATE: "request_per_s"}
"""The metric that a constraint limits from below: a check has it as its limit."""
MOST_LINKED = 256
"""Measured links change every way of a machine that uses them; beyond so many ways the first ones are enough."""

_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Counted:
    """One way as it was measured: by how many times its metrics changed, its figures, and where from."""

    factors: Mapping[str, float]
    figures: Mapping[str, Figure]
    origin: Origin


class OwnRows:
    """The measurements that a search of this plan can meet. Made for one search.

    `hardware_of`: what decides how fast a machine is for this plan. `passed_over`: that a measurement which was met
    does not count, by its name.
    """

    def __init__(
        self,
        plan: Plan,
        subject: Any,
        efficiencies: Efficiencies,
        own: Sequence[Own],
        hardware_of: Callable[[Machine], _Key],
    ) -> None:
        kind = plan.workload.kind
        runs = [m for m in own if isinstance(m, OwnMeasurement) and measurable(m)]
        self._runs = [m for m in runs if nearness(m.plan, plan) is not None]
        self._links = [m for m in own if isinstance(m, OwnLink) and kind in WITH_STEP]
        self._sites = {run.site for run in self._runs} | {link.site for link in self._links}
        self._counts = {int(site.partition(" ")[0]) for site in self._sites if site.partition(" ")[0].isdecimal()}
        self._subject = subject
        self._efficiencies = efficiencies
        self._engine = KINDS[kind].estimate
        self._hardware_of = hardware_of
        self._counted: dict[_Key, _Counted] = {}
        self._ways: dict[_Key, tuple[object, ...] | None] = {}
        self.passed_over: dict[str, Message] = {}

    def counted(self, space: Space, machine: Machine, computed: Computed) -> Computed:
        """The ways of one machine, as measured those that were. Unchanged where nothing was measured of it."""
        nodes = [float(count) for count in self._counts if site_of(with_nodes(machine, count)) in self._sites]
        if not nodes or computed.results is None:
            return computed
        memory = [check for check in computed.checks if check.broken in OF_MEMORY]
        fits = passing(np.ones(computed.nodes.shape, dtype=bool), memory)
        if isinstance(fits, Failure):
            return computed
        for place in np.flatnonzero(fits & np.isin(computed.nodes, nodes))[:MOST_LINKED]:
            found = self._measured(space.candidate(machine, computed, int(place)))
            if found is not None:
                computed = _corrected(computed, int(place), found.factors)
        return computed

    def marked(self, candidate: Candidate) -> Candidate:
        """The candidate, with where its numbers come from and their ranges where it runs as it was measured."""
        found = self._counted.get(self._key(candidate)) if self._counted else None
        if found is None:
            return candidate
        ranges = {
            name: (figure.low, figure.high)
            for name, figure in found.figures.items()
            if name in candidate.metrics and figure.low < figure.high
        }
        return replace(candidate, own=found.origin, ranges=ranges)

    def _hardware(self, machine: Machine) -> _Key:
        """What decides how fast it is; the network only where it has several nodes."""
        if machine.nodes == 1:
            machine = replace(machine, host=replace(machine.host, network_bytes_per_s=None))
        return site_of(machine), *self._hardware_of(machine)

    def _key(self, candidate: Candidate) -> _Key:
        return *self._hardware(candidate.machine), *_degrees(candidate.way)

    def _measured(self, candidate: Candidate) -> _Counted | None:
        """What was measured of this way; None where nothing was, or the way cannot be estimated."""
        key = self._key(candidate)
        if key not in self._counted:
            try:
                found = self._compared(candidate)
            except (InputError, MissingFactError):
                return None
            if found is None:
                return None
            self._counted[key] = found
        return self._counted[key]

    def _compared(self, candidate: Candidate) -> _Counted | None:
        def engine(plan: Plan) -> Estimate:
            return self._engine(plan, self._subject, candidate.machine, self._efficiencies)

        def way(run: OwnMeasurement) -> tuple[object, ...] | None:
            key = run.id, *self._hardware(candidate.machine)
            if key not in self._ways:
                try:
                    self._ways[key] = _degrees(engine(run.plan).way)
                except (InputError, MissingFactError) as fault:
                    self._ways[key] = None
                    self.passed_over.setdefault(run.name, passed_over(run.name, fault))
            return self._ways[key]

        site = site_of(candidate.machine)
        links = [m for m in self._links if m.site == site]
        # The way is compared before anything of it is estimated: of a machine's ways most were not measured.
        here = [m for m in self._runs if m.site == site and way(m) == _degrees(candidate.way)]
        if not here and not links:
            return None
        made = engine(candidate.plan)
        own = with_own(made, [*here, *links], self._efficiencies, engine)
        for remark in own.remarks:
            if remark.id == PASSED_OVER:
                self.passed_over.setdefault(str(remark.values["file"]), remark)
        return None if own.own is None else _Counted(dict(_factors(made, own)), own.metrics, own.own)


def _factors(made: Estimate, own: Estimate) -> Iterator[tuple[str, float]]:
    for name, figure in made.metrics.items():
        value = own.metrics[name].value
        if figure.value and value != figure.value:
            yield name, value / figure.value


def _corrected(computed: Computed, place: int, factors: Mapping[str, float]) -> Computed:
    """The same ways, with the numbers of one of them as they were measured."""
    job_s = computed.job_s
    if job_s is not None and "job_s" in factors:
        job_s = times(job_s, place, factors["job_s"])
    checks = [_checked(check, place, factors, computed.nodes.shape) for check in computed.checks]
    return replace(computed, results=computed.results.corrected(place, factors), job_s=job_s, checks=checks)


def _checked(check: Check, place: int, factors: Mapping[str, float], shape: tuple[int, ...]) -> Check:
    by_time = factors.get(OF_TIME.get(check.broken, ""))
    by_rate = factors.get(OF_RATE.get(check.broken, ""))
    if by_time is not None:
        return replace(check, value=times(np.broadcast_to(check.value, shape), place, by_time))
    if by_rate is not None:
        return replace(check, limit=times(np.broadcast_to(check.limit, shape), place, by_rate))
    return check


def _degrees(way: Way) -> tuple[object, ...]:
    """What tells one way of the same profile from another."""
    choices = way.choices or {}
    return replace(way, choices=None), *sorted((name, choice) for name, choice in choices.items() if name in WAY)
