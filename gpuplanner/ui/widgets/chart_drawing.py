"""Draws series into a plot of pyqtgraph: lines with bands, points, and at the places of labels bars and levels."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtGui import QColor

from gpuplanner.ui.tokens import Tokens
from gpuplanner.ui.widgets.chart_series import Series, SeriesKind, Style

_MOST_APART = 12
_BELOW, _ABOVE = -1.0, 1.0
"""Bands lie below bars, and levels over them."""
_GROUP = 0.72
"""Of a place of an axis with labels, what bars and levels take."""


class Drawing:
    """One drawing of a chart. `density`: device pixels of one pixel, which pens of pyqtgraph count."""

    def __init__(
        self,
        pg: Any,
        plot: Any,
        tokens: Tokens,
        density: float,
        series: Sequence[Series],
        *,
        by_label: bool,
        line_width: float = 1.0,
    ) -> None:
        """`by_label`: the axis across has labels, of which each is a place. `line_width`: by what lines are wider."""
        self._pg = pg
        self._plot = plot
        self._tokens = tokens
        self._density = density
        self._series = series
        self._by_label = by_label
        self._line_width = line_width

    def draw(self, series: Series, style: Style) -> None:
        """Draw one series."""
        if self._by_label and series.kind in {SeriesKind.EXPECTED, SeriesKind.CEILING}:
            self._levels(series, style)
            return
        if style.bar:
            self._bars(series, style)
            return
        tokens, pg = self._tokens, self._pg
        if series.low and series.high:
            edges = [pg.PlotDataItem(series.x, edge, pen=pg.mkPen(None)) for edge in (series.low, series.high)]
            for edge in edges:
                self._plot.addItem(edge)
            self._plot.addItem(pg.FillBetweenItem(*edges, brush=pg.mkBrush(_washed(style.colour))))
        self._plot.plot(
            list(series.x),
            list(series.y),
            pen=self._pen(style) if style.dash else None,
            symbol=style.symbol,
            symbolBrush=style.colour,
            symbolPen=pg.mkPen(tokens.text if series.emphasised else tokens.card, width=1.5 * self._density),
            symbolSize=13 if series.emphasised else 7,
            antialias=True,
        )

    def _pen(self, style: Style) -> Any:
        return self._pg.mkPen(style.colour, width=style.width * self._density * self._line_width, style=style.dash)

    def _levels(self, series: Series, style: Style) -> None:
        """What is expected at each place of an axis with labels: a level, with its range as a box."""
        pg = self._pg
        # Many places lie so near that their levels are one line.
        half = (_GROUP if len(series.x) <= _MOST_APART else 1.0) / 2
        if series.low and series.high:
            tall = [high - low for low, high in zip(series.low, series.high, strict=True)]
            box = {"x": list(series.x), "y0": list(series.low), "height": tall, "width": 2 * half}
            band = pg.BarGraphItem(**box, brush=pg.mkBrush(_washed(style.colour)), pen=pg.mkPen(None))
            band.setZValue(_BELOW)
            self._plot.addItem(band)
        across = [x + end for x in series.x for end in (-half, half)]
        levels = [y for y in series.y for _ in range(2)]
        self._pairs(across, levels, self._pen(style))

    def _pairs(self, x: Sequence[float], y: Sequence[float], pen: Any) -> None:
        """Lines from each odd point to the next one, over all else."""
        item = self._pg.PlotDataItem(x, y, connect="pairs", pen=pen, antialias=True)
        item.setZValue(_ABOVE)
        self._plot.addItem(item)

    def _bars(self, series: Series, style: Style) -> None:
        """A bar at each place; several such series share the place. A range is a line on the bar."""
        pg, tokens = self._pg, self._tokens
        others = [each for each in self._series if each.kind is SeriesKind.BARS]
        places, widths = [], []
        for x in series.x:
            beside = [each for each in others if x in each.x]
            widths.append(_GROUP * 0.8 / len(beside))
            places.append(x + (beside.index(series) - (len(beside) - 1) / 2) * widths[-1])
        wide = [0.86 * width for width in widths]
        brush = pg.mkBrush(style.colour)
        self._plot.addItem(
            pg.BarGraphItem(x=places, height=list(series.y), width=wide, brush=brush, pen=pg.mkPen(None))
        )
        if series.low and series.high:
            ends = [end for pair in zip(series.low, series.high, strict=True) for end in pair]
            twice = [place for place in places for _ in range(2)]
            self._pairs(twice, ends, pg.mkPen(tokens.text, width=1.5 * self._density))

    def ring(self, x: float, y: float) -> None:
        """A ring around the point that is read."""
        pen = self._pg.mkPen(self._tokens.primary, width=2 * self._density)
        self._plot.plot([x], [y], pen=None, symbol="o", symbolSize=15, symbolBrush=None, symbolPen=pen, antialias=True)


def _washed(colour: QColor) -> QColor:
    """The colour of a band in which a line of this colour lies."""
    washed = QColor(colour)
    washed.setAlphaF(0.18)
    return washed
