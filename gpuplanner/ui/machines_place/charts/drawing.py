"""A chart of rates in the terms of the chart widget: axes, series and their colours. Makes no widget."""

from collections.abc import Sequence

from gpuplanner.machines.rates.chart import Across, Line, RateChart, Role
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.widgets.chart_axes import Axis
from gpuplanner.ui.widgets.chart_series import Series, SeriesKind

_MOST_BARS = 18
"""Bars beyond which points are easier to read."""
_COLOURS = {Role.EXPECTED: (0, 3, 4), Role.MEASURED: (2, 1, 4, 3, 0), Role.PLANNED: (1, 3, 4, 0), Role.PEAK: (0,)}
"""Which of the theme's series colours the lines of a role have: never is what was measured in that of the expected."""
_ROOF = {Role.EXPECTED: (0,), Role.MEASURED: (2,), Role.PLANNED: (1, 3, 4), Role.PEAK: (0,)}
"""The same in a roofline, where dashes tell formats apart."""


def axes(chart: RateChart, appearance: Appearance) -> tuple[Axis, Axis]:
    """The two axes. What is drawn over what stands in the card's note."""
    rate = Axis(msg("rates.axis.rate"), chart.unit, untitled=True)
    if chart.across is Across.BYTES:
        return Axis(msg("rates.axis.size"), log=True, is_bytes=True, untitled=True), rate
    if chart.across is Across.NAMES:
        labels = tuple(appearance.said(label) for label in chart.labels)
        return Axis(msg("rates.axis.of"), labels=labels, untitled=True), rate
    roof = Axis(msg("rates.axis.rate"), chart.unit, log=True, untitled=True)
    return Axis(msg("rates.axis.intensity"), log=True, untitled=True), roof


def series(chart: RateChart, appearance: Appearance) -> list[Series]:
    """The lines as series, in their order."""
    bars = sum(len(line.points) for line in chart.lines if line.role is Role.MEASURED) <= _MOST_BARS
    roof = chart.across is Across.INTENSITY
    found: list[Series] = []
    of_role: dict[Role, int] = {}
    for line in chart.lines:
        place = of_role[line.role] = of_role.get(line.role, -1) + 1
        colours = (_ROOF if roof else _COLOURS)[line.role]
        low, high = _ends(line)
        found.append(
            Series(
                line.name,
                [point.x for point in line.points],
                [point.y for point in line.points],
                _kind(line, chart, bars=bars),
                low,
                high,
                [appearance.said(point.name) for point in line.points],
                emphasised=roof and line.role is Role.PLANNED,
                note=line.source,
                colour=colours[place % len(colours)],
                bare=roof,
            )
        )
    return found


def _kind(line: Line, chart: RateChart, *, bars: bool) -> SeriesKind:
    match line.role:
        case Role.EXPECTED:
            return SeriesKind.EXPECTED
        case Role.PEAK:
            return SeriesKind.CEILING
        case Role.PLANNED:
            # Two points at one height are a span in which an operator lies, and points of their own are operators.
            return SeriesKind.EXPECTED if line.is_span else SeriesKind.POINTS
        case Role.MEASURED if chart.across is Across.NAMES:
            return SeriesKind.BARS if bars else SeriesKind.POINTS
        case _:
            return SeriesKind.MEASURED


def _ends(line: Line) -> tuple[Sequence[float], Sequence[float]]:
    """The ends of the ranges; none where no point has one."""
    if all(point.low is None for point in line.points):
        return (), ()
    low = [point.y if point.low is None else point.low for point in line.points]
    high = [point.y if point.high is None else point.high for point in line.points]
    return low, high
