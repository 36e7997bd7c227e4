"""Charts in the theme's colours, drawn by pyqtgraph, which is imported when the first chart is made.

Expected is dashed with a band, measured is solid with points; series differ in dash and symbol too, not in colour
alone. Every chart has a table twin, which its context menu copies; the menu saves it too.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QFileDialog, QMenu, QToolTip, QVBoxLayout, QWidget

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import focus_ring, painter_for
from gpuplanner.ui.tokens import RADIUS_TAG
from gpuplanner.ui.widgets import chart_export
from gpuplanner.ui.widgets.chart_axes import Axis, number_tick, tick_axis
from gpuplanner.ui.widgets.chart_drawing import Drawing
from gpuplanner.ui.widgets.chart_series import Key, Series, Style
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.label import Label

_SIDES = ("bottom", "left")
_NEAR = 12.0
"""From how many pixels away a point is meant."""
_FOCUS_ROOM = 3
_PAPER_WIDTH, _PAPER_PLOT, _PAPER_MARGIN = 880, 360, 16
"""Pixels of a saved chart that stands in a narrow card."""


class Chart(QWidget):
    """A plot of a few series with a legend. `point_at` names the point under the mouse.

    A `still` one keeps its view, so that a wheel scrolls what it lies in, and is read with the keyboard: arrows go from
    point to point, and what is below the plot says each.
    """

    def __init__(
        self,
        appearance: Appearance,
        name: Message,
        x_axis: Axis,
        y_axis: Axis,
        *,
        from_zero: bool = True,
        still: bool = False,
        plot_height: int | None = None,
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
        self._still = still
        self._read: int | None = None
        self._line_width = 1.0
        self._plot: Any = pyqtgraph.PlotWidget(
            axisItems={
                "bottom": tick_axis(pyqtgraph, "bottom", lambda: self._axes[0]),
                "left": tick_axis(pyqtgraph, "left", lambda: self._axes[1]),
            }
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
        if plot_height is not None:
            self._plot.setFixedHeight(plot_height)
        if still:
            self._plot.setMouseEnabled(x=False, y=False)
            self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._legend = QWidget()
        self._keys: list[Key] = []
        self._flow = FlowLayout(self._legend, across=16, down=2)
        layout = QVBoxLayout(self)
        beside = _FOCUS_ROOM if still else 0
        layout.setContentsMargins(beside, beside, beside, beside)
        layout.setSpacing(6)
        layout.addWidget(self._plot, 1)
        layout.addWidget(self._legend)
        self.said = Label(appearance, "", TextRole.LABEL)
        self.said.hide()
        layout.addWidget(self.said)
        self.setMinimumHeight(180)
        self._ring = _FocusRing(self, appearance)
        for signal in (appearance.themeChanged, appearance.languageChanged):
            signal.connect(self._draw)
        self._draw()

    def set_series(self, series: Sequence[Series]) -> None:
        """Show other series."""
        self._series = tuple(series)
        self._read = None
        self._draw()

    def set_axes(self, x_axis: Axis, y_axis: Axis) -> None:
        """Say other words on the axes, from the next series on. Whether they are logarithmic does not change."""
        self._axes = (x_axis, y_axis)

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
                nearest, found = away, "\n".join(part for part in (name, self._values(x, y)) if part)
        return found

    def _values(self, x: float, y: float) -> str:
        """Both values of a point in words; of an axis with labels they are the point's name."""
        across, up = self._axes
        said = "" if across.labels else (across.said(x) if across.is_bytes else number_tick(x))
        values = (f"{said} {across.unit}".strip(), f"{number_tick(y)} {up.unit}".strip())
        return " · ".join(part for part in values if part)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.point_at(QPointF(event.pos())), self)
            return True
        return super().eventFilter(watched, event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu().popup(event.globalPos())

    def menu(self) -> QMenu:
        """What can be done with the chart: copy its numbers, save it."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self._appearance.text(msg("ui.chart.copy")), self._copy)
        menu.addSeparator()
        for suffix in chart_export.FILTERS:
            kind = suffix[1:].upper()
            menu.addAction(self._appearance.text(msg("ui.chart.save", kind=kind)), lambda s=suffix: self._ask_where(s))
        return menu

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
        notes = [self._appearance.said(s.note) for s in self._series]
        ends = [
            (s.low[at] if s.low else None, s.high[at] if s.high else None, *([note] if any(notes) else []))
            for s, note in zip(self._series, notes, strict=True)
            for at in range(len(s.x))
        ]
        if any(notes):
            head.append(text(msg("ui.chart.source")))
        return chart_export.as_text(head, ((*row, *end) for row, end in zip(self._cells(), ends, strict=True)))

    def _cells(self) -> Iterator[tuple[str, str, str | float, float]]:
        """The table twin as other programs read it: of an axis with labels these, and not the numbers of the places."""
        across = self._axes[0]
        for series, name, x, y in self.table():
            yield series, name, across.said(x) if across.labels else x, y

    def export(self, path: Path) -> None:
        """Write the chart as what the name ends with: .csv, .svg, else a PNG. Says below the chart how it went.

        One in a narrow card is saved as wide as a page, with its title and all that the legend says.
        """
        self.said.hide()
        if path.suffix.lower() == ".csv":
            content = self.csv().encode("utf-8-sig")  # the mark lets spreadsheets read Chinese right
        elif self._still:
            paper = self._paper(1.0 if path.suffix.lower() == ".svg" else chart_export.DENSITY)
            content = paper.drawn(path.suffix)
            paper.hide()
            paper.deleteLater()
        else:
            content = self.drawn(path.suffix)
        try:
            chart_export.write(path, content)
        except InputError as error:
            self.said.say(error.message)
        else:
            self.said.say(msg("ui.chart.saved", file=path.name))
        self.said.show()

    def drawn(self, suffix: str) -> bytes:
        """The chart as it looks now, as a drawing (".svg") or a picture."""
        layout = self.layout()
        if layout is not None:
            layout.activate()
        paper = QColor(self._appearance.tokens.card)
        if suffix.lower() != ".svg":
            return chart_export.picture(self, paper)
        self._symbols_as_paths(wanted=True)
        content = chart_export.drawing(self, self._appearance.text(self._name), paper)
        self._symbols_as_paths(wanted=False)
        return content

    def _paper(self, line_width: float) -> "Chart":
        """The same chart as it is saved: with its title, and with titles on its axes; not on the screen.

        `line_width`: by what the lines are wider, since in a picture they count its pixels.
        """
        axes = (replace(axis, untitled=bool(axis.labels)) for axis in self._axes)
        made = Chart(self._appearance, self._name, *axes, from_zero=self._from_zero, plot_height=_PAPER_PLOT)
        made._line_width = line_width
        made.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        layout = made.layout()
        if isinstance(layout, QVBoxLayout):
            layout.insertWidget(0, Label(self._appearance, self._name, TextRole.TITLE))
            layout.setContentsMargins(_PAPER_MARGIN, _PAPER_MARGIN, _PAPER_MARGIN, _PAPER_MARGIN)
        made.set_series(self._series)
        made.resize(_PAPER_WIDTH, made.heightForWidth(_PAPER_WIDTH))
        made.show()
        return made

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

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        points = self.table()
        if not self._still or not points:
            super().keyPressEvent(event)
        elif event.key() in steps:
            step = steps[Qt.Key(event.key())]
            at = (0 if step > 0 else -1) if self._read is None else self._read + step
            self._read_point(at % len(points))
        elif event.key() == Qt.Key.Key_Escape and self._read is not None:
            self._read_point(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._ring.setVisible(self._still)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self._read is not None:
            self._read_point(None)
        self._ring.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._ring.setGeometry(self.rect())
        self._ring.raise_()

    def _read_point(self, at: int | None) -> None:
        """Say a point and ring it; None says nothing any more."""
        self._read = at
        self._draw()
        self.said.setVisible(at is not None)
        if at is not None:
            series, name, x, y = self.table()[at]
            self.said.say(" · ".join(part for part in (series, name, self._values(x, y)) if part))
            self.setAccessibleDescription(self.said.text())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._draw()
        return super().event(event)

    def _copy(self) -> None:
        x_axis, y_axis = (f"{self._appearance.said(a.title)} {a.unit}".strip() for a in self._axes)
        QGuiApplication.clipboard().setText(chart_export.as_text(["", "", x_axis, y_axis], self._cells(), "\t"))

    # --- Drawing ------------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        tokens = self._appearance.tokens
        self._plot.clear()
        self._plot.setBackground(tokens.card)
        item = self._plot.getPlotItem()
        for side, axis in zip(_SIDES, self._axes, strict=True):
            self._draw_axis(item.getAxis(side), axis)
        item.showGrid(x=False, y=True, alpha=0.12)
        styles = [Style.of(series, position, self._series, tokens) for position, series in enumerate(self._series)]
        by_label = bool(self._axes[0].labels)
        drawing = Drawing(
            self._pg, self._plot, tokens, self._density(), self._series, by_label=by_label, line_width=self._line_width
        )
        for series, style in zip(self._series, styles, strict=True):
            drawing.draw(series, style)
        self._show_legend(styles)
        if self._axes[0].labels:
            self._plot.setXRange(-0.6, len(self._axes[0].labels) - 0.4, padding=0)
        if self._from_zero and not self._axes[1].log and self._series:
            top = max((max((*s.y, *s.high), default=0.0) for s in self._series), default=0.0)
            self._plot.setYRange(0, top * 1.08 or 1.0, padding=0)
        item.getAxis("left").make_room()
        if self._read is not None:
            drawing.ring(*self.table()[self._read][2:])
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
        title = "" if axis.untitled else f"{said} {axis.unit}".strip()
        if title:
            item.setLabel(title, **{"color": tokens.muted, "font-size": "9pt"})

    def _density(self) -> float:
        """Pens of pyqtgraph count device pixels, and would look thin on a dense screen."""
        return float(self.devicePixelRatioF())

    def _show_legend(self, styles: Sequence[Style]) -> None:
        for key in self._keys:
            self._flow.removeWidget(key)
            key.hide()
            key.deleteLater()
        said = self._appearance.said
        self._keys = []
        noted: set[str] = set()
        for series, style in zip(self._series, styles, strict=True):
            # What several lines have in common is said once.
            note = "" if series.bare or said(series.note) in noted else said(series.note)
            noted.add(note)
            if series.name:
                self._keys.append(Key(self._appearance, said(series.name), style, note))
        for key in self._keys:
            self._flow.addWidget(key)
        self._legend.setVisible(bool(self._keys))


class _FocusRing(QWidget):
    """The ring of the focus around a chart, over the plot, which would hide one that the chart paints itself."""

    def __init__(self, chart: Chart, appearance: Appearance) -> None:
        super().__init__(chart)
        self._appearance = appearance
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        focus_ring(painter_for(self), QRectF(self.rect()), RADIUS_TAG, self._appearance.tokens.primary)
