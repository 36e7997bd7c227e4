"""Costs against sums that anyone can redo, on floats and arrays alike."""

import numpy as np
import pytest

from gpuplanner.engine.formulas.cost import usd_per_hour, usd_per_job, usd_per_month, usd_per_mtoken


def test_an_hour_of_all_nodes_in_dollars():
    assert usd_per_hour(72.0, 7.2, 3) == pytest.approx(30.0)


def test_a_month_is_the_billing_month_of_the_clouds():
    assert usd_per_month(2.0, 730.0) == 1460.0


def test_a_job_is_paid_for_by_the_hour():
    assert usd_per_job(98.32, 36_000.0) == pytest.approx(983.2)


def test_a_million_tokens():
    """1,000 tokens/s for 4 USD an hour: 3.6 million tokens for 4 USD."""
    assert usd_per_mtoken(4.0, 1000.0) == pytest.approx(4.0 / 3.6)


def test_arrays_give_what_floats_give():
    rates = np.array([10.0, 100.0, 1000.0])
    assert list(np.asarray(usd_per_mtoken(4.0, rates))) == [usd_per_mtoken(4.0, float(r)) for r in rates]
