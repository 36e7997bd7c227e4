"""A painted list of facts: name at the left, value at the right, what has to be said below; a click tells the sources.

One widget instead of a hundred labels, so that the panel follows the arrow keys in the table without a pause.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import focus_ring, painter_for
from gpuplanner.ui.tokens import Tokens, Verdict
from gpuplanner.ui.widgets.focus import KeyboardFocus
from gpuplanner.ui.widgets.verdict_tag import draw_tag

_AIR = 6.0
"""Above and below the text of a row."""
_BETWEEN = 10.0
_TITLE_AIR = 12.0
_TAG = 20.0
_WRAP = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignLeft) | int(Qt.AlignmentFlag.AlignTop)
_WRAP_RIGHT = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignRight) | int(Qt.AlignmentFlag.AlignTop)
_TALL = 10_000.0


@dataclass(frozen=True, slots=True)
class Title:
    """The name of a group, and a muted word after it."""

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A fact. `note` stands below it, `more` when it is opened: its sources. With a `verdict` the value is a tag."""

    name: str
    value: str
    note: str = ""
    more: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence with our verdict on it, and why."""

    verdict: Verdict
    word: str
    text: str
    reason: str
    more: str = ""


Item = Title | Line | Saying


@dataclass(slots=True)
class _Placed:
    item: Item
    area: QRectF
    name: QRectF
    value: QRectF
    note: QRectF
    more: QRectF


class FactList(KeyboardFocus, QWidget):
    """Arrow keys walk, Enter or a click opens a row, Ctrl+C copies it."""

    def __init__(self, appearance: Appearance, name: Message) -> None:
        super().__init__()
        self._appearance = appearance
        self._name = name
        self._items: tuple[Item, ...] = ()
        self._open: set[int] = set()
        self._everything_open = False
        self._current = -1
        self._hovered = -1
        self._placed: dict[int, list[_Placed]] = {}
        """The rows as they lie at each width that was asked for."""
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        appearance.themeChanged.connect(self.update)
        appearance.languageChanged.connect(self._describe)
        self._describe()

    def set_items(self, items: Sequence[Item], *, keep_open: bool = False) -> None:
        """Show other rows. Those that were opened stay so with `keep_open`: the same entry in other words."""
        self._items = tuple(items)
        if not keep_open:
            self._open = set()
            self._current = -1
        self._hovered = -1
        self._place_anew()
        self.setVisible(bool(items))
        self._describe()

    def open_all(self, *, opened: bool) -> None:
        """Open every row, or close them."""
        self._everything_open = opened
        self._open = set()
        self._place_anew()

    @property
    def items(self) -> tuple[Item, ...]:
        """What is shown."""
        return self._items

    def is_open(self, at: int) -> bool:
        """Whether a row says its sources."""
        return self._everything_open != (at in self._open)

    def toggle(self, at: int) -> None:
        """Open a row or close it."""
        if 0 <= at < len(self._items) and not isinstance(self._items[at], Title) and _more(self._items[at]):
            self._open ^= {at}
            self._place_anew()

    def row_at(self, point: QPointF) -> int:
        """The row at a point, -1 when there is none."""
        return next((at for at, placed in enumerate(self._rows()) if placed.area.contains(point)), -1)

    def row_area(self, at: int) -> QRectF:
        """Where a row lies."""
        return self._rows()[at].area

    # --- Geometry -----------------------------------------------------------------------------------------------------

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        # A layout that was not placed yet asks for no width at all, at which every text would be wrapped.
        placed = self._at_width(width if width > 0 else self.width())
        return int(placed[-1].area.bottom() + 1) if placed else 0

    def sizeHint(self) -> QSize:
        return QSize(280, self.heightForWidth(max(200, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(180, 0)

    def _place_anew(self) -> None:
        self._placed = {}
        self.updateGeometry()
        self.update()

    def _rows(self) -> list[_Placed]:
        return self._at_width(self.width())

    def _at_width(self, width: int) -> list[_Placed]:
        if width not in self._placed:
            self._placed[width] = self._place(float(width))
        return self._placed[width]

    def _place(self, width: float) -> list[_Placed]:
        top, placed = 0.0, []
        for at, item in enumerate(self._items):
            one = _placed_title(item, top, width) if isinstance(item, Title) else self._placed_row(at, item, top, width)
            placed.append(one)
            top = one.area.bottom()
        return placed

    def _placed_row(self, at: int, item: Line | Saying, top: float, width: float) -> _Placed:
        label, body = QFontMetricsF(font(TextRole.LABEL)), QFontMetricsF(font(TextRole.NUMBER))
        y = top + _AIR
        if isinstance(item, Saying):
            name = _wrapped(label, item.text, 0.0, y + _TAG + 4, width)
            value = QRectF(0.0, y, width, _TAG)
            note = _wrapped(label, item.reason, 0.0, name.bottom() + 2, width)
        else:
            room = max(width * 0.38, width - _advance(label, item.name) - _BETWEEN)
            value_width = min(_advance(body, item.value), room)
            value = _wrapped(body, item.value, width - value_width, y, value_width)
            beside = y + body.ascent() - label.ascent()
            name = _wrapped(label, item.name, 0.0, beside, width - value_width - _BETWEEN)
            note = _wrapped(label, item.note, 0.0, max(value.bottom(), name.bottom()) + 1, width)
        more = QRectF(0, note.bottom(), width, 0)
        if self.is_open(at) and _more(item):
            more = _wrapped(label, _more(item), 8.0, note.bottom() + 3, width - 8.0)
        bottom = max(value.bottom(), name.bottom(), note.bottom(), more.bottom()) + _AIR
        return _Placed(item, QRectF(0, top, width, bottom - top), name, value, note, more)

    # --- Painting -----------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        seen = QRectF(event.rect())
        for at, placed in enumerate(self._rows()):
            if placed.area.intersects(seen):
                if isinstance(placed.item, Title):
                    _paint_title(painter, placed, placed.item, tokens)
                else:
                    self._paint_row(painter, at, placed, placed.item, tokens)

    def _paint_row(self, painter: QPainter, at: int, placed: _Placed, item: Line | Saying, tokens: Tokens) -> None:
        if at == self._hovered and _more(item):
            painter.fillRect(placed.area.adjusted(-4, 0, 4, -1), tokens.hover)
        if not self._is_last(at):
            painter.fillRect(QRectF(0, placed.area.bottom() - 1, placed.area.width(), 1), tokens.line)
        painter.setFont(font(TextRole.LABEL))
        if isinstance(item, Saying):
            draw_tag(painter, placed.value, item.verdict, item.word, tokens)
            painter.setFont(font(TextRole.LABEL))
            painter.setPen(tokens.text)
            _draw(painter, placed.name, item.text)
            painter.setPen(tokens.muted)
            _draw(painter, placed.note, item.reason)
        else:
            painter.setPen(tokens.muted)
            _draw(painter, placed.name, item.name)
            _draw(painter, placed.note, item.note, right=True)
            painter.setFont(font(TextRole.NUMBER))
            painter.setPen(tokens.text)
            _draw(painter, placed.value, item.value, right=True)
        if placed.more.height():
            painter.setFont(font(TextRole.LABEL))
            painter.fillRect(QRectF(0, placed.more.top(), 2, placed.more.height()), tokens.line_strong)
            painter.setPen(tokens.muted)
            _draw(painter, placed.more, _more(item))
        if at == self._current and self.shows_focus:
            focus_ring(painter, placed.area.adjusted(0, 0, 0, -1), 4, tokens.primary)

    def _is_last(self, at: int) -> bool:
        return at + 1 == len(self._items) or isinstance(self._items[at + 1], Title)

    # --- Events -------------------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = self.row_at(QPointF(event.pos()))
            tip = _more(self._items[at]) if at >= 0 and not self.is_open(at) else ""
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = self.row_at(event.position())
        if at != self._hovered:
            self._hovered = at
            opens = at >= 0 and bool(_more(self._items[at]))
            self.setCursor(Qt.CursorShape.PointingHandCursor if opens else Qt.CursorShape.ArrowCursor)
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = -1
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.LeftButton:
            self._current = self.row_at(event.position())
            self.toggle(self._current)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = self.row_at(QPointF(event.pos())) if event.reason() == QContextMenuEvent.Reason.Mouse else self._current
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = self._appearance.text
        if at >= 0 and not isinstance(self._items[at], Title):
            menu.addAction(text(msg("catalogui.copy.fact")), lambda: self._copy([self._items[at]]))
        menu.addAction(text(msg("catalogui.copy.facts")), lambda: self._copy(self._items))
        menu.popup(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Down:
                self._walk(1)
            case Qt.Key.Key_Up:
                self._walk(-1)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space:
                self.toggle(self._current)
            case Qt.Key.Key_C if event.modifiers() & Qt.KeyboardModifier.ControlModifier and self._current >= 0:
                self._copy([self._items[self._current]])
            case _:
                super().keyPressEvent(event)

    def focusInEvent(self, event: object) -> None:
        super().focusInEvent(event)  # type: ignore[arg-type]  # Qt gives a focus event
        if self._current < 0:
            self._walk(1)

    def _walk(self, by: int) -> None:
        rows = [at for at, item in enumerate(self._items) if not isinstance(item, Title)]
        if not rows:
            return
        place = rows.index(self._current) + by if self._current in rows else 0
        self._current = rows[max(0, min(len(rows) - 1, place))]
        self._bring_into_sight(self.row_area(self._current))
        self.update()

    def _bring_into_sight(self, area: QRectF) -> None:
        from PySide6.QtWidgets import QScrollArea

        parent = self.parentWidget()
        while parent is not None and not isinstance(parent, QScrollArea):
            parent = parent.parentWidget()
        content = parent.widget() if parent is not None else None
        if parent is not None and content is not None:
            middle = self.mapTo(content, area.center().toPoint())
            parent.ensureVisible(0, middle.y(), 0, int(area.height() / 2) + 12)

    def _copy(self, items: Sequence[Item]) -> None:
        QGuiApplication.clipboard().setText("\n".join(_copied(item) for item in items))

    def _describe(self) -> None:
        self.setAccessibleName(self._appearance.text(self._name))
        self.setAccessibleDescription("; ".join(_copied(item).replace("\n", " ") for item in self._items))


def _placed_title(item: Title, top: float, width: float) -> _Placed:
    air = _TITLE_AIR if top else 2.0
    height = QFontMetricsF(font(TextRole.LABEL_STRONG)).height()
    name = QRectF(0, top + air, width, height)
    nothing = QRectF()
    return _Placed(item, QRectF(0, top, width, air + height + 2), name, nothing, nothing, nothing)


def _paint_title(painter: QPainter, placed: _Placed, item: Title, tokens: Tokens) -> None:
    painter.setFont(font(TextRole.LABEL_STRONG))
    painter.setPen(tokens.text)
    _draw(painter, placed.name, item.text)
    if item.note:
        width = QFontMetricsF(painter.font()).horizontalAdvance(item.text) + 8
        painter.setFont(font(TextRole.LABEL))
        painter.setPen(tokens.muted)
        _draw(painter, placed.name.adjusted(width, 0, 0, 0), item.note)


def _wrapped(metrics: QFontMetricsF, text: str, left: float, top: float, width: float) -> QRectF:
    """Where a text lies that may take several lines; no height for none."""
    if not text:
        return QRectF(left, top, width, 0.0)
    if "\n" not in text and metrics.horizontalAdvance(text) <= width:
        return QRectF(left, top, width, metrics.height())
    height = metrics.boundingRect(QRectF(0, 0, width, _TALL), _WRAP, text).height()
    return QRectF(left, top, width, height)


def _draw(painter: QPainter, area: QRectF, text: str, *, right: bool = False) -> None:
    """Draw a text into its place. One line stands on the baseline of our own face, whatever face it falls back to."""
    metrics = QFontMetricsF(painter.font())
    if area.height() > metrics.height() + 1:
        painter.drawText(area, (_WRAP_RIGHT if right else _WRAP) | int(Qt.TextFlag.TextDontClip), text)
    elif text:
        left = area.right() - metrics.horizontalAdvance(text) if right else area.left()
        painter.drawText(QPointF(left, area.top() + metrics.ascent()), text)


def _advance(metrics: QFontMetricsF, text: str) -> float:
    return max(metrics.horizontalAdvance(line) for line in text.split("\n")) + 1.0


def _more(item: Item) -> str:
    return "" if isinstance(item, Title) else item.more


def _copied(item: Item) -> str:
    match item:
        case Title():
            return item.text
        case Saying():
            return f"{item.word}\t{item.text}\t{item.reason}"
        case _:
            note = item.note.replace("\u00a0", " ")
            return f"{item.name}\t{item.value}" + (f"\t{note}" if note else "")
