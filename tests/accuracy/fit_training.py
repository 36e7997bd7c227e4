"""Fits the efficiencies of training to the public measurements, and says how well sources that were left out come.

Run as `python -m tests.accuracy.fit_training [--write]` from the root of the checkout. Parameters move in log space, or
in logit space where they are shares, with a pull towards where they stand; each source weighs the same whatever its
number of rows; rows of low confidence are not used. `--write` puts the result into `catalogs/efficiency/`.
"""

import argparse
import csv
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gpuplanner.catalog.efficiency import Efficiencies, read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.training_choice import best_way
from gpuplanner.engine.training_hardware import hardware_numbers
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_layouts import layout_of
from gpuplanner.engine.training_model import ModelNumbers, model_numbers
from gpuplanner.engine.training_numbers import training_numbers
from gpuplanner.engine.training_software import software_numbers
from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.training import FLOPS, TOKENS, flops_counted, ways_of
from gpuplanner.engine.validation.training_rows import PlacedRow, placed
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.units import TERA
from tests.accuracy.least_squares import Vector, solve

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = ROOT / "catalogs"
ROWS = ROOT.parent / "shared" / "validation" / "training_llm.csv"
OTHER_ADAPTERS = re.compile(r"peft_type=(?!LORA)|not LoRA|LoRA \(emb\)")
ROBUST = 0.25
PULL = 0.35
"""How strongly a parameter is held where it stands: a move of 0.35 in log space costs as much as a source 25 % off."""


@dataclass(frozen=True)
class Parameter:
    """One number of a table that is fitted. `share`: it stays between 0 and 1."""

    table: str
    variant: str
    name: str
    architecture: str = ""
    share: bool = False
    pull: float = PULL

    def inward(self, value: float) -> float:
        return float(np.log(value / (1 - value))) if self.share else float(np.log(value))

    def outward(self, x: float) -> float:
        return float(1 / (1 + np.exp(-x))) if self.share else float(np.exp(x))


@dataclass(frozen=True)
class Case:
    """A row that is fitted: what it is, its measured step time, and the ways of running it."""

    row: Row
    place: PlacedRow
    source: str
    step_s: float
    ways: Sequence[TrainingWay]


RATES = "training_rates"
FRAMEWORKS = "training_frameworks"
PARAMETERS = (
    *(
        Parameter(RATES, "16 bits", name, architecture, share=True)
        for architecture in ("Ampere", "Hopper", "Blackwell", "Ada Lovelace", "Volta")
        for name in ("matrix_utilisation", "flash_utilisation")
    ),
    *(
        Parameter(RATES, "8 bits", "matrix_utilisation", architecture, share=True)
        for architecture in ("Hopper", "Blackwell", "Ada Lovelace")
    ),
    *(
        Parameter(RATES, "16 bits", "math_utilisation", architecture, share=True)
        for architecture in ("Ampere", "Volta")
    ),
    *(
        Parameter(RATES, width, "expert_share", architecture, share=True)
        for width, architecture in (
            ("16 bits", "Hopper"),
            ("8 bits", "Hopper"),
            ("16 bits", "Blackwell"),
            ("8 bits", "Blackwell"),
        )
    ),
    *(
        Parameter(FRAMEWORKS, framework, name)
        for framework in ("megatron", "fsdp", "hugging-face")
        for name in ("passes", "launch_s", "overhead_s")
    ),
    *(Parameter(FRAMEWORKS, framework, "attention_share") for framework in ("fsdp", "hugging-face")),
    *(
        Parameter(FRAMEWORKS, "megatron", name, share=True)
        for name in ("tensor_hidden", "data_hidden", "expert_hidden")
    ),
    *(
        Parameter(FRAMEWORKS, "fsdp", name, share=True)
        for name in ("tensor_hidden", "gather_hidden", "compiled_passes")
    ),
    Parameter(FRAMEWORKS, "deepspeed", "gather_share"),
    Parameter(FRAMEWORKS, "hugging-face", "adapter_launch"),
    Parameter(FRAMEWORKS, "any", "dequantised_traffic"),
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
        variant, architecture = getattr(entry, "variant", ""), getattr(entry, "architecture", "")
        return bool(variant == parameter.variant and architecture == parameter.architecture)


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
    workload = place.workload.model_copy(update={"sequence_length": place.mean_length})
    tokens, flops = row.number(TOKENS), row.number(FLOPS)
    ways = ways_of(place, workload)
    if tokens is None and flops is not None:
        parts = _numbers(replace(place, workload=workload), ways[0], context.efficiencies)
        tokens = flops * TERA / flops_counted(row, parts[0], training_numbers(*parts), FLOPS)
    if not tokens:
        return None
    step = workload.global_batch * workload.sequence_length / place.machine.gpus / tokens
    return Case(row, replace(place, workload=workload), row.source, step, ways)


def _numbers(
    place: PlacedRow, way: TrainingWay, efficiencies: Efficiencies
) -> tuple[ModelNumbers, SoftwareNumbers, HardwareNumbers, LayoutNumbers]:
    return (
        model_numbers(place.model, place.workload),
        software_numbers(place.workload, place.machine, efficiencies),
        hardware_numbers(place.machine, efficiencies),
        layout_of(place.workload, way, place.machine.gpus),
    )


def chosen(case: Case, efficiencies: Efficiencies) -> Case:
    """The case with the one way that the engine chooses with these efficiencies."""
    if len(case.ways) == 1:
        return case
    model, software, hardware, _ = _numbers(case.place, case.ways[0], efficiencies)
    return replace(
        case, ways=[best_way(case.ways, case.place.workload, model, software, hardware, case.place.machine.gpus)]
    )


def log_ratios(cases: Iterable[Case], efficiencies: Efficiencies) -> Vector:
    """ln(predicted / measured step time) of each case in its first way."""
    predicted = [training_numbers(*_numbers(c.place, c.ways[0], efficiencies)).time.step / c.step_s for c in cases]
    return np.log(np.array(predicted, dtype=np.float64))


def fit(cases: Sequence[Case], tables: Tables, parameters: Sequence[Parameter] = PARAMETERS) -> dict[Parameter, float]:
    """The parameters that fit the cases best, sources weighing alike, each pulled towards where it stands."""
    sizes: dict[str, int] = defaultdict(int)
    for case in cases:
        sizes[case.source] += 1
    weights = np.array([min(sizes[c.source], 40) ** 0.5 / sizes[c.source] ** 0.5 for c in cases])
    start = np.array([p.inward(tables.value(p)) for p in parameters])
    pulls = np.array([p.pull for p in parameters])
    fixed = [chosen(case, tables.with_values({})) for case in cases]

    def residuals(x: Vector) -> Vector:
        values = {p: p.outward(v) for p, v in zip(parameters, x, strict=True)}
        ratios = log_ratios(fixed, tables.with_values(values))
        return np.concatenate([weights * np.arctan(ratios / ROBUST), (x - start) / pulls * 0.6])

    found = solve(residuals, start, iterations=8)
    return {p: p.outward(v) for p, v in zip(parameters, found, strict=True)}


def report(cases: Sequence[Case], efficiencies: Efficiencies) -> dict[str, tuple[int, float, float, float]]:
    """By source: rows, median and ninetieth percentile of |log ratio|, bias."""
    settled = [chosen(case, efficiencies) for case in cases]
    ratios = log_ratios(settled, efficiencies)
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


def write(values: Mapping[Parameter, float]) -> None:
    """Put the values into the tables, leaving everything else as it stands."""
    for parameter, value in values.items():
        path = CATALOGS / "efficiency" / f"{parameter.table}.yaml"
        text = path.read_text(encoding="utf-8")
        where = f"architecture: {parameter.architecture}, " if parameter.architecture else ""
        pattern = rf"(  - \{{{where}variant: {re.escape(parameter.variant)},.*?\b{parameter.name}: )[^,}}]+"
        changed, count = re.subn(pattern, rf"\g<1>{value:.4g}", text, count=1)
        if count != 1:
            raise LookupError(parameter)
        path.write_text(changed, encoding="utf-8")


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


def main() -> None:
    """Fit, print, and with --write keep the result; with --left-out, fit again without each source in turn."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--left-out", action="store_true")
    chosen_arguments = arguments.parse_args()
    catalog = load_catalog(CATALOGS)
    efficiencies = read_efficiencies(CATALOGS / "efficiency")
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), efficiencies)
    tables = Tables(efficiencies)
    cases = read_cases(context)
    before = report(cases, efficiencies)
    values = fit(cases, tables)
    after = report(cases, tables.with_values(values))
    say(f"{len(cases)} rows, {len(PARAMETERS)} parameters")
    for p, value in values.items():
        where = f"{p.table:20} {p.architecture:13} {p.variant:13} {p.name:20}"
        say(f"{where} {tables.value(p):9.4g} -> {value:9.4g}")
    for source, (rows, median, tail, bias) in after.items():
        was = f"was {before[source][1]:.3f} {before[source][3]:+.3f}"
        say(f"{source:32} {rows:4}  {median:6.3f} {tail:6.3f} {bias:+.3f}   {was}")
    say(f"median over sources {np.median([v[1] for v in after.values()]):.4f}")
    if chosen_arguments.left_out:
        for source in after:
            kept = [c for c in cases if c.source != source]
            own = [c for c in cases if c.source == source]
            rows, median, tail, bias = report(own, tables.with_values(fit(kept, tables)))[source]
            say(f"left out {source:32} {rows:4}  {median:6.3f} {tail:6.3f} {bias:+.3f}")
    if chosen_arguments.write:
        write(values)


if __name__ == "__main__":
    main()
