"""What a table is filtered by: a text that is being typed, and the filters in force. Kept in the settings. No Qt."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuplanner.catalog.table.columns import Column
from gpuplanner.catalog.table.filters import LONGEST_FILTER
from gpuplanner.catalog.table.paging import ANYWHERE
from gpuplanner.catalog.table.values import natural_key

MOST_FILTERS = 20
_NUMBER_TEST = re.compile(r"^\s*(?:[<>≤≥]=?|==?|≠|\.\.|\d[\d,_.]*\s*\w*\s*\.\.)")
_NAMED = re.compile(r"^\s*([^<>=≤≥≠!:：|\"]+?)\s*([:：]|(?=[<>=≤≥≠!]))\s*(.+)$")


@dataclass(frozen=True, slots=True)
class Term:
    """One filter: a column, or ANYWHERE, and what is asked of it, as it is typed."""

    column: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """The filters in force, in the order in which they came, and the text in the field, which filters as well."""

    terms: tuple[Term, ...] = ()
    typed: str = ""

    def adding(self, term: Term) -> "Query":
        """With one more filter. A column has one; words anywhere add up."""
        others = [t for t in self.terms if t.column == ANYWHERE or t.column != term.column]
        return replace(self, terms=(*[t for t in others if t != term][: MOST_FILTERS - 1], term))

    def without(self, term: Term) -> "Query":
        """With one filter less."""
        return replace(self, terms=tuple(t for t in self.terms if t != term))

    def of(self, column: str) -> str:
        """What is asked of a column, empty when nothing is."""
        return next((t.text for t in self.terms if t.column == column), "")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is filtered."""
        return not self.terms and not self.typed.strip()


def filters_of(terms: Iterable[Term]) -> dict[str, str]:
    """The filters as the index takes them: words anywhere each get a key of their own."""
    filters: dict[str, str] = {}
    for at, term in enumerate(terms):
        filters[f"{ANYWHERE}{at}" if term.column == ANYWHERE else term.column] = term.text
    return filters


def interpreted(
    typed: str, columns: Sequence[Column], names: Callable[[Column], Iterable[str]], main_number: str
) -> Term | None:
    """What a typed text asks: `bandwidth >= 2000` of that column, `>=80` of the main number, words of any column.

    `names` gives what a column is called; the beginning of a name is enough. None when nothing is typed.
    """
    text = typed.strip()[:LONGEST_FILTER]
    if not text:
        return None
    if _NUMBER_TEST.match(text):
        return Term(main_number, text)
    named = _NAMED.match(text)
    if named is not None:
        column = _column_called(named[1], columns, names)
        if column is not None:
            return Term(column.id, named[3].strip())
    return Term(ANYWHERE, text)


def _column_called(name: str, columns: Sequence[Column], names: Callable[[Column], Iterable[str]]) -> Column | None:
    """The column of a name, else the first whose name begins so, or has a word that begins so."""
    wanted = name.casefold()
    for fits in (str.__eq__, str.startswith, _word_begins):
        for column in columns:
            if any(fits(called.casefold(), wanted) for called in (column.id, *names(column))):
                return column
    return None


def _word_begins(text: str, wanted: str) -> bool:
    return any(word.startswith(wanted) for word in text.split())


def exactly(value: str) -> str:
    """The filter that asks for one value of a column of words."""
    return f'="{value}"' if '"' not in value else f"={value}"


def written(query: Query) -> dict[str, Any]:
    """The query as it is kept."""
    return {"terms": [[t.column, t.text] for t in query.terms], "typed": query.typed}


def read_query(kept: Any, columns: Sequence[Column]) -> Query:
    """The kept query. Filters of columns that are no more, and what cannot be read, are left out."""
    if not isinstance(kept, Mapping):
        return Query()
    known = {ANYWHERE, *(column.id for column in columns)}
    pairs = kept.get("terms")
    terms = [
        Term(pair[0], pair[1][:LONGEST_FILTER])
        for pair in (pairs if isinstance(pairs, list) else [])
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, str) for p in pair) and pair[0] in known
    ]
    typed = kept.get("typed")
    return Query(tuple(terms[:MOST_FILTERS]), typed[:LONGEST_FILTER] if isinstance(typed, str) else "")


def by_name(text: str) -> tuple[str, str]:
    """How names sort in lists: numbers by size."""
    return natural_key(text), text
