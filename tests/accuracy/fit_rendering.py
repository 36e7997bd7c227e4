"""Fits how much rendering gains from a higher FP32 rate, and what one encoder writes, to the public rows.

Run as `python -m tests.accuracy.fit_rendering [--write]` from the root of the checkout. A pair of GPUs with the same
scene or benchmark gives a ratio of speeds; the definition of OctaneBench (GTX 980 = 100) is one end of such pairs too.
What ray-tracing cores are worth is kept, since too few rows tell it apart. Each source is also left out once.
"""

import argparse
import csv
import itertools
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import median

from gpuplanner.catalog.efficiency import read_efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.rendering_speed import TABLE, tracing_factor
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rendering import EXTREMES
from gpuplanner.engine.validation.rows import Row
from tests.accuracy.table_files import set_value

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT.parent / "shared" / "validation" / "rendering.csv"
OCTANE = re.compile("octane", re.IGNORECASE)
FRAME = re.compile("frame time", re.IGNORECASE)
HYBRID = re.compile("hybrid", re.IGNORECASE)


@dataclass(frozen=True)
class Speed:
    """How fast one GPU was at one thing; `fp32` is its rate and `factor` what its cores for tracing are worth."""

    source: str
    fp32: float
    factor: float
    speed: float


@dataclass(frozen=True)
class Pair:
    """Two GPUs at the same thing: logarithms of the ratios of rate and of speed, the cores' worth taken out."""

    sources: frozenset[str]
    rate: float
    gain: float


def pairs() -> list[Pair]:
    """All pairs that the rows give. A frame that was rendered with the CPU's help is no speed of a GPU."""
    catalog, efficiencies = load_catalog(ROOT / "catalogs"), read_efficiencies(ROOT / "catalogs" / "efficiency")
    names = ResolvedNames(catalog, names_of(catalog))
    base = efficiencies.constants(TABLE, "octane definition")
    at: dict[str, list[Speed]] = defaultdict(list)
    at["octane"].append(Speed("definition", base["fp32_flop_per_s"], base["tracing_factor"], base["score"]))
    with ROWS.open(encoding="utf-8", newline="") as file:
        for line, cells in enumerate(csv.DictReader(file), start=2):
            row = Row(ROWS.name, line, cells)
            metric, octane = row.text("metric"), OCTANE.search(row.text("benchmark"))
            taken = FRAME.search(metric) or (octane and not EXTREMES.search(metric) and "average" not in metric)
            if not taken or HYBRID.search(row.text("notes")):
                continue
            gpu, value = names.gpu(row.text("gpu")), row.required("value")
            fp32, factor = gpu.value(GpuProperty.FP32_FLOP_PER_S), tracing_factor(gpu, efficiencies)
            what, speed = ("octane", value) if octane else (metric, 1.0 / value)
            at[what].append(Speed(row.source, fp32, factor, speed))
    return [
        Pair(
            frozenset({one.source, other.source}),
            log(other.fp32 / one.fp32),
            log(other.speed / other.factor * one.factor / one.speed),
        )
        for speeds in at.values()
        for one, other in itertools.combinations(speeds, 2)
    ]


def exponent(found: list[Pair]) -> float:
    """Least squares through the origin: equal GPUs are equally fast."""
    return sum(p.rate * p.gain for p in found) / sum(p.rate**2 for p in found)


def main() -> None:
    """Print the fit and what each pair misses by without its sources; with `--write` put the fit into the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    found = pairs()
    misses = []
    for pair in found:
        others = [other for other in found if not (other.sources & pair.sources) - {"definition"}]
        without = exponent(others or [other for other in found if other is not pair])
        misses.append(without * pair.rate - pair.gain)
        sys.stdout.write(f"{'+'.join(sorted(pair.sources)):60} {pair.gain:+.2f}  left out {misses[-1]:+.2f}\n")
    sys.stdout.write(f"exponent {exponent(found):.3f}  median miss {median(map(abs, misses)):.2f}\n")
    if arguments.write:
        set_value(TABLE, {"variant": "class"}, "fp32_exponent", exponent(found))


if __name__ == "__main__":
    main()
