"""How far one run could grow with everything else unchanged: the trials, which no explanation leads to. No figures."""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, cast

from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_limits import largest_that_fits
from gpuplanner.engine.training_memory import MemoryNumbers, StateNumbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_numbers import held_numbers
from gpuplanner.figures import unrecorded

Grown = Literal["micro_batch", "sequence_length"]


@dataclass(frozen=True, slots=True)
class Growth:
    """The largest number that fits, 0 where not even 1 does.

    `largest_bytes`: what that, or 1, needs; `least_bytes`: what 1 needs; `bytes_each`: how much more each one needs.
    """

    largest: int
    largest_bytes: float
    least_bytes: float
    bytes_each: float


@lru_cache(maxsize=256)
def growth(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    field: Grown,
    most: int,
    memory: MemoryNumbers,
    hint: int = 0,
) -> Growth:
    """How far `field` of a layout of floats, which takes so much memory, can grow up to `most`; `hint`: a first guess.

    It is kept for plans that differ only in what no memory depends on, as one does from key to key.
    """
    own, needed_bytes = cast(float, getattr(layout, field)), cast(float, memory.needed)
    # How long sequences are changes nothing of the states, how many there are at once does (gradients between them).
    states = memory.states if field == "sequence_length" else None

    @cache
    def needed(value: float) -> float:
        if value == own:
            return needed_bytes
        return grown_bytes(model, software, hardware, layout, field, value, states)

    with unrecorded():
        usable = cast(float, hardware.usable_bytes)
        found = largest_that_fits(needed, usable, most, (int(own), needed_bytes), hint)
        least, second = needed(1.0), max(found, 2)
        return Growth(found, needed(float(max(found, 1))), least, (needed(float(second)) - least) / (second - 1))


def grown_bytes(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    field: Grown,
    value: float,
    states: StateNumbers | None = None,
) -> float:
    """What the run needs of memory with another value of `field`; `states`: of the model, where they are known."""
    other = replace(layout, **{field: value})
    return cast(float, held_numbers(model, software, hardware, other, states).memory.needed)
