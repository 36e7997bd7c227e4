"""Fits latency and efficiency of collectives to the published bandwidths by message size, operation by operation.

Run as `python -m tests.accuracy.fit_collectives [--write]` from the root of the checkout. The general entry of an
operation on a switch is the mean over architectures; between nodes only all-reduces were published. The ranges are of
rows whose group size (same architecture) or whose architecture (other architecture) was left out of the fit.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gpuplanner.catalog.efficiency import read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.links import NETWORK, Collective, Reach
from gpuplanner.engine.machine import Topology
from gpuplanner.engine.validation.collectives import MEASURED, Exchange, exchange_of
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.units import GB
from tests.accuracy.least_squares import Vector, solve
from tests.accuracy.table_files import set_points, set_value

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = ROOT / "catalogs"
ROWS = CATALOGS / "measurements" / "achievable_bandwidth.csv"
TABLE = "collectives"
ROBUST = 0.3
NAMES = ("latency_s", "latency_growth", "efficiency", "efficiency_growth")
USUAL = {
    Topology.SWITCHED: (8.0e-6, 0.5, 0.8, 0.2),
    Topology.PCIE: (5.0e-6, 0.5, 0.05, -1.8),
    NETWORK: (170.0e-6, 0.25, 0.76, 0.0),
}
PULLS = (2.0, 2.0, 2.0, 2.0)
NETWORK_PULLS = (2.0, 0.01, 2.0, 0.01)
"""All were measured on four nodes, so nothing tells how latency and efficiency grow with them."""
ONE_PASS = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
"""Half an all-reduce each; between nodes nothing was published of them."""
Key = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A measured collective and how long it took."""

    exchange: Exchange
    seconds: float
    source: str
    row: Row

    @property
    def key(self) -> Key:
        """The architecture and variant of the entry that it belongs to."""
        exchange = self.exchange
        if exchange.nodes > 1:
            return "", f"{exchange.operation} {NETWORK}"
        switched = exchange.topology is Topology.SWITCHED
        return exchange.gpu.architecture if switched else "", f"{exchange.operation} {exchange.topology}"


def read_cases(context: ValidationContext) -> list[Case]:
    """All collectives that can be placed, those with NVLS switched off by hand left out."""
    found = []
    with ROWS.open(encoding="utf-8") as file:
        for number, cells in enumerate(csv.DictReader(file), start=2):
            row = Row(ROWS.name, number, cells)
            if "NVLS off" in row.text("what"):
                continue
            try:
                exchange = exchange_of(row, context)
            except InputError:
                continue
            seconds = exchange.counted_bytes / (row.required(MEASURED) * GB)
            found.append(Case(exchange, seconds, row.source.split()[0], row))
    return found


def reach_of(values: Sequence[float]) -> Reach:
    """Numbers of an entry as the engine takes them."""
    return Reach(values[0], values[1], values[2], values[3], Rung.SAME_ARCHITECTURE)


def log_ratio(case: Case, own: Reach, inside: Reach | None = None) -> float:
    """ln(predicted / measured time); of a collective over nodes `own` is the network's and `inside` the node's."""
    seconds = case.exchange.seconds(inside or own, own)
    return float(np.log(seconds / case.seconds))


def fit(cases: Sequence[Case], kind: str, inside: Mapping[Key, Reach] | None = None) -> Reach:
    """The numbers that fit the cases best, held loosely to what is usual for this kind of link."""
    usual = np.array(USUAL[kind])
    pulls = np.array(NETWORK_PULLS if kind == NETWORK else PULLS)
    logs = np.array([True, False, True, False])
    start = np.where(logs, np.log(np.where(logs, usual, 1.0)), usual)

    def outward(x: Vector) -> Reach:
        return reach_of([float(v) for v in np.where(logs, np.exp(np.where(logs, x, 0.0)), x)])

    def residuals(x: Vector) -> Vector:
        own = outward(x)
        ratios = np.array([log_ratio(c, own, inside_of(c, inside)) for c in cases])
        return np.concatenate([np.arctan(ratios / ROBUST), (x - start) / pulls * ROBUST])

    found = outward(solve(residuals, start))
    if kind != NETWORK:
        return found
    return replace(found, latency_growth=USUAL[kind][1], efficiency_growth=USUAL[kind][3])


def inside_of(case: Case, inside: Mapping[Key, Reach] | None) -> Reach | None:
    """What the links of a node reach, for a collective that spans nodes."""
    if inside is None:
        return None
    return inside[case.exchange.gpu.architecture, f"{case.exchange.operation} {Topology.SWITCHED}"]


def mean(reaches: Iterable[Reach]) -> Reach:
    """Geometric mean of latencies and efficiencies, mean of the growths."""
    found = list(reaches)
    return reach_of(
        [
            float(np.exp(np.mean([np.log(r.latency_s) for r in found]))),
            float(np.mean([r.latency_growth for r in found])),
            float(np.exp(np.mean([np.log(r.efficiency) for r in found]))),
            float(np.mean([r.efficiency_growth for r in found])),
        ]
    )


def by_key(cases: Iterable[Case]) -> dict[Key, list[Case]]:
    """Cases by the entry that they belong to."""
    found: dict[Key, list[Case]] = defaultdict(list)
    for case in cases:
        found[case.key].append(case)
    return found


def groups_left_out(cases: Sequence[Case], kind: str) -> list[float]:
    """Residuals of rows whose group size was left out of the fit."""
    found = []
    for members in sorted({case.exchange.members for case in cases}):
        rest = [case for case in cases if case.exchange.members != members]
        if not rest:
            continue
        own = fit(rest, kind)
        found += [log_ratio(case, own) for case in cases if case.exchange.members == members]
    return found


def ends(ratios: Sequence[float]) -> tuple[float, float]:
    """Tenth and ninetieth percentile of measured / predicted bandwidth."""
    rates = np.exp(np.array(ratios))
    return float(np.quantile(rates, 0.1)), float(np.quantile(rates, 0.9))


def write(key: Key, found: Reach, points: int) -> None:
    """Put an entry's numbers into the table."""
    holder = {"architecture": key[0], "variant": key[1]}
    values = (found.latency_s, found.latency_growth, found.efficiency, found.efficiency_growth)
    for name, value in zip(NAMES, values, strict=True):
        set_value(TABLE, holder, name, value)
    set_points(TABLE, holder, points)


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


def main() -> None:
    """Fit, print, and with --write keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    catalog = load_catalog(CATALOGS)
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), read_efficiencies(CATALOGS / "efficiency"))
    cases = by_key(read_cases(context))
    fitted: dict[Key, Reach] = {}
    points: dict[Key, int] = {}
    same: list[float] = []
    other: list[float] = []
    for key, own in sorted(cases.items(), key=lambda item: NETWORK in item[0][1]):
        kind = key[1].split()[-1]
        fitted[key] = fit(own, kind, fitted if kind == NETWORK else None)
        points[key] = len(own)
        ratios = [log_ratio(case, fitted[key], inside_of(case, fitted) if kind == NETWORK else None) for case in own]
        say(f"{key[0]:10} {key[1]:24} {len(own):3}  median {np.median(np.abs(ratios)):.3f}  {fitted[key]}")
        if kind == NETWORK:
            other += ratios
            half = replace(fitted[key], latency_s=fitted[key].latency_s / 2)
            fitted |= {("", f"{operation} {NETWORK}"): half for operation in ONE_PASS}
        else:
            (same if key[0] else other).extend(groups_left_out(own, kind))
    for variant in sorted({key[1] for key in fitted if key[0]}):
        architectures = [key for key in fitted if key[1] == variant and key[0]]
        for key in architectures:
            rest = mean(fitted[k] for k in architectures if k != key)
            other += [log_ratio(case, rest) for case in cases[key]]
        general = ("", variant)
        fitted[general], points[general] = mean(fitted[k] for k in architectures), sum(points[k] for k in architectures)
    for rung, ratios in (("same architecture", same), ("other architecture", other)):
        low, high = ends(ratios)
        say(f"{rung}: {len(ratios)} rows, median {np.median(np.abs(ratios)):.3f}, range {low:.3f} {high:.3f}")
    if wanted.write:
        for key, found in fitted.items():
            write(key, found, points.get(key, 0))


if __name__ == "__main__":
    main()
