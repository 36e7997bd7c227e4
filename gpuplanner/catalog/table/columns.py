"""Columns of the catalog's tables: what they are called, their unit, and how their header's unit reads. No values."""

from dataclasses import dataclass
from enum import StrEnum

from gpuplanner.units import GB, GIB, KB, KIB, TERA, Display, MemoryConvention, Unit


class ColumnKind(StrEnum):
    """How a column sorts and filters: numbers, words, or dates as ISO text."""

    NUMBER = "number"
    TEXT = "text"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Numbers are in the base unit of `unit`; `derived` ones are computed from other facts."""

    id: str
    kind: ColumnKind
    unit: Unit = Unit.TEXT
    derived: bool = False

    @property
    def label(self) -> str:
        """The id of the message that names it."""
        return f"search.column.{self.id}"


@dataclass(frozen=True, slots=True)
class HeaderUnit:
    """The unit that a column's header says, and how many base units it is."""

    text: str
    factor: float


def header_unit(column: Column, display: Display) -> HeaderUnit:
    """The one unit in which a column shows all its numbers, so that they compare at a glance and filters need none."""
    binary = display.memory is MemoryConvention.GIB
    match column.unit:
        case Unit.BYTE if column.id == "l2_bytes":
            return HeaderUnit("MiB", KIB * KIB) if binary else HeaderUnit("MB", KB * KB)
        case Unit.BYTE:
            return HeaderUnit("GiB", GIB) if binary else HeaderUnit("GB", GB)
        case Unit.BYTE_PER_TOKEN:
            return HeaderUnit("KiB", KIB) if binary else HeaderUnit("kB", KB)
        case Unit.BYTE_PER_S:
            return HeaderUnit("GB/s", GB)
        case Unit.BIT_PER_S:
            return HeaderUnit("Gbit/s", 1e9)
        case Unit.FLOP_PER_S:
            return HeaderUnit("TFLOPS", TERA)
        case Unit.OP_PER_S:
            return HeaderUnit("TOPS", TERA)
        case Unit.PARAMETER:
            return HeaderUnit("B", 1e9)
        case Unit.WATT:
            return HeaderUnit("W", 1.0)
        case Unit.MONEY_PER_HOUR:
            return HeaderUnit(f"{display.currency}/h", 1.0 / display.per_usd)
        case _:
            return HeaderUnit("", 1.0)
