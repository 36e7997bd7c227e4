"""Turns the rows of the panel into names, values, muted words and sources in the language in use. No widget."""

from collections.abc import Callable, Mapping
from datetime import date

from gpuplanner.catalog.catalog import Rate
from gpuplanner.facts import Fact
from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.catalog_words import in_words
from gpuplanner.ui.catalog_place.fact_list import Line
from gpuplanner.ui.catalog_place.marks import Mark, mark_of
from gpuplanner.ui.catalog_place.rows import FactRow, NumberRow, PriceRow, Row, WordRow
from gpuplanner.ui.catalog_place.wording import (
    age_mark,
    disputed_lines,
    fact_text,
    joined,
    price_lines,
    short_basis,
    shown_fact,
    shown_value,
)
from gpuplanner.units import show_money


class FactWords:
    """Words for rows, each with its sources for when it is opened."""

    def __init__(self, appearance: Appearance, today: Callable[[], date], rates: Mapping[str, Rate]) -> None:
        self._appearance = appearance
        self._today = today
        self._rates = rates

    def lines(self, row: Row) -> list[Line]:
        """A row as it is read: one line, and one more for each value on another basis."""
        said = self._appearance.said
        match row:
            case FactRow():
                return self._facts(row)
            case WordRow():
                return [self._word(row)]
            case NumberRow():
                value = shown_value(row.value, row.unit, self._appearance)
                return [Line(said(row.name), value, more=said(row.note))]
            case PriceRow():
                return [self._price(row)]

    def _facts(self, row: FactRow) -> list[Line]:
        appearance, known = self._appearance, row.known
        tip = "\n".join(disputed_lines(known, appearance))
        mark = mark_of(known)
        lead = f"{mark.value} " if mark is not Mark.SOURCED else ""
        name = joined(appearance, [self._plain(row.name), *short_basis(known.fact.basis)])
        note = ""
        if mark is Mark.DISPUTED:
            rivals = (shown_fact(o, appearance) for o in known.others if o.basis == known.fact.basis)
            texts = (text for text in rivals if text != shown_fact(known.fact, appearance))
            # A number keeps its unit beside it where the line ends.
            others = dict.fromkeys(text.replace(" ", "\u00a0") for text in texts)
            note = appearance.text("catalogui.fact.rivals", values=" · ".join(others)) if others else ""
        shown = [Line(name, lead + shown_fact(known.fact, appearance), note, tip)]
        return shown + [self._other(row, other) for other in known.others if other.basis != known.fact.basis]

    def _other(self, row: FactRow, other: Fact) -> Line:
        """A value on another basis: what differs stands before it, so that nobody takes it for the plain figure."""
        appearance = self._appearance
        own = set(map(str, row.known.fact.basis))
        words = {part: msg(f"catalogui.basis.{part.name.lower()}") for part in other.basis}
        differing = [word for part, word in words.items() if str(part) not in own]
        name = appearance.text("catalogui.fact.counted", how=joined(appearance, differing or words.values()))
        return Line(name, shown_fact(other, appearance), "", fact_text(other, appearance, with_value=False))

    def _word(self, row: WordRow) -> Line:
        lead = f"{Mark.MEMORY.value} " if row.from_memory else ""
        tip = self._appearance.text(Mark.MEMORY.meaning) if row.from_memory else ""
        said = self._appearance.said
        text = row.text if isinstance(row.text, Message) else in_words(str(row.text), self._appearance)
        return Line(said(row.name), lead + said(text), said(row.note), tip)

    def _price(self, row: PriceRow) -> Line:
        appearance, price = self._appearance, row.price
        rate = self._rates.get(price.currency)
        usd = price.per_hour / rate.per_usd if rate is not None and rate.per_usd > 0 else None
        value = f"{price.per_hour:,.4g} {price.currency}/h"
        if usd is not None:
            value = f"{show_money(usd, appearance.display)}/h"
        age = age_mark(price.date, self._today())
        aged = appearance.text("catalogui.price.old", age=age) if age is not None and price.date else ""
        published = f"{price.per_hour:,.4g} {price.currency}" if price.currency != appearance.display.currency else ""
        where = price.region or msg("catalogui.price.no_region")
        when = price.date or msg("catalogui.price.no_date")
        note = joined(appearance, [published, where, when, aged])
        tip = "\n".join(price_lines(price, appearance, self._today()))
        return Line(appearance.text(f"catalogui.price.{price.kind.name.lower()}"), value, note, tip)

    def _plain(self, name: object) -> Message | str:
        """The name of a fact: a message of ours, or a word of the catalog such as the name of a link."""
        return name if isinstance(name, Message) else in_words(str(name), self._appearance)
