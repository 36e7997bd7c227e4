"""Fits the entries "kernel" of the table gemm to measured matrix multiplications, and prints them beside the table's.

Run as `python -m tests.accuracy.fit_gemm` from the root of the checkout. Each entry's utilisation and floor move in log
space with a pull towards what is usual; padding is one number for all.
"""

import csv
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from gpuplanner.catalog.efficiency import Efficiency, read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.validation.matrices import MEASURED, Shape, shape_of
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.units import TERA
from tests.accuracy.least_squares import Vector, solve

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = ROOT / "catalogs"
ROWS = CATALOGS / "measurements" / "achievable_compute.csv"
USUAL = {"utilisation": 0.75, "floor_s": 6e-6, "padding_tokens": 32.0}
PULLS = {"utilisation": 0.3, "floor_s": 0.5, "padding_tokens": 1.0}
PULL = 0.3
OVERLAP_LOSS = 0.3
"""Nothing in the rows tells it from padding."""
ROBUST = 0.15
"""Residuals above it count linearly."""


def read_shapes() -> list[tuple[Shape, Efficiency, float, float]]:
    """What was multiplied, the entry that it falls to, the share of the memory's rate, and the measured rate."""
    catalog = load_catalog(CATALOGS)
    tables = read_efficiencies(CATALOGS / "efficiency")
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), tables, catalog.gpus, catalog.models)
    found = []
    with ROWS.open(encoding="utf-8", newline="") as file:
        for number, cells in enumerate(csv.DictReader(file), start=2):
            row = Row(ROWS.name, number, cells)
            try:
                shape = shape_of(row, context)
                entry = tables.find("gemm", shape.gpu, f"kernel {shape.kind}")
                share = tables.find("hbm", shape.gpu)["share"]
            except (InputError, MissingFactError):
                continue
            found.append((shape, entry, share, row.required(MEASURED) * TERA))
    return found


def main() -> int:
    shapes = read_shapes()
    groups: dict[str, list[int]] = defaultdict(list)
    for number, (shape, entry, _, _) in enumerate(shapes):
        of = {"same GPU": shape.gpu.id, "same architecture": shape.gpu.chip or shape.gpu.architecture}
        groups[f"{shape.kind} {of.get(entry.rung, 'any')}"].append(number)
    names = sorted(groups)
    origin = np.log([USUAL["padding_tokens"], *(USUAL[n] for _ in names for n in ("utilisation", "floor_s"))])
    pulls = np.array([PULLS["padding_tokens"], *(PULLS[n] for _ in names for n in ("utilisation", "floor_s"))])

    def off(x: Vector) -> Vector:
        values = np.exp(x)
        logs = np.zeros(len(shapes))
        for place, name in enumerate(names):
            utilisation, floor_s = values[1 + 2 * place : 3 + 2 * place]
            for number in groups[name]:
                shape, _, share, measured = shapes[number]
                rate = shape.flop_per_s(utilisation, values[0], share, OVERLAP_LOSS, floor_s)
                logs[number] = math.log(float(rate) / measured)
        return logs

    def residuals(x: Vector) -> Vector:
        logs = off(x)
        soft = np.sign(logs) * np.sqrt(2 * ROBUST**2 * (np.sqrt(1 + (logs / ROBUST) ** 2) - 1))
        return np.concatenate([soft, (x - origin) / pulls * PULL])

    x = solve(residuals, origin.copy())
    logs, values = off(x), np.exp(x)
    say(f"padding_tokens {values[0]:.3g}, median {np.median(np.abs(logs)):.3f}, overlap_loss {OVERLAP_LOSS} as given")
    for place, name in enumerate(names):
        own = groups[name]
        entry = shapes[own[0]][1]
        say(
            f"{name:28} {len(own):3}  utilisation {values[1 + 2 * place]:.3f} (table {entry['utilisation']:g})"
            f"  floor_s {values[2 + 2 * place]:.3g} (table {entry['floor_s']:g})"
            f"  median {np.median(np.abs(logs[own])):.3f}"
        )
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
