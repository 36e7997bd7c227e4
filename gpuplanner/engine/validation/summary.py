"""How far the engine is off, by family, metric and source, beside the baseline on the same rows. Pure arithmetic.

Deviations are |ln(predicted / measured)|: twice too much and half too little weigh the same. The line over all sources
(source "") gives every source the same weight, so that one long table does not speak for the rest.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gpuplanner.engine.validation.rows import Outcome


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the table. Shares are 0 … 1; None where no row of the line has that number.

    `*_abs_log`: of |ln(predicted / measured)|; `bias_log`: the median of the signed one, above 0 when the engine says
    too much; `inside`: share of placed numbers whose measured value lies in the range; `right`: share of placed
    verdicts that are as measured; `baseline_*`: the same of the constant-utilisation baseline.
    """

    family: str
    metric: str
    source: str
    rows: int
    refused: int
    median_abs_log: float | None
    p90_abs_log: float | None
    bias_log: float | None
    inside: float | None
    right: float | None
    baseline_rows: int
    baseline_median_abs_log: float | None
    baseline_p90_abs_log: float | None

    def as_data(self) -> dict[str, Any]:
        """The line for JSON, names as above."""
        return asdict(self)


def summarise(outcomes: Iterable[Outcome]) -> list[Summary]:
    """A line for each family, metric and source, and before them one over all sources of that family and metric."""
    groups: dict[tuple[str, str], dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        groups[outcome.family, outcome.metric][outcome.source].append(outcome)
    lines = []
    for (family, metric), sources in sorted(groups.items()):
        if len(sources) > 1:
            lines.append(_line(family, metric, "", list(sources.values())))
        lines += [_line(family, metric, source, [rows]) for source, rows in sorted(sources.items())]
    return lines


def quantile(values: Sequence[tuple[float, float]], share: float) -> float | None:
    """The weighted quantile of (value, weight) pairs, the middle of two neighbours where the share falls between."""
    if not values:
        return None
    ordered = sorted(values)
    target = share * sum(weight for _, weight in ordered)
    passed = 0.0
    for index, (value, weight) in enumerate(ordered):
        passed += weight
        if math.isclose(passed, target, rel_tol=1e-9) and index + 1 < len(ordered):
            return (value + ordered[index + 1][0]) / 2
        if passed > target:
            return value
    return ordered[-1][0]


def _line(family: str, metric: str, source: str, sources: list[list[Outcome]]) -> Summary:
    everything = [outcome for rows in sources for outcome in rows]
    ratios: list[tuple[float, float]] = []
    inside: list[tuple[float, float]] = []
    right: list[tuple[float, float]] = []
    baselines: list[tuple[float, float]] = []
    for rows in sources:
        ratios += _weighted([r for r in (o.log_ratio for o in rows) if r is not None])
        inside += _weighted([float(i) for i in (_is_inside(o) for o in rows) if i is not None])
        right += _weighted([float(i) for i in (_is_right(o) for o in rows) if i is not None])
        baselines += _weighted([b for b in (_baseline_deviation(o) for o in rows) if b is not None])
    deviations = [(abs(ratio), weight) for ratio, weight in ratios]
    return Summary(
        family,
        metric,
        source,
        rows=len(everything),
        refused=sum(outcome.refused is not None for outcome in everything),
        median_abs_log=quantile(deviations, 0.5),
        p90_abs_log=quantile(deviations, 0.9),
        bias_log=quantile(ratios, 0.5),
        inside=_mean(inside),
        right=_mean(right),
        baseline_rows=len(baselines),
        baseline_median_abs_log=quantile(baselines, 0.5),
        baseline_p90_abs_log=quantile(baselines, 0.9),
    )


def _weighted(values: list[float]) -> list[tuple[float, float]]:
    return [(value, 1.0 / len(values)) for value in values]


def _mean(values: list[tuple[float, float]]) -> float | None:
    return sum(v * w for v, w in values) / sum(w for _, w in values) if values else None


def _is_inside(outcome: Outcome) -> bool | None:
    if outcome.low is None or outcome.high is None or isinstance(outcome.measured, str):
        return None
    return outcome.low <= outcome.measured <= outcome.high


def _is_right(outcome: Outcome) -> bool | None:
    if not isinstance(outcome.predicted, str):
        return None
    return outcome.predicted == outcome.measured


def _baseline_deviation(outcome: Outcome) -> float | None:
    if outcome.baseline is None or isinstance(outcome.measured, str) or outcome.measured <= 0:
        return None
    return abs(math.log(outcome.baseline) - math.log(outcome.measured)) if outcome.baseline > 0 else None
