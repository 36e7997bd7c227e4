"""A person's own measurement of the links inside a node: what it makes of an estimate on that machine. Pure.

What GPUs exchange takes as much longer or shorter as the measured all-reduce does beside the engine's of the same
message; the parts of a step that the links limit change by it, and the step by what they change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Estimate, Limit, Part
from gpuplanner.engine.formulas.collectives import all_reduce_seconds
from gpuplanner.engine.formulas.own_measurements import FOR_UNIT
from gpuplanner.engine.links import Collective, reach
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.own_ranges import narrowed
from gpuplanner.engine.ranges import bounded
from gpuplanner.engine.training_ranges import spread_of
from gpuplanner.facts import Fact, MissingFactError, Source
from gpuplanner.figures import Certainty, Figure, Origin
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Display, Unit, digits, show_bytes

OF_LINKS = msg("own.origin_links")
"""What is said of the origin of a factor that measured links give."""
PASSED_OVER = "own.passed_over"
"""What the message is called that a measurement does not count."""
COLLECTIVES = "collectives"
"""The family whose range says how far off the engine is with links."""
FETCHED = "fetch"
"""The part of a step in which weights come from the host."""
FURTHEST = 20.0
"""Links of a machine with a fault may be slower by so much; beyond it the table is of another machine."""
WITH_STEP: Mapping[str, Mapping[str, int]] = {
    "serving": {"tpot_s": 1, "output_tokens_per_s": -1, "request_per_s": -1},
    "training": {
        "step_s": 1, "job_s": 1, "tokens_per_s": -1, "tokens_per_s_per_gpu": -1, "mfu": -1, "hfu": -1,
    },
}  # fmt: skip
"""By kind, the metrics that follow the time of a step, with it or against it."""


@dataclass(frozen=True, slots=True)
class OwnLink:
    """A measured all-reduce over `ranks` GPUs of one node. `site`: the machine as `own_measurements.site_of` has it.

    `used`: the person has not switched it off.
    """

    id: str
    name: str
    date: str
    site: str
    bus_bytes_per_s: float
    message_bytes: float
    ranks: float
    used: bool = True

    def factor(self, machine: Machine, efficiencies: Efficiencies) -> float:
        """The measured time over the engine's.

        Raises InputError where the machine has no links, no GPU of it could hold the message, or it is too far.
        """
        if self.ranks < 2 or machine.nodes != 1 or machine.link_bytes_per_s is None:
            raise InputError(msg("own.link.one_node", file=self.name))
        memory = machine.gpu.known(GpuProperty.MEMORY_BYTES)
        if memory is not None and self.message_bytes > memory.value * float(machine.gpu_fraction):
            held = str(show_bytes(memory.value * float(machine.gpu_fraction), Display()))
            raise InputError(msg("own.link.message_too_large", file=self.name, memory=held))
        found = reach(efficiencies, machine.gpu, Collective.ALL_REDUCE, machine.topology)
        link, share, latency = machine.link_bytes_per_s, found.share(self.ranks), found.latency(self.ranks)
        engine_s = float(all_reduce_seconds(self.message_bytes, self.ranks, link, share, latency))
        measured_s = 2.0 * (self.ranks - 1) / self.ranks * self.message_bytes / self.bus_bytes_per_s
        factor = measured_s / engine_s if engine_s > 0 else float("inf")
        if not 1 / FURTHEST <= factor <= FURTHEST:
            raise InputError(
                msg("own.link.too_far", file=self.name, factor=digits(factor, 2) if isfinite(factor) else "∞")
            )
        return factor


def with_own_links(made: Estimate, own: Sequence[OwnLink], site: str, efficiencies: Efficiencies) -> Estimate:
    """The estimate with the links as the latest measurement on this machine has them; unchanged where none is.

    One that is too far from the engine now is passed over, and a remark says so.
    """
    here = [link for link in own if link.site == site and link.ranks == made.machine.gpus_per_node]
    total = sum(part.figure.value for part in made.time)
    linked = sum(part.figure.value for part in made.time if is_between_gpus(part))
    follows = WITH_STEP.get(made.plan.workload.kind)
    if not here or follows is None or not linked or not total:
        return made
    for link in sorted(here, key=lambda each: (each.date, each.id), reverse=True):
        try:
            factor = link.factor(made.machine, efficiencies)
        except (InputError, MissingFactError) as fault:
            made = replace(made, remarks=(*made.remarks, passed_over(link.name, fault)))
            continue
        changed = _with_link(made, link, factor, linked / total, follows)
        found = reach(efficiencies, made.machine.gpu, Collective.ALL_REDUCE, made.machine.topology)
        spread = spread_of(efficiencies, COLLECTIVES, found.rung)
        share = sum(p.figure.value for p in changed.time if is_between_gpus(p)) / sum(
            p.figure.value for p in changed.time
        )
        # The range of collectives is that of a rate: its ends change places for a time.
        settled = [(share, 1.0 / spread.high, 1.0 / spread.low)]
        return narrowed(changed, settled, follows, msg("own.link.why", file=link.name), efficiencies)
    return made


def is_between_gpus(part: Part) -> bool:
    """Whether links between GPUs limit a part of a step: not the one to the host, over which weights are fetched."""
    return part.limit is Limit.LINK and part.id != FETCHED


def passed_over(name: str, fault: InputError | MissingFactError) -> Message:
    """That the measurement of this name does not count, and why. `fault`: what its check raised."""
    if isinstance(fault, InputError) and fault.message.id.startswith("own."):
        return msg(PASSED_OVER, file=name, why=fault.message)
    return msg(PASSED_OVER, file=name, why=msg("own.run_unknown", file=name))


def _with_link(made: Estimate, link: OwnLink, factor: float, share: float, follows: Mapping[str, int]) -> Estimate:
    """`share`: of the time of a step, what the links limit."""
    step = 1.0 + (factor - 1.0) * share
    changed = {name: _times(made.metrics[name], step**power) for name, power in follows.items() if name in made.metrics}
    parts = tuple(
        replace(part, figure=_times(part.figure, factor)) if is_between_gpus(part) else part for part in made.time
    )
    said = msg("own.link.applied", file=link.name, factor=f"{factor:.2f}")
    return replace(
        made, metrics={**made.metrics, **changed}, time=parts, remarks=(*made.remarks, said), own=_origin(link)
    )


def _times(figure: Figure, factor: float) -> Figure:
    """A figure that its links make larger or smaller; its range stays as wide."""
    if figure.unit not in FOR_UNIT:
        return figure
    value = float(FOR_UNIT[figure.unit](figure.value, factor))
    changed = replace(figure, value=value, low=figure.low * factor, high=figure.high * factor, derivation=None)
    return bounded(changed, 1.0) if figure.unit is Unit.RATIO else changed


def _origin(link: OwnLink) -> Origin:
    source = Source("own", link.name, link.date, user=True)
    return Origin(Certainty.USER, Fact(1.0, Unit.RATIO, source), OF_LINKS)
