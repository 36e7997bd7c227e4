"""The palette over the window: a field, and below it what it finds. Up, Down, Enter and Esc are all it needs."""

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QLineEdit,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.palette.items import PaletteItem
from gpuplanner.ui.palette.search import PaletteSearch
from gpuplanner.ui.tokens import RADIUS_CARD, RADIUS_FIELD
from gpuplanner.ui.widgets.label import Ink, Label

WIDTH = 620
_ROW = 36
_HEADER = 28
_ITEM = Qt.ItemDataRole.UserRole


class PaletteView(QWidget):
    """Covers the window while it is open; a click beside it closes it. The focus goes back to where it was."""

    def __init__(self, appearance: Appearance, search: PaletteSearch, over: QWidget) -> None:
        super().__init__(over)
        self._appearance = appearance
        self._search = search
        self._over = over
        self._came_from: QWidget | None = None
        self._stepped = False
        """Whether the person chose a row since the query changed; else the best one is chosen as answers come in."""
        self._box = _Box(appearance, self)
        self._field = QLineEdit(self._box)
        self._field.setFrame(False)
        # As large as a title and no title: it is what a person types.
        face = font(TextRole.TITLE)
        face.setWeight(QFont.Weight.Normal)
        self._field.setFont(face)
        self._field.setFixedHeight(34)
        self._field.textChanged.connect(self._ask)
        self._field.installEventFilter(self)
        self._model = QStandardItemModel(self)
        self._list = QListView(self._box)
        self._list.setModel(self._model)
        self._list.setItemDelegate(_ItemDelegate(appearance, self._list))
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._list.viewport().setAutoFillBackground(False)
        self._list.clicked.connect(self._run)
        self._nothing = Label(appearance, msg("ui.palette.nothing"), ink=Ink.MUTED)
        self._nothing.keep_clear(12, 6, 12, 10)
        layout = QVBoxLayout(self._box)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self._field)
        layout.addWidget(self._list)
        layout.addWidget(self._nothing)
        over.installEventFilter(self)
        search.changed.connect(self._show_found)
        appearance.languageChanged.connect(self._render)
        self._render()
        self.hide()

    def open(self, query: str = "") -> None:
        """Open it, with something typed in already."""
        if not self.isVisible():
            self._came_from = QApplication.focusWidget()
        self.setGeometry(self._over.rect())
        self._field.setText(query)
        self._field.selectAll()
        self._ask(query)
        self.show()
        self.raise_()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def shut(self) -> None:
        """Close it and give the focus back."""
        if not self.isVisible():
            return
        self.hide()
        if self._came_from is not None:
            self._came_from.setFocus(Qt.FocusReason.OtherFocusReason)
            self._came_from = None

    def items(self) -> list[PaletteItem]:
        """What is in sight, from top to bottom."""
        rows = (self._model.item(row).data(_ITEM) for row in range(self._model.rowCount()))
        return [item for item in rows if isinstance(item, PaletteItem)]

    # --- Events -------------------------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._over and event.type() == QEvent.Type.Resize and self.isVisible():
            self.setGeometry(self._over.rect())
            self._place()
        if watched is self._field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        return super().eventFilter(watched, event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.shut()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = painter_for(self)
        painter.setOpacity(0.28 if self._appearance.tokens.dark else 0.10)
        painter.fillRect(self.rect(), "#000000")

    def _key(self, event: QKeyEvent) -> bool:
        match event.key():
            case Qt.Key.Key_Escape:
                self.shut()
            case Qt.Key.Key_Down:
                self._step(1)
            case Qt.Key.Key_Up:
                self._step(-1)
            case Qt.Key.Key_PageDown:
                self._step(6)
            case Qt.Key.Key_PageUp:
                self._step(-6)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._run(self._list.currentIndex())
            case Qt.Key.Key_Tab | Qt.Key.Key_Backtab:
                pass
            case _:
                return False
        return True

    # --- What is found ------------------------------------------------------------------------------------------------

    def _ask(self, query: str) -> None:
        self._stepped = False
        self._search.ask(query)

    def _show_found(self) -> None:
        kept = self._list.currentIndex().data(_ITEM) if self._stepped else None
        self._model.clear()
        for found in self._search.found:
            header = QStandardItem(self._appearance.text(found.group))
            header.setFlags(Qt.ItemFlag.NoItemFlags)
            self._model.appendRow(header)
            for item in found.items:
                row = QStandardItem(f"{item.title} {item.note}".strip())
                row.setData(item, _ITEM)
                self._model.appendRow(row)
        self._nothing.say(msg("ui.palette.nothing" if self._search.complete else "ui.palette.searching"))
        self._nothing.setVisible(not self._search.found)
        self._list.setVisible(bool(self._search.found))
        self._choose(kept.id if isinstance(kept, PaletteItem) else "")
        self._place()

    def _choose(self, item_id: str) -> None:
        rows = [r for r in range(self._model.rowCount()) if self._model.item(r).data(_ITEM) is not None]
        row = next((r for r in rows if self._model.item(r).data(_ITEM).id == item_id), rows[0] if rows else -1)
        if row >= 0:
            self._list.setCurrentIndex(self._model.index(row, 0))

    def _step(self, by: int) -> None:
        rows = [r for r in range(self._model.rowCount()) if self._model.item(r).data(_ITEM) is not None]
        if not rows:
            return
        here = self._list.currentIndex().row()
        at = rows.index(here) if here in rows else 0
        row = rows[(at + by) % len(rows)] if abs(by) == 1 else rows[max(0, min(len(rows) - 1, at + by))]
        self._stepped = True
        self._list.setCurrentIndex(self._model.index(row, 0))
        if row == rows[0]:
            self._list.scrollToTop()

    def _run(self, index: QModelIndex) -> None:
        item = index.data(_ITEM)
        if isinstance(item, PaletteItem):
            self.shut()
            item.run()

    def _place(self) -> None:
        rows = self._model.rowCount()
        headers = len(self._search.found)
        wanted = (rows - headers) * _ROW + headers * _HEADER
        room = max(120, self.height() - 160)
        self._list.setFixedHeight(min(wanted, room))
        width = min(WIDTH, self.width() - 40)
        self._box.setFixedWidth(width)
        self._box.adjustSize()
        self._box.move((self.width() - width) // 2, min(64, self.height() // 10))

    def _render(self) -> None:
        self._field.setPlaceholderText(self._appearance.text(msg("ui.palette.hint")))
        self._field.setAccessibleName(self._appearance.text(msg("ui.palette.hint")))
        self._list.setAccessibleName(self._appearance.text(msg("ui.palette.results")))
        if self.isVisible():
            self._ask(self._field.text())


class _Box(QFrame):
    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click inside does not close the palette."""

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        rounded_box(painter, QRectF(self.rect()), RADIUS_CARD, tokens.field, tokens.line_strong)
        painter.fillRect(1, 47, self.width() - 2, 1, tokens.line)


class _ItemDelegate(QStyledItemDelegate):
    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, _ROW if isinstance(index.data(_ITEM), PaletteItem) else _HEADER)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(option.rect)
        item = index.data(_ITEM)
        if isinstance(item, PaletteItem):
            current = self.parent()
            chosen = isinstance(current, QListView) and current.currentIndex() == index
            self._paint_item(painter, area, item, chosen=chosen)
        else:
            painter.setFont(font(TextRole.TAG))
            text = str(index.data())
            draw_text(painter, area.adjusted(12, 6, -12, 0), text, self._appearance.tokens.muted)
        painter.restore()

    def _paint_item(self, painter: QPainter, area: QRectF, item: PaletteItem, *, chosen: bool) -> None:
        tokens = self._appearance.tokens
        if chosen:
            rounded_box(painter, area, RADIUS_FIELD, tokens.primary_wash)
        if item.icon:
            ink = tokens.primary_ink if chosen else tokens.muted
            draw_icon(painter, item.icon, QRectF(area.left() + 12, area.center().y() - 8, 16, 16), ink)
        right = area.right() - 12
        if item.shortcut:
            painter.setFont(font(TextRole.LABEL))
            keys = QKeySequence(item.shortcut).toString(QKeySequence.SequenceFormat.NativeText)
            width = QFontMetricsF(painter.font()).horizontalAdvance(keys)
            draw_text(painter, QRectF(right - width, area.top(), width + 1, area.height()), keys, tokens.muted)
            right -= width + 16
        painter.setFont(font(TextRole.BODY))
        left = area.left() + 38
        width = min(QFontMetricsF(painter.font()).horizontalAdvance(item.title) + 2, right - left)
        draw_text(painter, QRectF(left, area.top(), width, area.height()), item.title, tokens.text)
        painter.setFont(font(TextRole.LABEL))
        if right - left - width - 10 > 20:
            note = QRectF(left + width + 10, area.top(), right - left - width - 10, area.height())
            draw_text(painter, note, item.note, tokens.muted)
