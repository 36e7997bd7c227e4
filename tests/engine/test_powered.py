"""A board with less power than its chip draws at full clocks reaches less, one with enough of it all."""

from dataclasses import replace

import pytest

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.powered import FULL_CLOCK, powered

VALUES = {"matrix_utilisation": 0.6, FULL_CLOCK: 0.7, "expert_share": 0.7}


def reached(gpu, values=VALUES):
    return powered(values, gpu, 0.5, {"matrix_utilisation"})


def test_a_card_of_half_the_power_for_its_rate_reaches_less_and_never_half(shipped_catalog):
    card, module = (shipped_catalog.gpus[f"nvidia-h100-{name}"] for name in ("pcie-80gb", "sxm5-80gb"))
    share = reached(card)["matrix_utilisation"] / reached(module)["matrix_utilisation"]
    watts = [gpu.value(GpuProperty.POWER_W) / gpu.value(GpuProperty.BF16_FLOP_PER_S) for gpu in (card, module)]
    assert share == pytest.approx((watts[0] * 1e12 / 0.7) ** 0.5, rel=0.001)
    assert watts[0] / watts[1] < share < 1
    assert reached(card)["expert_share"] == 0.7


def test_power_beyond_full_clocks_gives_nothing_more(shipped_catalog):
    assert reached(shipped_catalog.gpus["nvidia-h20-96gb"]) == VALUES


def test_nothing_is_taken_off_where_the_entry_or_the_gpu_does_not_say(shipped_catalog):
    card = shipped_catalog.gpus["nvidia-h100-pcie-80gb"]
    unsaid = {name: value for name, value in VALUES.items() if name != FULL_CLOCK}
    assert reached(card, unsaid) == unsaid
    powerless = {name: fact for name, fact in card.properties.items() if name is not GpuProperty.POWER_W}
    assert reached(replace(card, properties=powerless)) == VALUES
