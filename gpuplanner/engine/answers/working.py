"""Figures out of figures: a formula applied to values and to the ends of their ranges. Knows no question."""

from collections.abc import Callable
from itertools import product
from typing import Any

from gpuplanner.figures import Certainty, Figure, Rung, described
from gpuplanner.units import Unit

SURENESS = (Certainty.EXACT, Certainty.USER, Certainty.MEASURED, Certainty.CALIBRATED, Certainty.RULE)
"""From what is sure to what is least sure: a figure is no surer than what it is made of."""
RUNGS = tuple(Rung)


def worked(function: Callable[..., Any], *inputs: "Figure | float", unit: Unit | None = None) -> Figure:
    """What a formula gives for figures, with the range that their ranges lead to.

    The range is that of all ends together, so rather too wide than too narrow; plain numbers among the inputs are
    exact. The formula has to rise or fall steadily with each input. `unit`: where it is not the formula's own.
    """
    figures = [one for one in inputs if isinstance(one, Figure)]
    value = function(*(one.value if isinstance(one, Figure) else one for one in inputs))
    found = [float(function(*ends)) for ends in product(*map(_ends, inputs))]
    widest = max(figures, key=_width, default=None)
    return Figure(
        value,
        unit or described(function).unit,
        max((one.certainty for one in figures), key=SURENESS.index, default=Certainty.EXACT),
        min(found),
        max(found),
        max((one.rung for one in figures if one.rung), key=RUNGS.index, default=None),
        widest.why if widest else None,
    )


def total(function: Callable[..., Any], parts: tuple[Figure, ...]) -> Figure:
    """What a formula that takes all its parts as one tuple gives: its ends are those of all parts together."""
    low, value, high = (function(tuple(getattr(part, end) for part in parts)) for end in ("low", "value", "high"))
    widest = max(parts, key=_width)
    certainty = max((part.certainty for part in parts), key=SURENESS.index)
    rung = max((part.rung for part in parts if part.rung), key=RUNGS.index, default=None)
    return Figure(value, described(function).unit, certainty, float(low), float(high), rung, widest.why)


def _ends(one: "Figure | float") -> tuple[float, ...]:
    if not isinstance(one, Figure):
        return (one,)
    return tuple(dict.fromkeys((one.low, one.high)))


def _width(one: Figure) -> float:
    """How wide a range is, in its value."""
    return (one.high - one.low) / abs(one.value) if one.value else 0.0
