"""Which software runs on which GPUs and loads which formats, out of `catalogs/compatibility`. Judges no plan.

A fault in these files is a programming fault (KeyError, ValueError): they come with the app.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from gpuplanner.catalog.sources import shipped_sources
from gpuplanner.facts import Source

HARDWARE, PRECISIONS, FORMATS = "software.csv", "training-precisions.csv", "weight-formats.csv"


@dataclass(frozen=True, slots=True)
class Runs:
    """On which GPUs of one vendor a program runs: from a compute capability on, or on the architectures named."""

    architectures: frozenset[str]
    least_capability: float | None
    source: Source


@dataclass(frozen=True, slots=True)
class LeastCapability:
    """From which CUDA compute capability on a number format is multiplied in hardware."""

    value: float
    source: Source


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """Formats of weights that a program has no loader for."""

    formats: frozenset[str]
    source: Source


@dataclass(frozen=True, slots=True)
class Software:
    """What is known of programs: `runs` by program and vendor, `precisions` by format, `not_loaded` by program."""

    runs: Mapping[tuple[str, str], Runs] = field(default_factory=dict)
    precisions: Mapping[str, LeastCapability] = field(default_factory=dict)
    not_loaded: Mapping[str, NotLoaded] = field(default_factory=dict)

    def names(self) -> frozenset[str]:
        """The programs that anything is known of."""
        return frozenset(name for name, _ in self.runs)


def read_software(folder: Path) -> Software:
    """The tables of a catalog's folder (`catalogs`)."""
    sources = shipped_sources(yaml.safe_load((folder / "sources.yaml").read_text(encoding="utf-8"))["sources"])
    tables = folder / "compatibility"
    return Software(
        runs={
            (row["software"], row["vendor"]): Runs(
                frozenset(row["architectures"].split()),
                float(row["least_compute_capability"]) if row["least_compute_capability"] else None,
                sources[row["source"]],
            )
            for row in _rows(tables / HARDWARE)
        },
        precisions={
            row["precision"]: LeastCapability(float(row["least_compute_capability"]), sources[row["source"]])
            for row in _rows(tables / PRECISIONS)
        },
        not_loaded={
            row["software"]: NotLoaded(frozenset(row["not_loaded"].split()), sources[row["source"]])
            for row in _rows(tables / FORMATS)
        },
    )


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
