"""A chart as data: lines of points, measured and expected, each with where it is from. Draws and judges nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from gpuplanner.messages import Message, MessageValue, msg, on_one_line, shortened

_MOST_ODD = 3
"""Things that are unlike the others and get a line of their own; more of them share one."""

_LARGEST_RATE, _LARGEST_X = 1e7, 2.0**60
"""In the units of charts, and in bytes: a thousand times what any part has."""
_LONGEST_NAME = 40
"""Characters of a name that a tool printed."""


class Across(StrEnum):
    """What stands across a chart. Where it is a name, `RateChart.labels` has one for each whole x."""

    BYTES = "bytes"
    NAMES = "names"
    INTENSITY = "intensity"
    """FLOP for each byte of the GPU's memory that is read or written."""


class Role(StrEnum):
    """What a line says: what was measured, what should be reached, what no part can exceed, what a plan does."""

    MEASURED = "measured"
    EXPECTED = "expected"
    PEAK = "peak"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True)
class Point:
    """A point, with the ends of its range where it has one. `name`: what it is a point of."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    name: MessageValue = ""


@dataclass(frozen=True, slots=True)
class Line:
    """Points of one kind. `source`: who measured it, or what says that it should be so."""

    name: MessageValue
    role: Role
    points: tuple[Point, ...]
    source: MessageValue = ""

    @property
    def is_span(self) -> bool:
        """Whether it says between which places at one height something of a plan lies, and no points of their own."""
        return self.role is Role.PLANNED and len(self.points) == 2 and self.points[0].y == self.points[1].y


@dataclass(frozen=True, slots=True)
class RateChart:
    """A chart. Rates in `unit`: "GB/s" and "TFLOP/s" in powers of ten, or "%". `note`: what is drawn over what.

    `labels`: of the places across, where `across` is names. `absent`: what of it is not there, and why.
    `check`: the check that judges it; empty where none does.
    """

    id: str
    title: Message
    note: Message
    across: Across
    unit: str
    lines: tuple[Line, ...]
    labels: tuple[MessageValue, ...] = ()
    absent: tuple[Message, ...] = ()
    check: str = ""

    @property
    def measured(self) -> bool:
        """Whether anything of it was measured."""
        return any(line.role is Role.MEASURED and line.points for line in self.lines)


@dataclass(frozen=True, slots=True)
class Rates:
    """All charts of a machine. `lacking`: names of what was not measured."""

    charts: tuple[RateChart, ...] = ()
    lacking: tuple[Message, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether anything was measured."""
        return any(chart.measured for chart in self.charts)


def drawable(chart: RateChart) -> RateChart:
    """The chart without points that no machine has: a file may say any number, and an axis could not be drawn."""

    def real(line: Line) -> Line:
        return replace(line, points=tuple(point for point in line.points if _is_real(point, chart.across)))

    lines = (real(line) for line in chart.lines)
    return replace(chart, lines=tuple(line for line in lines if line.points))


def _is_real(point: Point, across: Across) -> bool:
    # Sizes and intensities, and what stands over these, are drawn by their logarithm.
    if (across is not Across.NAMES and not point.x > 0) or (across is Across.INTENSITY and not point.y > 0):
        return False
    ends = (point.y, point.y if point.low is None else point.low, point.y if point.high is None else point.high)
    return 0 <= point.x <= _LARGEST_X and all(0 <= end <= _LARGEST_RATE for end in ends)


def is_possible(rate: float | None) -> bool:
    """Whether a rate is one that any machine could have, in the units of the charts."""
    return rate is not None and 0 < rate <= _LARGEST_RATE


def alike(curves: Mapping[str, Sequence[tuple[float, float]]], share: float) -> list[Line]:
    """Measured lines of several things, those together whose best value lies within `share` of the middle one.

    Of several things a line has the middle value at each x, with the least and the most. The large group comes first,
    then the odd ones by name, the least first; where these are many, the others of them share a line.
    """
    best = {name: max(y for _, y in points) for name, points in curves.items() if points}
    if not best:
        return []
    middle = median(best.values())
    usual = [name for name in curves if name in best and abs(best[name] - middle) <= share * middle]
    odd = sorted((name for name in best if name not in usual), key=best.__getitem__)
    apart = odd[:_MOST_ODD] if len(odd) > _MOST_ODD + 1 else odd
    lines = []
    if usual:
        called: MessageValue = usual[0] if len(usual) == 1 else msg("rates.several", count=len(usual))
        lines.append(_together(called, [curves[name] for name in usual]))
    lines += [_together(name, [curves[name]]) for name in apart]
    if len(odd) > len(apart):
        rest = odd[len(apart) :]
        lines.append(_together(msg("rates.others", count=len(rest)), [curves[name] for name in rest]))
    return lines


def _together(name: MessageValue, curves: Sequence[Sequence[tuple[float, float]]]) -> Line:
    at: dict[float, list[float]] = {}
    for curve in curves:
        for x, y in curve:
            at.setdefault(x, []).append(y)
    several = len(curves) > 1
    points = tuple(
        Point(x, median(values), min(values) if several else None, max(values) if several else None)
        for x, values in sorted(at.items())
    )
    return Line(name, Role.MEASURED, points)


def foreign(text: str) -> str:
    """A name that a tool printed, on one line and short."""
    return shortened(on_one_line(text), _LONGEST_NAME)


def listed(names: Sequence[MessageValue]) -> MessageValue:
    """Names in a row, with the comma of the language between them."""
    said = names[0]
    for name in names[1:]:
        said = msg("rates.list", first=said, second=name)
    return said
