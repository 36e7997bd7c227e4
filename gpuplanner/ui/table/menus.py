"""The menus of a table: the chooser of columns, sorting, copying."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import QMenu

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.table.columns import Column, Order, SortKey
from gpuplanner.ui.table.copying import CopyFormat

if TYPE_CHECKING:
    from gpuplanner.ui.table.view import DataTable

ColumnAction = tuple[Message, Callable[[str], object]]
"""Something of a page's own to do with a column: what it says, and what gets the column's id."""


class _TickMenu(QMenu):
    """Stays open while ticks are set: one seldom wants a single column more.

    A filter and no handler, since the style has a filter of its own, which would come first and close the menu.
    """

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonRelease:
            return _tick(self.actionAt(event.position().toPoint()))
        keys = {Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter}
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in keys:
            return _tick(self.activeAction())
        return super().eventFilter(watched, event)


def _tick(action: QAction | None) -> bool:
    """Change the tick of an action. Tells whether it has one."""
    if action is None or not action.isCheckable():
        return False
    action.trigger()
    return True


def column_menu(table: "DataTable", appearance: Appearance) -> QMenu:
    """Every column with a tick when it is shown, and the way back."""
    menu = _TickMenu(table)
    menu.setToolTipsVisible(True)
    for column in table.rows.columns:
        action = menu.addAction(appearance.text(column.title))
        action.setToolTip(appearance.text(column.tip or column.title))
        action.setCheckable(True)
        action.setChecked(table.columns.is_shown(column.id))
        action.toggled.connect(lambda on, wanted=column.id: table.columns.show(wanted, shown=on))
    menu.addSeparator()
    menu.addAction(appearance.text(msg("ui.table.reset_columns")), table.reset_columns)
    return menu


def header_menu(table: "DataTable", appearance: Appearance, column: Column | None) -> QMenu:
    """The menu of a column's title: sorting by it, then the chooser."""
    menu = QMenu(table)
    _add_own(menu, table, appearance, column)
    if column is not None and column.sortable:
        _add_sorting(menu, table, appearance, column)
        menu.addSeparator()
    menu.addActions(_owned(column_menu(table, appearance), menu).actions())
    return menu


def cell_menu(table: "DataTable", appearance: Appearance, column: Column | None) -> QMenu:
    """The menu of a cell: copying, sorting by its column, the chooser. All of it can be reached by keyboard."""
    menu = QMenu(table)
    _add_own(menu, table, appearance, column)
    if column is not None:
        menu.addAction(appearance.text(msg("ui.table.copy_cell")), table.copy_cell)
        _add_copies(menu, appearance, msg("ui.table.copy_rows"), table.copy_rows)
    _add_copies(menu, appearance, msg("ui.table.copy_table"), table.copy_table)
    if column is not None and column.sortable:
        menu.addSeparator()
        _add_sorting(menu, table, appearance, column)
    menu.addSeparator()
    columns = _owned(column_menu(table, appearance), menu)
    columns.setTitle(appearance.text(msg("ui.table.columns")))
    menu.addMenu(columns)
    return menu


def _add_own(menu: QMenu, table: "DataTable", appearance: Appearance, column: Column | None) -> None:
    if column is None:
        return
    if table.column_action is not None:
        says, run = table.column_action
        menu.addAction(appearance.text(says), lambda: run(column.id))
        menu.addSeparator()
    if column.term is not None:
        term = column.term
        menu.addAction(appearance.text(msg("ui.table.what", term=term.name)), lambda: table.termWanted.emit(term))
        menu.addSeparator()


def _owned(menu: QMenu, owner: QMenu) -> QMenu:
    """A menu that goes when its owner goes."""
    menu.setParent(owner, menu.windowFlags())
    return menu


def _add_sorting(menu: QMenu, table: "DataTable", appearance: Appearance, column: Column) -> None:
    for says, descending in (("ui.table.sort_up", False), ("ui.table.sort_down", True)):
        order = Order((SortKey(column.id, descending),))
        action = menu.addAction(appearance.text(Message(says)))
        action.triggered.connect(lambda _=False, wanted=order: table.sort_by(wanted))


def _add_copies(menu: QMenu, appearance: Appearance, title: Message, copy: Callable[[CopyFormat], object]) -> None:
    inner = menu.addMenu(appearance.text(title))
    for format_ in CopyFormat:
        says = appearance.text(Message(f"ui.table.as_{format_.value}"))
        inner.addAction(says, lambda wanted=format_: copy(wanted))
