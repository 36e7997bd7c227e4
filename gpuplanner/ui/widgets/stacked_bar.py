"""A whole and its parts as one bar with a legend. Parts can be pointed at, reached by keyboard and opened.

The legend says every part in words and numbers, so that nothing depends on colour; the context menu copies it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, focus_ring, hatch, painter_for, rounded_clip
from gpuplanner.ui.tokens import RADIUS_FIELD, Tokens, Verdict
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.focus import KeyboardFocus
from gpuplanner.units import percent

HEIGHT = 26
_LEAST = 2.0
_SWATCH = 9.0


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part: `shown` is its value ready to be read, `note` stands muted after it, `tip` says more when pointed at.

    A `rest` part is grey: what is not worth a colour (launch gaps, other).
    """

    id: str
    name: MessageValue
    value: float
    shown: str
    note: MessageValue = ""
    tip: MessageValue = ""
    rest: bool = False


def fill_part(painter: QPainter, area: QRectF, position: int, tokens: Tokens) -> None:
    """Fill with the colour of the part at a position; after the last series colour they come again, striped."""
    painter.fillRect(area, QColor(tokens.series[position % len(tokens.series)]))
    if position >= len(tokens.series):
        hatch(painter, area, tokens.card, 5)


class StackedBar(QWidget):
    """The bar and its legend. `opened` carries the id of the part that was clicked."""

    opened = Signal(str)

    def __init__(self, appearance: Appearance, name: Message, *, height: int = HEIGHT) -> None:
        super().__init__()
        self._appearance = appearance
        self._name = name
        self._strip = _Strip(appearance, height)
        self._strip.opened.connect(self.opened)
        self._strip.pointed.connect(self._point)
        self._legend = QWidget()
        self._flow = FlowLayout(self._legend, across=14, down=2)
        self._keys: list[_Key] = []
        self._parts: tuple[BarPart, ...] = ()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._strip)
        layout.addWidget(self._legend)
        self.setFocusProxy(self._strip)
        appearance.languageChanged.connect(self._render)
        self._render()

    def set_parts(
        self, parts: Sequence[BarPart], capacity: float | None = None, remainder: tuple[MessageValue, str] | None = None
    ) -> None:
        """Show other parts. `capacity` is the whole in the unit of the parts: beyond it the bar is marked.

        `remainder` is the name and the shown value of what stays free (or of what is lacking).
        """
        self._parts = tuple(part for part in parts if part.value > 0)
        self._strip.set_parts(self._parts, capacity)
        wanted = [*self._parts]
        if remainder is not None:
            wanted.append(BarPart("", remainder[0], 0, remainder[1], rest=True))
        while len(self._keys) < len(wanted):
            key = _Key(self._appearance)
            key.pointed.connect(self._point)
            key.asked.connect(self.opened)
            self._keys.append(key)
            self._flow.addWidget(key)
        colour = 0
        # Those that are too many wait: to make one anew has Qt lay out everything around it once more.
        for at, key in enumerate(self._keys):
            key.setVisible(at < len(wanted))
        for key, part in zip(self._keys, wanted, strict=False):
            key.set_part(part, colour if part.id and not part.rest else None)
            colour += part.id != "" and not part.rest
        self._render()

    def table(self) -> list[tuple[str, str, str]]:
        """The bar as a table: name, value, share of the whole in per cent."""
        whole = sum(part.value for part in self._parts)
        said = self._appearance.said
        return [(said(p.name), p.shown, percent(p.value / whole, 1)) for p in self._parts]

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self._appearance.text(msg("ui.bar.copy")), self._copy)
        menu.popup(event.globalPos())

    def _copy(self) -> None:
        rows = [f"| {name} | {value} | {share} |" for name, value, share in self.table()]
        head = f"| {self._appearance.text(self._name)} | | |\n| --- | ---: | ---: |\n"
        QGuiApplication.clipboard().setText(head + "\n".join(rows) + "\n")

    def _point(self, part_id: str) -> None:
        self._strip.point(part_id)
        for key in self._keys:
            key.point(part_id)

    def _render(self) -> None:
        self._strip.setAccessibleName(self._appearance.text(self._name))
        self._strip.setAccessibleDescription("; ".join(f"{name} {value}" for name, value, _ in self.table()))


class _Strip(KeyboardFocus, QWidget):
    opened = Signal(str)
    pointed = Signal(str)

    def __init__(self, appearance: Appearance, height: int) -> None:
        super().__init__()
        self._appearance = appearance
        self._parts: tuple[BarPart, ...] = ()
        self._capacity: float | None = None
        self._pointed = ""
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        appearance.themeChanged.connect(self.update)

    def set_parts(self, parts: tuple[BarPart, ...], capacity: float | None) -> None:
        seen = [(part.id, part.value, part.rest) for part in self._parts], self._capacity
        self._parts = parts
        self._capacity = capacity
        if self._pointed not in {part.id for part in parts}:
            self._pointed = ""
        if ([(part.id, part.value, part.rest) for part in parts], capacity) != seen:
            self.update()

    def point(self, part_id: str) -> None:
        if part_id != self._pointed:
            self._pointed = part_id
            self.update()

    def areas(self) -> list[tuple[BarPart, QRectF]]:
        """Where each part lies. A part too small to be seen is drawn two pixels wide."""
        whole = max(sum(part.value for part in self._parts), self._capacity or 0.0)
        if whole <= 0:
            return []
        found, left = [], 0.0
        for part in self._parts:
            width = max(_LEAST, part.value / whole * self.width())
            found.append((part, QRectF(left, 0, width, self.height())))
            left += width
        return found

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        painter.setClipPath(rounded_clip(area, RADIUS_FIELD))
        painter.fillRect(area, tokens.track)
        colour = 0
        for part, box in self.areas():
            self._paint_part(painter, part, box, colour, tokens)
            colour += not part.rest
        whole = sum(part.value for part in self._parts)
        if self._capacity and whole > self._capacity:
            at = self._capacity / whole * area.width()
            ink = QColor(tokens.tone(Verdict.FAIL).ink)
            veil = QColor(tokens.card)
            veil.setAlphaF(0.55)
            beyond = QRectF(at, 0, area.width() - at, area.height())
            painter.fillRect(beyond, veil)
            hatch(painter, beyond, ink)
            painter.fillRect(QRectF(at - 1.5, 0, 3, area.height()), ink)
        if self.shows_focus:
            focus_ring(painter, area, RADIUS_FIELD, tokens.text)

    def _paint_part(self, painter: QPainter, part: BarPart, box: QRectF, colour: int, tokens: Tokens) -> None:
        if part.rest:
            painter.fillRect(box, tokens.rest)
        else:
            fill_part(painter, box, colour, tokens)
        if self._pointed and self._pointed != part.id:
            veil = QColor(tokens.card)
            veil.setAlphaF(0.45)
            painter.fillRect(box, veil)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        part = self._part_at(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if part else Qt.CursorShape.ArrowCursor)
        self.pointed.emit(part.id if part else "")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        part = self._part_at(event.position())
        if part is not None and event.button() is Qt.MouseButton.LeftButton:
            self.opened.emit(part.id)

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit("")

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            part = self._part_at(QPointF(event.pos()))
            if part is not None:
                said = self._appearance.said
                tip = "\n".join(t for t in (f"{said(part.name)} {part.shown}", said(part.note), said(part.tip)) if t)
                QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        ids = [part.id for part in self._parts]
        at = ids.index(self._pointed) if self._pointed in ids else -1
        match event.key():
            case Qt.Key.Key_Right if ids:
                self.pointed.emit(ids[min(at + 1, len(ids) - 1)])
            case Qt.Key.Key_Left if ids:
                self.pointed.emit(ids[max(at - 1, 0)])
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space if self._pointed:
                self.opened.emit(self._pointed)
            case _:
                super().keyPressEvent(event)

    def _part_at(self, at: QPointF) -> BarPart | None:
        return next((part for part, box in self.areas() if box.contains(at)), None)


class _Key(Clickable):
    """An entry of the legend."""

    pointed = Signal(str)
    asked = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self._part = BarPart("", "", 0, "")
        self._colour: int | None = None
        self._faded = False
        self._seen: tuple[str, str, str, int | None] | None = None
        # The keyboard goes through the bar itself.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.clicked.connect(self._ask)
        appearance.languageChanged.connect(self._render)

    def set_part(self, part: BarPart, colour: int | None) -> None:
        self._part = part
        self._colour = colour
        self.setCursor(Qt.CursorShape.PointingHandCursor if part.id else Qt.CursorShape.ArrowCursor)
        self._render()

    def point(self, part_id: str) -> None:
        faded = bool(part_id) and part_id != self._part.id
        if faded != self._faded:
            self._faded = faded
            self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(font(TextRole.LABEL))
        note = self._appearance.said(self._part.note)
        width = metrics.horizontalAdvance(self.text()) + (metrics.horizontalAdvance(note) + 5 if note else 0)
        return QSize(int(width + self._indent() + 3), 22)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.pointed.emit(self._part.id)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit("")

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        if self._faded:
            painter.setOpacity(0.5)
        area = QRectF(self.rect())
        if self._part.id:
            box = QRectF(0, area.center().y() - _SWATCH / 2, _SWATCH, _SWATCH)
            painter.save()
            painter.setClipPath(rounded_clip(box, 2))
            if self._colour is None:
                painter.fillRect(box, tokens.rest)
            else:
                fill_part(painter, box, self._colour, tokens)
            painter.restore()
        face = font(TextRole.LABEL)
        painter.setFont(face)
        words = area.adjusted(self._indent(), 0, 0, 0)
        draw_text(painter, words, self.text(), tokens.text if self._part.id else tokens.muted)
        note = self._appearance.said(self._part.note)
        if note:
            width = QFontMetricsF(face).horizontalAdvance(self.text()) + 5
            draw_text(painter, words.adjusted(width, 0, 0, 0), note, tokens.muted)

    def _indent(self) -> float:
        return _SWATCH + 6 if self._part.id else 0.0

    def _ask(self) -> None:
        if self._part.id:
            self.asked.emit(self._part.id)

    def _render(self) -> None:
        self.setToolTip(self._appearance.said(self._part.tip))
        text = f"{self._appearance.said(self._part.name)} {self._part.shown}".strip()
        seen = text, self._appearance.said(self._part.note), self._part.id, self._colour
        if seen != self._seen:
            self._seen = seen
            self.setText(text)
            self.setAccessibleName(text)
            self.updateGeometry()
            self.update()
