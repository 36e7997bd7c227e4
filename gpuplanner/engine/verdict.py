"""The verdict on memory: fits, tight, does not fit, with its reason. The thresholds stand here and nowhere else."""

from functools import lru_cache

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.formulas.elementwise import Condition, Number
from gpuplanner.engine.ranges import bounded
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import Message, msg
from gpuplanner.units import GIB, Display, Unit, percent, show_bytes

TIGHT_FREE_BYTES = 2 * GIB
"""Less than this stays free: tight. A driver update, a second process or a longer prompt takes as much."""
TIGHT_FREE_SHARE = 0.05
"""Less than this share of the usable memory stays free: tight."""
USABLE_SPREAD = 0.005
"""Usable memory differs by this share with driver and ECC."""
_WHY_USABLE = msg("limits.why_usable", share=percent(USABLE_SPREAD, 1))


def usable_figure(usable_bytes: float, gpu: Gpu) -> Figure:
    """What a program can allocate on one GPU, with what drivers make of it.

    It is measured where the catalog has the size that a GPU reports, else it follows from the nominal one by a rule.
    """
    told = gpu.known(GpuProperty.MEMORY_USABLE_BYTES) or gpu.known(GpuProperty.MEMORY_REPORTED_BYTES)
    low, high = usable_bytes * (1 - USABLE_SPREAD), usable_bytes * (1 + USABLE_SPREAD)
    certainty = Certainty.MEASURED if told else Certainty.RULE
    found = Figure(usable_bytes, Unit.BYTE, certainty, low, high, why=_WHY_USABLE)
    whole = gpu.known(GpuProperty.MEMORY_BYTES)
    return bounded(found, whole.value) if whole else found


def comfortable(usable_bytes: float, needed_bytes: Number, highest: float) -> Condition:
    """Whether ways with such needs get the verdict "fits"; `highest`: the upper end of the need over the need."""
    free = usable_bytes - needed_bytes
    inside = needed_bytes * highest <= usable_bytes * (1.0 - USABLE_SPREAD)
    return inside & (free >= TIGHT_FREE_BYTES) & (free >= TIGHT_FREE_SHARE * usable_bytes)


def fit_of(usable: Figure, needed: Figure) -> Fit:
    """The verdict alone; see `verdict`."""
    return _judged(usable, needed)[0]


def verdict(usable: Figure, needed: Figure) -> tuple[Fit, Message]:
    """Whether `needed` bytes fit into `usable` bytes of one GPU, and why (the amounts in GiB).

    Does not fit: the expected need is above what is usable. Tight: it is below, but less than 2 GiB or 5 % stay free,
    or the upper end of the need's range (or the lower end of what is usable) is not covered.
    """
    fit, why = _judged(usable, needed)
    amounts = {
        "needed": _shown(needed.value),
        "usable": _shown(usable.value),
        "free": _shown(abs(usable.value - needed.value)),
    }
    if why == "inside_range":
        amounts = {"high": _shown(needed.high), **amounts}
    elif why == "few_bytes":
        amounts = {"limit": _shown(TIGHT_FREE_BYTES), **amounts}
    elif why == "small_share":
        amounts = {"share": percent(TIGHT_FREE_SHARE), **amounts}
    return fit, msg(f"limits.memory.{why}", **amounts)


def _judged(usable: Figure, needed: Figure) -> tuple[Fit, str]:
    """The verdict and, by the end of its message's id, why."""
    free = usable.value - needed.value
    if free < 0:
        return Fit.DOES_NOT_FIT, "does_not_fit"
    if needed.high > usable.low:
        return Fit.TIGHT, "inside_range"
    if free < TIGHT_FREE_BYTES:
        return Fit.TIGHT, "few_bytes"
    if free < TIGHT_FREE_SHARE * usable.value:
        return Fit.TIGHT, "small_share"
    return Fit.FITS, "fits"


@lru_cache(maxsize=4096)
def _shown(value_bytes: float) -> str:
    return str(show_bytes(value_bytes, Display()))
