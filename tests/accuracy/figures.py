"""How far off the engine is on the carried measurements, as the report tells it: computed here, nothing is written.

A family of the report is a family of `validate`, with training told by pre-training and fine-tuning and servers under a
load by dense models and mixtures. Beside the figures of all rows stand those of rows whose source was left out of the
fit (`left_out_rows/`), of the constant-utilisation baseline, and of peers (`peers.csv`).
"""

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.cli.measurement_files import file_outcomes
from gpuplanner.engine.validation.baselines import with_baselines
from gpuplanner.engine.validation.rows import Outcome
from gpuplanner.engine.validation.summary import Summary, summarise
from gpuplanner.facts import MissingFactError
from tests.accuracy.carry_measurements import SOURCES, TO
from tests.accuracy.left_out import SOURCE, Left, context, is_rate, kept

PEERS = Path(__file__).resolve().parent / "peers.csv"
RANGE_TABLES = ("serving_ranges", "training_ranges", "diffusion", "vision")
MOST_OF_ONE = 3
"""Rows of one family, source and column among those that are furthest off: they mostly have one reason."""
SAME_TIME = {
    "measured_step_s": (
        "measured_tokens_per_s_per_gpu", "measured_step_s", "measured_tflops_per_gpu", "measured_mfu_pct",
        "measured_hfu_pct",
    ),
    "s_per_image": ("s_per_image", "it_per_s"),
}  # fmt: skip
"""Columns that one measured time fills, in several units: of images, steps over their product with the batch."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report: a family and column, over all its sources (source "") or of one of them.

    Deviations are |ln(predicted / measured)|, each source weighing the same. `left_*`: of rows whose source was left
    out; `baseline_*`: of the baseline, and `beside_baseline` ours on the rows that have one. Shares are 0 … 1.
    """

    family: str
    metric: str
    source: str
    rows: int
    refused: int
    median: float | None
    p90: float | None
    bias: float | None
    inside: float | None
    right: float | None
    left_rows: int
    left_median: float | None
    left_p90: float | None
    left_inside: float | None
    baseline_rows: int
    baseline_median: float | None
    baseline_p90: float | None
    beside_baseline: float | None


@dataclass(frozen=True, slots=True)
class Peer:
    """How far off a peer is on the rows that it gives a number for, and how far off we are on the same ones."""

    peer: str
    family: str
    metric: str
    rows: int
    median: float
    p90: float
    ours: float
    ours_p90: float


def all_outcomes() -> list[Outcome]:
    """An outcome for every measured number that is carried, with its baseline, in the families of the report."""
    at = context()
    found: list[Outcome] = []
    for path in sorted(TO.glob("*.csv")):
        if path.stem != SOURCES:
            found += told_apart(path, with_baselines(list(file_outcomes(path, at))))
    return found


def told_apart(path: Path, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes of a file with the families that the report tells apart."""
    with path.open(encoding="utf-8", newline="") as file:
        parts = {row.get("id", ""): _part(path.stem, row) for row in csv.DictReader(file)}
    return [replace(o, family=f"{o.family}{parts.get(o.id, '')}") for o in outcomes]


def _part(file: str, row: Mapping[str, str]) -> str:
    match file:
        case "training_llm":
            return ", pre-training" if row["kind"] == "pretrain" else ", fine-tuning"
        case "inference_llm_online":
            return ", mixtures" if row["n_experts"] else ", dense"
    return ""


def lines(outcomes: Sequence[Outcome], efficiencies: Efficiencies) -> list[Line]:
    """The lines of the report, in order."""
    left = _by_key(summarise(left_out(outcomes, kept(), efficiencies)))
    beside = _by_key(summarise([o for o in outcomes if o.baseline is not None]))
    return [_line(s, left.get(_key(s)), beside.get(_key(s))) for s in summarise(outcomes)]


def left_out(outcomes: Iterable[Outcome], kept_rows: Iterable[Left], efficiencies: Efficiencies) -> list[Outcome]:
    """The outcomes of rows that were predicted without their source, as they were predicted then."""
    return [_as_left(outcome, left, efficiencies) for left, outcome in told_by(outcomes, kept_rows)]


def told_by(outcomes: Iterable[Outcome], kept_rows: Iterable[Left]) -> Iterator[tuple[Left, Outcome]]:
    """What was predicted without its source, with each outcome that it is the same measurement as."""
    by_row: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_row[Path(outcome.file).stem, outcome.id].append(outcome)
    for left in kept_rows:
        if left.left != SOURCE:
            continue
        wanted = SAME_TIME.get(left.metric, (left.metric,))
        for outcome in by_row[Path(left.file).stem, left.id]:
            if outcome.metric in wanted and not isinstance(outcome.measured, str):
                yield left, outcome


def _as_left(outcome: Outcome, left: Left, efficiencies: Efficiencies) -> Outcome:
    """The outcome with the number, and the range, that it gets where its source is not known."""
    sign = -1.0 if is_rate(outcome.metric) and not left.range.startswith("collectives") else 1.0
    value = float(outcome.measured) * math.exp(-sign * left.off)
    found = ends(efficiencies, left.range, left.rung)
    if found is None:
        low, high = _own_ends(outcome)
    else:
        low, high = (1.0 / found[1], 1.0 / found[0]) if sign < 0 else found
    return replace(outcome, predicted=value, low=value * low, high=value * high, baseline=None, refused=None)


def ends(efficiencies: Efficiencies, family: str, rung: str) -> tuple[float, float] | None:
    """The ends of the range of a family on a rung, as factors of the value; None where no table of ranges has it."""
    for table in RANGE_TABLES:
        try:
            found = efficiencies.constants(table, f"{family}, {rung}")
        except MissingFactError:
            continue
        return found["low"], found["high"]
    return None


def _own_ends(outcome: Outcome) -> tuple[float, float]:
    """The ends of the range that the row has with its source, as factors."""
    if isinstance(outcome.predicted, str) or not outcome.predicted or outcome.low is None or outcome.high is None:
        return 0.0, math.inf
    return outcome.low / outcome.predicted, outcome.high / outcome.predicted


def _key(line: Summary) -> tuple[str, str, str]:
    return line.family, line.metric, line.source


def _by_key(summaries: Iterable[Summary]) -> dict[tuple[str, str, str], Summary]:
    """Summaries by what they are of; the only source of a family stands for all of them too."""
    found = {}
    for line in summaries:
        found[_key(line)] = line
        found.setdefault((line.family, line.metric, ""), line)
    return found


def _line(own: Summary, left: Summary | None, beside: Summary | None) -> Line:
    return Line(
        own.family, own.metric, own.source, own.rows, own.refused, own.median_abs_log, own.p90_abs_log, own.bias_log,
        own.inside, own.right,
        left.rows if left else 0,
        left.median_abs_log if left else None,
        left.p90_abs_log if left else None,
        left.inside if left else None,
        own.baseline_rows, own.baseline_median_abs_log, own.baseline_p90_abs_log,
        beside.median_abs_log if beside else None,
    )  # fmt: skip


def peers(outcomes: Iterable[Outcome]) -> list[Peer]:
    """How far off each peer is, by family and column, on the rows that it covers."""
    ours = {(Path(o.file).stem, o.id, o.metric): o for o in outcomes if o.log_ratio is not None}
    theirs: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    same: dict[tuple[str, str, str], list[Outcome]] = defaultdict(list)
    if not PEERS.exists():
        return []
    with PEERS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            outcome = ours.get((row["file"], row["id"], row["metric"]))
            if outcome is not None:
                key = (row["peer"], outcome.family, outcome.metric)
                theirs[key].append(replace(outcome, predicted=float(row["predicted"])))
                same[key].append(outcome)
    found = []
    for key in sorted(theirs):
        them, us = summarise(theirs[key])[0], summarise(same[key])[0]
        numbers = (them.median_abs_log, them.p90_abs_log, us.median_abs_log, us.p90_abs_log)
        found.append(Peer(*key, len(theirs[key]), *(number or 0.0 for number in numbers)))
    return found


def worst(outcomes: Iterable[Outcome], most: int, of_one: int = MOST_OF_ONE) -> list[Outcome]:
    """The rows that are furthest off, each with its worst column; of one family, source and column only some."""
    furthest: dict[tuple[str, str], Outcome] = {}
    for outcome in outcomes:
        if outcome.log_ratio is None:
            continue
        key = outcome.file, outcome.id
        if key not in furthest or abs(outcome.log_ratio) > abs(furthest[key].log_ratio or 0.0):
            furthest[key] = outcome
    found: list[Outcome] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for outcome in sorted(furthest.values(), key=lambda o: (-abs(o.log_ratio or 0.0), o.file, o.id)):
        kind = outcome.family, outcome.source, outcome.metric
        seen[kind] += 1
        if seen[kind] <= of_one and len(found) < most:
            found.append(outcome)
    return found


def columns(kind: type[Line] | type[Peer]) -> list[str]:
    """The columns of a table of these."""
    return [field.name for field in fields(kind)]
