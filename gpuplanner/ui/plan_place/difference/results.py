"""What two plans come to, side by side, with the change in words. Pure: estimates go in, rows come out."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import Message, msg
from gpuplanner.ui.plan_place.results.figure_ids import NEEDED
from gpuplanner.units import Unit, percent

FREE = "memory.free"
_SAME = 0.0005
"""Below it two values are the same: a change of 0.1 per cent rounds to none."""
_TIMES = 10
"""From so many times on a factor is said instead of per cent."""


class Kind(Enum):
    """How a change of a value is said."""

    AMOUNT = ("less", "more")
    DURATION = ("shorter", "longer")
    SPEED = ("slower", "faster")
    MONEY = ("cheaper", "dearer")


_METRICS = (
    ("tpot_s", Kind.DURATION),
    ("ttft_s", Kind.DURATION),
    ("output_tokens_per_s", Kind.SPEED),
    ("step_s", Kind.DURATION),
    ("tokens_per_s", Kind.SPEED),
    ("job_s", Kind.DURATION),
    ("max_concurrency", Kind.AMOUNT),
    ("usd_per_hour", Kind.MONEY),
    ("usd_per_month", Kind.MONEY),
    ("usd_per_mtoken", Kind.MONEY),
    ("job_usd", Kind.MONEY),
    ("power_w", Kind.AMOUNT),
)


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A number that both estimates may have, by the id of its figure; None where one has it not."""

    id: str
    unit: Unit
    first: float | None
    second: float | None
    kind: Kind

    @property
    def change(self) -> Message | None:
        """How the second differs from the first; None where one of them is missing."""
        return change_between(self.first, self.second, self.kind)


def result_rows(first: Estimate | None, second: Estimate | None) -> list[ResultRow]:
    """Memory, speed and cost, each that one of the two has."""
    return list(_rows(first, second))


def change_between(first: float | None, second: float | None, kind: Kind) -> Message | None:
    """`12 % cheaper`: the second against the first. None where there is nothing to divide by."""
    if first is None or second is None or first == 0 or first * second < 0:
        return None
    ratio = second / first
    if abs(ratio - 1) < _SAME:
        return msg("planui.change.same")
    word = kind.value[ratio > 1]
    if ratio >= _TIMES:
        return msg(f"planui.change.{word}.times", factor=f"{ratio:,.0f}")
    share = abs(ratio - 1)
    return msg(f"planui.change.{word}", share=percent(share, 1 if share < 0.1 else 0))


def _rows(first: Estimate | None, second: Estimate | None) -> Iterator[ResultRow]:
    both = (first, second)
    yield ResultRow(NEEDED, Unit.BYTE, _needed(first), _needed(second), Kind.AMOUNT)
    yield ResultRow(FREE, Unit.BYTE, _free(first), _free(second), Kind.AMOUNT)
    for name, kind in _METRICS:
        figures = [made.metrics.get(name) if made is not None else None for made in both]
        known = next((figure for figure in figures if figure is not None), None)
        if known is not None:
            mine, other = (figure.value if figure is not None else None for figure in figures)
            yield ResultRow(f"metric.{name}", known.unit, mine, other, kind)


def _needed(made: Estimate | None) -> float | None:
    return made.memory.needed.value if made is not None else None


def _free(made: Estimate | None) -> float | None:
    return made.memory.usable.value - made.memory.needed.value if made is not None else None
