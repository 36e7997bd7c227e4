"""Puts splitters and columns back to how they are at first, at once, and knows the way back. Filters are no layout."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from gpuplanner.ui.settings import WINDOW, Settings
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.widgets.splitter import Splitter

_KEPT = ("splitter.", "table.", "plan.split")


def reset_layout(window: QWidget, settings: Settings) -> Callable[[], None]:
    """Reset what is open, and forget what is kept of pages that have not been visited. Returns what undoes it."""
    splitters = [(splitter, splitter.sizes()) for splitter in window.findChildren(Splitter)]
    tables = [(table, table.columns.shape(), table.rows.order) for table in window.findChildren(DataTable)]
    for kept in _KEPT:
        settings.forget(WINDOW + kept)
    for splitter, _ in splitters:
        splitter.reset()
    for table, _, _ in tables:
        table.reset_columns()

    def undo() -> None:
        for splitter, sizes in splitters:
            splitter.arrange(sizes)
        for table, shape, order in tables:
            table.columns.take(shape)
            table.sort_by(order)

    return undo
