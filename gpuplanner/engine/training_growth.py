"""How far one run could grow with everything else unchanged: the trials, which no explanation leads to. No figures."""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, cast

from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_limits import largest_that_fits
from gpuplanner.engine.training_memory import MemoryNumbers, memory_numbers, with_passes
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_numbers import held_numbers
from gpuplanner.engine.training_rollout import rollout_numbers
from gpuplanner.engine.training_split import Split, resized
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
    part: Split,
    memory: MemoryNumbers,
    hint: int = 0,
) -> Growth:
    """How far `field` of a layout of floats, which takes so much memory, can grow up to `most`; `hint`: a first guess.

    `part`: of its fullest rank, of which a trial changes little, and of its states nothing but what is between passes.

    It is kept for plans that differ only in what no memory depends on, as one does from key to key.
    """
    own, needed_bytes = cast(float, getattr(layout, field)), cast(float, memory.needed)

    @cache
    def needed(value: float) -> float:
        if value == own:
            return needed_bytes
        if field == "sequence_length":
            grown, states = resized(part, model, layout, layout.micro_batch, value), memory.states
        else:
            grown = resized(part, model, layout, value, layout.sequence_length)
            states = with_passes(memory.states, software, grown)
        held = memory.rollout
        if held:
            held = rollout_numbers(model, software, hardware, replace(layout, **{field: value})).held
        return cast(float, memory_numbers(model, software, layout, grown, held, states).needed)

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
) -> float:
    """What the run needs of memory with another value of `field`, worked out from the start: it can be explained."""
    return cast(float, held_numbers(model, software, hardware, replace(layout, **{field: value})).memory.needed)
