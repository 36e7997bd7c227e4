"""What a person pinned to compare, kept in the settings and shared by all places. No Qt: asked anew each time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gpuplanner.ui.settings import Settings
from gpuplanner.workload.plan import MachineChoice, Plan

if TYPE_CHECKING:
    from gpuplanner.engine.estimate import Estimate
    from gpuplanner.engine.search.result import Candidate

MOST_PINS = 6
"""What fits beside each other on a screen."""
LEAST_PINS = 2
"""Less is no comparison."""
_KEY = "compare.pins"
_LONGEST = 400
_TEXTS = ("title", "plan", "gpu_id", "instance_id", "fit", "kind", "topology", "own")


class PinKind(StrEnum):
    """What can be pinned: an entry of the catalog, or a machine of a plan's ranking."""

    GPU = "gpu"
    INSTANCE = "instance"
    MODEL = "model"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True)
class PinnedCandidate:
    """A machine of a plan's ranking, with the numbers that the search gave it when it was pinned.

    `title` and `plan` are names; `metrics` are values by the ids of `Estimate.metrics`, `ranges` the low and high ends
    of those that are not exact; `fit` is that of the verdict. `kind` is that of the workload, empty where it was pinned
    by an earlier version. `topology` and `link_bytes_per_s` say how the GPUs of a node reach each other in
    the estimate. `own`: the file of the person's own measurement that the numbers come from.
    """

    title: str
    plan: str
    gpu_id: str
    gpus: int
    nodes: int = 1
    instance_id: str = ""
    fit: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    kind: str = ""
    topology: str = ""
    link_bytes_per_s: float | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    own: str = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """One thing to compare. `id` is that of the catalog; that of a candidate names its plan and its machine."""

    kind: PinKind
    id: str
    candidate: PinnedCandidate | None = None

    @property
    def key(self) -> tuple[PinKind, str]:
        """What tells it from other pins."""
        return self.kind, self.id


class Pins:
    """The pins of one person, in the order of the comparison. Cheap to make; several may look at the same settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def all(self) -> tuple[Pin, ...]:
        """The pins, from left to right. What cannot be read any more is passed over."""
        kept = self._settings.kept(_KEY, [])
        found: dict[tuple[PinKind, str], Pin] = {}
        for item in kept if isinstance(kept, list) else []:
            pin = _read(item)
            if pin is not None:
                found.setdefault(pin.key, pin)
        return tuple(found.values())[:MOST_PINS]

    def has(self, kind: PinKind, pin_id: str) -> bool:
        """Whether something is pinned."""
        return any(pin.key == (kind, pin_id) for pin in self.all())

    def add(self, pin: Pin) -> bool:
        """Pin something; its numbers are replaced if it is pinned already. Tells whether there was room for it."""
        pins = self.all()
        if any(other.key == pin.key for other in pins):
            self._keep([pin if other.key == pin.key else other for other in pins])
            return True
        if len(pins) >= MOST_PINS:
            return False
        self._keep([*pins, pin])
        return True

    def remove(self, pin: Pin) -> None:
        """Take a pin away."""
        self._keep([other for other in self.all() if other.key != pin.key])

    def toggle(self, pin: Pin) -> bool:
        """Pin something, or take it away when it is pinned. Tells false when there was no room for it."""
        if self.has(pin.kind, pin.id):
            self.remove(pin)
            return True
        return self.add(pin)

    def move(self, pin: Pin, by: int) -> None:
        """Move a pin to the right, or to the left with a negative number."""
        pins = list(self.all())
        at = next((i for i, other in enumerate(pins) if other.key == pin.key), None)
        if at is None:
            return
        pins.insert(max(0, min(len(pins) - 1, at + by)), pins.pop(at))
        self._keep(pins)

    def replace(self, pins: Sequence[Pin]) -> None:
        """Have these pins instead: to undo."""
        self._keep(pins)

    def clear(self) -> None:
        """Take all pins away."""
        self._keep([])

    def _keep(self, pins: Sequence[Pin]) -> None:
        self._settings.keep(_KEY, [_written(pin) for pin in pins])


def candidate_id(choice: MachineChoice, plan: Plan) -> str:
    """The id of the pin of a machine under a plan. The same machine under two plans is two pins."""
    offer = choice.instance_id or f"{choice.gpu_id}/{choice.gpus}/{choice.per_node}"
    return f"{plan.name}/{offer}/{choice.nodes}"[:_LONGEST]


def candidate_pin(candidate: "Candidate", plan: Plan, estimate: "Estimate | None" = None) -> Pin:
    """The pin of a machine of a plan's ranking, with its numbers as they are now.

    `estimate` is that of the candidate in full: the search gives no ranges.
    """
    # Who has a candidate has read the engine; who only looks at pins need not.
    from gpuplanner.engine.machines import choice_of

    machine = candidate.machine
    choice = choice_of(machine)
    pinned = PinnedCandidate(
        title=f"{machine.gpus} × {machine.gpu.name}",
        plan=plan.name,
        gpu_id=machine.gpu.id,
        gpus=machine.gpus,
        nodes=machine.nodes,
        instance_id=choice.instance_id or "",
        fit=_verdict(candidate, estimate),
        metrics=dict(candidate.metrics),
        kind=plan.workload.kind,
        topology=machine.topology.value,
        link_bytes_per_s=machine.link_bytes_per_s,
        ranges=_ranges(candidate, estimate) if estimate is not None else dict(candidate.ranges),
        own=candidate.own.fact.source.citation if candidate.own is not None and candidate.own.fact is not None else "",
    )
    return Pin(PinKind.CANDIDATE, candidate_id(choice, plan), pinned)


def _verdict(candidate: "Candidate", estimate: "Estimate | None") -> str:
    """The verdict in words of `fit.`: with the goals, as the plan says it, and not of the memory alone."""
    if estimate is not None:
        return estimate.outcome.name.lower()
    return "may_miss" if candidate.may_miss else candidate.fit.name.lower()


def _ranges(candidate: "Candidate", estimate: "Estimate") -> dict[str, tuple[float, float]]:
    """How far the numbers may be off: the factors are those of the estimate, whatever of it the search rounded."""
    found = {}
    for name, value in candidate.metrics.items():
        figure = estimate.metrics.get(name)
        if figure is not None and figure.value and figure.low < figure.high:
            found[name] = (value * figure.low / figure.value, value * figure.high / figure.value)
    return found


def _written(pin: Pin) -> dict[str, Any]:
    written: dict[str, Any] = {"kind": pin.kind.value, "id": pin.id}
    if pin.candidate is not None:
        written["candidate"] = {
            **asdict(pin.candidate),
            "metrics": dict(pin.candidate.metrics),
            "ranges": {name: list(ends) for name, ends in pin.candidate.ranges.items()},
        }
    return written


def _read(item: Any) -> Pin | None:
    if not isinstance(item, dict) or item.get("kind") not in list(PinKind):
        return None
    kind, pin_id = PinKind(item["kind"]), item.get("id")
    if not isinstance(pin_id, str) or not 0 < len(pin_id) <= _LONGEST:
        return None
    if kind is not PinKind.CANDIDATE:
        return Pin(kind, pin_id)
    candidate = _read_candidate(item.get("candidate"))
    return Pin(kind, pin_id, candidate) if candidate is not None else None


def _read_candidate(item: Any) -> PinnedCandidate | None:
    if not isinstance(item, dict):
        return None
    texts = {name: item.get(name, "") for name in _TEXTS}
    counts = {name: item.get(name, 1) for name in ("gpus", "nodes")}
    metrics = item.get("metrics")
    numbers = all(isinstance(count, int) and count > 0 for count in counts.values())
    if not all(isinstance(text, str) for text in texts.values()) or not numbers or not isinstance(metrics, dict):
        return None
    known = {k: float(v) for k, v in metrics.items() if _is_number(v)}
    link = item.get("link_bytes_per_s")
    return PinnedCandidate(
        **texts,
        **counts,
        metrics=known,
        link_bytes_per_s=float(link) if link is not None and _is_number(link) else None,
        ranges=_read_ranges(item.get("ranges")),
    )


def _read_ranges(item: Any) -> dict[str, tuple[float, float]]:
    """Ranges that can be read; what is no range is passed over."""
    pairs = item.items() if isinstance(item, dict) else ()
    ends = {k: v for k, v in pairs if isinstance(v, list) and len(v) == 2 and all(map(_is_number, v))}
    return {k: (float(low), float(high)) for k, (low, high) in ends.items() if low < high}


def _is_number(value: Any) -> bool:
    return type(value) in {int, float} and math.isfinite(value)
