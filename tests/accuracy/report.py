"""Writes ACCURACY.md, its plots and the figures behind them, from the carried measurements.

Run as `make accuracy` (`python -m tests.accuracy.report`). What is written depends on the measurements, the engine and
its tables alone: `docs/accuracy/` keeps the figures as CSV, so that a test tells when they changed.
"""

import csv
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from gpuplanner.engine.validation.rows import Outcome
from gpuplanner.messages import Language, Translator
from tests.accuracy import figures
from tests.accuracy.aims import TARGETS, plot_name
from tests.accuracy.carry_measurements import ROOT
from tests.accuracy.figures import Line, Peer
from tests.accuracy.left_out import context
from tests.accuracy.plots import Dot, plot
from tests.accuracy.report_text import FOLDER, rendered

REPORT = ROOT / "ACCURACY.md"
MOST_WORST = 20
DIGITS = 4


def main() -> int:
    """Validate everything and write the report."""
    began = time.monotonic()
    outcomes = figures.all_outcomes()
    took = time.monotonic() - began
    lines = figures.lines(outcomes, context().efficiencies)
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_table(FOLDER / "figures.csv", figures.columns(Line), lines)
    write_table(FOLDER / "peers.csv", figures.columns(Peer), figures.peers(outcomes))
    write_worst(FOLDER / "worst.csv", figures.worst(outcomes, MOST_WORST))
    write_table(FOLDER / "verdicts.csv", ["family", "rows", "right"], verdicts(outcomes))
    write_table(FOLDER / "refused.csv", ["family", "why", "numbers"], refusals(outcomes))
    write_plots(outcomes)
    REPORT.write_text(rendered(), encoding="utf-8")
    sys.stdout.write(f"{len(outcomes)} measured numbers validated in {took:.1f} s; {REPORT.name} is written\n")
    return 0


def rounded(value: object) -> object:
    """A number as it is kept, nothing for None."""
    if value is None:
        return ""
    return round(value, DIGITS) if isinstance(value, float) else value


def write_table(path: Path, header: Sequence[str], rows: Iterable[Any]) -> None:
    """Rows (dataclasses or tuples) as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([rounded(v) for v in (row if isinstance(row, tuple) else astuple(row))] for row in rows)


def write_worst(path: Path, outcomes: Iterable[Outcome]) -> None:
    """The rows that are furthest off."""
    header = ("file", "id", "family", "metric", "source", "measured", "predicted", "log_ratio")
    rows = [
        (o.file, o.id, o.family, o.metric, o.source, o.measured, float(f"{o.predicted:.4g}"), o.log_ratio)
        for o in outcomes
    ]
    write_table(path, header, rows)


def verdicts(outcomes: Iterable[Outcome]) -> list[tuple[str, int, float]]:
    """By family, of how many runs it is known whether they fit, and the share that is told right."""
    known: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        if isinstance(outcome.predicted, str):
            known[outcome.family].append(outcome.predicted == outcome.measured)
    return [(family, len(right), sum(right) / len(right)) for family, right in sorted(known.items())]


def refusals(outcomes: Iterable[Outcome]) -> list[tuple[str, str, int]]:
    """By family, why a number was refused, and how often."""
    translator = Translator(Language.ENGLISH)
    found = Counter((o.family, translator.text(o.refused)) for o in outcomes if o.refused)
    return [(*key, count) for key, count in sorted(found.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))]


def write_plots(outcomes: Sequence[Outcome]) -> None:
    """A plot for each aim that anything was predicted of."""
    for old in FOLDER.glob("*.svg"):
        old.unlink()
    for target in TARGETS:
        dots = [
            Dot(float(o.measured), float(o.predicted or 0.0), o.source)
            for o in outcomes
            if (o.family, o.metric) == (target.family, target.metric) and o.log_ratio is not None
        ]
        if dots:
            text = plot(target.what, target.metric, dots)
            (FOLDER / plot_name(target.family, target.metric)).write_text(text, encoding="utf-8")


def as_kept(lines: Iterable[Line]) -> list[dict[str, str]]:
    """Lines as they are kept, to be compared with those that are."""
    return [{name: str(rounded(value)) for name, value in asdict(line).items()} for line in lines]


if __name__ == "__main__":
    sys.exit(main())
