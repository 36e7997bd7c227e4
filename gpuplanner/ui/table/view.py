"""The table itself: lays out header and cells, sorts, copies, and keeps its columns as a person arranged them."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QMenu, QTableView, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Jobs
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.table.arrangement import TICK_WIDTH, Arrangement
from gpuplanner.ui.table.columns import Column, Order
from gpuplanner.ui.table.copying import CopyFormat, table_text
from gpuplanner.ui.table.delegate import CellDelegate
from gpuplanner.ui.table.header import PADDING, DataHeader
from gpuplanner.ui.table.menus import ColumnAction, cell_menu, column_menu, header_menu
from gpuplanner.ui.table.model import PAGE, PagedModel
from gpuplanner.ui.table.source import Row, Source
from gpuplanner.ui.tokens import ROW_HEIGHT


class DataTable(QTableView):
    """Rows of a source. `key` is where its columns are kept in the settings."""

    rowChosen = Signal(str)
    """The id of the row that is current now, empty when none is."""
    rowOpened = Signal(str)
    """Enter or a double click on a row."""
    checkClicked = Signal(str, str)
    """A tick was clicked, or Space pressed on it: row id and column id."""
    termWanted = Signal(object)
    """A person asks what a column is: its word of the glossary."""
    copied = Signal(int)
    """How many rows were put on the clipboard."""

    def __init__(
        self,
        appearance: Appearance,
        settings: Settings,
        key: str,
        columns: Sequence[Column],
        name: Message,
        jobs: Jobs | None = None,
        *,
        row_height: int = ROW_HEIGHT,
        parent: QWidget | None = None,
    ) -> None:
        """Without `jobs` the source is asked in this thread. A row of 44 pixels and more has room for a second line."""
        super().__init__(parent)
        self._appearance = appearance
        self._name = name
        self._jobs = jobs
        self._note: Callable[[], str] = str
        self.column_action: ColumnAction | None = None
        self._chosen = ""
        self._reloading = False
        self._pressed = QModelIndex()
        self.rows = PagedModel(appearance, columns, jobs, self)
        self.rows.loaded.connect(self._loaded)
        self.rows.dataChanged.connect(self._page_came)
        self.setModel(self.rows)
        self._header = DataHeader(appearance, self.rows, self)
        self.setHorizontalHeader(self._header)
        self._delegate = CellDelegate(appearance, self.rows, self)
        self.setItemDelegate(self._delegate)
        self._set_up(row_height)
        self.columns = Arrangement(self, self._header, self.rows, settings, key)
        self._header.sortClicked.connect(self._sort_clicked)
        self._header.menuWanted.connect(self._header_menu)
        self.selectionModel().currentRowChanged.connect(self._current_changed)
        appearance.languageChanged.connect(self._render)
        appearance.displayChanged.connect(self._render)
        appearance.themeChanged.connect(self._repaint)
        self._render()

    def _set_up(self, row_height: int) -> None:
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        # By whole rows: together with `paintEvent` no row is ever cut in half.
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        vertical = self.verticalHeader()
        vertical.setVisible(False)
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        vertical.setMinimumSectionSize(row_height)
        vertical.setDefaultSectionSize(row_height)
        self.doubleClicked.connect(self._open)

    # --- For those who use it -----------------------------------------------------------------------------------------

    def set_source(self, source: Source) -> None:
        """Show other rows. The current row stays current when it is still there."""
        self.rows.set_source(source)

    def set_note(self, note: Callable[[], str]) -> None:
        """What is written below a copied table: the filters in force."""
        self._note = note

    def set_column_action(self, says: Message, run: Callable[[str], object]) -> None:
        """Something to do with a column, first in the menus of headers and cells; `run` gets the column's id."""
        self.column_action = (says, run)

    def current_id(self) -> str:
        """The id of the current row, empty when none is."""
        row = self.rows.row(self.currentIndex().row()) if self.currentIndex().isValid() else None
        return row.id if row else ""

    def choose(self, row_id: str) -> bool:
        """Make a row current, if it is among those that have been fetched. Tells whether it is."""
        for number in range(self.rows.total):
            row = self.rows.row(number)
            if row is None:
                return False
            if row.id == row_id:
                self._make_current(number)
                return True
        return False

    def choose_at(self, number: int, row_id: str) -> None:
        """Make a row current of which it is known where it stands, though its page may not be here yet."""
        self._chosen = row_id
        self._reloading = True
        self._make_current(number)
        self._reloading = False

    def show_current(self) -> None:
        """Bring the current row into sight: where it is not, into the middle, with what stands around it."""
        index = self.currentIndex()
        row = self.visualRect(index)
        if index.isValid() and not 0 <= row.top() <= row.bottom() < self.viewport().height():
            self.scrollTo(index, self.ScrollHint.PositionAtCenter)

    def _make_current(self, number: int) -> None:
        # By itself Qt would bring the row to the edge of what is in sight.
        self.setAutoScroll(False)
        self.setCurrentIndex(self.rows.index(number, self.columns.section(self.columns.shown()[0].id)))
        self.setAutoScroll(True)

    def sort_by(self, order: Order) -> None:
        """Sort by other keys."""
        self.rows.set_order(order)
        self.columns.changed()

    def reset_columns(self) -> None:
        """Columns, widths and order as they were at first."""
        self.columns.reset()
        self.sort_by(Order())

    def column_menu(self) -> QMenu:
        """The chooser of columns, to be opened by a button too."""
        return column_menu(self, self._appearance)

    # --- Copying ------------------------------------------------------------------------------------------------------

    def copy_cell(self) -> None:
        """Put the current cell on the clipboard, as it is shown."""
        text = self.currentIndex().data()
        if text is not None:
            QGuiApplication.clipboard().setText(str(text))

    def copy_rows(self, format_: CopyFormat = CopyFormat.TSV) -> None:
        """Put the selected rows on the clipboard."""
        numbers = sorted(index.row() for index in self.selectionModel().selectedRows())
        rows = [row for number in numbers if (row := self.rows.row(number)) is not None]
        QGuiApplication.clipboard().setText(self._text(rows, format_))
        self.copied.emit(len(rows))

    def copy_table(self, format_: CopyFormat = CopyFormat.TSV) -> None:
        """Put all rows on the clipboard; they are fetched and written beside the window."""

        def put(found: tuple[int, str]) -> None:
            QGuiApplication.clipboard().setText(found[1])
            self.copied.emit(found[0])

        self.whole_table(format_, put)

    def whole_table(self, format_: CopyFormat, done: Callable[[tuple[int, str]], object]) -> None:
        """All rows as text: `done` gets how many there are and the text."""
        write = self._writer(format_)

        def work(_cancel: Any = None) -> tuple[int, str]:
            rows = self.rows.everything()
            return len(rows), write(rows)

        if self._jobs is None:
            done(work())
        else:
            self._jobs.run(work, done, title=msg("ui.work.rows"))

    def _text(self, rows: Sequence[Row], format_: CopyFormat) -> str:
        return self._writer(format_)(rows)

    def _writer(self, format_: CopyFormat) -> Callable[[Sequence[Row]], str]:
        """How rows are written now; the result needs no widget and can run in another thread."""
        columns = self.columns.shown()
        places = [self.columns.section(column.id) for column in columns]
        display, translator, note = self._appearance.display, self._appearance.translator, self._note()

        def write(rows: Sequence[Row]) -> str:
            values = ([row.cells[place] for place in places] for row in rows)
            return table_text(columns, values, format_, display, translator, note)

        return write

    # --- Sorting and menus --------------------------------------------------------------------------------------------

    def _sort_clicked(self, section: int, also: bool) -> None:
        column = self.rows.columns[section]
        if column.sortable:
            self.sort_by(self.rows.order.clicked(column.id, also=also))

    def _header_menu(self, section: int, at: QPoint) -> None:
        _pop_up(header_menu(self, self._appearance, self.rows.columns[section] if section >= 0 else None), at)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.currentIndex()
        column = self.rows.columns[index.column()] if index.isValid() else None
        _pop_up(cell_menu(self, self._appearance, column), event.globalPos())

    # --- Events -------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        height = self.viewport().height()
        last = self.rowAt(height - 1)
        top = self.rowViewportPosition(last)
        if last >= 0 and top > 0 and top + self.rowHeight(last) > height:
            QPainter(self.viewport()).fillRect(
                0, top, self.viewport().width(), height - top, self._appearance.tokens.card
            )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        copy = event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.key() == Qt.Key.Key_C
        if copy and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.copy_cell()
        elif copy:
            self.copy_rows()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._open(self.currentIndex())
        elif event.key() == Qt.Key.Key_Space and self._check(self.currentIndex()):
            event.accept()
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._hover(self.indexAt(event.position().toPoint()).row())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A tick is no part of its row: to press it chooses nothing."""
        self._pressed = self._tick_at(event)
        if not self._pressed.isValid():
            super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Two quick clicks on a tick are two clicks, and open nothing."""
        self._pressed = self._tick_at(event)
        if not self._pressed.isValid():
            super().mouseDoubleClickEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, QModelIndex()
        if not pressed.isValid():
            super().mouseReleaseEvent(event)
        elif self._tick_at(event) == pressed:
            self._check(pressed)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(-1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.columns.fill_width()

    def _hover(self, row: int) -> None:
        if row != self._delegate.hovered_row:
            self._delegate.hovered_row = row
            self.viewport().update()

    def _open(self, index: QModelIndex) -> None:
        row = self.rows.row(index.row()) if index.isValid() else None
        if row is not None:
            self.rowOpened.emit(row.id)

    def _check(self, index: QModelIndex) -> bool:
        row = self.rows.row(index.row()) if self._has_tick(index) else None
        if row is None:
            return False
        self.checkClicked.emit(row.id, self.rows.columns[index.column()].id)
        return True

    def _has_tick(self, index: QModelIndex) -> bool:
        row = self.rows.row(index.row()) if index.isValid() else None
        return row is not None and self.rows.look(row, self.rows.columns[index.column()]).check is not None

    def _tick_at(self, event: QMouseEvent) -> QModelIndex:
        """The cell whose tick is under the pointer; an invalid index where there is none."""
        index = self.indexAt(event.position().toPoint())
        inside = event.position().x() - self.visualRect(index).left() < PADDING + TICK_WIDTH
        left = event.button() is Qt.MouseButton.LeftButton
        return index if left and inside and self._has_tick(index) else QModelIndex()

    def _current_changed(self, current: QModelIndex) -> None:
        row = self.rows.row(current.row()) if current.isValid() else None
        wanted = row.id if row else ""
        if wanted != self._chosen and (wanted or not self._reloading):
            self._chosen = wanted
            self.rowChosen.emit(wanted)

    def _page_came(self, first: QModelIndex, last: QModelIndex) -> None:
        """Its numbers may be longer. Who walks faster than rows are fetched has chosen one all the same."""
        if last.row() - first.row() < PAGE:
            self.columns.fit_contents(range(first.row(), last.row() + 1))
        # The page that came may be another than that of the current row, which then is not known yet.
        if self.current_id() not in {"", self._chosen}:
            self._current_changed(self.currentIndex())

    def _loaded(self) -> None:
        """The row that was current stays so where it is in the first page; else nobody is told of a change."""
        self.columns.fit_contents()
        kept = self._chosen
        self._reloading = True
        if kept and not self.choose(kept):
            self._chosen = kept
        self._reloading = False
        if self.isVisible():
            self.show_current()

    def _render(self) -> None:
        self.setAccessibleName(self._appearance.text(self._name))
        self.columns.fit_anew()

    def _repaint(self) -> None:
        self.viewport().update()


def _pop_up(menu: QMenu, at: QPoint) -> None:
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.popup(at)
