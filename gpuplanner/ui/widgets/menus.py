"""Small menus that let a person choose one of a few, opened from a button by mouse or keyboard."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget


def choose_from(
    owner: QWidget, options: Sequence[tuple[str, str]], current: str, chosen: Callable[[str], object], *, above: bool
) -> QMenu:
    """Open a menu of (id, text) beside its owner; the current one is checked, and `chosen` gets the id of another."""
    menu = QMenu(owner)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for option_id, text in options:
        action = QAction(text, menu)
        action.setCheckable(True)
        action.setChecked(option_id == current)
        action.triggered.connect(lambda _=False, wanted=option_id: chosen(wanted))
        menu.addAction(action)
        if option_id == current:
            menu.setActiveAction(action)
    pop_up(menu, owner, above=above)
    return menu


def pop_up(menu: QMenu, owner: QWidget, *, above: bool = False) -> None:
    """Open a menu below its owner, or above it where there is no room below."""
    if above:
        menu.popup(owner.mapToGlobal(QPoint(0, -menu.sizeHint().height() - 2)))
    else:
        menu.popup(owner.mapToGlobal(QPoint(0, owner.height() + 2)))
