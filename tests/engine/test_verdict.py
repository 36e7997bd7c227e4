"""The three verdicts, at and around their thresholds."""

import pytest

from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.verdict import TIGHT_FREE_BYTES, TIGHT_FREE_SHARE, comfortable, usable_figure, verdict
from gpuplanner.figures import Certainty, Figure, exact
from gpuplanner.messages import Language, Translator
from gpuplanner.units import GIB, Unit


def usable(gib: float) -> Figure:
    return exact(gib * GIB, Unit.BYTE)


def need(gib: float, high: float | None = None) -> Figure:
    return Figure(gib * GIB, Unit.BYTE, Certainty.CALIBRATED, gib * GIB, (high or gib) * GIB)


@pytest.mark.parametrize(
    ("usable_gib", "need_gib", "fit", "reason"),
    [
        (24, 10, Fit.FITS, "limits.memory.fits"),
        (24, 22, Fit.FITS, "limits.memory.fits"),
        (24, 22.01, Fit.TIGHT, "limits.memory.few_bytes"),
        (24, 24, Fit.TIGHT, "limits.memory.few_bytes"),
        (24, 24.01, Fit.DOES_NOT_FIT, "limits.memory.does_not_fit"),
        (80, 76.5, Fit.TIGHT, "limits.memory.small_share"),
        (80, 75.9, Fit.FITS, "limits.memory.fits"),
    ],
)
def test_thresholds(usable_gib, need_gib, fit, reason):
    found, message = verdict(usable(usable_gib), need(need_gib))
    assert (found, message.id) == (fit, reason)


def test_inside_the_range_is_tight():
    found, message = verdict(usable(80), need(60, high=81))
    assert (found, message.id) == (Fit.TIGHT, "limits.memory.inside_range")
    low_usable = Figure(80 * GIB, Unit.BYTE, Certainty.CALIBRATED, 58 * GIB, 81 * GIB)
    assert verdict(low_usable, need(60))[0] is Fit.TIGHT


def test_the_thresholds_are_those_of_the_product():
    assert (TIGHT_FREE_BYTES, TIGHT_FREE_SHARE) == (2 * GIB, 0.05)


@pytest.mark.parametrize("language", Language)
def test_every_reason_says_its_amounts(language):
    text = Translator(language).text(verdict(usable(24), need(30))[1])
    assert "30.0 GiB" in text
    assert "24.0 GiB" in text
    assert "6.00 GiB" in text


@pytest.mark.parametrize("highest", [1.0, 1.1, 1.4])
@pytest.mark.parametrize("usable_gib", [8.0, 24.0, 80.0, 141.0])
def test_what_is_comfortable_in_a_choice_is_what_the_verdict_calls_fitting(usable_gib, highest, shipped_catalog):
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]
    for share in range(10, 101, 3):
        needed = usable_gib * share / 100
        found, _ = verdict(usable_figure(usable_gib * GIB, gpu), need(needed, high=needed * highest))
        assert bool(comfortable(usable_gib * GIB, needed * GIB, highest)) is (found is Fit.FITS)
