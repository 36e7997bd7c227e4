"""Charts in the theme's colours, drawn by pyqtgraph, which is imported when the first chart is made.

Expected is dashed with a band, measured is solid with points; series differ in dash and symbol too, not in colour
alone. Every chart has a table twin, which its context menu copies.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font

SYMBOLS = ("o", "s", "t", "d", "star")
DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DashDotDotLine,
)


class SeriesKind(Enum):
    """How a series is drawn."""

    EXPECTED = "expected"
    MEASURED = "measured"
    POINTS = "points"


@dataclass(frozen=True, slots=True)
class Series:
    """One series in the units of the axes. `low` and `high` make a band; `names` say what each point is."""

    name: MessageValue
    x: Sequence[float]
    y: Sequence[float]
    kind: SeriesKind = SeriesKind.MEASURED
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    names: Sequence[str] = ()
    emphasised: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it says, its unit, whether it is logarithmic, and whether it counts bytes."""

    title: MessageValue
    unit: str = ""
    log: bool = False
    is_bytes: bool = False


def bytes_tick(value: float) -> str:
    """A size of a message as benchmarks print it: 64K, 1M, 16M, 4G, in powers of 1024."""
    if value <= 0:
        return "0"
    step = min(4, max(0, int(math.log2(value) // 10)))
    number = value / 1024.0**step
    return f"{number:.0f}{'BKMGT'[step] if step else ' B'}" if number >= 1 else f"{value:.3g}"


def number_tick(value: float) -> str:
    """A number of an axis in words that need no exponent: 0.05, 1, 250, 10k, 2M."""
    magnitude = abs(value)
    for factor, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "")):
        if suffix and magnitude >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value / 1e3:g}k" if magnitude >= 1e4 else f"{value:.4g}"


class Chart(QWidget):
    """A plot of a few series with a legend. `point_at` names the point under the mouse."""

    def __init__(
        self,
        appearance: Appearance,
        name: Message,
        x_axis: Axis,
        y_axis: Axis,
        *,
        from_zero: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        import pyqtgraph

        self._pg: Any = pyqtgraph
        self._appearance = appearance
        self._name = name
        self._axes = (x_axis, y_axis)
        self._from_zero = from_zero
        self._series: tuple[Series, ...] = ()
        self._plot: Any = pyqtgraph.PlotWidget(
            axisItems={"bottom": _tick_axis(pyqtgraph, "bottom", x_axis), "left": _tick_axis(pyqtgraph, "left", y_axis)}
        )
        self._plot.setLogMode(x=x_axis.log, y=y_axis.log)
        self._plot.setMenuEnabled(False)
        self._plot.hideButtons()
        self._plot.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        self._legend: Any = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        self.setMinimumHeight(180)
        for signal in (appearance.themeChanged, appearance.languageChanged):
            signal.connect(self._draw)
        self._draw()

    def set_series(self, series: Sequence[Series]) -> None:
        """Show other series."""
        self._series = tuple(series)
        self._draw()

    def table(self) -> list[tuple[str, str, float, float]]:
        """The table twin: series, name of the point, x, y."""
        return [
            (self._appearance.said(s.name), s.names[at] if at < len(s.names) else "", x, y)
            for s in self._series
            for at, (x, y) in enumerate(zip(s.x, s.y, strict=True))
        ]

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self._appearance.text(msg("ui.chart.copy")), self._copy)
        menu.popup(event.globalPos())

    def _copy(self) -> None:
        x_axis, y_axis = (f"{self._appearance.said(a.title)} {a.unit}".strip() for a in self._axes)
        lines = [f"\t\t{x_axis}\t{y_axis}", *(f"{s}\t{n}\t{x:.10g}\t{y:.10g}" for s, n, x, y in self.table())]
        QGuiApplication.clipboard().setText("\n".join(lines) + "\n")

    # --- Drawing ------------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        tokens = self._appearance.tokens
        self._plot.clear()
        self._plot.setBackground(tokens.card)
        item = self._plot.getPlotItem()
        if self._legend is not None:
            self._legend.scene().removeItem(self._legend)
            item.legend = None
        self._legend = item.addLegend(
            offset=(12, 8), labelTextColor=QColor(tokens.text), labelTextSize="9pt", brush=None, pen=None
        )
        for side, axis in (("bottom", self._axes[0]), ("left", self._axes[1])):
            self._draw_axis(item.getAxis(side), axis)
        item.showGrid(x=False, y=True, alpha=0.12)
        for position, series in enumerate(self._series):
            self._draw_series(series, position)
        if self._from_zero and not self._axes[1].log and self._series:
            top = max((max((*s.y, *s.high), default=0.0) for s in self._series), default=0.0)
            self._plot.setYRange(0, top * 1.08 or 1.0, padding=0)
        self.setAccessibleName(self._appearance.text(self._name))
        rows = self.table()
        self.setAccessibleDescription("; ".join(f"{s} {n} {x:g}, {y:g}" for s, n, x, y in rows[:40]))

    def _draw_axis(self, item: Any, axis: Axis) -> None:
        tokens = self._appearance.tokens
        said = self._appearance.said(axis.title)
        face = font(TextRole.LABEL)
        item.setTickFont(face)
        item.setPen(self._pg.mkPen(tokens.line_strong))
        item.setTextPen(self._pg.mkPen(tokens.muted))
        item.setStyle(tickLength=-4)
        item.enableAutoSIPrefix(enable=False)
        item.setLabel(f"{said} {axis.unit}".strip(), **{"color": tokens.muted, "font-size": "9pt"})

    def _draw_series(self, series: Series, position: int) -> None:
        tokens, pg = self._appearance.tokens, self._pg
        colour = QColor(tokens.series[position % len(tokens.series)])
        if series.low and series.high:
            washed = QColor(colour)
            washed.setAlphaF(0.18)
            edge = pg.mkPen(None)
            low, high = (pg.PlotDataItem(series.x, edges, pen=edge) for edges in (series.low, series.high))
            for line in (low, high):
                self._plot.addItem(line)
            self._plot.addItem(pg.FillBetweenItem(low, high, brush=pg.mkBrush(washed)))
        symbol = SYMBOLS[position % len(SYMBOLS)]
        size = 13 if series.emphasised else 7
        border = pg.mkPen(tokens.text if series.emphasised else tokens.card, width=1.5)
        dash = DASHES[position % len(DASHES)]
        styles: dict[SeriesKind, dict[str, Any]] = {
            SeriesKind.EXPECTED: {"pen": pg.mkPen(colour, width=2, style=Qt.PenStyle.DashLine), "symbol": None},
            SeriesKind.MEASURED: {"pen": pg.mkPen(colour, width=2, style=dash), "symbol": symbol},
            SeriesKind.POINTS: {"pen": None, "symbol": symbol},
        }
        self._plot.plot(
            list(series.x),
            list(series.y),
            name=self._appearance.said(series.name),
            symbolBrush=colour,
            symbolPen=border,
            symbolSize=size,
            antialias=True,
            **styles[series.kind],
        )


def _tick_axis(pg: Any, side: str, axis: Axis) -> Any:
    """An axis whose ticks say what people say: never "(x1e+09)", and sizes in powers of two."""
    words = bytes_tick if axis.is_bytes else number_tick

    class TickAxis(pg.AxisItem):  # type: ignore[misc]
        def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
            return [words(value * scale) for value in values]

        def logTickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
            return [words(10.0**value * scale) for value in values]

        def logTickValues(self, low: float, high: float, size: float, levels: Any) -> list[tuple[float, list[float]]]:
            if not axis.is_bytes:
                return list(super().logTickValues(low, high, size, levels))
            first, last = math.ceil(low / math.log10(2)), math.floor(high / math.log10(2))
            step = next(s for s in (1, 2, 4, 5, 10, 20) if (last - first) / s <= max(2, size / 60) or s == 20)
            powers = range(first + (-first) % step, last + 1, step)
            return [(step * math.log10(2), [power * math.log10(2) for power in powers])]

    return TickAxis(side)
