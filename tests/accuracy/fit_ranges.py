"""Makes the ranges from what rows that were left out of a fit are off by, by family and rung; says what they hold.

Run as `python -m tests.accuracy.fit_ranges [--write]`, after `left_out` (`make accuracy-fit` does both). The ends of a
nominal 80 % range are the tenth and ninetieth percentile of measured / predicted, each row weighing with the inverse
root of the rows of its run, so that neither a long table nor a single row speaks for the rest. A lower rung is never
narrower than the one above it. Conformal: with few rows the ends move outward by one row in the count.
"""

import argparse
import csv
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gpuplanner.catalog.efficiency import read_efficiencies
from gpuplanner.engine.serving_figures import POOLLESS, WITHOUT_POOL, beside_weights
from gpuplanner.engine.validation.rows import Row
from gpuplanner.engine.validation.serving import MEMORY, ServingRows
from gpuplanner.engine.validation.serving_rows import placed
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.units import GIB
from tests.accuracy.carry_measurements import TO
from tests.accuracy.figures import RANGE_TABLES
from tests.accuracy.left_out import CHIP, EFFICIENCY, GPU, RUN, SOURCE, Left, context, kept
from tests.accuracy.table_files import set_points, set_value

NOMINAL = 0.8
RUNGS = (Rung.SAME_GPU.value, Rung.SAME_ARCHITECTURE.value, Rung.OTHER_ARCHITECTURE.value)
BY_RUNG = {
    Rung.SAME_GPU.value: (RUN, SOURCE),
    Rung.SAME_ARCHITECTURE.value: (GPU, SOURCE, RUN, CHIP),
    Rung.OTHER_ARCHITECTURE.value: (CHIP,),
}
"""What was left out of the fits that speak for a rung: on the same GPU another run or another source."""
LARGEST_REST = 10.0
"""What was measured beside the weights is not below a tenth of the estimate: below it weights were stored otherwise."""
FEWEST = 10
"""Rows that a range is made of; with fewer it stays as it stands."""


def by_rung(rows: Iterable[Left]) -> dict[tuple[str, str], list[Left]]:
    """The rows that speak for each family and rung."""
    found: dict[tuple[str, str], list[Left]] = defaultdict(list)
    for row in rows:
        if row.left in BY_RUNG[row.rung]:
            found[row.range, row.rung].append(row)
    return found


def weights_of(rows: Sequence[Left]) -> np.ndarray:
    """How much each row counts: the inverse root of how many of its run there are."""
    sizes = Counter((row.left, row.group) for row in rows)
    return np.array([sizes[row.left, row.group] ** -0.5 for row in rows])


def ends(rows: Sequence[Left], nominal: float = NOMINAL) -> tuple[float, float]:
    """The ends of the range of these rows, as factors of what is predicted."""
    off, weights = np.array([row.off for row in rows]), weights_of(rows)
    order = np.argsort(off)
    reached = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    outside = (1 - nominal) / 2 * len(rows) / (len(rows) + 1)
    low, high = np.interp([outside, 1 - outside], reached, off[order])
    return math.exp(low), math.exp(high)


def held(rows: Sequence[Left], low: float, high: float) -> float:
    """The share of rows inside a range."""
    inside = np.array([low <= math.exp(row.off) <= high for row in rows])
    return float(np.average(inside, weights=weights_of(rows)))


def beside_weights_without_pool() -> list[Left]:
    """What runs beside the weights where software has no pool: measured over estimated. No fit uses these rows.

    What is certain (weights and cache) is taken off what was measured, so the range is of the rest.
    """
    at = context()
    found = []
    with (TO / "inference_llm.csv").open(encoding="utf-8", newline="") as file:
        rows = [Row("inference_llm.csv", number, cells) for number, cells in enumerate(csv.DictReader(file), start=2)]
    for row in rows:
        if not row.text(MEMORY):
            continue
        try:
            place = placed(row, at)
            (told,) = (o for o in ServingRows().predict(row, at) if o.metric == MEMORY)
        except (InputError, MissingFactError):
            continue
        beside = beside_weights(place.result().memory) / GIB
        if place.profile not in POOLLESS or isinstance(told.predicted, str) or not told.predicted or beside <= 0:
            continue
        rest = max(row.required(MEMORY) - told.predicted + beside, beside / LARGEST_REST)
        of = f"memory beside weights{WITHOUT_POOL}"
        found.append(Left(row.file, row.id, MEMORY, SOURCE, row.source, of, "", math.log(rest / beside)))
    return found


def never_narrower(found: Mapping[tuple[str, str], tuple[float, float]]) -> dict[tuple[str, str], tuple[float, float]]:
    """The same ranges, each at least as wide as that of the rung above it."""
    wider: dict[tuple[str, str], tuple[float, float]] = {}
    for family in sorted({family for family, _ in found}):
        low, high = 1.0, 1.0
        for rung in RUNGS:
            if (family, rung) in found:
                low, high = min(low, found[family, rung][0]), max(high, found[family, rung][1])
                wider[family, rung] = low, high
    return wider


def main(arguments: Sequence[str]) -> int:
    """Print the ranges and what they hold beside those of the tables; with --write put them there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args(arguments)
    rows = {key: own for key, own in by_rung(kept()).items() if len(own) >= FEWEST}
    found = never_narrower({key: ends(own) for key, own in rows.items()})
    pool = beside_weights_without_pool()
    for rung in RUNGS:
        rows[pool[0].range, rung], found[pool[0].range, rung] = pool, ends(pool)
    efficiencies = read_efficiencies(EFFICIENCY)
    for (family, rung), (low, high) in sorted(found.items()):
        own, variant = rows[family, rung], f"{family}, {rung}"
        table = next((t for t in RANGE_TABLES if (t, variant) in variants(efficiencies, t)), "")
        if not table:
            sys.stdout.write(f"{variant:60} no such range in the tables\n")
            continue
        then = efficiencies.constants(table, variant)
        sys.stdout.write(
            f"{variant:60} {len(own):5}  {low:.3f} {high:.3f} holds {held(own, low, high):.0%}"
            f"  (was {then['low']:.3f} {then['high']:.3f}: {held(own, then['low'], then['high']):.0%})\n"
        )
        if wanted.write:
            set_value(table, {"variant": variant}, "low", low)
            set_value(table, {"variant": variant}, "high", high)
            set_points(table, {"variant": variant}, len(own))
    return 0


def variants(efficiencies: object, table: str) -> set[tuple[str, str]]:
    """The ranges that a table has."""
    return {(table, entry.variant) for entry in efficiencies._tables[table]}  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
