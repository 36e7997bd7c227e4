"""Tab goes through a page as one reads it: pane after pane, from top to bottom, and in a line from left to right.

Qt's own order is that in which widgets were made, which in a page of parts that come and go is no order at all.
"""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

_SAME_LINE = 12


def in_reading_order(root: QWidget) -> list[QWidget]:
    """What Tab reaches below `root`, by where it stands now."""
    reached = [widget for widget in root.findChildren(QWidget) if _stops_at(widget)]
    places = {widget: widget.mapTo(root, QPoint(0, 0)) for widget in reached}
    reached.sort(key=lambda widget: (places[widget].y(), places[widget].x()))
    ordered: list[QWidget] = []
    line: list[QWidget] = []
    for widget in reached:
        if line and places[widget].y() - places[line[0]].y() > _SAME_LINE:
            ordered += sorted(line, key=lambda w: places[w].x())
            line = []
        line.append(widget)
    return ordered + sorted(line, key=lambda w: places[w].x())


def step(page: QWidget, panes: Sequence[QWidget], *, forward: bool) -> bool:
    """Move the focus on by one within the panes of a page, or out of the page at their ends. Tells whether it moved."""
    reached = [widget for pane in panes if pane.isVisible() for widget in in_reading_order(pane)]
    focused = QApplication.focusWidget()
    if focused is None or focused not in reached:
        return False
    at = reached.index(focused) + (1 if forward else -1)
    target = reached[at] if 0 <= at < len(reached) else _outside(page, focused, forward=forward)
    if target is None:
        return False
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    _bring_into_sight(target)
    return True


def _stops_at(widget: QWidget) -> bool:
    tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return tab and widget.isEnabled() and widget.isVisible() and widget.focusProxy() is None


def _outside(page: QWidget, start: QWidget, *, forward: bool) -> QWidget | None:
    """The next stop that is not on the page."""
    widget: QWidget | None = start
    while widget is not None:
        widget = widget.nextInFocusChain() if forward else widget.previousInFocusChain()
        if widget is start:
            return None
        if widget is not None and _stops_at(widget) and not page.isAncestorOf(widget):
            return widget
    return None


def _bring_into_sight(widget: QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
            return
        parent = parent.parentWidget()
