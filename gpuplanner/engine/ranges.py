"""How sure a calibrated figure is: the ends of its range as factors of its value, and why it is as wide. Pure."""

from dataclasses import dataclass, replace
from math import inf

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.figures import Certainty, Figure, Rung
from gpuplanner.messages import Message
from gpuplanner.units import Unit

UNMEASURED = "unmeasured_ranges"


@dataclass(frozen=True, slots=True)
class Spread:
    """What a value is multiplied with to get the ends of its nominal 80 % range, and why it is as wide."""

    low: float
    high: float
    rung: Rung
    why: Message


def unmeasured(efficiencies: Efficiencies, why: Message) -> Spread:
    """The spread of a number that no measurement stands behind."""
    ends = efficiencies.constants(UNMEASURED)
    return Spread(ends["low"], ends["high"], Rung.ROOFLINE, why)


def widened(spread: Spread, low: float, high: float, why: Message) -> Spread:
    """A spread that something else makes wider by so many times at its ends; `why` says what."""
    return Spread(spread.low * low, spread.high * high, spread.rung, why)


def certainty_on(rung: Rung) -> Certainty:
    """What kind of knowledge stands behind a number on a rung: without a measurement it is a rule of thumb."""
    return Certainty.RULE if rung is Rung.ROOFLINE else Certainty.CALIBRATED


def ranged(value: float, unit: Unit, spread: Spread) -> Figure:
    """An estimated figure with the range of its family."""
    certainty = certainty_on(spread.rung)
    return Figure(value, unit, certainty, value * spread.low, value * spread.high, spread.rung, spread.why)


def inverse(value: float, unit: Unit, spread: Spread) -> Figure:
    """A rate whose time has this range."""
    certainty = certainty_on(spread.rung)
    return Figure(value, unit, certainty, value / spread.high, value / spread.low, spread.rung, spread.why)


def bounded(figure: Figure, most: float = inf, least: float = 0.0) -> Figure:
    """The figure with a range that stays within what its quantity can be: no more than all of a whole, never below it.

    The value itself is left alone: one outside of the bounds is a fault of the formula, which no range may hide.
    """
    low, high = min(max(figure.low, least), figure.value), max(min(figure.high, most), figure.value)
    return replace(figure, low=low, high=high)
