"""The rows of a catalog table under a query, a page at a time, out of the index. Asked in other threads. No Qt."""

from collections.abc import Mapping, Sequence

from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.catalog.table.paging import Sort
from gpuplanner.ui.catalog_place.cells import SOURCE, CellReader
from gpuplanner.ui.catalog_place.tables import CatalogTable
from gpuplanner.ui.table.columns import SortKey
from gpuplanner.ui.table.source import PlainRow, Slice
from gpuplanner.units import Display


class CatalogSource:
    """One table under filters. `columns` are those of the table in the window, in its order."""

    def __init__(
        self,
        index: CatalogIndex,
        reader: CellReader,
        table: CatalogTable,
        columns: Sequence[str],
        filters: Mapping[str, str],
        display: Display,
    ) -> None:
        self._index = index
        self._reader = reader
        self._table = table
        self._columns = tuple(columns)
        self._asked = [column for column in columns if column != SOURCE]
        self._filters = dict(filters)
        self._display = display

    def fetch(self, order: Sequence[SortKey], offset: int, limit: int) -> Slice:
        """Rows in an order. The filters were read before, so that nothing raises here."""
        page = self._index.page(
            self._table.value,
            self._filters,
            self._sort(order),
            offset,
            limit,
            columns=self._asked,
            display=self._display,
        )
        rows = []
        for row in page.rows:
            values = dict(zip(self._asked, row.cells, strict=True))
            cells = (self._reader.cell(self._table, row.id, c, values.get(c)) for c in self._columns)
            rows.append(PlainRow(row.id, tuple(cells)))
        return Slice(rows, page.total)

    def position(self, order: Sequence[SortKey], entry_id: str) -> int | None:
        """At which row an entry stands, None when the filters leave it out."""
        keys = self._sort(order)
        return self._index.position(self._table.value, entry_id, self._filters, keys, display=self._display)

    def _sort(self, order: Sequence[SortKey]) -> list[Sort]:
        """What the person sorted by, else the table's first order. Its columns need not be among those asked for."""
        keys = [key for key in order if key.column in self._asked] or self._table.first_order
        return [Sort(key.column, key.descending) for key in keys]
