"""Predicts each measurement from the others alone, and keeps how far off that comes in `left_out_rows/<kind>.csv`.

Run as `make accuracy-fit` (`python -m tests.accuracy.left_out [KIND…]`); it takes some minutes. A part of the rows is
left out of the fit at a time: a source, a run (source, software, GPU, model, format), a GPU, a chip. What is kept:
which row and column, what was left out, the range that the row would have got (its family, and the rung that is
left), and `off`, ln(measured / predicted) of what that range is of. `inputs.yaml` keeps the hash of what the fits
started from, so that a test can say when this is stale.
"""

import argparse
import csv
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from gpuplanner.catalog.efficiency import Efficiencies, read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.links import NETWORK
from gpuplanner.engine.validation import diffusion_training as training_columns
from gpuplanner.engine.validation.collectives import MEASURED
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import ValidationContext
from gpuplanner.engine.validation.serving import OUTPUT, PREFILL
from gpuplanner.figures import Rung
from tests.accuracy import fit_collectives, fit_diffusion, fit_serving, fit_training, fit_vision
from tests.accuracy.carry_measurements import ROOT, TO
from tests.accuracy.least_squares import Vector

FOLDER = Path(__file__).resolve().parent / "left_out_rows"
INPUTS = FOLDER / "inputs.yaml"
EFFICIENCY = ROOT / "catalogs" / "efficiency"
LEFT = SOURCE, RUN, GPU, CHIP = "source", "run", "gpu", "chip"
RUNGS = {"G": Rung.SAME_GPU.value, "A": Rung.SAME_ARCHITECTURE.value, "O": Rung.OTHER_ARCHITECTURE.value}
RATES = ("_per_s", "tflops", "mfu", "hfu", "tok_s", "img_s", "it_per_s", "GBps", "rtfx", "throughput")
"""What a column's name has where more is quicker."""
TRAINED = frozenset({training_columns.STEP, training_columns.MEMORY})
RANGE = {"low", "high"}
HOLDERS = ("variant", "gpu", "chip", "architecture")
QUICK = 8
"""Iterations at most from the values of the whole fit on: enough for what no row tells any more to leave these."""


@dataclass(frozen=True, slots=True)
class Left:
    """One measured number, predicted from others. `group`: rows of one group weigh together as one."""

    file: str
    id: str
    metric: str
    left: str
    group: str
    range: str
    rung: str
    off: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What is left out of one fit: how, and what the result depends on."""

    rows: Callable[[], Iterable[Left]]
    measurements: tuple[str, ...]
    tables: tuple[str, ...]


def context() -> ValidationContext:
    """What rows are placed with."""
    catalog = load_catalog(ROOT / "catalogs")
    efficiencies = read_efficiencies(EFFICIENCY)
    return ValidationContext(ResolvedNames(catalog, names_of(catalog)), efficiencies, catalog.gpus, catalog.models)


def is_rate(metric: str) -> bool:
    """Whether a column's number is larger where the time is shorter."""
    return any(name in metric for name in RATES)


def serving() -> Iterator[Left]:
    """Serving: each source, run, GPU and chip."""
    cases = fit_serving.read_cases(fit_serving.Tables(read_efficiencies(EFFICIENCY)))
    start = fit_serving.Fit(cases).run(12)
    parts: Mapping[str, Callable[[fit_serving.Case], str]] = {
        SOURCE: lambda c: c.row.source,
        RUN: lambda c: c.group,
        GPU: lambda c: c.gpu.id,
        CHIP: lambda c: c.gpu.chip or c.gpu.id,
    }
    for left, by in parts.items():
        for part in sorted({by(case) for case in cases}):
            rest = [case for case in cases if by(case) != part]
            own = [case for case in cases if by(case) == part]
            others = {case.gpu.id: case.gpu for case in rest}
            values = fit_serving.Fit(rest, start).run(QUICK)
            for case, off in zip(own, fit_serving.Fit(own).off(values), strict=True):
                of_time = -off if case.metric in {PREFILL, OUTPUT} else off
                yield Left(
                    case.row.file, case.row.id, case.metric, left, case.group,
                    fit_serving._family(case), fit_serving._rung(case.gpu, others), float(of_time),
                )  # fmt: skip


def training() -> Iterator[Left]:
    """Training time: each source, on the rung that the others leave; every architecture with the entries of none."""
    at = context()
    tables = fit_training.Tables(at.efficiencies)
    cases = fit_training.read_cases(at)
    values = fit_training.fit(cases, tables)
    rungs = fit_training.rungs_left(cases, at.efficiencies)
    yield from _training(cases, fit_training.left_out(cases, tables, values), SOURCE, rungs)
    fitted = tables.with_values(values)
    generic = Efficiencies(
        {
            **fitted._tables,
            fit_training.RATES: tuple(e for e in fitted._tables[fit_training.RATES] if not (e.chip or e.architecture)),
        }
    )
    yield from _training(cases, fit_training.residuals_of(cases, generic), CHIP, [Rung.OTHER_ARCHITECTURE] * len(cases))


def _training(cases: Sequence[fit_training.Case], ratios: Vector, left: str, rungs: Sequence[Rung]) -> Iterator[Left]:
    for case, ratio, rung in zip(cases, ratios, rungs, strict=True):
        group = case.source if left == SOURCE else case.place.machine.gpu.architecture
        yield Left(case.row.file, case.row.id, "measured_step_s", left, group, case.family, rung.value, -float(ratio))


def collectives() -> Iterator[Left]:
    """Collectives: each group size on a switch, then each architecture. `off` is of the bandwidth."""
    at = context()
    cases = fit_collectives.by_key(fit_collectives.read_cases(at))
    nodes = {key: own for key, own in cases.items() if NETWORK not in key[1]}
    fitted = {key: fit_collectives.fit(own, key[1].split()[-1]) for key, own in nodes.items()}
    for key, own in nodes.items():
        kind = key[1].split()[-1]
        for members in sorted({case.exchange.members for case in own}):
            rest = [case for case in own if case.exchange.members != members]
            if not rest:
                continue
            reached = fit_collectives.fit(rest, kind)
            rung = Rung.SAME_ARCHITECTURE if key[0] else Rung.OTHER_ARCHITECTURE
            for case in own:
                if case.exchange.members == members:
                    yield _collective(case, RUN, rung, fit_collectives.log_ratio(case, reached))
        others = [fitted[k] for k in nodes if k[1] == key[1] and k[0] and k != key]
        if key[0] and others:
            mean = fit_collectives.mean(others)
            for case in own:
                yield _collective(case, CHIP, Rung.OTHER_ARCHITECTURE, fit_collectives.log_ratio(case, mean))


def diffusion() -> Iterator[Left]:
    """Images and clips, and their training: each source, on the rung that the others leave; every architecture with the
    entry that is for none. `off` of times is of the time, whatever the column tells.
    """
    at = context()
    cases = fit_diffusion.read_cases(at)
    start = np.log(list(fit_diffusion.fit(cases, at).values()))
    for case, ratio in fit_diffusion.deviations_of_others(cases, at):
        kind = fit_diffusion.kind_of(case)
        rung = Rung.OTHER_ARCHITECTURE.value
        group = case.gpu.architecture
        yield Left("inference_diffusion.csv", case.id, case.metric, CHIP, group, f"diffusion {kind}", rung, -ratio)
    rungs = fit_diffusion.rungs_left(cases, at)
    for case, ratio in fit_diffusion.left_out(cases, at, start):
        file = "training_diffusion.csv" if case.metric in TRAINED else "inference_diffusion.csv"
        kind = fit_diffusion.kind_of(case)
        yield Left(file, case.id, case.metric, SOURCE, case.group, f"diffusion {kind}", rungs[case].value, -ratio)


def vision() -> Iterator[Left]:
    """Networks that see images, and other benchmarks: each source, run, GPU and chip. `off` is of the time."""
    points, _ = fit_vision.read_points()
    for x in fit_vision.left_out(points):
        if x.left in LEFT:
            row, metric = x.point.row, fit_vision.metric_of(x.point)
            group = f"{x.point.file} {x.point.gpu_id}"
            yield Left(row.file, row.id, metric, x.left, group, fit_vision.range_of(x.point), x.rung.value, x.off)


def _collective(case: fit_collectives.Case, left: str, rung: Rung, ratio: float) -> Left:
    group = f"{case.key[0]} {case.key[1]} {case.exchange.members}"
    return Left(case.row.file, case.row.id, MEASURED, left, group, "collectives", rung.value, ratio)


KINDS: Mapping[str, Kind] = {
    "serving": Kind(
        serving,
        ("inference_llm", "inference_llm_online"),
        ("hbm", "gemm", "attention", "launch", "exchange", "servers"),
    ),
    "training": Kind(training, ("training_llm",), ("training_rates", "training_frameworks")),
    "diffusion": Kind(diffusion, ("inference_diffusion", "training_diffusion"), ("diffusion",)),
    "vision": Kind(
        vision,
        ("inference_vision", "training_vision", "training_other"),
        ("vision", "vision_relatives", "vision_tasks"),
    ),
    "collectives": Kind(collectives, ("achievable_bandwidth",), ("collectives",)),
}
"""Every fit whose rows are left out."""


def digest(kind: Kind) -> str:
    """The hash of the measurements and of the tables' numbers that a fit starts from: ranges and comments aside."""
    found = hashlib.sha256()
    for name in kind.measurements:
        found.update((TO / f"{name}.csv").read_text(encoding="utf-8").encode())
    for name in kind.tables:
        entries = yaml.safe_load((EFFICIENCY / f"{name}.yaml").read_text(encoding="utf-8"))["entries"]
        held = [
            [entry.get(key, "") for key in HOLDERS] + sorted(entry["values"].items())
            for entry in entries
            if entry["values"].keys() != RANGE
        ]
        found.update(json.dumps(held).encode())
    return found.hexdigest()[:16]


def kept() -> list[Left]:
    """All that is kept, of every kind."""
    return [left for name in KINDS if (FOLDER / f"{name}.csv").exists() for left in read(FOLDER / f"{name}.csv")]


def read(path: Path) -> list[Left]:
    """What a file keeps: a line a measured number, and for each that was left out "off rung"."""
    found = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for left in LEFT:
                off, _, rung = row[left].partition(" ")
                if off:
                    same = (row["file"], row["id"], row["metric"], left, row["group"], row["range"])
                    found.append(Left(*same, RUNGS[rung], float(off)))
    return found


def write(name: str, rows: Iterable[Left]) -> None:
    """Keep the rows of one kind, and the hash of what they came from."""
    lines: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    codes = {rung: code for code, rung in RUNGS.items()}
    for row in rows:
        group = hashlib.sha256(row.group.encode()).hexdigest()[:6]
        lines[row.file, row.id, row.metric, group, row.range][row.left] = f"{row.off:.4f} {codes[row.rung]}"
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("file", "id", "metric", "group", "range", *LEFT))
        writer.writerows((*key, *(offs.get(left, "") for left in LEFT)) for key, offs in lines.items())
    hashes = yaml.safe_load(INPUTS.read_text(encoding="utf-8")) if INPUTS.exists() else {}
    hashes[name] = digest(KINDS[name])
    INPUTS.write_text(yaml.safe_dump(hashes), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Leave out and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], default=[], metavar="KIND")
    for name in parser.parse_args(arguments).kinds or KINDS:
        rows = list(KINDS[name].rows())
        write(name, rows)
        sys.stdout.write(f"{name}: {len(rows)} rows\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
