"""The table twin of a chart of rates: a row a point. No widget."""

from typing import Any

from gpuplanner.machines.rates.chart import Across, Point, RateChart
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.table.columns import NOTHING, Column, Look
from gpuplanner.ui.table.source import PlainRow
from gpuplanner.ui.widgets.chart_axes import bytes_tick


def _words(value: Any, _appearance: Appearance) -> Look:
    return NOTHING if value in {None, ""} else Look(str(value))


def _number(value: Any, _appearance: Appearance) -> Look:
    return NOTHING if value is None else Look(f"{value:,.1f}")


def columns(chart: RateChart) -> tuple[Column, ...]:
    """What is said of a point: of which line it is, where it stands, its rate, its range, who says so."""

    def unit(_display: Any) -> str:
        return chart.unit

    across = msg("rates.axis.size") if chart.across is Across.BYTES else msg("rates.axis.of")
    if chart.across is Across.INTENSITY:
        across = msg("rates.axis.intensity")
    return (
        Column("across", across, _words, width=62, right=chart.across is not Across.NAMES, whole=True),
        Column("line", msg("rates.column.line"), _words, width=136),
        Column("rate", msg("rates.axis.rate"), _number, unit, right=True, width=64, whole=True),
        Column("range", msg("rates.column.range"), _words, right=True, width=96, yields=True),
        Column("source", msg("rates.column.source"), _words, width=160, yields=True),
    )


def rows(chart: RateChart, appearance: Appearance) -> list[PlainRow]:
    """A row a point, what stands at one place together."""
    found = [
        (point.x, at, (_across(chart, point.x, appearance, point.name), appearance.said(line.name), point.y,
                       _range(point), appearance.said(line.source)))
        for at, line in enumerate(chart.lines)
        for point in line.points
    ]  # fmt: skip
    found.sort(key=lambda each: each[:2])
    return [PlainRow(str(at), cells) for at, (_, _, cells) in enumerate(found)]


def _range(point: Point) -> str | None:
    if point.low is None or point.high is None or point.low == point.high:
        return None
    return f"{point.low:,.1f}–{point.high:,.1f}"


def _across(chart: RateChart, x: float, appearance: Appearance, name: Any) -> str:
    match chart.across:
        case Across.BYTES:
            return bytes_tick(x)
        case Across.NAMES:
            return appearance.said(chart.labels[round(x)])
        case _:
            said = appearance.said(name)
            return f"{x:,.1f} · {said}" if said else f"{x:,.1f}"
