"""How sure a training figure is: its range from the residuals of its family and rung, and the reason in words."""

from dataclasses import dataclass

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Certainty, Figure, Rung
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit

TABLE = "training_ranges"
WORST_LOW, WORST_HIGH = 0.5, 2.0
"""The range of a number that no measurement stands behind."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What a value is multiplied with to get the ends of its nominal 80 % range, and why it is as wide."""

    low: float
    high: float
    rung: Rung
    why: Message


def spread_of(efficiencies: Efficiencies, family: str, rung: Rung) -> Spread:
    """The spread of a family ("pretraining time", "fine-tuning time", "memory") on a rung."""
    try:
        found = efficiencies.constants(TABLE, f"{family}, {rung.value}")
    except MissingFactError:
        return Spread(WORST_LOW, WORST_HIGH, Rung.ROOFLINE, msg("training.why.no_measurement"))
    why = msg(f"training.why.{rung.name.lower()}", rows=found.points)
    return Spread(found["low"], found["high"], rung, why)


def ranged(value: float, unit: Unit, spread: Spread) -> Figure:
    """A calibrated figure with the range of its family."""
    return Figure(value, unit, Certainty.CALIBRATED, value * spread.low, value * spread.high, spread.rung, spread.why)


def inverse(value: float, unit: Unit, spread: Spread) -> Figure:
    """A rate whose time has this range."""
    return Figure(value, unit, Certainty.CALIBRATED, value / spread.high, value / spread.low, spread.rung, spread.why)
