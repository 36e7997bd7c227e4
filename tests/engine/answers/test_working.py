"""Figures out of figures: ranges from the ends, certainty from the least sure input."""

import math

import pytest

from gpuplanner.engine.answers.working import total, worked
from gpuplanner.engine.formulas.answers_cost import facility_watts, whole_usd
from gpuplanner.engine.formulas.answers_time import (
    MOST_COUNTED_NODES,
    spare_nodes,
    weight_load_seconds,
    weight_read_seconds,
)
from gpuplanner.figures import Certainty, Figure, Rung, recording
from gpuplanner.messages import msg
from gpuplanner.units import Unit

WIDE = Figure(4.0, Unit.BYTE_PER_S, Certainty.RULE, 2.0, 8.0, why=msg("host.why_rule_of_thumb"))
SURE = Figure(100.0, Unit.BYTE, Certainty.EXACT, 100.0, 100.0)
MEASURED = Figure(10.0, Unit.WATT, Certainty.CALIBRATED, 9.0, 12.0, Rung.SAME_GPU)


def test_a_quotient_turns_the_range_of_its_divisor_round():
    made = worked(weight_read_seconds, SURE, WIDE)
    assert (made.low, made.value, made.high) == (12.5, 25.0, 50.0)
    assert (made.unit, made.certainty, made.why) == (Unit.SECOND, Certainty.RULE, WIDE.why)


def test_plain_numbers_are_exact_and_the_rung_is_kept():
    made = worked(facility_watts, MEASURED, 1.5)
    assert (made.low, made.value, made.high, made.rung) == (13.5, 15.0, 18.0, Rung.SAME_GPU)
    assert made.certainty is Certainty.CALIBRATED


def test_a_sum_has_the_ends_of_its_parts():
    parts = tuple(Figure(v, Unit.MONEY, Certainty.USER, v, h) for v, h in ((1.0, 2.0), (10.0, 10.0)))
    made = total(whole_usd, parts)
    assert (made.low, made.value, made.high) == (11.0, 11.0, 12.0)


def test_the_value_is_the_very_number_that_was_recorded():
    with recording() as kept:
        read = worked(weight_read_seconds, SURE, WIDE)
        made = worked(weight_load_seconds, read, Figure(1.0, Unit.SECOND, Certainty.EXACT, 1.0, 1.0))
    step = next(step for step in kept.steps if step.value is made.value)
    assert [argument.step.value for argument in step.arguments if argument.step] == [25.0]


@pytest.mark.parametrize(
    ("mean", "wanted", "spares"),
    # Poisson: P(N ≤ 0) = e^-1 = 0.368, P(N ≤ 1) = 0.736, P(N ≤ 2) = 0.920, P(N ≤ 4) = 0.9963 of mean 1.
    [(1.0, 0.3, 0), (1.0, 0.7, 1), (1.0, 0.9, 2), (1.0, 0.99, 4), (0.0, 0.99, 0), (1e-9, 0.999, 0)],
)
def test_spares_are_those_of_a_poisson_distribution(mean, wanted, spares):
    assert spare_nodes(mean, wanted) == spares


def test_spares_of_a_very_large_cluster_are_near_the_normal_quantile():
    """Mean 2,500, deviation 50: 2.326 deviations above the mean hold 99 %."""
    assert spare_nodes(2500.0, 0.99) == pytest.approx(2500 + 2.326 * 50, abs=3)


@pytest.mark.parametrize("wanted", [0.5, 0.9, 0.99, 0.999999])
def test_spares_go_on_where_their_terms_are_no_longer_added_up(wanted):
    """A mean that is larger by one needs one more, counted or approximated: across the border within one node."""
    before, after = spare_nodes(MOST_COUNTED_NODES, wanted), spare_nodes(MOST_COUNTED_NODES + 1.0, wanted)
    assert 0 <= after - before <= 2


@pytest.mark.parametrize("mean", [9e4, 1e6, 1e9, 4.2e13, 1e20])
def test_spares_of_any_mean_that_can_be_asked_for_are_few_terms(mean, monkeypatch):
    """Of a mean of 90,000 the terms within 12 deviations, of a larger one none; else these would be asked for."""
    terms = iter(range(10_000))
    log_factorial = math.lgamma
    monkeypatch.setattr(math, "lgamma", lambda count: log_factorial(count + 0 * next(terms)))
    assert spare_nodes(mean, 0.99) == pytest.approx(mean + 2.326348 * mean**0.5, rel=1e-9, abs=3)
