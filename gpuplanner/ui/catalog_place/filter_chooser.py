"""Lets a person choose a column and say what is asked of it: the menu of columns, and the pop-up of one."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget
from shiboken6 import isValid

from gpuplanner.catalog.table.values import Cell
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Jobs
from gpuplanner.ui.catalog_place.columns import short_title, word_text
from gpuplanner.ui.catalog_place.filter_popup import MOST_VALUES, FilterPopup, filterable_values
from gpuplanner.ui.catalog_place.presenter import CatalogPresenter
from gpuplanner.ui.catalog_place.query import exactly, filters_of
from gpuplanner.ui.catalog_place.table_view import TableView
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.widgets.menus import pop_up

_LEAST_LEFT = 60
"""So much of the header stays right of a pop-up's corner."""


class FilterChooser:
    """Opened from the filter bar, from the headers and from the cells of the table."""

    def __init__(
        self,
        appearance: Appearance,
        jobs: Jobs,
        presenter: CatalogPresenter,
        view: TableView,
        table: Callable[[], DataTable | None],
    ) -> None:
        self._appearance = appearance
        self._jobs = jobs
        self._presenter = presenter
        self._view = view
        self._table = table

    def choose_column(self) -> None:
        """Open a menu of all columns, those in sight first."""
        menu = QMenu(self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        table = self._table()
        shown = [column.id for column in table.columns.shown()] if table is not None else []
        columns = {column.id: column for column in self._presenter.columns(self._presenter.table)}
        for column_id in (c for c in shown if c in columns):
            text = self._appearance.text(short_title(columns[column_id]))
            menu.addAction(text, partial(self.filter_column, column_id))
        others = menu.addMenu(self._appearance.text("catalogui.filter.more"))
        for column_id in (c for c in columns if c not in shown):
            text = self._appearance.text(msg(columns[column_id].label))
            others.addAction(text, partial(self.filter_column, column_id))
        pop_up(menu, self._view.bar.more)

    def filter_column(self, column_id: str) -> None:
        """Ask what a column is filtered by. The values that it has are listed as soon as they are counted."""
        presenter = self._presenter
        column, read = presenter.column(column_id), presenter.read
        if column is None or read is None:
            return
        popup = FilterPopup(self._appearance, column, presenter.query.of(column_id), presenter.fault, self._view)
        popup.asked.connect(presenter.add)
        popup.open_at(self._below_header(column_id))
        if not filterable_values(column):
            return
        table, display = presenter.table.value, self._appearance.display
        others = filters_of(term for term in presenter.terms() if term.column != column_id)

        def show(found: tuple[tuple[Cell, int], ...]) -> None:
            words = ((str(value), rows) for value, rows in found if value is not None)
            if _is_open(popup):
                popup.show_values([(exactly(w), word_text(column_id, w, self._appearance), rows) for w, rows in words])

        self._jobs.run(
            lambda _cancel: read.index.facets(table, column_id, others, MOST_VALUES + 1, display=display), show
        )

    def _below_header(self, column_id: str) -> QPoint:
        """Below the header of a column in sight, else below the filters."""
        table, bar = self._table(), self._view.bar
        if table is None or all(column.id != column_id for column in table.columns.shown()):
            return bar.more.mapToGlobal(QPoint(0, bar.more.height() + 2))
        header = table.horizontalHeader()
        left = header.sectionViewportPosition(table.columns.section(column_id))
        return header.mapToGlobal(QPoint(max(0, min(left, header.width() - _LEAST_LEFT)), header.height() + 2))


def _is_open(widget: QWidget) -> bool:
    """Whether a pop-up has not been closed and deleted meanwhile."""
    return bool(isValid(widget)) and widget.isVisible()
