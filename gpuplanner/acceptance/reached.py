"""What matrix products have reached on GPUs of the catalog, out of its measured points. Judges nothing."""

import csv
from dataclasses import dataclass
from pathlib import Path

_SEARCHED = "stas00/ml-engineering"
"""The group of points found by a search over sizes for the fastest; others are of one size, and often no peak."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The fastest product of a search: the GPU as its source calls it, dtype, FLOP/s."""

    gpu: str
    dtype: str
    flop_per_s: float


def read_reached(folder: Path) -> tuple[Reached, ...]:
    """The points of the catalog's `measurements` folder. A file of the app itself: a fault in it raises."""
    with (folder / "achievable_compute.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Reached(row["gpu"], row["dtype"], float(row["measured_tflops"]) * 1e12)
            for row in csv.DictReader(file)
            if row["source_group"] == _SEARCHED
        )
