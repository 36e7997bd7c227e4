"""What boards reach of what their chip does, where they have less power than it draws at full clocks. Pure."""

from collections.abc import Collection, Mapping

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.power import powered_utilisation
from gpuplanner.units import TERA

FULL_CLOCK = "full_clock_w_per_tflop_s"
"""In a table's entry: power for each dense TFLOP/s in 16 bits from which on boards of that chip keep their clocks."""


def powered(values: Mapping[str, float], gpu: Gpu, exponent: float, names: Collection[str]) -> Mapping[str, Number]:
    """The values of an entry with those of `names` as far as the board's power goes.

    They stay as they are where the entry does not say what full clocks need, or the GPU's power or rate is not known.
    """
    full, power = values.get(FULL_CLOCK), gpu.known(GpuProperty.POWER_W)
    peak = gpu.known(GpuProperty.BF16_FLOP_PER_S) or gpu.known(GpuProperty.FP16_FLOP_PER_S)
    if full is None or power is None or peak is None:
        return values
    enough = full * peak.value / TERA
    return {
        name: powered_utilisation(value, power.value, enough, exponent) if name in names else value
        for name, value in values.items()
    }
