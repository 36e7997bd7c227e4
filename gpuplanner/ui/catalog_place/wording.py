"""How facts, bases, sources and prices are put into words. Knows no widget, and computes nothing but an age."""

from collections.abc import Iterable
from datetime import date as date_type

from gpuplanner.catalog.entries import Price
from gpuplanner.catalog.price_age import STALE_DAYS, age_days, whole_months, whole_years
from gpuplanner.facts import Basis, Density, Fact, Known, MemoryKind, Per, Source
from gpuplanner.messages import Language, Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.marks import Mark, source_mark
from gpuplanner.units import GB, TERA, Shown, Unit, digits

_RATES = {Unit.FLOP_PER_S: (TERA, "TFLOPS"), Unit.OP_PER_S: (TERA, "TOPS"), Unit.BYTE_PER_S: (GB, "GB/s")}
"""The prefix that datasheets print rates with, whatever their size."""


def basis_words(basis: Basis) -> list[Message]:
    """Everything that has to be said beside a number; that it is for one GPU goes without saying."""
    return [msg(f"catalogui.basis.{part.name.lower()}") for part in basis if part is not Per.GPU]


def short_basis(basis: Basis) -> list[Message]:
    """What of a basis a name has to carry, so that the number is not read as another one.

    Rates are dense, memory nominal, and all for one GPU or one instance, unless it is said.
    """
    plain = {Density.DENSE, MemoryKind.NOMINAL, Per.GPU, Per.NODE}
    parts = (basis.density, basis.direction, basis.memory, basis.per)
    return [msg(f"catalogui.basis.{part.name.lower()}") for part in parts if part is not None and part not in plain]


def joined(appearance: Appearance, words: Iterable[Message | str]) -> str:
    """Words with the dot of the design between them."""
    return " · ".join(text for text in map(appearance.said, words) if text)


def shown_fact(fact: Fact, appearance: Appearance) -> str:
    """The value with its unit as it was published: rates with four digits (1,979 TFLOPS), and no zeros at the end."""
    if fact.unit in _RATES and fact.value:
        factor, unit = _RATES[fact.unit]
        return f"{_trimmed(digits(fact.value / factor, 4 if fact.value >= 1e3 * factor else 3))} {unit}"
    return shown_value(fact.value, fact.unit, appearance)


def shown_value(value: float, unit: Unit, appearance: Appearance) -> str:
    """A value with its unit, and no zeros at the end."""
    shown = appearance.show(value, unit)
    return str(Shown(_trimmed(shown.number), shown.unit))


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def source_text(source: Source, appearance: Appearance) -> str:
    """Where something was published and when, or when it was taken over from there."""
    when = ""
    if source.date:
        when = appearance.text("catalogui.source.dated", date=source.date)
    elif source.accessed:
        when = appearance.text("catalogui.source.accessed", date=source.accessed)
    cited = source.cited(chinese=appearance.language is Language.CHINESE)
    return f"{cited} ({when})" if when else cited


def fact_text(fact: Fact, appearance: Appearance, *, with_value: bool) -> str:
    """One fact in full: value, basis, remark and source."""
    note = fact.note_zh if appearance.language is Language.CHINESE and fact.note_zh else fact.note
    value = shown_fact(fact, appearance) if with_value else ""
    said = joined(appearance, [value, *basis_words(fact.basis), note])
    mark = source_mark(fact.source)
    lead = f"{mark.value} " if mark is not Mark.SOURCED else ""
    return "\n".join(part for part in (said, lead + source_text(fact.source, appearance)) if part)


def known_lines(known: Known, appearance: Appearance) -> list[str]:
    """All that is known of a property: the fact in use, then other values, on the same basis or another."""
    otherwise = (other for other in known.others if other.basis != known.fact.basis)
    told = (_told("catalogui.source.otherwise", other, appearance) for other in otherwise)
    return [*disputed_lines(known, appearance), *told]


def disputed_lines(known: Known, appearance: Appearance) -> list[str]:
    """The fact in use, then those of other sources that give another value on the same basis."""
    rivals = (other for other in known.others if other.basis == known.fact.basis)
    told = (_told("catalogui.source.disagrees", rival, appearance) for rival in rivals)
    return [fact_text(known.fact, appearance, with_value=False), *told]


def _told(says: str, fact: Fact, appearance: Appearance) -> str:
    return appearance.text(says, fact=fact_text(fact, appearance, with_value=True))


def age_mark(date: str, today: date_type) -> Message | None:
    """The age of a price that may not hold any more, None for one that is fresh."""
    days = age_days(date, today)
    if days is None:
        return msg("catalogui.age.undated")
    if days < STALE_DAYS:
        return None
    years = whole_years(days)
    if years < 2:
        return msg("catalogui.age.months", months=whole_months(days))
    return msg("catalogui.age.years", years=years)


def price_text(price: Price, appearance: Appearance) -> str:
    """A price as it was published, on which terms, where and when."""
    published = f"{digits(price.per_hour, 4)} {price.currency}/h"
    kind = appearance.text(f"catalogui.price.{price.kind.name.lower()}")
    when = price.date or appearance.text("catalogui.price.no_date")
    where = price.region or appearance.text("catalogui.price.no_region")
    return f"{published} · {kind} · {where} · {when}"


def price_lines(price: Price, appearance: Appearance, today: date_type) -> list[str]:
    """A price with its age, remark and source."""
    note = price.note_zh if appearance.language is Language.CHINESE and price.note_zh else price.note
    age = age_mark(price.date, today)
    aged = appearance.text("catalogui.price.old", age=age) if age is not None and price.date else ""
    lines = (price_text(price, appearance), aged, note, source_text(price.source, appearance))
    return [line for line in lines if line]
