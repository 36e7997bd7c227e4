"""What a cause is, what it gets and what it gives. Looks for nothing itself."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from gpuplanner.acceptance.check import Judgement
from gpuplanner.acceptance.checking import Acceptance
from gpuplanner.acceptance.compatibility import Compatibility
from gpuplanner.acceptance.promised import NOTHING, Promised
from gpuplanner.acceptance.saying import text
from gpuplanner.acceptance.thresholds import Thresholds
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, MessageValue
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import Seen


class Certainty(IntEnum):
    """How sure a cause is by what was read; larger is surer."""

    POSSIBLE = 1
    """What is seen fits it, and other causes as well."""
    LIKELY = 2
    SHOWN = 3
    """A line says it."""


@dataclass(frozen=True, slots=True)
class CauseRule(Thresholds):
    """The data of a cause. `explains`: the checks that it can make fail; `judged`: those whose failure is the cause,
    each with the ids of the reasons that count (all where there is none). `thresholds` in the units of their names.
    `confirm`: what to run to see it again; `order`: what counts first among causes that explain as much.
    """

    id: str
    source: str
    confirm: str
    order: int = 0
    certainty: Certainty = Certainty.SHOWN
    explains: tuple[str, ...] = ()
    judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Looking:
    """What a cause gets."""

    evidence: Evidence
    rule: CauseRule
    acceptance: Acceptance | None = None
    promised: Promised = NOTHING
    compatibility: Compatibility = field(default_factory=Compatibility)

    def failed(self, check_id: str, *reasons: str) -> Judgement | None:
        """The judgement of a check that failed or warned; with `reasons` only where it is for one of them."""
        results = self.acceptance.results if self.acceptance else ()
        found = next((result.judgement for result in results if result.id == check_id), None)
        if found is None or found.verdict not in {Verdict.FAIL, Verdict.WARN}:
            return None
        return found if not reasons or set(reasons) & set(reason_ids(found.reason)) else None


@dataclass(frozen=True, slots=True)
class Signs:
    """What a cause found. `lines` show it and are never empty. `values` go into its sentence `diagnosis.<id>.cause`.

    `fix`, `ask`: in place of `diagnosis.<id>.fix`, and where there is something to ask the vendor for.
    """

    certainty: Certainty
    lines: tuple[Seen, ...]
    values: Mapping[str, MessageValue] = field(default_factory=dict)
    confirm: str = ""
    fix: Message | None = None
    ask: Message | None = None
    sentence: str = "cause"
    """The last part of its sentence's id where a cause has several."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause, by the id of its rule. `look` gives None where no line shows it."""

    id: str
    look: Callable[[Looking], Signs | None]


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that was found. `confirm`: a command that shows it there; `explains`: checks that failed by it."""

    id: str
    cause: Message
    certainty: Certainty
    lines: tuple[Seen, ...]
    confirm: str
    fix: Message
    ask: Message | None
    source: str
    explains: tuple[str, ...] = ()


def reason_ids(reason: Message) -> Iterator[str]:
    """The ids of a judgement's reason and of those that it puts together, as one of several GPUs does."""
    left = [reason]
    while left:
        message = left.pop()
        yield message.id
        left += [value for value in message.values.values() if isinstance(value, Message)]


def said(value: Message | None) -> Message:
    """A value of a judgement as it goes into a sentence, a dash where it has none."""
    return value if value is not None else text("–")
