"""Makes the ranges from what rows that were left out of a fit are off by, by family and rung; says what they hold.

Run as `python -m tests.accuracy.fit_ranges [--write]`, after `left_out` (`make accuracy-fit` does both). The ends of a
nominal 80 % range begin at the tenth and ninetieth percentile of measured / predicted, each source weighing as the root
of its rows, so that no long table speaks for the rest. A lower rung is always somewhat wider than the one above it: its
rows are of chips that the fits know. Conformal: with few rows the ends begin further outward by one row in the count.

Where sources could be left out, the ends of all rungs of a family then move as powers of themselves, until what they
hold of new sources is 80 % as the report counts it: by the line of the report that a person reads (a family and column
with an aim; a range that serves several, as that of images serves times and iterations, lies as near as it can to 80 %
in each), over all rungs, each source as much as another. Both ends move by one power where that comes near enough.
"""

import argparse
import csv
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gpuplanner.catalog.efficiency import Efficiencies, read_efficiencies
from gpuplanner.engine.serving_figures import POOLLESS, WITHOUT_POOL, beside_weights
from gpuplanner.engine.validation.rows import Outcome, Row
from gpuplanner.engine.validation.serving import MEMORY, ServingRows
from gpuplanner.engine.validation.serving_rows import placed
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.units import GIB
from tests.accuracy.aims import TARGETS
from tests.accuracy.carry_measurements import TO
from tests.accuracy.figures import RANGE_TABLES, all_outcomes, told_by
from tests.accuracy.left_out import CHIP, EFFICIENCY, GPU, RUN, SOURCE, Left, context, kept
from tests.accuracy.table_files import set_points, set_value

NOMINAL = 0.8
RUNGS = (Rung.SAME_GPU.value, Rung.SAME_ARCHITECTURE.value, Rung.OTHER_ARCHITECTURE.value)
BY_RUNG = {
    Rung.SAME_GPU.value: (SOURCE, RUN),
    Rung.SAME_ARCHITECTURE.value: (SOURCE, GPU),
    Rung.OTHER_ARCHITECTURE.value: (SOURCE, CHIP),
}
"""What was left out of the fits that speak for a rung: a source or a run, or a GPU or a chip. Where no source could be
left out, runs speak for every rung."""
LEAST = 0.77
"""The share that a range holds at least of all rows of its rung, runs and GPUs that were left out among them."""
LEAST_OF_SOURCES = 0.76
"""The share that it holds at least of the new sources of its rung, each of which counts as much as another."""
NEAR = 0.03
"""By so much may what a line of the report holds miss 80 % before both ends move by powers of their own."""
BELOW = 1.03
"""By what, as a power, the ends of a rung are beyond those of the one above it at least."""
FACTORS = np.linspace(0.4, 3.0, 261)
"""By what the ends may move, as powers of them."""
LARGEST_REST = 10.0
"""What was measured beside the weights is not below a tenth of the estimate: below it weights were stored otherwise."""
FEWEST = 10
"""Rows that a range is made of; with fewer it stays as it stands."""
ROUNDING = 1e-9

Ranges = dict[tuple[str, str], tuple[float, float]]
"""Ends by family and rung, as factors of what is predicted."""
Lines = Mapping[str, Mapping[str, Sequence[Left]]]
"""Rows by family of ranges and line of the report."""


def by_rung(rows: Iterable[Left]) -> dict[tuple[str, str], list[Left]]:
    """The rows that speak for each family and rung."""
    every = list(rows)
    of_sources = {row.range for row in every if row.left == SOURCE}
    found: dict[tuple[str, str], list[Left]] = defaultdict(list)
    for row in every:
        if row.left in BY_RUNG[row.rung] or (row.left == RUN and row.range not in of_sources):
            found[row.range, row.rung].append(row)
    return found


def weights_of(rows: Sequence[Left], power: float = 0.5) -> NDArray[np.float64]:
    """How much each row counts: the inverse root of the rows of its source, for each kind of part that was left out.

    `power` 1: each source as much as another.
    """
    sources = _sources()
    of = [(row.left, sources.get((row.file, row.id), row.group)) for row in rows]
    sizes = Counter(of)
    return np.array([sizes[key] ** -power for key in of])


@cache
def _sources() -> dict[tuple[str, str], str]:
    """The source of each carried row, by file and id."""
    found = {}
    for path in TO.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for number, cells in enumerate(csv.DictReader(file), start=2):
                row = Row(path.name, number, cells)
                found[row.file, row.id] = row.source
    return found


def ends(rows: Sequence[Left], nominal: float = NOMINAL) -> tuple[float, float]:
    """The ends of the range of these rows, as factors of what is predicted."""
    off, weights = np.array([row.off for row in rows]), weights_of(rows)
    order = np.argsort(off)
    reached = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    outside = (1 - nominal) / 2 * len(rows) / (len(rows) + 1)
    low, high = np.interp([outside, 1 - outside], reached, off[order])
    return math.exp(low), math.exp(high)


def made(rows: Iterable[Left], lines: Lines | None = None) -> Ranges:
    """The ranges by family and rung of all that was left out; `lines`: of which lines of the report rows are.

    Without lines all rows of new sources are one.
    """
    pools = {key: own for key, own in by_rung(rows).items() if len(own) >= FEWEST}
    begun = wider_below({key: ends(own) for key, own in pools.items()})
    found: Ranges = {}
    for family in sorted({family for family, _ in begun}):
        own = {rung: both for (of, rung), both in begun.items() if of == family}
        read = (lines or {}).get(family) or {"": [row for rung in own for row in pools[family, rung]]}
        new = [[row for row in line if row.left == SOURCE and row.rung in own] for line in read.values()]
        inward, outward = powers([line for line in new if line], [pools[family, rung] for rung in own], own)
        for rung, (low, high) in own.items():
            found[family, rung] = holding(pools[family, rung], low**inward, high**outward)
    return wider_below(found)


def holding(rows: Sequence[Left], low: float, high: float) -> tuple[float, float]:
    """The ends of a rung, further out where they do not hold `LEAST_OF_SOURCES` of its own new sources."""
    sources = [row for row in rows if row.left == SOURCE]
    tried = ((float(low**power), float(high**power)) for power in FACTORS if power >= 1.0)
    enough = (both for both in tried if not sources or held(sources, *both, power=1.0) >= LEAST_OF_SOURCES)
    return next(enough, (low ** FACTORS[-1], high ** FACTORS[-1]))


def powers(
    lines: Sequence[Sequence[Left]], pools: Sequence[Sequence[Left]], begun: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """As which powers of themselves the low and the high ends by rung hold 80 % of each line, or come nearest to it.

    `pools`: all rows of each rung, of which they hold `LEAST`. Equal powers where those come as near as `NEAR`.
    """
    if not lines:
        return 1.0, 1.0
    off = np.max([np.abs(_shares(line, begun, 1.0) - NOMINAL) for line in lines], axis=0)
    kept_of_rungs = np.min([_shares(pool, begun, 0.5) for pool in pools], axis=0)
    apart = np.abs(np.log(FACTORS[:, None] / FACTORS))
    worst = np.where(kept_of_rungs >= LEAST - ROUNDING, np.maximum(off, NEAR), np.inf)
    nearest = np.lexsort((off.ravel(), apart.ravel(), worst.ravel().round(6)))[0]
    low, high = np.unravel_index(nearest, off.shape)
    return float(FACTORS[low]), float(FACTORS[high])


def _shares(rows: Sequence[Left], begun: Mapping[str, tuple[float, float]], power: float) -> NDArray[np.float64]:
    """The share of rows inside their ranges, by the power of the low ends and that of the high ones."""
    off, weights = np.array([row.off for row in rows]), weights_of(rows, power)
    low, high = np.log([begun[row.rung] for row in rows]).T
    below = weights @ (off[:, None] < low[:, None] * FACTORS)
    above = weights @ (off[:, None] > high[:, None] * FACTORS)
    inside: NDArray[np.float64] = 1.0 - (below[:, None] + above) / weights.sum()
    return inside


def lines_of(told: Iterable[tuple[Left, Outcome]]) -> Lines:
    """By family of ranges, the rows of each line of the report that has an aim."""
    aimed = {(target.family, target.metric) for target in TARGETS}
    found: dict[str, dict[str, list[Left]]] = defaultdict(lambda: defaultdict(list))
    for left, outcome in told:
        if (outcome.family, outcome.metric) in aimed:
            found[left.range][f"{outcome.family} {outcome.metric}"].append(left)
    return found


def held(rows: Sequence[Left], low: float, high: float, power: float = 0.5) -> float:
    """The share of rows inside a range; `power` as for `weights_of`."""
    inside = np.array([low <= math.exp(row.off) <= high for row in rows])
    return float(np.average(inside, weights=weights_of(rows, power)))


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


def wider_below(found: Ranges) -> Ranges:
    """The same ranges, each somewhat wider at both ends than that of the rung above it, or as wide as it is."""
    wider: Ranges = {}
    for family in sorted({family for family, _ in found}):
        low, high = 1.0, 1.0
        for rung in RUNGS:
            if (family, rung) in found:
                own = found[family, rung]
                low, high = min(low**BELOW, own[0]), max(high**BELOW, own[1])
                wider[family, rung] = low, high
    return wider


def main(arguments: Sequence[str]) -> int:
    """Print the ranges and what they hold beside those of the tables; with --write put them there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args(arguments)
    left = kept()
    rows, found = by_rung(left), made(left, lines_of(told_by(all_outcomes(), left)))
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


def variants(efficiencies: Efficiencies, table: str) -> set[tuple[str, str]]:
    """The ranges that a table has."""
    return {(table, entry.variant) for entry in efficiencies._tables[table]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
