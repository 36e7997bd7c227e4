"""Charts in the theme's colours, drawn by pyqtgraph, which is imported when the first chart is made.

Expected is dashed with a band, measured is solid with points; series differ in dash and symbol too, not in colour
alone. Every chart has a table twin, which its context menu copies; the menu saves it too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetricsF, QGuiApplication, QHelpEvent, QPaintEvent, QPen
from PySide6.QtWidgets import QFileDialog, QMenu, QToolTip, QVBoxLayout, QWidget

from gpuplanner.messages import InputError, Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for
from gpuplanner.ui.tokens import Tokens
from gpuplanner.ui.widgets import chart_export
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.label import Label

_TICK_DIGITS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 4, 6, 8), (1, 2, 5), (1,))
_APART = {"bottom": 44.0, "left": 18.0}
"""Pixels from tick to tick, so that their words do not touch."""
SYMBOLS = ("o", "s", "t", "d", "star")
DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DashDotDotLine,
)

_NEAR = 12.0
"""From how many pixels away a point is meant."""


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
    number = round(value / 1024.0**step)
    if number == 1024 and step < 4:
        number, step = 1, step + 1
    return f"{number}{'BKMGT'[step] if step else ' B'}"


def number_tick(value: float) -> str:
    """A number of an axis in words that need no exponent: 0.05, 1, 2,500, 10k, 2M."""
    magnitude = abs(value)
    for factor, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "")):
        if suffix and magnitude >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value / 1e3:g}k" if magnitude >= 1e4 else f"{value:,.4g}"


def log_ticks(low: float, high: float, size: float, apart: float) -> list[float]:
    """Where the ticks of a logarithmic axis stand, from 10**low to 10**high over `size` pixels, as powers of ten.

    As many as stand `apart` pixels from each other: all digits, fewer of them, or the powers of ten alone.
    """
    per_decade = size / max(high - low, 1e-9)
    for digits in _TICK_DIGITS:
        places = [math.log10(digit) for digit in digits]
        closest = min(after - before for before, after in pairwise((*places, 1.0)))
        if closest * per_decade >= apart or len(digits) == 1:
            decades = range(math.floor(low), math.ceil(high) + 1)
            return [p for decade in decades for place in places if low <= (p := decade + place) <= high]
    return []


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
        for part in (self._plot, self._plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._plot.viewport().installEventFilter(self)
        # A background kept as a picture would be one in a drawing too.
        self._plot.setCacheMode(self._plot.CacheModeFlag.CacheNone)
        self._plot.setMenuEnabled(False)
        self._plot.hideButtons()
        self._plot.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        self._legend = QWidget()
        self._keys: list[_Key] = []
        self._flow = FlowLayout(self._legend, across=16, down=2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._plot, 1)
        layout.addWidget(self._legend)
        self.said = Label(appearance, "", TextRole.LABEL)
        self.said.hide()
        layout.addWidget(self.said)
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

    def point_at(self, place: QPointF) -> str:
        """What the point nearest to a place of the plot is, empty when none is near: its name and its values."""
        view = self._plot.getPlotItem().getViewBox()
        nearest, found = _NEAR, ""
        for _series, name, x, y in self.table():
            if (self._axes[0].log and x <= 0) or (self._axes[1].log and y <= 0):
                continue
            drawn = QPointF(*(math.log10(v) if a.log else v for v, a in zip((x, y), self._axes, strict=True)))
            at = self._plot.mapFromScene(view.mapViewToScene(drawn))
            away = math.hypot(at.x() - place.x(), at.y() - place.y())
            if away < nearest:
                values = (f"{number_tick(v)} {a.unit}".strip() for v, a in zip((x, y), self._axes, strict=True))
                nearest, found = away, "\n".join(part for part in (name, " · ".join(values)) if part)
        return found

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.point_at(QPointF(event.pos())), self)
            return True
        return super().eventFilter(watched, event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self._appearance.text(msg("ui.chart.copy")), self._copy)
        menu.addSeparator()
        for suffix in chart_export.FILTERS:
            kind = suffix[1:].upper()
            menu.addAction(self._appearance.text(msg("ui.chart.save", kind=kind)), lambda s=suffix: self._ask_where(s))
        menu.popup(event.globalPos())

    def csv(self) -> str:
        """The table twin with bands, units in its head, for spreadsheets."""
        text = self._appearance.text
        words = [text(msg(f"ui.chart.{word}")) for word in ("series", "point", "low", "high")]
        titles = []
        for axis in self._axes:
            unit = axis.unit or ("B" if axis.is_bytes else "")
            titles.append(
                f"{self._appearance.said(axis.title)} ({unit})" if unit else self._appearance.said(axis.title)
            )
        unit = f" ({self._axes[1].unit})" if self._axes[1].unit else ""
        head = [*words[:2], *titles, words[2] + unit, words[3] + unit]
        bands = [
            (s.low[at] if s.low else None, s.high[at] if s.high else None)
            for s in self._series
            for at in range(len(s.x))
        ]
        return chart_export.as_text(head, ((*row, *band) for row, band in zip(self.table(), bands, strict=True)))

    def export(self, path: Path) -> None:
        """Write the chart as what the name ends with: .csv, .svg, else a PNG. Says below the chart how it went."""
        self.said.hide()
        layout = self.layout()
        if layout is not None:
            layout.activate()
        paper, suffix = QColor(self._appearance.tokens.card), path.suffix.lower()
        if suffix == ".csv":
            content = self.csv().encode("utf-8-sig")  # the mark lets spreadsheets read Chinese right
        elif suffix == ".svg":
            self._symbols_as_paths(wanted=True)
            content = chart_export.drawing(self, self._appearance.text(self._name), paper)
            self._symbols_as_paths(wanted=False)
        else:
            content = chart_export.picture(self, paper)
        try:
            chart_export.write(path, content)
        except InputError as error:
            self.said.say(error.message)
        else:
            self.said.say(msg("ui.chart.saved", file=path.name))
        self.said.show()

    def _symbols_as_paths(self, *, wanted: bool) -> None:
        """Symbols are drawn by pyqtgraph as little pictures, which a drawing would hold as such."""
        for item in self._plot.scene().items():
            if isinstance(item, self._pg.ScatterPlotItem):
                item.setExportMode(wanted, {"resolutionScale": 1.0, "antialias": True})

    def _ask_where(self, suffix: str) -> None:
        title = self._appearance.text(msg("ui.chart.save", kind=suffix[1:].upper()))
        name = chart_export.file_name(self._appearance.text(self._name), suffix)
        path, _ = QFileDialog.getSaveFileName(self, title, name, chart_export.FILTERS[suffix])
        if path:
            chosen = Path(path)
            self.export(chosen if chosen.suffix.lower() == suffix else chosen.with_name(chosen.name + suffix))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._draw()
        return super().event(event)

    def _copy(self) -> None:
        x_axis, y_axis = (f"{self._appearance.said(a.title)} {a.unit}".strip() for a in self._axes)
        QGuiApplication.clipboard().setText(chart_export.as_text(["", "", x_axis, y_axis], self.table(), "\t"))

    # --- Drawing ------------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        tokens = self._appearance.tokens
        self._plot.clear()
        self._plot.setBackground(tokens.card)
        item = self._plot.getPlotItem()
        for side, axis in (("bottom", self._axes[0]), ("left", self._axes[1])):
            self._draw_axis(item.getAxis(side), axis)
        item.showGrid(x=False, y=True, alpha=0.12)
        styles = [_Style.of(series, position, self._series, tokens) for position, series in enumerate(self._series)]
        for series, style in zip(self._series, styles, strict=True):
            self._draw_series(series, style)
        self._show_legend(styles)
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
        title = f"{said} {axis.unit}".strip()
        if title:
            item.setLabel(title, **{"color": tokens.muted, "font-size": "9pt"})

    def _draw_series(self, series: Series, style: "_Style") -> None:
        tokens, pg = self._appearance.tokens, self._pg
        if series.low and series.high:
            washed = QColor(style.colour)
            washed.setAlphaF(0.18)
            edges = [pg.PlotDataItem(series.x, edge, pen=pg.mkPen(None)) for edge in (series.low, series.high)]
            for edge in edges:
                self._plot.addItem(edge)
            self._plot.addItem(pg.FillBetweenItem(*edges, brush=pg.mkBrush(washed)))
        self._plot.plot(
            list(series.x),
            list(series.y),
            pen=pg.mkPen(style.colour, width=2 * self._density(), style=style.dash) if style.dash else None,
            symbol=style.symbol,
            symbolBrush=style.colour,
            symbolPen=pg.mkPen(tokens.text if series.emphasised else tokens.card, width=1.5 * self._density()),
            symbolSize=13 if series.emphasised else 7,
            antialias=True,
        )

    def _density(self) -> float:
        """Pens of pyqtgraph count device pixels, and would look thin on a dense screen."""
        return float(self.devicePixelRatioF())

    def _show_legend(self, styles: "Sequence[_Style]") -> None:
        for key in self._keys:
            self._flow.removeWidget(key)
            key.hide()
            key.deleteLater()
        said = self._appearance.said
        self._keys = [
            _Key(self._appearance, said(series.name), style)
            for series, style in zip(self._series, styles, strict=True)
            if series.name
        ]
        for key in self._keys:
            self._flow.addWidget(key)
        self._legend.setVisible(bool(self._keys))


@dataclass(frozen=True, slots=True)
class _Style:
    """How one series is drawn: a dash (none for points alone) and a symbol (none for what is expected)."""

    colour: QColor
    dash: Qt.PenStyle | None
    symbol: str | None

    @classmethod
    def of(cls, series: Series, position: int, all_series: Sequence[Series], tokens: Tokens) -> "_Style":
        """The first measured series is solid, further ones are dashed each in its own way."""
        colour = QColor(tokens.series[position % len(tokens.series)])
        symbol = SYMBOLS[position % len(SYMBOLS)]
        if series.kind is SeriesKind.EXPECTED:
            return cls(colour, Qt.PenStyle.DashLine, None)
        if series.kind is SeriesKind.POINTS:
            return cls(colour, None, symbol)
        measured = [s for s in all_series[:position] if s.kind is SeriesKind.MEASURED]
        return cls(colour, DASHES[len(measured) % len(DASHES)], symbol)


class _Key(QWidget):
    """An entry of the legend: a piece of the line with its symbol, and the name."""

    def __init__(self, appearance: Appearance, name: str, style: _Style) -> None:
        super().__init__()
        self._appearance = appearance
        self._name = name
        self._style = style

    def sizeHint(self) -> QSize:
        return QSize(int(QFontMetricsF(font(TextRole.LABEL)).horizontalAdvance(self._name)) + 34, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = painter_for(self)
        middle = self.height() / 2
        if self._style.dash:
            painter.setPen(QPen(self._style.colour, 2, self._style.dash))
            painter.drawLine(QPointF(0, middle), QPointF(24, middle))
        if self._style.symbol:
            from pyqtgraph.graphicsItems.ScatterPlotItem import Symbols

            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._style.colour)
            painter.translate(12, middle)
            painter.scale(8, 8)
            painter.drawPath(Symbols[self._style.symbol])
            painter.resetTransform()
        painter.setFont(font(TextRole.LABEL))
        area = QRectF(31, 0, self.width() - 31, self.height())
        draw_text(painter, area, self._name, self._appearance.tokens.text)


def _tick_axis(pg: Any, side: str, axis: Axis) -> Any:
    """An axis whose ticks say what people say: never "(x1e+09)", and sizes in powers of two."""
    words = bytes_tick if axis.is_bytes else number_tick

    class TickAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
        def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
            if self.logMode:
                return self.logTickStrings(values, scale, spacing)
            return [words(value * scale) for value in values]

        def logTickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
            return [words(10.0**value * scale) for value in values]

        def logTickValues(self, low: float, high: float, size: float, levels: Any) -> list[tuple[float, list[float]]]:
            if not axis.is_bytes:
                ticks = log_ticks(low, high, size, _APART[side])
                # Within one decade there may be none: then as on an even axis.
                return [(1.0, ticks)] if len(ticks) > 1 else list(super().logTickValues(low, high, size, levels))
            first, last = math.ceil(low / math.log10(2)), math.floor(high / math.log10(2))
            step = next(s for s in (1, 2, 4, 5, 10, 20) if (last - first) / s <= max(2, size / 60) or s == 20)
            powers = range(first + (-first) % step, last + 1, step)
            return [(step * math.log10(2), [power * math.log10(2) for power in powers])]

    return TickAxis(side)
