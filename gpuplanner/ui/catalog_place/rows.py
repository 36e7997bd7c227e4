"""What a group of facts in the panel is made of. Types only."""

from dataclasses import dataclass

from gpuplanner.catalog.entries import Price
from gpuplanner.facts import Known
from gpuplanner.messages import Message, MessageValue
from gpuplanner.units import Unit


@dataclass(frozen=True, slots=True)
class FactRow:
    """A property with all that is known of it."""

    name: MessageValue
    known: Known


@dataclass(frozen=True, slots=True)
class WordRow:
    """A property in words; `from_memory` where no document confirms it."""

    name: Message
    text: MessageValue
    from_memory: bool = False
    note: MessageValue = ""


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A number that follows from other facts: how, is said in `note`."""

    name: Message
    value: float
    unit: Unit
    note: MessageValue = ""


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A price as it was published."""

    price: Price


Row = FactRow | WordRow | NumberRow | PriceRow


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Rows under a title; without a row the group is left out."""

    title: Message
    rows: tuple[Row, ...]


def groups(*made: FactGroup) -> tuple[FactGroup, ...]:
    """The groups that have something in them."""
    return tuple(group for group in made if group.rows)
