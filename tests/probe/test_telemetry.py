"""Hours of samples in bounded memory, with every peak and dip in them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.probe.telemetry import (
    BINS,
    GPU_METRICS,
    MOST_MARKS,
    WINDOWS,
    Mark,
    Process,
    Series,
    Telemetry,
    reasons_of,
)


def test_an_hour_at_ten_a_second_keeps_its_peak_its_dip_and_its_size():
    series = Series()
    size = series.held_bytes
    for at in range(36_000):
        series.add(at / 10, 100.0 if at == 12_345 else -5.0 if at == 30_001 else 50.0)
    middle, low, mean, high = series.bins()
    assert series.held_bytes == size
    assert len(middle) <= BINS
    assert series.width_s == 0.1 * 2**5
    assert high.max() == 100
    assert abs(middle[high.argmax()] - 1234.5) <= series.width_s
    assert low.min() == -5
    assert mean[0] == 50
    assert np.all(np.diff(middle) > 0)
    assert middle[-1] == pytest.approx(3600, abs=series.width_s)


@given(values=st.lists(st.tuples(st.floats(0, 1e4), st.floats(-1e6, 1e6)), min_size=1, max_size=60))
def test_nothing_is_lost_whatever_the_order(values):
    series = Series(bins=8)
    for at_s, value in values:
        series.add(at_s, value)
    _, low, mean, high = series.bins()
    given_values = [value for _, value in values]
    assert (low.min(), high.max()) == (min(given_values), max(given_values))
    assert np.all((low <= mean + 1e-6) & (mean <= high + 1e-6))
    assert series.last == given_values[-1]


@pytest.mark.parametrize("at_s", [-1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_left_out(at_s):
    series = Series()
    series.add(at_s, 1.0)
    assert len(series.bins()[0]) == 0


def frame(at_s, reasons=0, **values):
    return {"at_s": at_s, "gpus": [{"gpu": 0, "throttle_reasons": reasons, **values}]}


def test_throttling_is_marked_where_it_begins_and_ends_and_full_power_is_none():
    telemetry = Telemetry()
    told = [telemetry.take(frame(at, reasons)) for at, reasons in enumerate((0x4, 0x1, 0x44, 0x40, 0x48, 0x4))]
    assert told == [(), (), (Mark(2, 0, 0x40),), (), (Mark(4, 0, 0x48),), (Mark(5, 0, 0),)]
    assert list(telemetry.marks) == [mark for marks in told for mark in marks]


def test_reasons_have_names_and_unknown_bits_are_not_hidden():
    assert reasons_of(0x4 | 0x1 | 0x2 | 0x100) == ()
    assert reasons_of(0x44 | 0x8) == ("slowdown", "hardware_thermal")
    assert reasons_of(0x20 | 1 << 40) == ("software_thermal", "other")


def test_a_frame_is_kept_by_gpu_and_metric():
    telemetry = Telemetry()
    processes = [{"pid": 7, "used_bytes": None}, {"pid": 8, "used_bytes": 1024, "name": "python3"}]
    telemetry.take({**frame(1.0, power_w=300, processes=processes), "host": {"cpu_percent": 12.5}})
    assert set(telemetry.series) == {(0, "power_w"), (None, "cpu_percent")}
    assert telemetry.series[None, "cpu_percent"].last == 12.5
    assert telemetry.processes == {0: (Process(7, None), Process(8, 1024, "python3"))}


NOTHING = [None, True, "x", [], {}, math.nan, math.inf, -1, 10**400, 1e300, [1], {"gpu": 0}, "∞"]


@given(
    at_s=st.sampled_from([0, 1.5, *NOTHING]),
    gpu=st.sampled_from([0, 63, 64, *NOTHING]),
    value=st.sampled_from(NOTHING),
    host=st.sampled_from(NOTHING),
)
def test_a_strange_frame_is_left_out(at_s, gpu, value, host):
    telemetry = Telemetry()
    values = {"gpu": gpu, "lost": value, "processes": value, "xids": value, "throttle_reasons": value}
    values.update(dict.fromkeys(GPU_METRICS, value))
    telemetry.take({"at_s": at_s, "gpus": [values, value], "host": host})
    telemetry.take({"at_s": at_s, "gpus": value})
    for series in telemetry.series.values():
        assert all(np.isfinite(part).all() for part in series.bins())


def test_a_flood_of_frames_stays_within_its_bounds():
    telemetry = Telemetry()
    for at in range(5_000):
        telemetry.take({"at_s": at, "gpus": [{"gpu": at, "power_w": 1, "throttle_reasons": (at % 2) * 8}]})
        telemetry.take(frame(at, (at % 2) * 8, **{f"x{at}": 1}))
    assert len(telemetry.series) == 64
    assert len(telemetry.marks) == MOST_MARKS


def test_the_last_minutes_stay_fine_however_long_one_has_looked():
    series = Series()
    for at in range(36_000):
        series.add(at / 10, 100.0 if at == 35_950 else 50.0)
    for span_s, width_s in WINDOWS:
        middle, _, _, high = series.recent(span_s)
        assert len(middle) == pytest.approx(span_s / width_s, abs=1)
        assert abs(middle[high.argmax()] - 3595.0) <= width_s
        assert (high > 50).sum() == 1


def test_a_gap_in_the_samples_stays_a_gap():
    series = Series()
    for at_s in (0.0, 1.0, 100.0, 101.0):
        series.add(at_s, at_s)
    assert list(series.recent(120)[2]) == [0, 1, 100, 101]
    assert list(series.recent(10)[2]) == [100, 101]
    series.add(100_000.0, 7.0)
    assert list(series.recent(120)[2]) == [7]


def test_an_hour_of_eight_gpus_takes_no_more_memory_than_its_first_seconds():
    """A share of the hour's frames, with the hour's times: what is held is set by the series alone."""
    telemetry = Telemetry()
    held = set()
    for at in range(0, 36_000, 60):
        gpus = [{"gpu": gpu, **dict.fromkeys(GPU_METRICS, at % 100)} for gpu in range(8)]
        telemetry.take({"at_s": at / 10, "gpus": gpus, "host": {"cpu_percent": 1.0}})
        held.add(sum(series.held_bytes for series in telemetry.series.values()))
    assert len(held) == 1
    assert held.pop() < 30e6
    assert telemetry.ended_s == pytest.approx(3594)


def test_an_xid_is_a_mark():
    telemetry = Telemetry()
    assert telemetry.take(frame(1.0, xids=[79, "x", True, -4, 10**9])) == (Mark(1.0, 0, 0, 79),)
    assert telemetry.take(frame(2.0)) == ()
