"""Fits the efficiencies of image models to the public measurements, and says how well sources left out come.

Run as `python -m tests.accuracy.fit_diffusion [--left-out] [--write]` from the root of the checkout. Parameters move in
log space with a pull towards a usual value; each source weighs the same whatever its number of rows. `--left-out`
prints the ends of ranges too; `--write` puts the fitted values into `catalogs/efficiency/diffusion.yaml`.
"""

import argparse
import csv
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from gpuplanner.catalog.efficiency import Efficiencies, read_efficiencies
from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.diffusion_pipeline import sizes_of
from gpuplanner.engine.validation import diffusion as making
from gpuplanner.engine.validation import diffusion_training as training
from gpuplanner.engine.validation.diffusion_rows import placed
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.units import GB, GIB
from tests.accuracy.carry_measurements import ROOT, TO
from tests.accuracy.least_squares import Vector, solve
from tests.accuracy.table_files import set_points, set_value

CATALOGS = ROOT / "catalogs"
TABLE = "diffusion"
PULL, ROBUST = 2.3, 0.5
"""A move of 0.43 in log space costs like a source 100 % off by a quarter; a row's deviation counts up to a half."""
HOLDERS: tuple[Mapping[str, str], ...] = (
    {},
    {"chip": "GV100"},
    {"chip": "GA100"},
    {"architecture": "Ampere"},
    {"architecture": "Ada Lovelace"},
    {"architecture": "Hopper"},
    {"architecture": "Blackwell"},
)
REACHED = {"sixteen": 0.55, "tf32": 0.75, "eight": 0.38, "attention": 0.5}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number that is fitted: a value of an entry, or how far an entry's utilisations are from the common ones."""

    variant: str
    name: str
    usual: float
    pull: float = PULL
    holder: tuple[tuple[str, str], ...] = ()


PARAMETERS = (
    *(Parameter("utilisation", name, usual) for name, usual in REACHED.items()),
    *(Parameter("utilisation", "reach", 1.0, 2 * PULL, tuple(holder.items())) for holder in HOLDERS[1:]),
    Parameter("arithmetic", "power_exponent", 0.5),
    Parameter("arithmetic", "full_share", 0.9, 2 * PULL),
    Parameter("arithmetic", "fp32", 1.1, 2 * PULL),
    Parameter("arithmetic", "fp32_attention", 0.7),
    Parameter("arithmetic", "padding_positions", 64.0),
    Parameter("arithmetic", "pair_bytes", 12.0),
    Parameter("arithmetic", "overlap_loss", 0.3),
    Parameter("runtime eager", "kernel_s", 30e-6),
    Parameter("runtime eager", "pass_share", 1.5, 2 * PULL),
    Parameter("runtime compiled", "kernel_s", 18e-6),
    Parameter("runtime compiled", "pass_share", 0.7, 2 * PULL),
    Parameter("runtime tensorrt", "kernel_s", 4e-6),
    Parameter("runtime tensorrt", "pass_share", 0.6, 2 * PULL),
    Parameter("memory 16", "live_share", 1.3, 2 * PULL),
    Parameter("memory 16", "decoder_tensors", 8.0),
    Parameter("memory 16", "encoder_tensors", 8.0),
    Parameter("memory 32", "live_share", 1.3, 2 * PULL),
    Parameter("memory 32", "decoder_tensors", 7.5),
    Parameter("memory 32", "encoder_tensors", 7.5),
    Parameter("training", "saved_share", 1.4, 2 * PULL),
    Parameter("training", "adapter_bytes", 18.0),
    Parameter("training", "update_launches", 8.0),
    Parameter("training", "backward_cost", 1.2, 2 * PULL),
)
MEMORY = frozenset({"memory 16", "memory 32"})


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A measured number and how it is computed with other efficiencies."""

    id: str
    source: str
    metric: str
    gpu: Gpu
    measured: float
    predict: Callable[[ValidationContext], float]

    @property
    def group(self) -> str:
        """Rows that weigh together as one."""
        return f"{self.source} {self.metric}"


class Tables:
    """The efficiency tables with what is fitted replaced."""

    def __init__(self, efficiencies: Efficiencies) -> None:
        self._base = efficiencies

    def with_values(self, values: Mapping[Parameter, float]) -> Efficiencies:
        """The tables with these values; utilisations are the common ones times an entry's reach."""
        changed = dict(self._base._tables)
        changed[TABLE] = tuple(self._replaced(entry, values) for entry in changed[TABLE])
        return Efficiencies(changed)

    @staticmethod
    def _replaced(entry: Any, values: Mapping[Parameter, float]) -> Any:
        if entry.variant == "utilisation":
            holder = {k: getattr(entry, k) for k in ("gpu", "chip", "architecture") if getattr(entry, k)}
            reach = next((v for p, v in values.items() if p.name == "reach" and dict(p.holder) == holder), 1.0)
            common = {p.name: v for p, v in values.items() if p.variant == "utilisation" and p.name != "reach"}
            return replace(entry, values={**entry.values, **{name: value * reach for name, value in common.items()}})
        own = {p.name: v for p, v in values.items() if p.variant == entry.variant}
        return replace(entry, values={**entry.values, **own})


def read_cases(context: ValidationContext) -> list[Case]:
    """Every measured number that can be placed."""
    found: list[Case] = []
    for file, cases in (("inference_diffusion", _making), ("training_diffusion", _training)):
        with (TO / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
            for number, cells in enumerate(csv.DictReader(lines), start=2):
                try:
                    found += cases(Row(file, number, cells), context)
                except (InputError, MissingFactError):
                    continue
    return found


def _making(row: Row, context: ValidationContext) -> list[Case]:
    place = placed(row, context)
    sizes = sizes_of(place.work, place.network)
    found = []
    gpu = place.machine.gpu
    if row.text(making.EACH):
        found.append(
            Case(
                row.id, row.source, making.EACH, gpu, row.required(making.EACH),
                lambda c: making.seconds_each(place, sizes, c),
            )
        )  # fmt: skip
    elif row.text(making.RATE):
        found.append(
            Case(
                row.id, row.source, making.RATE, gpu, 1.0 / row.required(making.RATE),
                lambda c: making.step_seconds_of(place, sizes, c),
            )
        )  # fmt: skip
    if row.text(making.MEMORY):
        found.append(
            Case(
                row.id, row.source, making.MEMORY, gpu, row.required(making.MEMORY) * GB,
                lambda c: making.peak_bytes(place, sizes, c)[0],
            )
        )  # fmt: skip
    return found


def _training(row: Row, context: ValidationContext) -> list[Case]:
    place = training.placed(row, context)
    gpu = place.machine.gpu
    found = []
    if row.text(training.STEP):
        measured = row.required(training.STEP)
        found.append(
            Case(
                row.id, row.source, training.STEP, gpu, measured, lambda c: training.step_seconds_of(place, c)
            )
        )  # fmt: skip
    elif row.text(training.RATE):
        measured = (place.work.global_batch or 1) / row.required(training.RATE)
        found.append(
            Case(
                row.id, row.source, training.STEP, gpu, measured, lambda c: training.step_seconds_of(place, c)
            )
        )  # fmt: skip
    if row.text(training.MEMORY):
        kind = row.text("mem_kind").lower()
        measured = row.required(training.MEMORY) * (GIB if "gib" in kind else GB)
        process = "reserved" not in kind
        found.append(
            Case(
                row.id, row.source, training.MEMORY, gpu, measured,
                lambda c: training.peak_bytes(place, c, process=process)[0],
            )
        )  # fmt: skip
    return found


def fit(cases: Sequence[Case], context: ValidationContext, start: Vector | None = None) -> dict[Parameter, float]:
    """The values that come nearest to the measured ones."""
    tables = Tables(context.efficiencies)
    usual = np.log([p.usual for p in PARAMETERS])
    pull = np.array([p.pull for p in PARAMETERS])
    rows: dict[str, int] = defaultdict(int)
    for case in cases:
        rows[case.group] += 1

    def residuals(x: Vector) -> Vector:
        tried = replace(context, efficiencies=tables.with_values(dict(zip(PARAMETERS, np.exp(x), strict=True))))
        off = np.array([deviation(case, tried) for case in cases])
        weight = np.array([1.0 / math.sqrt(rows[case.group]) for case in cases])
        return np.concatenate([np.tanh(off / ROBUST) * ROBUST / 0.25 * weight, (x - usual) * pull * 0.19])

    solved = solve(residuals, usual if start is None else start, iterations=15)
    return dict(zip(PARAMETERS, (float(v) for v in np.exp(solved)), strict=True))


def deviation(case: Case, context: ValidationContext) -> float:
    """ln(predicted / measured)."""
    return math.log(case.predict(context) / case.measured)


def deviations(
    cases: Sequence[Case], values: Mapping[Parameter, float], context: ValidationContext
) -> list[tuple[Case, float]]:
    """Each case with how far off it is."""
    tried = replace(context, efficiencies=Tables(context.efficiencies).with_values(values))
    return [(case, deviation(case, tried)) for case in cases]


def report(title: str, found: Sequence[tuple[Case, float]]) -> None:
    """Median and nine tenths of the absolute deviation, and its bias, by source and metric."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for case, off in found:
        groups[case.source, case.metric].append(off)
    for (source, metric), offs in sorted(groups.items()):
        absolute = np.abs(offs)
        sys.stdout.write(
            f"{title} {source:36} {metric:22} {len(offs):4} rows  median {np.median(absolute):.3f}"
            f"  p90 {np.quantile(absolute, 0.9):.3f}  bias {np.median(offs):+.3f}\n"
        )


def left_out(cases: Sequence[Case], context: ValidationContext, start: Vector) -> list[tuple[Case, float]]:
    """Each case predicted from the other sources alone."""
    found: list[tuple[Case, float]] = []
    for source in sorted({case.source for case in cases}):
        others = [case for case in cases if case.source != source]
        own = [case for case in cases if case.source == source]
        found += deviations(own, fit(others, context, start), context)
    return found


def kind_of(case: Case) -> str:
    """Which of the ranges of this table a case speaks for."""
    kind = "memory" if case.metric in {making.MEMORY, training.MEMORY} else "time"
    return f"training {kind}" if case.metric in {training.STEP, training.MEMORY} else kind


def rungs_left(cases: Sequence[Case], context: ValidationContext) -> dict[Case, Rung]:
    """The rung that each case would stand on without its source: others may have no time of its GPU's entry."""
    entries = {case: context.efficiencies.find(TABLE, case.gpu, "utilisation") for case in cases}
    sources: dict[int, set[str]] = defaultdict(set)
    for case, entry in entries.items():
        if "memory" not in kind_of(case):
            sources[id(entry.values)].add(case.source)
    return {
        case: entry.rung if sources[id(entry.values)] - {case.source} else Rung.OTHER_ARCHITECTURE
        for case, entry in entries.items()
    }


def deviations_of_others(cases: Sequence[Case], context: ValidationContext) -> list[tuple[Case, float]]:
    """Each time of an image with the utilisations that hold for GPUs of no architecture that was measured."""
    entries = context.efficiencies._tables[TABLE]
    plain = tuple(e for e in entries if e.variant != "utilisation" or not (e.gpu or e.chip or e.architecture))
    tried = replace(context, efficiencies=Efficiencies({**context.efficiencies._tables, TABLE: plain}))
    return [(case, deviation(case, tried)) for case in cases if kind_of(case) == "time"]


def write(values: Mapping[Parameter, float], cases: Sequence[Case]) -> None:
    """Put the fitted values into the table."""
    common = {p.name: v for p, v in values.items() if p.variant == "utilisation" and p.name != "reach"}
    reaches = {p.holder: v for p, v in values.items() if p.name == "reach"}
    for holder in HOLDERS:
        reach = reaches.get(tuple(holder.items()), 1.0)
        for name, value in common.items():
            set_value(TABLE, {"variant": "utilisation", **holder}, name, min(value * reach, 1.0))
    for parameter, value in values.items():
        if parameter.variant != "utilisation":
            set_value(TABLE, {"variant": parameter.variant}, parameter.name, value)
    set_points(TABLE, {"variant": "utilisation"}, sum(c.metric in {making.EACH, making.RATE} for c in cases))


def ranges(found: Sequence[tuple[Case, float]]) -> dict[str, tuple[float, float, int]]:
    """By kind of number, the ends that hold four fifths of what left-out sources measured, all alike."""
    kinds: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for case, off in found:
        kinds[kind_of(case)].append((case.source, -off))
    ends = {}
    for kind, offs in kinds.items():
        rows: dict[str, int] = defaultdict(int)
        for source, _ in offs:
            rows[source] += 1
        ordered = sorted((off, 1.0 / rows[source]) for source, off in offs)
        ends[kind] = (math.exp(_quantile(ordered, 0.1)), math.exp(_quantile(ordered, 0.9)), len(offs))
    return ends


def _quantile(ordered: Sequence[tuple[float, float]], share: float) -> float:
    target, passed = share * sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        passed += weight
        if passed >= target:
            return value
    return ordered[-1][0]


def main() -> int:
    """Fit, report, and on wish leave sources out and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    catalog = load_catalog(CATALOGS)
    efficiencies = read_efficiencies(CATALOGS / "efficiency")
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), efficiencies, catalog.gpus, catalog.models)
    cases = read_cases(context)
    values = fit(cases, context)
    report("fitted  ", deviations(cases, values, context))
    for parameter, value in values.items():
        holder = " ".join(v for _, v in parameter.holder)
        sys.stdout.write(f"{parameter.variant} {holder} {parameter.name}: {value:.4g} (usual {parameter.usual:.4g})\n")
    if wanted.left_out:
        found = left_out(cases, context, np.log(list(values.values())))
        report("left out", found)
        offs = [abs(off) for case, off in found if case.metric in {making.EACH, making.RATE}]
        sys.stdout.write(f"left out, all times: median {median(offs):.3f}\n")
        for kind, (low, high, points) in ranges(found).items():
            sys.stdout.write(f"range {kind}: {low:.3f} … {high:.3f} ({points} points)\n")
    if wanted.write:
        write(values, cases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
