"""A strip: one metric of all GPUs over the last minutes, as a small chart without axes, with its marks.

Lines are one pixel wide and not antialiased, out of bins that were reduced before: eight GPUs are redrawn in a few
milliseconds. While the mouse is over a strip the values under it are told.
"""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.messages import msg
from gpuplanner.probe.telemetry import Mark
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.machines_place.live.curves import Curve, Strip, envelope
from gpuplanner.ui.painting import draw_text, focus_ring
from gpuplanner.ui.tokens import RADIUS_TAG, Tokens, Verdict
from gpuplanner.ui.widgets.verdict_tag import draw_tag, tag_width

_TITLE = 22.0
_PLOT = 52.0
_ALPHA = 150
"""Of one GPU among several: where they lie together the colour is full."""
_MOST_TAGS = 2


class StripView(QWidget):
    """Draws a strip. `hovered` tells whether a person looks at one moment of it."""

    hovered = Signal(bool)

    def __init__(self, appearance: Appearance, colour: int, parent: QWidget | None = None) -> None:
        """`colour`: which of the theme's series colours it has."""
        super().__init__(parent)
        self._appearance = appearance
        self._colour = colour
        self._strip: Strip | None = None
        self._marks: tuple[Mark, ...] = ()
        self._tags: tuple[tuple[Verdict, str], ...] = ()
        self._x: float | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        for signal in (appearance.themeChanged, appearance.languageChanged):
            signal.connect(self._render)

    def show_strip(self, strip: Strip, marks: Sequence[Mark], tags: Sequence[tuple[Verdict, str]]) -> None:
        """Show these curves. `marks`: where to draw a line; `tags`: words that stand beside the title."""
        self._strip, self._marks, self._tags = strip, tuple(marks), tuple(tags)
        self._render()

    def sizeHint(self) -> QSize:
        return QSize(240, int(_TITLE + _PLOT + 6))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, int(_TITLE + _PLOT + 6))

    def readout(self, *, in_full: bool = True) -> str:
        """What the title says on its right: the values under the mouse, or the newest ones. In full with the GPUs."""
        strip = self._strip
        if strip is None:
            return ""
        at_s = strip.end_s if self._x is None else self._time_at(strip, self._x)
        values = strip.at(at_s)
        said = _said(strip, values, self._appearance, in_full=in_full)
        return said if self._x is None else f"{_ago(strip.end_s - at_s, self._appearance)} · {said}"

    def paint(self, painter: QPainter, area: QRectF, tokens: Tokens) -> None:
        """Draw it into an area: the widget, a picture, or a drawing in a file."""
        strip = self._strip
        if strip is None:
            return
        self._paint_title(painter, strip, QRectF(area.left(), area.top(), area.width(), _TITLE), tokens)
        plot = QRectF(area.left(), area.top() + _TITLE, area.width(), _PLOT)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(plot.bottomLeft(), plot.bottomRight())
        painter.save()
        painter.setClipRect(plot.adjusted(0, -1, 0, 1))
        self._paint_marks(painter, strip, plot, tokens)
        if strip.limit is not None and strip.limit <= strip.top:
            painter.setPen(QPen(QColor(tokens.muted), 1, Qt.PenStyle.DotLine))
            height = _y(strip, plot, strip.limit)
            painter.drawLine(QPointF(plot.left(), height), QPointF(plot.right(), height))
        colour = QColor(tokens.series[self._colour % len(tokens.series)])
        if len(strip.curves) > 1:
            colour.setAlpha(_ALPHA)
        painter.setPen(QPen(colour, 1))
        for curve in strip.curves:
            painter.drawPolyline(_line(strip, curve, plot))
        if self._x is not None:
            painter.setPen(QPen(QColor(tokens.text), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(self._x, plot.top()), QPointF(self._x, plot.bottom()))
        painter.restore()

    # --- Mouse, keys, painting ----------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint(painter, QRectF(self.rect()).adjusted(2, 0, -2, -2), self._appearance.tokens)
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            focus_ring(painter, QRectF(self.rect()), RADIUS_TAG, self._appearance.tokens.primary)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._look_at(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._look_at(event.position().x())

    def leaveEvent(self, event: object) -> None:
        self._look_at(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -4.0, Qt.Key.Key_Right: 4.0}
        if event.key() in steps:
            now = self.width() - 3.0 if self._x is None else self._x
            self._look_at(min(max(2.0, now + steps[Qt.Key(event.key())]), self.width() - 3.0))
        elif event.key() == Qt.Key.Key_Escape and self._x is not None:
            self._look_at(None)
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: object) -> None:
        self._look_at(None)

    def _look_at(self, x: float | None) -> None:
        before, self._x = self._x, x
        if (before is None) is not (x is None):
            self.hovered.emit(x is not None)
        self._render()

    def _render(self) -> None:
        if self._strip is not None:
            title = self._appearance.text(self._strip.metric.title)
            words = ", ".join(word for _, word in self._tags)
            self.setAccessibleName(title)
            self.setAccessibleDescription(", ".join(part for part in (self.readout(), words) if part))
        self.update()

    def _paint_title(self, painter: QPainter, strip: Strip, area: QRectF, tokens: Tokens) -> None:
        title = f"{self._appearance.text(strip.metric.title)} {strip.metric.unit}"
        if strip.limit is not None:
            title = self._appearance.text(msg("liveui.of", title=title, limit=f"{strip.limit:,.0f}"))
        left = area.left()
        painter.setFont(font(TextRole.LABEL_STRONG))
        wide = QFontMetricsF(font(TextRole.LABEL_STRONG)).horizontalAdvance(title)
        draw_text(painter, QRectF(left, area.top(), area.width(), area.height()), title, tokens.muted)
        left += wide + 8
        said = self.readout(in_full=self._x is not None)
        face = font(TextRole.LABEL)
        needs = QFontMetricsF(face).horizontalAdvance(said) + 2
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for verdict, word in self._tags[:_MOST_TAGS]:
            across = tag_width(verdict, word)
            # What a person asks for by pointing goes before words that are there all the time.
            if left + across > area.right() - (needs if self._x is not None else 0.0):
                break
            draw_tag(painter, QRectF(left, area.top(), across, area.height()), verdict, word, tokens)
            left += across + 6
        if self._x is None and left + needs > area.right():
            return
        painter.setFont(face)
        place = QRectF(QPointF(max(left, area.right() - needs), area.top()), area.bottomRight())
        draw_text(painter, place, said, tokens.text if self._x is not None else tokens.muted)

    def _paint_marks(self, painter: QPainter, strip: Strip, plot: QRectF, tokens: Tokens) -> None:
        for mark in self._marks:
            x = _x_of(strip, plot, mark.at_s)
            if plot.left() <= x <= plot.right():
                tone = tokens.tone(Verdict.FAIL if mark.xid is not None else Verdict.WARN)
                painter.setPen(QPen(QColor(tone.ink), 1, Qt.PenStyle.SolidLine if mark.xid else Qt.PenStyle.DotLine))
                painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))

    def _time_at(self, strip: Strip, x: float) -> float:
        return strip.begin_s + (x - 2) / max(1.0, self.width() - 4.0) * (strip.end_s - strip.begin_s)


def _line(strip: Strip, curve: Curve, plot: QRectF) -> QPolygonF:
    times, values = envelope(curve)
    across = plot.left() + (times - strip.begin_s) / max(1e-9, strip.end_s - strip.begin_s) * plot.width()
    down = plot.bottom() - values / strip.top * plot.height()
    return QPolygonF([QPointF(x, y) for x, y in zip(across.tolist(), down.tolist(), strict=True)])


def _x_of(strip: Strip, plot: QRectF, at_s: float) -> float:
    return plot.left() + (at_s - strip.begin_s) / max(1e-9, strip.end_s - strip.begin_s) * plot.width()


def _y(strip: Strip, plot: QRectF, value: float) -> float:
    return plot.bottom() - value / strip.top * plot.height()


def _said(strip: Strip, values: Sequence[tuple[int | None, float]], appearance: Appearance, *, in_full: bool) -> str:
    """One value, or the lowest and the highest with the GPUs that have them."""
    if not values:
        return "–"
    digits = strip.metric.digits
    (low_gpu, low), (high_gpu, high) = (pick(values, key=lambda one: one[1]) for pick in (min, max))
    if f"{low:.{digits}f}" == f"{high:.{digits}f}":
        return f"{low:,.{digits}f} {strip.metric.unit}"
    if not in_full:
        return f"{low:,.{digits}f} – {high:,.{digits}f} {strip.metric.unit}"
    return appearance.text(
        msg("liveui.readout", low=f"{low:,.{digits}f}", low_gpu=str(low_gpu), high=f"{high:,.{digits}f}",
            high_gpu=str(high_gpu), unit=strip.metric.unit)
    )  # fmt: skip


def _ago(seconds: float, appearance: Appearance) -> str:
    whole = max(0, round(seconds))
    return appearance.text(msg("liveui.ago", time=f"{whole // 60}:{whole % 60:02}"))
