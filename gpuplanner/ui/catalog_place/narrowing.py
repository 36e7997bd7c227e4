"""Why a table is empty: how many rows each filter alone keeps away. Asked in another thread. No Qt."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.ui.catalog_place.query import Term, filters_of
from gpuplanner.ui.catalog_place.tables import CatalogTable
from gpuplanner.units import Display


@dataclass(frozen=True, slots=True)
class Without:
    """A filter, and how many rows there would be without it."""

    term: Term
    rows: int


def rows_without_each(
    index: CatalogIndex, table: CatalogTable, terms: Sequence[Term], display: Display
) -> tuple[Without, ...]:
    """The filters that keep rows away, the one that keeps away most first. Empty where no single one does."""
    found = []
    for left_out in terms:
        others = filters_of(term for term in terms if term is not left_out)
        rows = index.page(table.value, others, limit=0, columns=(), display=display).total
        if rows:
            found.append(Without(left_out, rows))
    return tuple(sorted(found, key=lambda without: -without.rows))
