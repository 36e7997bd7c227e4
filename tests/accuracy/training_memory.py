"""How far off the peak memory of training is, by source, and whether runs fit; sets the range of memory from it.

Run as `python -m tests.accuracy.training_memory [--write]` from the root of the checkout. What frameworks keep is set
by hand from their code, so no source is left out and each speaks as a new one would; rows of low confidence are not
used.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from gpuplanner.catalog.efficiency import read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.training_ranges import kind_of
from gpuplanner.engine.validation.families import row_outcomes
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext
from gpuplanner.engine.validation.training import MEMORY, OUTCOME, TrainingRows
from gpuplanner.engine.validation.training_rows import METHODS
from gpuplanner.figures import Rung
from tests.accuracy.fit_ranges import held, made
from tests.accuracy.fit_training import CATALOGS, ROWS, say, write_range
from tests.accuracy.left_out import SOURCE, Left

RUNG = Rung.SAME_ARCHITECTURE.value


def outcomes(path: Path, context: ValidationContext) -> list[Outcome]:
    """What is predicted of memory, and whether it fits."""
    found = []
    with path.open(encoding="utf-8") as file:
        for number, cells in enumerate(csv.DictReader(file), start=2):
            if cells["confidence"] != "low" and (cells[MEMORY] or cells[OUTCOME]):
                found += row_outcomes(Row(path.name, number, cells), TrainingRows(), context)
    return [o for o in found if not o.refused]


def kinds(path: Path) -> dict[str, str]:
    """By row, which of the families of ranges it is of."""
    with path.open(encoding="utf-8") as file:
        return {cells["id"]: kind_of(METHODS[cells["kind"]]) for cells in csv.DictReader(file)}


def main() -> None:
    """Print how far off each source is; with --write keep the ranges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    catalog = load_catalog(CATALOGS)
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), read_efficiencies(CATALOGS / "efficiency"))
    found = outcomes(ROWS, context)
    measured = [(o.source, o.log_ratio) for o in found if o.metric == MEMORY and o.log_ratio is not None]
    by_source: dict[str, list[float]] = defaultdict(list)
    for source, ratio in measured:
        by_source[source].append(ratio)
    for source, own in sorted(by_source.items()):
        say(f"{source:32} {len(own):4}  {np.median(np.abs(own)):.3f} {np.median(own):+.3f}")
    say(f"median over sources {np.median([np.median(np.abs(own)) for own in by_source.values()]):.3f}")
    for says in ("ok", "oom"):
        told = [o for o in found if o.metric == OUTCOME and o.measured == says]
        say(f"measured {says}: {len(told)}, of them told so {sum(o.predicted == says for o in told)}")
    kind_by_row = kinds(ROWS)
    for kind in ("pretraining", "fine-tuning"):
        family = f"{kind} memory"
        speaking = [
            Left(o.file, o.id, MEMORY, SOURCE, o.source, family, RUNG, -o.log_ratio)
            for o in found
            if o.metric == MEMORY and o.log_ratio is not None and kind_by_row[o.id] == kind
        ]
        low, high = made(speaking)[family, RUNG]
        say(f"{family} {low:.3f} {high:.3f} of {len(speaking)} holds {held(speaking, low, high, power=1.0):.0%}")
        if wanted.write:
            write_range(f"{family}, {RUNG}", low, high, len(speaking))


if __name__ == "__main__":
    main()
