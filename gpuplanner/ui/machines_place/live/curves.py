"""Samples as the lines that a strip draws: never more points than pixels, and no peak or dip lost. Pure, no widget."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpuplanner.probe.telemetry import Bins, Floats, Telemetry
from gpuplanner.ui.machines_place.live.metrics import Metric


@dataclass(frozen=True, slots=True)
class Curve:
    """One GPU, or the host where `gpu` is None. `low` and `high` of each bin, in the metric's unit, at `at_s`."""

    gpu: int | None
    at_s: Floats
    low: Floats
    mean: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Strip:
    """What one strip shows from `begin_s` to `end_s`; `top` is the end of its axis, `limit` a line that is a limit."""

    metric: Metric
    curves: tuple[Curve, ...]
    begin_s: float
    end_s: float
    top: float
    limit: float | None = None

    def at(self, at_s: float) -> tuple[tuple[int | None, float], ...]:
        """The mean of each curve in the bin nearest to a time; nothing of a curve that has none near."""
        found = []
        for curve in self.curves:
            if not len(curve.at_s):
                continue
            place = int(np.abs(curve.at_s - at_s).argmin())
            if abs(curve.at_s[place] - at_s) <= (self.end_s - self.begin_s) / 20:
                found.append((curve.gpu, float(curve.mean[place])))
        return tuple(found)


def joined(bins: Bins, at_most: int) -> Bins:
    """At most so many bins: neighbours become one, which keeps the lowest and the highest of them."""
    middle, low, mean, high = bins
    if len(middle) <= at_most:
        return bins
    by = -(-len(middle) // at_most)
    edges = np.arange(0, len(middle), by)
    counts = np.diff(np.append(edges, len(middle)))
    return (
        np.add.reduceat(middle, edges) / counts,
        np.minimum.reduceat(low, edges),
        np.add.reduceat(mean, edges) / counts,
        np.maximum.reduceat(high, edges),
    )


def envelope(curve: Curve) -> tuple[Floats, Floats]:
    """One line through the lowest and the highest of each bin, in turn; a bin without a spread is one point."""
    times, values = np.repeat(curve.at_s, 2), np.empty(2 * len(curve.at_s))
    values[0::2], values[1::2] = curve.low, curve.high
    kept = np.ones(len(values), dtype=bool)
    kept[1::2] = curve.high > curve.low
    return times[kept], values[kept]


def strip(telemetry: Telemetry, metric: Metric, span_s: float, at_most: int) -> Strip:
    """What a strip of `at_most` points across shows of the last `span_s`."""
    curves = []
    for gpu, name in metric.keys(telemetry):
        middle, low, mean, high = joined(telemetry.series[gpu, name].recent(span_s), at_most)
        factor = metric.factor
        curves.append(Curve(gpu, middle, low * factor, mean * factor, high * factor))
    end_s = telemetry.ended_s
    limit = _limit(telemetry, metric)
    highest = max((float(curve.high.max()) for curve in curves if len(curve.high)), default=0.0)
    top = metric.full or _round_up(max(highest, limit or 0.0) * 1.05)
    return Strip(metric, tuple(curves), end_s - span_s, end_s, top, limit)


def _limit(telemetry: Telemetry, metric: Metric) -> float | None:
    """The lowest limit of all GPUs."""
    keys: Sequence[tuple[int | None, str]] = [(gpu, metric.limit) for gpu, _ in metric.keys(telemetry)]
    lasts = [series.last for key in keys if (series := telemetry.series.get(key)) is not None]
    known = [last for last in lasts if last is not None]
    return min(known) * metric.factor if known else None


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 and 10 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value * 0.9999))
