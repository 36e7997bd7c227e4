"""The summary against numbers worked out by hand, and the baseline that never sees the row it predicts."""

import math

import pytest

from gpuplanner.engine.validation.baselines import with_baselines
from gpuplanner.engine.validation.rows import Outcome
from gpuplanner.engine.validation.summary import quantile, summarise
from gpuplanner.messages import msg


def row(source, measured, predicted=None, **more):
    return Outcome("f.csv", "1", "fam", source, "speed", measured, predicted, **more)


def test_deviation_bias_and_coverage():
    lines = summarise(
        [
            row("a", 100.0, 200.0, low=150.0, high=250.0),
            row("a", 100.0, 50.0, low=40.0, high=120.0),
            row("a", 100.0, 100.0, low=90.0, high=110.0),
            row("a", 100.0, refused=msg("validation.no_number")),
        ]
    )
    (line,) = lines
    assert (line.rows, line.refused, line.source) == (4, 1, "a")
    assert line.median_abs_log == pytest.approx(math.log(2))
    assert line.bias_log == pytest.approx(0)
    assert line.inside == pytest.approx(2 / 3)
    assert line.right is None
    assert line.baseline_median_abs_log is None


def test_every_source_weighs_the_same_in_the_line_over_all():
    far = [row("long", 1.0, math.exp(0.5)) for _ in range(100)]
    near = [row("short", 1.0, math.exp(0.1)), row("other", 1.0, math.exp(0.2))]
    over_all, *by_source = summarise(far + near)
    assert over_all.source == ""
    assert over_all.median_abs_log == pytest.approx(0.2)
    assert over_all.rows == 102
    assert [line.source for line in by_source] == ["long", "other", "short"]


def test_verdicts_are_counted_as_right_or_wrong():
    verdicts = [row("a", "ok", "ok"), row("a", "oom", "ok"), row("a", "oom", "oom"), row("a", "ok", "ok")]
    (line,) = summarise(verdicts)
    assert line.right == pytest.approx(0.75)
    assert line.median_abs_log is None


def test_a_range_is_not_counted_where_nothing_was_predicted():
    (line,) = summarise([row("a", 5.0, refused=msg("validation.no_number"))])
    assert (line.inside, line.median_abs_log, line.p90_abs_log, line.bias_log) == (None, None, None, None)


def test_baseline_is_the_median_of_the_others():
    outcomes = with_baselines(
        [
            row("a", 40.0, ideal=100.0, kin="H100 bf16"),
            row("a", 50.0, ideal=100.0, kin="H100 bf16"),
            row("b", 120.0, ideal=200.0, kin="H100 bf16"),
            row("b", 10.0, ideal=100.0, kin="A100 bf16"),
            row("b", 10.0),
        ]
    )
    assert [o.baseline for o in outcomes[:3]] == pytest.approx([55.0, 50.0, 90.0])
    assert [o.baseline for o in outcomes[3:]] == [None, None]
    line = summarise(outcomes)[0]
    assert line.baseline_rows == 3


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, None),
        ([3.0], 0.9, 3.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([1.0, 2.0, 3.0], 0.5, 2.0),
        ([float(i) for i in range(1, 11)], 0.9, 9.5),
    ],
)
def test_quantile(values, share, expected):
    assert quantile([(value, 1.0) for value in values], share) == expected
