"""Where the rows of a table come from: a page at a time, sorted by the source. No widget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gpuplanner.ui.table.columns import SortKey


class Row(Protocol):
    """A row: the id of what it stands for, and a value for each column of the table, in their order."""

    @property
    def id(self) -> str: ...

    @property
    def cells(self) -> Sequence[Any]: ...


@dataclass(frozen=True, slots=True)
class PlainRow:
    """A row held in memory."""

    id: str
    cells: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """Some rows in order, and how many there are in all."""

    rows: Sequence[Row]
    total: int


class Source(Protocol):
    """Gives rows `offset` to `offset + limit` in an order. Called in another thread where the table has jobs."""

    def fetch(self, order: Sequence[SortKey], offset: int, limit: int) -> Slice: ...


class ListSource:
    """A source for rows that are all in memory. `columns` are the ids of the columns, in the order of the cells."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self._place = {column: at for at, column in enumerate(columns)}
        self._rows = tuple(rows)

    def fetch(self, order: Sequence[SortKey], offset: int, limit: int) -> Slice:
        """Rows sorted by the last key first, so that the first key counts most; sorting keeps the order of equals."""
        rows: Sequence[Row] = self._rows
        for key in reversed([key for key in order if key.column in self._place]):
            rows = _sorted(rows, self._place[key.column], descending=key.descending)
        return Slice(rows[offset : offset + limit], len(rows))


def _sorted(rows: Sequence[Row], place: int, *, descending: bool) -> list[Row]:
    """Missing values last, ascending and descending alike."""
    known = [row for row in rows if _sortable(row.cells[place]) is not None]
    missing = [row for row in rows if _sortable(row.cells[place]) is None]
    known.sort(key=lambda row: _sortable(row.cells[place]), reverse=descending)
    return known + missing


def _sortable(value: Any) -> Any:
    """What a cell sorts by: its `sort_by` if it has one, else itself. Words regardless of case."""
    value = getattr(value, "sort_by", value)
    return value.casefold() if isinstance(value, str) else value
