"""A pop-up to choose one or several of many: a field to search with, a list, and what else can be done below it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gpuplanner.messages import Message
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, rounded_box
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.popup import Popup
from gpuplanner.ui.widgets.search_field import SearchField

_ROW = 34
_ROWS_IN_SIGHT = 9
_ITEM = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class PickItem:
    """Something to pick. `note` stands muted at the right; `checked` is None where only one can be picked."""

    id: str
    title: str
    note: str = ""
    detail: str = ""
    checked: bool | None = None


@dataclass(frozen=True, slots=True)
class PickAction:
    """Something else that can be done, below the list."""

    label: Message
    icon: str
    run: Callable[[], object]


class Picker(Popup):
    """Opens below a widget. `picked` carries the id; a pick of one of several leaves it open."""

    picked = Signal(str)

    def __init__(
        self,
        appearance: Appearance,
        find: Callable[[str], Sequence[PickItem]],
        hint: Message,
        nothing: Message,
        actions: Sequence[PickAction] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(appearance, parent)
        self._find = find
        self._query: str | None = None
        self.search = SearchField(appearance, hint)
        self.search.searched.connect(self._fill)
        self.search.edit.installEventFilter(self)
        self._model = QStandardItemModel(self)
        self._list = QListView()
        self._list.setModel(self._model)
        self._list.setItemDelegate(_PickDelegate(appearance, self._list))
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._list.setUniformItemSizes(True)
        self._list.setMouseTracking(True)
        self._list.viewport().setAutoFillBackground(False)
        self._list.clicked.connect(self._pick)
        self._nothing = Label(appearance, nothing, ink=Ink.MUTED, wrap=True)
        self._nothing.keep_clear(10, 6, 10, 8)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.search)
        layout.addWidget(self._list)
        layout.addWidget(self._nothing)
        for action in actions:
            button = Button(appearance, action.label, ButtonKind.QUIET, icon=action.icon)
            button.clicked.connect(lambda _=False, run=action.run: self._run(run))
            layout.addWidget(button)

    def open_below(self, owner: QWidget, width: int) -> None:
        """Show it under its owner, or above it where there is more room."""
        self.setFixedWidth(max(width, owner.width()))
        self._fill("")
        self.adjustSize()
        below = owner.mapToGlobal(QPoint(0, owner.height() + 3))
        screen = owner.screen().availableGeometry()
        at = below
        if below.y() + self.sizeHint().height() > screen.bottom():
            at = owner.mapToGlobal(QPoint(0, -self.sizeHint().height() - 3))
        # Within its window too, where that is wide enough: beyond the edge it would belong to another one.
        window = owner.window().frameGeometry()
        right = min(screen.right(), max(window.right(), window.left() + self.width()))
        at.setX(max(screen.left(), min(at.x(), right - self.width())))
        at.setY(max(screen.top(), at.y()))
        self.move(at)
        self.show()
        self.search.edit.setFocus(Qt.FocusReason.PopupFocusReason)

    def items(self) -> list[PickItem]:
        """What the list shows."""
        return [self._model.item(row).data(_ITEM) for row in range(self._model.rowCount())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.search.edit and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            moves = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -8, Qt.Key.Key_PageDown: 8}
            key = Qt.Key(event.key())
            if key in moves:
                self._move(moves[key])
                return True
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._pick(self._list.currentIndex())
                return True
            if key == Qt.Key.Key_Escape:
                self.close()
                return True
        return super().eventFilter(watched, event)

    def _fill(self, query: str) -> None:
        kept = self._list.currentIndex().row() if self._list.currentIndex().isValid() else 0
        same = query == self._query
        self._query = query
        self._model.clear()
        for item in self._find(query):
            row = QStandardItem(item.title)
            row.setData(item, _ITEM)
            row.setData(f"{item.title} {item.note}".strip(), Qt.ItemDataRole.AccessibleTextRole)
            self._model.appendRow(row)
        count = self._model.rowCount()
        self._list.setVisible(count > 0)
        self._nothing.setVisible(count == 0)
        self._list.setFixedHeight(min(count, _ROWS_IN_SIGHT) * _ROW + 2)
        if count:
            self._list.setCurrentIndex(self._model.index(min(kept, count - 1) if same else 0, 0))
        self.adjustSize()

    def _move(self, by: int) -> None:
        count = self._model.rowCount()
        if count:
            row = max(0, min(count - 1, self._list.currentIndex().row() + by))
            self._list.setCurrentIndex(self._model.index(row, 0))

    def _pick(self, index: QModelIndex | QPersistentModelIndex) -> None:
        if not index.isValid():
            return
        item: PickItem = index.data(_ITEM)
        if item.checked is None:
            self.close()
        self.picked.emit(item.id)
        if item.checked is not None:
            self._fill(self.search.text())

    def _run(self, run: Callable[[], object]) -> None:
        self.close()
        run()


class _PickDelegate(QStyledItemDelegate):
    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, _ROW)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        tokens = self._appearance.tokens
        item: PickItem = index.data(_ITEM)
        state = option.state
        area = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_Selected:
            rounded_box(painter, area.adjusted(0, 1, 0, -1), RADIUS_FIELD, tokens.primary_wash)
        elif state & QStyle.StateFlag.State_MouseOver:
            rounded_box(painter, area.adjusted(0, 1, 0, -1), RADIUS_FIELD, tokens.hover)
        left = area.left() + 10
        if item.checked is not None:
            box = QRectF(left, area.center().y() - 8, 16, 16)
            rounded_box(painter, box, 4, tokens.primary if item.checked else None, tokens.line_strong)
            if item.checked:
                draw_icon(painter, "check", box.adjusted(2, 2, -2, -2), tokens.on_primary)
            left += 26
        painter.setFont(font(TextRole.LABEL))
        note_width = QFontMetricsF(painter.font()).horizontalAdvance(item.note) + 1
        note = QRectF(area.right() - note_width - 10, area.top(), note_width, area.height())
        draw_text(painter, note, item.note, tokens.muted)
        painter.setFont(font(TextRole.BODY))
        room = note.left() - left - 10
        title_width = min(QFontMetricsF(painter.font()).horizontalAdvance(item.title) + 1, room)
        draw_text(painter, QRectF(left, area.top(), title_width, area.height()), item.title, tokens.text)
        if item.detail:
            painter.setFont(font(TextRole.LABEL))
            rest = QRectF(left + title_width + 8, area.top(), room - title_width - 8, area.height())
            if rest.width() > 20:
                draw_text(painter, rest, item.detail, tokens.muted)
        painter.restore()
