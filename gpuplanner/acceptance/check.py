"""What a check is: a pure function from what a machine says and what was promised to a judgement."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from gpuplanner.acceptance.compatibility import Compatibility
from gpuplanner.acceptance.promised import Promised
from gpuplanner.acceptance.thresholds import Thresholds
from gpuplanner.acceptance.verdicts import Verdict, worst
from gpuplanner.messages import Message
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import Lacking, Record, Seen

MOST_LINES = 12
"""Lines of evidence kept with a judgement: eight GPUs and what stands beside them."""


@dataclass(frozen=True, slots=True)
class CheckRule(Thresholds):
    """The data of a check: where its thresholds come from and what they are. `root`: who can run what it needs.

    `tier`: "A", "B", "C" or two of them; `thresholds` by name, in the units that their names say; `codes`: numbers that
    a tool prints, by what they mean.
    """

    id: str
    version: int
    tier: str
    source: str
    root: str = "no"
    tool: str = ""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    codes: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a check gets. `root`: whether the commands ran as root, None where nobody knows.

    `today`: the day on which the machine was asked, for licences; None of a text that was saved nobody knows when.
    """

    evidence: Evidence
    promised: Promised
    rule: CheckRule
    root: bool | None = None
    today: date | None = None
    compatibility: Compatibility = field(default_factory=Compatibility)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a check found. `expected` and `measured` as a person reads them; `reason` says why it is so.

    `do`: what to do about it; `ask`: what to ask the vendor; `lines`: what it was read from.
    """

    verdict: Verdict
    reason: Message
    expected: Message | None = None
    measured: Message | None = None
    do: Message | None = None
    ask: Message | None = None
    lines: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `judge` gives None where the machine has nothing that it could be about (no NVLink, no AMD GPU)."""

    id: str
    judge: Callable[[Asked], Judgement | None]


def lines_of(records: Iterable[Record], *fields: str) -> tuple[Seen, ...]:
    """The lines that fields of some records stand in, or where their absence is told; each once."""
    found: dict[tuple[str, int], Seen] = {}
    for record in records:
        for name in fields:
            seen = record.seen.get(name) or (record.absent[name].seen if name in record.absent else None)
            if seen is not None:
                found.setdefault((seen.source, seen.line), seen)
    return tuple(found.values())[:MOST_LINES]


def lacking(records: Iterable[Record], field_name: str) -> Lacking | None:
    """Why a field has no value in any of the records that lack it, where a tool said why."""
    return next((record.absent[field_name].reason for record in records if field_name in record.absent), None)


def together(judgements: Iterable[Judgement]) -> Judgement | None:
    """One judgement of several things (each GPU, each disk): the worst one's words, and its verdict."""
    given = list(judgements)
    if not given:
        return None
    verdict = worst(judgement.verdict for judgement in given)
    return next(judgement for judgement in given if judgement.verdict is verdict)
