"""Pages of the catalog's tables: filtered, sorted by several keys, counted. May be asked from several threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpuplanner.catalog.table.columns import Column, ColumnKind
from gpuplanner.catalog.table.contents import Table
from gpuplanner.catalog.table.filters import parse_filter, parse_words
from gpuplanner.catalog.table.values import Cell, Mask, Numbers, Ranks, Texts, Values, first_rows
from gpuplanner.messages import InputError, msg
from gpuplanner.units import Display

ANYWHERE = "*"
"""Before a key of the filters that is about no single column: its words are looked for in all columns of words."""


class Sort(NamedTuple):
    """One key of a sort. Missing values come last, ascending or descending."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the entry's id, and a cell for each column that was asked for."""

    id: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Rows `offset` to `offset + len(rows)` of `total` that the filters leave."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    offset: int
    total: int


@dataclass(frozen=True, slots=True)
class _Stored:
    ids: tuple[str, ...]
    rows: Mapping[str, int]
    columns: Mapping[str, Column]
    values: Mapping[str, Values]


class Tables:
    """Tables by their id ("gpus", "instances", "models")."""

    def __init__(self, tables: Sequence[Table[Any]]) -> None:
        self._tables = {table.id: _stored(table) for table in tables}

    def columns(self, table: str) -> tuple[Column, ...]:
        """The columns of a table in their usual order. Raises KeyError for a table that does not exist."""
        return tuple(self._tables[table].columns.values())

    def page(
        self,
        table: str,
        filters: Mapping[str, str] | None = None,
        sort: Sequence[Sort | tuple[str, bool]] = (),
        offset: int = 0,
        limit: int = 100,
        *,
        columns: Sequence[str] | None = None,
        display: Display | None = None,
    ) -> Page:
        """A page of a table. `filters` by column id; all of them must hold. Without `sort`, in the catalog's order.

        A key that begins with `ANYWHERE` filters by words in any column: each word of an alternative has to be found.

        `display`: the units that bare numbers of a filter are in, as in the header. Raises InputError for a filter that
        cannot be read and for a column that does not exist; KeyError for such a table.
        """
        stored = self._tables[table]
        shown = [_column(stored, table, name) for name in (stored.columns if columns is None else columns)]
        kept = np.flatnonzero(self._kept(table, filters or {}, display or Display()))
        keys = [_key(stored, _column(stored, table, name), descending) for name, descending in sort]
        offset, limit = max(0, offset), max(0, limit)
        numbers = first_rows(kept, keys, offset + limit)[offset:].tolist()
        values = [stored.values[column.id] for column in shown]
        rows = tuple(Row(stored.ids[n], tuple(of_column.cell(n) for of_column in values)) for n in numbers)
        return Page(tuple(shown), rows, offset, len(kept))

    def position(
        self,
        table: str,
        entry_id: str,
        filters: Mapping[str, str] | None = None,
        sort: Sequence[Sort | tuple[str, bool]] = (),
        *,
        display: Display | None = None,
    ) -> int | None:
        """At which row of all pages an entry stands, from 0; None when the filters leave it out. Raises as `page`."""
        stored = self._tables[table]
        row = stored.rows.get(entry_id)
        level = self._kept(table, filters or {}, display or Display())
        if row is None or not level[row]:
            return None
        # `level` are those that no key so far tells apart from it.
        ahead = 0
        keys = [_key(stored, _column(stored, table, name), descending) for name, descending in sort]
        for key in keys:
            ahead += int(np.count_nonzero(level & (key < key[row])))
            level = level & (key == key[row])
        return ahead + int(np.count_nonzero(level[:row]))

    def facets(
        self,
        table: str,
        column: str,
        filters: Mapping[str, str] | None = None,
        limit: int = 50,
        *,
        display: Display | None = None,
    ) -> tuple[tuple[Cell, int], ...]:
        """The most frequent values of a column under the filters, with how many rows have each. Raises as `page`."""
        stored = self._tables[table]
        values = stored.values[_column(stored, table, column).id]
        counts = values.counts(self._kept(table, filters or {}, display or Display()))
        return tuple(sorted(counts, key=lambda found: -found[1])[:limit])

    def _kept(self, table: str, filters: Mapping[str, str], display: Display) -> Mask:
        stored = self._tables[table]
        kept = np.ones(len(stored.ids), dtype=np.bool_)
        for name, text in filters.items():
            if name.startswith(ANYWHERE):
                kept &= _kept_anywhere(stored, text)
                continue
            read = parse_filter(text, _column(stored, table, name), display)
            if read is not None:
                kept &= read.kept(stored.values[name])
        return kept


def _stored(table: Table[Any]) -> _Stored:
    entries = tuple(table.entries.values())
    values = {
        column.id: (Numbers if column.kind is ColumnKind.NUMBER else Texts)([read(entry) for entry in entries])
        for column, read in table.readers.items()
    }
    ids = tuple(entry.id for entry in entries)
    return _Stored(ids, {entry_id: row for row, entry_id in enumerate(ids)}, {c.id: c for c in table.columns}, values)


def _kept_anywhere(stored: _Stored, text: str) -> Mask:
    texts = [values for values in stored.values.values() if isinstance(values, Texts)]
    found = np.zeros(len(stored.ids), dtype=np.bool_)
    for words in parse_words(text):
        every = np.ones(len(stored.ids), dtype=np.bool_)
        for word in words:
            every &= np.logical_or.reduce([values.containing(word) for values in texts])
        found |= every
    return found


def _column(stored: _Stored, table: str, name: str) -> Column:
    column = stored.columns.get(name)
    if column is None:
        raise InputError(msg("search.unknown_column", column=name[:80], table=table))
    return column


def _key(stored: _Stored, column: Column, descending: bool) -> Ranks:
    values = stored.values[column.id]
    return np.where(values.missing, len(stored.ids), len(stored.ids) - 1 - values.ranks) if descending else values.ranks
