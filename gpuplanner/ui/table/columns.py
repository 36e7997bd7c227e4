"""What a column of a table is, how its cells look, and the order that a person sorted by. No widget."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpuplanner.messages import Message
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.help_page.glossary import Term
from gpuplanner.ui.tokens import Verdict
from gpuplanner.units import Display, Unit, digits

MISSING = "—"


@dataclass(frozen=True, slots=True)
class Look:
    """How one cell is shown: text, a muted line below or beside it, a verdict, a mark after the text, a tooltip.

    A tooltip that takes work to write is a function, called when it is wanted. `check` makes a box that can be ticked.
    A cell whose value is missing has `missing` and shows a dash.
    """

    text: str = ""
    note: str = ""
    verdict: Verdict | None = None
    mark: str = ""
    tip: str | Callable[[], str] = ""
    check: bool | None = None
    muted: bool = False
    strong: bool = False
    missing: bool = False


NOTHING = Look(MISSING, muted=True, missing=True)


def no_unit(_display: Display) -> str:
    """The unit of a column that has none."""
    return ""


def plain_text(value: Any, _display: Display) -> str:
    """A value for another program: no grouping, a point as the decimal mark, nothing where it is missing."""
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `look` makes a cell out of a value; `unit` stands in the header; `plain` is for copies and exports.

    One that `yields` goes while a window is too narrow for all, those that come last among the columns first.
    One that is `whole` gets the room that its words need before any column that yields.
    `term` is the word of the glossary that says what the column is.
    `look` and `plain` are called with the value of the row at this column's place, None when it is missing.
    """

    id: str
    title: Message
    look: Callable[[Any, Appearance], Look]
    unit: Callable[[Display], str] = no_unit
    plain: Callable[[Any, Display], str] = plain_text
    right: bool = False
    width: int = 110
    shown: bool = True
    sortable: bool = True
    tip: Message | None = None
    yields: bool = False
    whole: bool = False
    term: Term | None = None


def number_column(
    id_: str,
    title: Message,
    unit: Callable[[Display], str] = no_unit,
    factor: Callable[[Display], float] = lambda _display: 1.0,
    *,
    significant: int = 3,
    **more: Any,
) -> Column:
    """A column of numbers in one unit, right-aligned. `factor`: how many base units one of the header's units is."""

    def look(value: Any, appearance: Appearance) -> Look:
        if value is None:
            return NOTHING
        shown = value / factor(appearance.display)
        return Look(f"{shown:,.0f}" if float(shown).is_integer() else digits(shown, significant))

    def plain(value: Any, display: Display) -> str:
        return "" if value is None else f"{value / factor(display):.10g}"

    return Column(id_, title, look, unit, plain, **{"right": True, "width": 92, **more})


def figure_column(id_: str, title: Message, unit: Unit, **more: Any) -> Column:
    """A column of numbers that each say their unit, for values of very different size."""

    def look(value: Any, appearance: Appearance) -> Look:
        return NOTHING if value is None else Look(str(appearance.show(value, unit)))

    return Column(id_, title, look, **{"right": True, "width": 100, **more})


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to sort by. Missing values come last either way."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The keys that a table is sorted by, first key first. Clicking goes up, down, and back to no order."""

    keys: tuple[SortKey, ...] = field(default=())

    def clicked(self, column: str, *, also: bool) -> "Order":
        """The order after a click on a column; with `also` (Shift) it becomes a further key, else the only one."""
        key = self.of(column)
        following = SortKey(column) if key is None else None if key.descending else SortKey(column, descending=True)
        if not also:
            return Order((following,) if following else ())
        if key is None:
            return Order((*self.keys, SortKey(column)))
        changed = (following if k is key else k for k in self.keys)
        return Order(tuple(k for k in changed if k is not None))

    def of(self, column: str) -> SortKey | None:
        """The key of a column, or None."""
        return next((key for key in self.keys if key.column == column), None)

    def rank(self, column: str) -> int:
        """Which key a column is, from 1; 0 when it is none."""
        return next((i for i, key in enumerate(self.keys, 1) if key.column == column), 0)
