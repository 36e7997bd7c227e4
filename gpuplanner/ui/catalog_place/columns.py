"""The columns of the catalog's tables: which are shown at first, their short titles, units and looks. No widget."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from gpuplanner.catalog.table.columns import Column as IndexColumn
from gpuplanner.catalog.table.columns import ColumnKind, header_unit
from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.catalog_words import TRANSLATED, in_words
from gpuplanner.ui.catalog_place.cells import SOURCE, FactCell, MarkCell, NameCell, PriceCell
from gpuplanner.ui.catalog_place.marks import Mark, mark_of
from gpuplanner.ui.catalog_place.tables import CatalogTable
from gpuplanner.ui.catalog_place.wording import age_mark, known_lines, price_lines
from gpuplanner.ui.help_page.glossary import term_of
from gpuplanner.ui.table.columns import NOTHING, Column, Look
from gpuplanner.units import Display, Unit, digits

SHOWN = {
    CatalogTable.GPUS: (
        "name",
        "memory_bytes",
        "hbm_bytes_per_s",
        "bf16_flop_per_s",
        "fp8_flop_per_s",
        "link_bytes_per_s",
        "power_w",
        "gpu_price",
        SOURCE,
    ),
    CatalogTable.INSTANCES: (
        "name",
        "provider",
        "gpu",
        "gpu_count",
        "gpu_memory_total",
        "price",
        "gpu_price",
        SOURCE,
    ),
    CatalogTable.MODELS: (
        "name",
        "kind",
        "parameters",
        "active_parameters",
        "layers",
        "max_positions",
        "kv_bytes_per_token",
        SOURCE,
    ),
}
"""What is shown at first, in this order; everything else is in the chooser."""
_YIELDS = {"link_bytes_per_s", "power_w", "layers"}
"""What a narrow window can do without: each figure has its own mark, and the panel says all of it."""
_SHORT = {
    "memory_bytes",
    "memory_type",
    "hbm_bytes_per_s",
    "bf16_flop_per_s",
    "fp16_flop_per_s",
    "fp8_flop_per_s",
    "fp4_flop_per_s",
    "int8_flop_per_s",
    "tf32_flop_per_s",
    "link_bytes_per_s",
    "power_w",
    "gpu_price",
    "gpu_count",
    "gpu_memory_total",
    "gpu_memory_each",
    "price",
    "max_positions",
    "kv_bytes_per_token",
    "active_parameters",
    "price_per_gib",
    "price_per_tflops",
    "flop_per_byte",
    "compute_capability",
    "kv_elements_per_token",
}
_WIDTHS = {
    "name": 150,
    "gpu": 120,
    "gpu_count": 56,
    "provider": 84,
    "kind": 120,
    "licence": 110,
    SOURCE: 44,
    "max_positions": 80,
    "gpu_price": 80,
    "memory_type": 70,
}
_ALIGNED = "\u2003"
"""As wide as a mark: keeps the digits of a column under each other where only some have one."""
_MISSING_BESIDE_MARKS = replace(NOTHING, mark=_ALIGNED)
MARKED = (Mark.DISPUTED, Mark.MEMORY)


def table_columns(
    table: CatalogTable, columns: Sequence[IndexColumn], pinned: Callable[[str], bool], today: Callable[[], date]
) -> list[Column]:
    """The columns of a table, those shown at first before the others. `pinned` tells of an entry, by its id."""
    shown = SHOWN[table]
    made = {column.id: _column(column, pinned, today, shown=column.id in shown) for column in columns}
    made[SOURCE] = Column(
        SOURCE,
        msg("catalogui.column.source"),
        _mark_look,
        plain=_mark_plain,
        width=_WIDTHS[SOURCE],
        sortable=False,
        tip=msg("catalogui.column.source.tip"),
        yields=True,
    )
    others = [column.id for column in columns if column.id not in shown]
    return [made[name] for name in (*shown[:-1], *others, SOURCE) if name in made]


def short_title(column: IndexColumn) -> Message:
    """What stands in the header."""
    return msg(f"catalogui.column.{column.id}") if column.id in _SHORT else msg(column.label)


def _column(column: IndexColumn, pinned: Callable[[str], bool], today: Callable[[], date], *, shown: bool) -> Column:
    tip = msg(column.label) if column.id in _SHORT else None
    number_width = 80 if column.unit is Unit.MONEY_PER_HOUR else 64
    width = _WIDTHS.get(column.id, number_width if column.kind is ColumnKind.NUMBER else 96)
    if column.id == "name":
        look: Callable[[Any, Appearance], Look] = _name_look(pinned)
        return Column(column.id, msg(column.label), look, plain=_plain(column), width=width, shown=shown)
    if column.kind is not ColumnKind.NUMBER:
        return Column(
            column.id,
            short_title(column),
            _word_look(column),
            plain=_plain(column),
            width=width,
            shown=shown,
            tip=tip,
            term=term_of(column.id),
        )

    def unit(display: Display) -> str:
        return header_unit(column, display).text

    look = _price_look(column, today) if column.unit is Unit.MONEY_PER_HOUR else _number_look(column)
    return Column(
        column.id,
        short_title(column),
        look,
        unit,
        _plain(column),
        right=True,
        width=width,
        shown=shown,
        tip=tip,
        yields=column.id in _YIELDS,
        term=term_of(column.id),
    )


def shown_number(value: float, column: IndexColumn, display: Display) -> str:
    """A number in the unit of its column's header."""
    number = value / header_unit(column, display).factor
    if column.unit is Unit.MONEY_PER_HOUR:
        return digits(number, 3) if abs(number) < 1 else f"{number:,.2f}"
    return f"{number:,.0f}" if float(number).is_integer() or abs(number) >= 1000 else digits(number, 3)


def _name_look(pinned: Callable[[str], bool]) -> Callable[[Any, Appearance], Look]:
    def look(value: Any, appearance: Appearance) -> Look:
        if not isinstance(value, NameCell):
            return NOTHING
        is_pinned = pinned(value.id)

        def tip() -> str:
            says = appearance.text("catalogui.pin.out" if is_pinned else "catalogui.pin.in")
            return f"{value.name}\n{says}"

        return Look(value.name, tip=tip, check=is_pinned)

    return look


def _word_look(column: IndexColumn) -> Callable[[Any, Appearance], Look]:
    def look(value: Any, appearance: Appearance) -> Look:
        return NOTHING if not value else Look(word_text(column.id, str(value), appearance), muted=True)

    return look


def word_text(column_id: str, value: str, appearance: Appearance) -> str:
    """A word of the catalog as it is said: kinds of models and what is no name are said in both languages."""
    if column_id in TRANSLATED:
        return in_words(value, appearance)
    message_id = f"model.kind.{value}"
    return appearance.text(message_id) if column_id == "kind" and appearance.translator.has(message_id) else value


def _number_look(column: IndexColumn) -> Callable[[Any, Appearance], Look]:
    def look(value: Any, appearance: Appearance) -> Look:
        known = value.known if isinstance(value, FactCell) else None
        number = value.value if isinstance(value, FactCell) else value
        if not isinstance(number, float | int):
            return _MISSING_BESIDE_MARKS if isinstance(value, FactCell) else NOTHING
        text = shown_number(number, column, appearance.display)
        if known is None:
            return Look(text)
        mark = mark_of(known)
        return Look(
            text,
            mark=mark.value if mark in MARKED else _ALIGNED,
            tip=lambda: "\n".join(known_lines(known, appearance)),
        )

    return look


def _price_look(column: IndexColumn, today: Callable[[], date]) -> Callable[[Any, Appearance], Look]:
    def look(value: Any, appearance: Appearance) -> Look:
        number = value.usd_per_hour if isinstance(value, PriceCell) else value
        if number is None:
            return NOTHING
        text = shown_number(number, column, appearance.display)
        price = value.price if isinstance(value, PriceCell) else None
        if price is None:
            return Look(text)
        age = age_mark(price.date, today())

        def tip() -> str:
            by = value.offered_by
            lead = [f"{by.provider} {by.name}"] if by is not None else []
            return "\n".join([*lead, *price_lines(price, appearance, today())])

        return Look(text, mark=appearance.text(age) if age is not None else "", tip=tip)

    return look


def _mark_look(value: Any, appearance: Appearance) -> Look:
    if not isinstance(value, MarkCell):
        return NOTHING
    return Look(value.mark.value, tip=appearance.text(value.mark.meaning), muted=True)


def _mark_plain(value: Any, _display: Display) -> str:
    return value.mark.name.lower() if isinstance(value, MarkCell) else ""


def _plain(column: IndexColumn) -> Callable[[Any, Display], str]:
    def plain(value: Any, display: Display) -> str:
        if isinstance(value, NameCell):
            return value.name
        if isinstance(value, FactCell):
            value = value.value
        elif isinstance(value, PriceCell):
            value = value.usd_per_hour
        if value is None:
            return ""
        return f"{value / header_unit(column, display).factor:.10g}" if isinstance(value, float) else str(value)

    return plain
