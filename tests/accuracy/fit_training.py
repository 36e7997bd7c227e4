"""Fits the efficiencies of training to the public measurements, and says how well sources that were left out come.

Run as `python -m tests.accuracy.fit_training [--write]` from the root of the checkout. Parameters move in log space, or
in logit space where they are shares, with a pull towards a usual value; each source of a dozen rows or more weighs
the same whatever their number; rows of low confidence, or without the shape of their model, are not used. `--write`
puts the result into `catalogs/efficiency/`.
"""

import argparse
import csv
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplanner.catalog.efficiency import Efficiencies, read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.training_choice import best_way
from gpuplanner.engine.training_hardware import hardware_numbers
from gpuplanner.engine.training_inputs import HardwareNumbers, SoftwareNumbers
from gpuplanner.engine.training_layouts import layout_of
from gpuplanner.engine.training_model import ModelNumbers, model_numbers
from gpuplanner.engine.training_numbers import training_numbers
from gpuplanner.engine.training_ranges import time_family
from gpuplanner.engine.training_software import WIDE, WIDTH_OF, software_numbers
from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.training import FLOPS, TOKENS, flops_counted, ways_of
from gpuplanner.engine.validation.training_models import states_shape
from gpuplanner.engine.validation.training_rows import PlacedRow, placed
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.units import TERA
from tests.accuracy.least_squares import Vector, solve
from tests.accuracy.table_files import set_points, set_value

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = ROOT / "catalogs"
ROWS = CATALOGS / "measurements" / "training_llm.csv"
OTHER_ADAPTERS = re.compile(r"peft_type=(?!LORA)|not LoRA|LoRA \(emb\)")
ROBUST = 0.25
PULL = 0.35
"""How strongly a parameter is held to its usual value: a move of 0.35 in log space costs like a source 25 % off."""

FULL_VOICE = 12
"""Rows from which on a source weighs as much as any other; one of fewer weighs as many."""


@dataclass(frozen=True)
class Parameter:
    """One number of a table that is fitted. `usual`: what it is held to. `share`: it stays between 0 and 1."""

    table: str
    variant: str
    name: str
    usual: float
    architecture: str = ""
    chip: str = ""
    share: bool = False
    pull: float = PULL

    def inward(self, value: float) -> float:
        return float(np.log(value / (1 - value))) if self.share else float(np.log(value))

    def outward(self, x: float) -> float:
        return float(1 / (1 + np.exp(-x))) if self.share else float(np.exp(x))


@dataclass(frozen=True)
class Case:
    """A row that is fitted: what it is, its measured step time, the ways it may mean, and what no parameter changes.

    `shaped`: it states the shape of its model. One that does not speaks for no efficiency: its widths are guessed, and
    widths cost up to a quarter (hidden 14,400 against 13,824 in the same run).
    """

    row: Row
    place: PlacedRow
    source: str
    step_s: float
    ways: Sequence[TrainingWay]
    model: ModelNumbers
    hardware: HardwareNumbers
    shaped: bool

    @property
    def family(self) -> str:
        return time_family(self.place.workload)

    def rate_entry(self, efficiencies: Efficiencies) -> Any:
        """The entry of the GPU's rates that the matrices are computed with."""
        used = efficiencies.find(RATES, self.place.machine.gpu, WIDTH_OF[self.place.workload.precision])
        return next(entry for entry in efficiencies._tables[RATES] if entry.values is used.values)

    @property
    def software_key(self) -> str:
        """Cases of one key have the same software numbers."""
        workload = self.place.workload.model_dump(exclude={"model", "sequence_length", "global_batch", "micro_batch"})
        return f"{self.place.machine.gpu.id} {sorted((k, str(v)) for k, v in workload.items())}"


RATES = "training_rates"
FRAMEWORKS = "training_frameworks"
PARAMETERS = (
    *(
        Parameter(RATES, "16 bits", name, usual, architecture, share=True)
        for architecture, *usuals in (
            ("Hopper", 0.65, 0.35),
            ("Blackwell", 0.45, 0.4),
            ("Ada Lovelace", 0.85, 0.6),
            ("Volta", 0.5, 0.2),
        )
        for name, usual in zip(("matrix_utilisation", "flash_utilisation"), usuals, strict=True)
    ),
    *(
        Parameter(RATES, "16 bits", name, usual, chip=chip, share=True)
        for chip, *usuals in (("GA100", 0.65, 0.6), ("GA102", 0.8, 0.6))
        for name, usual in zip(("matrix_utilisation", "flash_utilisation"), usuals, strict=True)
    ),
    *(
        Parameter(RATES, "8 bits", "matrix_utilisation", usual, architecture, share=True)
        for architecture, usual in (("Hopper", 0.56), ("Blackwell", 0.5), ("Ada Lovelace", 0.8))
    ),
    Parameter(RATES, "16 bits", "math_utilisation", 0.13, "Volta", share=True),
    Parameter(RATES, "16 bits", "math_utilisation", 0.13, chip="GA100", share=True),
    *(
        Parameter(RATES, width, "expert_share", 0.7, architecture, share=True)
        for width in ("16 bits", "8 bits")
        for architecture in ("Hopper", "Blackwell")
    ),
    *(
        Parameter(FRAMEWORKS, framework, name, usual)
        for framework, *usuals in (
            ("megatron", 3.0, 0.0008, 0.03),
            ("fsdp", 6.0, 0.0015, 0.03),
            ("hugging-face", 10.0, 0.004, 0.03),
            ("deepspeed", 7.0, 0.003, 0.05),
        )
        for name, usual in zip(("passes", "launch_s", "overhead_s"), usuals, strict=True)
    ),
    Parameter(FRAMEWORKS, "fsdp", "attention_share", 0.7),
    Parameter(FRAMEWORKS, "hugging-face", "attention_share", 1.0),
    Parameter(FRAMEWORKS, "megatron", "tensor_hidden", 0.3, share=True),
    Parameter(FRAMEWORKS, "megatron", "data_hidden", 0.85, share=True),
    Parameter(FRAMEWORKS, "megatron", "expert_hidden", 0.2, share=True),
    Parameter(FRAMEWORKS, "fsdp", "tensor_hidden", 0.1, share=True),
    Parameter(FRAMEWORKS, "fsdp", "gather_hidden", 0.85, share=True),
    Parameter(FRAMEWORKS, "fsdp", "compiled_passes", 0.65, share=True),
    Parameter(FRAMEWORKS, "deepspeed", "gather_share", 0.11),
    Parameter(FRAMEWORKS, "deepspeed", "gather_hidden", 0.7, share=True),
    Parameter(FRAMEWORKS, "any", "padding_columns", 128.0),
    Parameter(FRAMEWORKS, "any", "wave_elements", 4.0e5, pull=0.7),
    Parameter(FRAMEWORKS, "any", "cast_traffic", 7.0),
    Parameter(FRAMEWORKS, "any", "power_exponent", 0.4, pull=0.1),
    Parameter(FRAMEWORKS, "any", "expert_passes", 1.0),
    Parameter(FRAMEWORKS, "any", "expert_launch_s", 0.002),
    Parameter(FRAMEWORKS, "hugging-face", "adapter_launch", 1.3, pull=0.1),
    Parameter(FRAMEWORKS, "any", "dequantised_traffic", 18.0),
)


class Tables:
    """The efficiency tables with some numbers replaced."""

    def __init__(self, efficiencies: Efficiencies) -> None:
        self._base = efficiencies

    def value(self, parameter: Parameter) -> float:
        return next(
            entry.values[parameter.name] for entry in self._base._tables[parameter.table] if self._is(entry, parameter)
        )

    def with_values(self, values: Mapping[Parameter, float]) -> Efficiencies:
        tables = dict(self._base._tables)
        for parameter, value in values.items():
            tables[parameter.table] = tuple(
                replace(entry, values={**entry.values, parameter.name: value}) if self._is(entry, parameter) else entry
                for entry in tables[parameter.table]
            )
        return Efficiencies(tables)

    @staticmethod
    def _is(entry: object, parameter: Parameter) -> bool:
        names = ("variant", "architecture", "chip")
        return all(getattr(entry, name) == getattr(parameter, name) for name in names)


def read_cases(context: ValidationContext) -> list[Case]:
    """The rows that are fitted: those of a known time and of high or medium confidence that can be placed."""
    found = []
    with ROWS.open(encoding="utf-8") as file:
        for number, cells in enumerate(csv.DictReader(file), start=2):
            row = Row(ROWS.name, number, cells)
            if row.text("confidence") == "low" or OTHER_ADAPTERS.search(row.text("notes")):
                continue
            try:
                place = placed(row, context)
                case = _case(row, place, context)
            except (InputError, MissingFactError):
                continue
            if case is not None:
                found.append(case)
    return found


def _case(row: Row, place: PlacedRow, context: ValidationContext) -> Case | None:
    workload = place.workload.model_copy(update={"sequence_length": place.mean_length, "packed": True})
    place = replace(place, workload=workload)
    tokens, flops = row.number(TOKENS), row.number(FLOPS)
    ways = ways_of(place, workload)
    model = model_numbers(place.model, workload)
    hardware = hardware_numbers(place.machine, context.efficiencies)
    if tokens is None and flops is not None:
        software = software_numbers(workload, place.machine, context.efficiencies)
        layout = layout_of(workload, ways[0], place.machine.gpus)
        tokens = flops * TERA / flops_counted(row, model, software, layout, FLOPS)
    if not tokens:
        return None
    step = workload.global_batch * workload.sequence_length / place.machine.gpus / tokens
    return Case(row, place, row.source, step, ways, model, hardware, states_shape(row, context))


class Software:
    """Software numbers by case, computed once for all that share them."""

    def __init__(self, efficiencies: Efficiencies) -> None:
        self._efficiencies = efficiencies
        self._known: dict[str, SoftwareNumbers] = {}

    def of(self, case: Case, key: str) -> SoftwareNumbers:
        if key not in self._known:
            self._known[key] = software_numbers(case.place.workload, case.place.machine, self._efficiencies)
        return self._known[key]


def chosen(case: Case, efficiencies: Efficiencies) -> Case:
    """The case with the one way that the engine chooses with these efficiencies."""
    if len(case.ways) == 1:
        return case
    software = software_numbers(case.place.workload, case.place.machine, efficiencies)
    gpus = case.place.machine.gpus
    best = best_way(case.ways, case.place.workload, case.model, software, case.hardware, gpus)
    return replace(case, ways=[best])


def log_ratios(cases: Sequence[Case], efficiencies: Efficiencies, keys: Sequence[str] | None = None) -> Vector:
    """ln(predicted / measured step time) of each case in its first way."""
    software = Software(efficiencies)
    predicted = []
    for case, key in zip(cases, keys or [c.software_key for c in cases], strict=True):
        layout = layout_of(case.place.workload, case.ways[0], case.place.machine.gpus)
        numbers = training_numbers(case.model, software.of(case, key), case.hardware, layout)
        predicted.append(float(numbers.time.step) / case.step_s)
    return np.log(np.array(predicted, dtype=np.float64))


def depends(case: Case, parameter: Parameter, efficiencies: Efficiencies) -> bool:
    """Whether an entry that a case is computed with holds this parameter."""
    workload = case.place.workload
    if parameter.table == FRAMEWORKS:
        return parameter.variant in {"any", workload.framework.value}
    widths = {WIDTH_OF[workload.precision], WIDTH_OF[WIDE.get(workload.precision, workload.precision)]}
    if parameter.variant not in widths:
        return False
    used = efficiencies.find(RATES, case.place.machine.gpu, parameter.variant)
    held = (entry for entry in efficiencies._tables[RATES] if entry.values is used.values)
    return any(Tables._is(entry, parameter) for entry in held)


def fit(
    cases: Sequence[Case],
    tables: Tables,
    parameters: Sequence[Parameter] = PARAMETERS,
    start_at: Mapping[Parameter, float] | None = None,
    iterations: int = 8,
) -> dict[Parameter, float]:
    """The parameters that fit the cases of known shapes best, sources weighing alike, each pulled to its usual value.

    `start_at`: where the search begins, else the values of the tables.
    """
    cases = [case for case in cases if case.shaped]
    sizes: dict[str, int] = defaultdict(int)
    for case in cases:
        sizes[case.source] += 1
    weights = np.array([min(sizes[c.source], FULL_VOICE) ** 0.5 / sizes[c.source] ** 0.5 for c in cases])
    begin = start_at or {p: tables.value(p) for p in parameters}
    start = np.array([p.inward(begin[p]) for p in parameters])
    usual = np.array([p.inward(p.usual) for p in parameters])
    pulls = np.array([p.pull for p in parameters])
    began = tables.with_values(begin)
    fixed = [chosen(case, began) for case in cases]
    keys = [case.software_key for case in cases]
    touched = [np.flatnonzero([depends(case, p, began) for case in cases]) for p in parameters]

    def of_cases(x: Vector, which: NDArray[np.intp]) -> Vector:
        values = {p: p.outward(v) for p, v in zip(parameters, x, strict=True)}
        ratios = log_ratios([fixed[i] for i in which], tables.with_values(values), [keys[i] for i in which])
        weighed: Vector = weights[which] * np.arctan(ratios / ROBUST)
        return weighed

    def pulled(x: Vector) -> Vector:
        held: Vector = (x - usual) / pulls * 0.6
        return held

    def residuals(x: Vector) -> Vector:
        return np.concatenate([of_cases(x, np.arange(len(fixed))), pulled(x)])

    def moved(x: Vector, there: Vector, index: int) -> Vector:
        found = there.copy()
        found[touched[index]] = of_cases(x, touched[index])
        found[len(fixed) :] = pulled(x)
        return found

    found = solve(residuals, start, iterations, moved_residuals=moved)
    return {p: p.outward(v) for p, v in zip(parameters, found, strict=True)}


def residuals_of(cases: Sequence[Case], efficiencies: Efficiencies) -> Vector:
    """ln(predicted / measured step time) in the ways that the engine chooses with these efficiencies."""
    return log_ratios([chosen(case, efficiencies) for case in cases], efficiencies)


def report(cases: Sequence[Case], ratios: Vector) -> dict[str, tuple[int, float, float, float]]:
    """By source: rows, median and ninetieth percentile of |log ratio|, bias."""
    by_source: dict[str, list[float]] = defaultdict(list)
    for case, ratio in zip(cases, ratios, strict=True):
        by_source[case.source].append(float(ratio))
    return {
        source: (
            len(found),
            float(np.median(np.abs(found))),
            float(np.quantile(np.abs(found), 0.9)),
            float(np.median(found)),
        )
        for source, found in sorted(by_source.items())
    }


def range_of(groups: Sequence[str], ratios: Vector) -> tuple[float, float]:
    """Tenth and ninetieth percentile of measured / predicted, each group weighing the same."""
    sizes = {group: groups.count(group) for group in set(groups)}
    order = np.argsort(-ratios)
    weights = np.array([1 / sizes[groups[i]] for i in order])
    reached = (np.cumsum(weights) - weights / 2) / weights.sum()
    factors = np.exp(-ratios[order])
    return float(np.interp(0.1, reached, factors)), float(np.interp(0.9, reached, factors))


def write(values: Mapping[Parameter, float]) -> None:
    """Put the values into the tables, leaving everything else as it stands."""
    for p, value in values.items():
        set_value(p.table, {"architecture": p.architecture, "chip": p.chip, "variant": p.variant}, p.name, value)


def points_of(cases: Sequence[Case], efficiencies: Efficiencies) -> dict[tuple[str, str, str, str], int]:
    """How many rows stand behind an entry: by table, by the architecture or the chip it is for, by variant."""
    counts: dict[tuple[str, str, str, str], int] = defaultdict(int)
    for case in (case for case in cases if case.shaped):
        workload, entry = case.place.workload, case.rate_entry(efficiencies)
        counts[RATES, entry.architecture, entry.chip, entry.variant] += 1
        counts[FRAMEWORKS, "", "", workload.framework.value] += 1
        counts[FRAMEWORKS, "", "", "any"] += 1
    return counts


def write_points(counts: Mapping[tuple[str, str, str, str], int]) -> None:
    """Put the numbers of rows into the tables."""
    for (table, architecture, chip, variant), rows in counts.items():
        set_points(table, {"architecture": architecture, "chip": chip, "variant": variant}, rows)


def write_range(variant: str, low: float, high: float, rows: int) -> None:
    """Put a range into its table."""
    set_value("training_ranges", {"variant": variant}, "low", low)
    set_value("training_ranges", {"variant": variant}, "high", high)
    set_points("training_ranges", {"variant": variant}, rows)


QUICK = 3
"""Iterations from the values of the whole fit on."""


def left_out(cases: Sequence[Case], tables: Tables, whole: Mapping[Parameter, float]) -> Vector:
    """The residuals of each case with parameters fitted to all other sources, from those of the whole fit on."""
    ratios = np.zeros(len(cases))
    for source in sorted({case.source for case in cases}):
        own = [i for i, case in enumerate(cases) if case.source == source]
        values = fit([case for case in cases if case.source != source], tables, start_at=whole, iterations=QUICK)
        ratios[own] = residuals_of([cases[i] for i in own], tables.with_values(values))
    return ratios


def rungs_left(cases: Sequence[Case], efficiencies: Efficiencies) -> list[Rung]:
    """The rung that each case would stand on without its source: other sources may have nothing of its entry."""
    entries = [case.rate_entry(efficiencies) for case in cases]
    sources: dict[int, set[str]] = defaultdict(set)
    for case, entry in zip(cases, entries, strict=True):
        sources[id(entry)].add(case.source)
    return [
        Rung.SAME_ARCHITECTURE if sources[id(entry)] - {case.source} else Rung.OTHER_ARCHITECTURE
        for case, entry in zip(cases, entries, strict=True)
    ]


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def say_report(title: str, cases: Sequence[Case], ratios: Vector) -> None:
    """Print how far off each source is."""
    found = report(cases, ratios)
    for source, (rows, median, tail, bias) in found.items():
        say(f"{title:9} {source:32} {rows:4}  {median:6.3f} {tail:6.3f} {bias:+.3f}")
    say(f"{title:9} median over sources {np.median([v[1] for v in found.values()]):.4f}")


def main() -> None:
    """Fit and print; with --left-out fit again without each source and set ranges; with --write keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--left-out", action="store_true")
    wanted = parser.parse_args()
    catalog = load_catalog(CATALOGS)
    efficiencies = read_efficiencies(CATALOGS / "efficiency")
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), efficiencies)
    tables = Tables(efficiencies)
    cases = read_cases(context)
    say(f"{len(cases)} rows, {len(PARAMETERS)} parameters")
    say_report("before", cases, residuals_of(cases, efficiencies))
    values = fit(cases, tables)
    for p, value in values.items():
        where = f"{p.table:20} {p.architecture or p.chip:13} {p.variant:13} {p.name:20}"
        say(f"{where} {tables.value(p):9.4g} -> {value:9.4g}")
    fitted = tables.with_values(values)
    say_report("fitted", cases, residuals_of(cases, fitted))
    if wanted.write:
        write(values)
        write_points(points_of(cases, efficiencies))
    if wanted.left_out:
        ratios = left_out(cases, tables, values)
        say_report("left out", cases, ratios)
        generic = Efficiencies(
            {**fitted._tables, RATES: tuple(e for e in fitted._tables[RATES] if not (e.chip or e.architecture))}
        )
        far = range_of([case.place.machine.gpu.architecture for case in cases], residuals_of(cases, generic))
        for family in ("pretraining time", "fine-tuning time"):
            own = [i for i, case in enumerate(cases) if case.family == family]
            near = range_of([cases[i].source for i in own], ratios[own])
            wide = (min(near[0], far[0]), max(near[1], far[1]))
            for rung, (low, high) in (("same architecture", near), ("other architecture", wide)):
                say(f"range {family}, {rung}: {low:.3f} {high:.3f} of {len(own)}; fit_ranges.py makes the table's")


if __name__ == "__main__":
    main()
