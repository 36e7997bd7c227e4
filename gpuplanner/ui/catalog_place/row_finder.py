"""Keeps the chosen entry and the current row of the table together, wherever the entry stands."""

from collections.abc import Callable

from PySide6.QtCore import QObject

from gpuplanner.ui.background import Coalescer, Jobs, Latest
from gpuplanner.ui.catalog_place.presenter import CatalogPresenter
from gpuplanner.ui.catalog_place.tables import EntryRef
from gpuplanner.ui.table.view import DataTable


class RowFinder(QObject):
    """Asks the index beside the window where an entry stands of which no page has been fetched."""

    def __init__(
        self, presenter: CatalogPresenter, table: Callable[[], DataTable | None], jobs: Jobs, parent: QObject
    ) -> None:
        """`table` gives the table in sight."""
        super().__init__(parent)
        self._presenter = presenter
        self._table = table
        self._finding = Latest(jobs)
        self._first_instead_of: EntryRef | None = None
        # Soon and not now: a table that was just shown does not know yet how high it is.
        self._into_sight = Coalescer(self._scroll, self)

    def find(self, *, else_first: bool = False) -> None:
        """Bring the chosen entry into sight in the table; `else_first` chooses the first row instead.

        A link may lead to an entry that the filters leave out, and then it stays; typing may not leave one behind.
        Asked once, the first row is chosen even when the answer is overtaken by another question about that entry.
        """
        table, entry = self._table(), self._presenter.entry
        if table is None or entry is None:
            return
        if else_first:
            self._first_instead_of = entry
        if table.current_id() == entry.id or table.choose(entry.id):
            self._first_instead_of = None
            self._into_sight.call()
            return
        source = self._presenter.source([column.id for column in table.rows.columns])
        if source is None:
            return
        keys = table.rows.order.keys

        def found(position: int | None) -> None:
            first = self._first_instead_of == entry
            self._first_instead_of = None
            if self._presenter.entry != entry:
                return
            if position is not None and position < table.rows.total:
                table.choose_at(position, entry.id)
                table.show_current()
            elif position is None and first:
                self.choose_first(table)

        self._finding.run(lambda _cancel: source.position(keys, entry.id), found)

    def choose_first(self, table: DataTable) -> None:
        """Choose the entry of the first row."""
        row = table.rows.row(0)
        if row is not None:
            table.choose(row.id)
            # The table says nothing where that row was its current one all along: it had not found the entry yet.
            self._presenter.choose(row.id)

    def _scroll(self) -> None:
        table = self._table()
        if table is not None:
            table.show_current()
