"""Fits the efficiencies of serving to the public measurements, and says how well groups that were left out come.

Run as `python -m tests.accuracy.fit_serving [--write] [--left-out]` from the root of the checkout. Parameters move in
log space with a pull towards where they start; every group of rows (source, software and version, GPU, model, format)
weighs the same whatever its number of rows; large residuals count linearly. `--write` puts the result into
`catalogs/efficiency/`, `--left-out` predicts each group, each GPU and each chip with parameters fitted to the others
and prints the ends of the ranges that follow.
"""

import argparse
import csv
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency, read_efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.machine import Topology
from gpuplanner.engine.serving_inputs import GpuNumbers, ServerNumbers
from gpuplanner.engine.serving_numbers import serving_numbers
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.serving import FIRST, OUTPUT, PREFILL, TOKEN
from gpuplanner.engine.validation.serving_rows import MLPERF, PlacedRow, placed
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from tests.accuracy.least_squares import Vector, solve

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = ROOT / "catalogs"
FILES = tuple(
    ROOT.parent / "shared" / "validation" / f"{name}.csv" for name in ("inference_llm", "inference_llm_online")
)
ROBUST = 0.15
METRIC_WEIGHT = {TOKEN: 2.0, OUTPUT: 2.0, PREFILL: 1.4, FIRST: 0.8}
PULLS = {
    ("hbm", "share"): 0.05, ("hbm", "converted_share"): 0.07, ("hbm", "cache_share"): 0.15,
    ("hbm", "sm_bytes_per_s"): 0.2, ("gemm", "utilisation"): 0.12, ("gemm", "expert_padding_tokens"): 0.6,
    ("gemm", "overlap_loss"): 0.4, ("attention", "utilisation"): 0.2, ("attention", "pair_bytes"): 0.3,
    ("launch", "layer_s"): 0.4,
    ("launch", "moe_layer_s"): 0.5, ("launch", "cache_reach"): 0.2, ("launch", "exchange_latency"): 0.4,
     ("exchange", "efficiency"): 0.6, ("exchange", "latency_s"): 0.4,
    ("exchange", "latency_growth"): 0.4,
    ("servers", "step_s"): 0.4, ("servers", "sequence_s"): 0.5, ("servers", "request_s"): 0.5,
    ("servers", "burst_share"): 0.5, ("servers", "offline_share"): 0.05,
}  # fmt: skip
"""Which numbers are fitted, and how far each may move in log space for the cost of a group that is 100 % off."""
HELD_IF_STATIC = frozenset({"burst_share", "sequence_s", "request_s", "offline_share"})
"""Numbers of a server that a fixed batch tells nothing about."""
RELATIVE = frozenset({"cache_reach", "exchange_latency"})
"""Factors of one server against the others: 1 stays 1."""
TIED = frozenset({("gemm", "overlap_loss"), ("gemm", "expert_padding_tokens")})
"""Numbers that have one value in all entries of their table."""
SKIPPED = re.compile(r"outlier|confidence=low", re.IGNORECASE)

SPECULATIVE = re.compile(r"deepseek", re.IGNORECASE)
"""Models with layers that predict further tokens: the rows do not say whether they were used, and come in pairs."""

Key = tuple[str, str, str, str]
"""Table, variant, holder ("gpu x", "chip x", "architecture x" or ""), name."""


@dataclass(frozen=True)
class Case:
    """A measured number of a row: what it is, and which parameters it depends on."""

    place: PlacedRow
    row: Row
    metric: str
    measured: float
    group: str
    gpu: Gpu
    keys: tuple[Key, ...]


class Tables(Efficiencies):
    """Efficiencies that tell which entry was found for a look-up, and can leave some of them out."""

    def __init__(self, tables: Efficiencies, hidden: Callable[[str], bool] = lambda _: False) -> None:
        self._tables = {
            name: tuple(e for e in tables._tables[name] if not hidden(_holder(e))) for name in tables.names()
        }
        self.used: list[tuple[str, str, str]] = []

    def find(self, table: str, gpu: Gpu, variant: str = "") -> Efficiency:
        found = super().find(table, gpu, variant)
        entry = next(e for e in self._tables[table] if e.values is found.values)
        self.used.append((table, variant, _holder(entry)))
        return found

    def constants(self, table: str, variant: str = "") -> Efficiency:
        self.used.append((table, variant, ""))
        return super().constants(table, variant)


def _holder(entry: object) -> str:
    for name in ("gpu", "chip", "architecture"):
        if getattr(entry, name):
            return f"{name} {getattr(entry, name)}"
    return ""


def read_cases(tables: Tables) -> list[Case]:
    """All measured numbers that can be placed and are fit to be fitted."""
    catalog = load_catalog(CATALOGS)
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), tables, catalog.gpus, catalog.models)
    cases: list[Case] = []
    for path in FILES:
        with path.open(encoding="utf-8", newline="") as file:
            for number, cells in enumerate(csv.DictReader(file), start=2):
                cases += _cases(Row(path.name, number, cells), context, tables)
    return cases


def _cases(row: Row, context: ValidationContext, tables: Tables) -> Iterable[Case]:
    if SKIPPED.search(row.text("notes")) or MLPERF in row.text("notes") or SPECULATIVE.search(row.text("model")):
        return
    tables.used.clear()
    try:
        place = placed(row, context)
    except (InputError, MissingFactError):
        return
    keys = tuple(key for used in dict.fromkeys(tables.used) for key in _keys(used, tables))
    gpu = place.machine.gpu
    group = " | ".join(
        (row.source, row.text("engine"), row.text("engine_version")[:6], gpu.id, row.text("model"), place.precision)
    )
    for metric in METRIC_WEIGHT:
        measured = row.number(metric)
        if not measured or (place.finite and metric in {FIRST, TOKEN}):
            continue
        if metric == PREFILL and place.load.input_tokens < 512:
            continue
        if metric == OUTPUT and row.text(TOKEN):
            continue
        yield Case(place, row, metric, measured, group, gpu, keys)


def _keys(used: tuple[str, str, str], tables: Tables) -> Iterable[Key]:
    table, variant, holder = used
    for of, name in PULLS:
        if of != table:
            continue
        entry = next(e for e in tables._tables[table] if e.variant == variant and _holder(e) == holder)
        static = name in HELD_IF_STATIC and entry.values.get("static_batches")
        fixed = static or not entry.values.get(name) or (name in RELATIVE and entry.values[name] == 1)
        if not fixed:
            yield (table, "*", "*", name) if (table, name) in TIED else (table, variant, holder, name)


def start_values(tables: Tables, cases: Sequence[Case]) -> dict[Key, float]:
    """The parameters that the cases depend on, as the tables have them."""
    values: dict[Key, float] = {}
    for case in cases:
        for key in case.keys:
            if key not in values:
                table, variant, holder, name = key
                entry = next(
                    e
                    for e in tables._tables[table]
                    if name in e.values and (variant == "*" or (e.variant == variant and _holder(e) == holder))
                )
                values[key] = entry.values[name]
    return values


def predicted(case: Case, values: Mapping[Key, float]) -> float:
    """What the engine says for a case with these parameters, in the unit of its column."""
    place = case.place
    named = {(table, name): values[(table, variant, holder, name)] for table, variant, holder, name in case.keys}
    gpu, server = _gpu(place, case.gpu, named), _server(place.server, named)
    result = serving_numbers(place.numbers, gpu, server, place.load, place.way)
    if case.metric == FIRST:
        return float(result.ttft_s) * 1e3
    if case.metric == TOKEN:
        return float(result.tpot_s) * 1e3
    if case.metric == PREFILL:
        return float(result.prefill_tokens_per_s)
    if case.row.text("mode") == "decode" or case.row.text(PREFILL):
        return float(result.resident * place.way.replicas / result.step.total_s)
    return float(result.output_tokens_per_s) * (float(server.offline_share) if place.finite else 1.0)


def _gpu(place: PlacedRow, gpu: Gpu, named: Mapping[tuple[str, str], float]) -> GpuNumbers:
    numbers = place.found.numbers
    share = named[("hbm", "share" if place.found.arithmetic.native else "converted_share")]
    sms = gpu.known(GpuProperty.SMS)
    if ("hbm", "sm_bytes_per_s") in named and sms is not None:
        share = min(share, named[("hbm", "sm_bytes_per_s")] * sms.value / float(numbers.hbm_bytes_per_s))
    efficiency = named.get(("exchange", "efficiency"))
    return replace(
        numbers,
        hbm_share=share,
        cache_share=named[("hbm", "cache_share")] * named.get(("launch", "cache_reach"), 1.0),
        utilisation=named[("gemm", "utilisation")],
        expert_padding_tokens=named[("gemm", "expert_padding_tokens")],
        overlap_loss=named[("gemm", "overlap_loss")],
        attention_utilisation=named[("attention", "utilisation")],
        pair_bytes=named.get(("attention", "pair_bytes"), 0.0),
        layer_s=named[("launch", "layer_s")],
        moe_layer_s=named[("launch", "moe_layer_s")],
        link_latency_s=_latency(numbers, named),
        link_latency_growth=named.get(("exchange", "latency_growth"), numbers.link_latency_growth),
        link_efficiency=efficiency
        if efficiency and place.machine.topology is Topology.PCIE
        else numbers.link_efficiency,
    )


def _latency(numbers: GpuNumbers, named: Mapping[tuple[str, str], float]) -> float:
    own = named.get(("exchange", "latency_s"))
    return float(numbers.link_latency_s) if own is None else own * named.get(("launch", "exchange_latency"), 1.0)


def _server(server: ServerNumbers, named: Mapping[tuple[str, str], float]) -> ServerNumbers:
    return replace(
        server,
        step_s=named[("servers", "step_s")],
        sequence_s=named.get(("servers", "sequence_s"), float(server.sequence_s)),
        request_s=named.get(("servers", "request_s"), float(server.request_s)),
        burst_share=min(named.get(("servers", "burst_share"), 1.0), 1.0),
        offline_share=min(named.get(("servers", "offline_share"), float(server.offline_share)), 1.0),
    )


class Fit:
    """The fit of some cases. Only cases that a changed parameter touches are computed anew."""

    def __init__(self, cases: Sequence[Case], start: Mapping[Key, float]) -> None:
        self.cases = cases
        self.start = start
        self.keys = sorted({key for case in cases for key in case.keys})
        self._touched: dict[int, list[int]] = defaultdict(list)
        place = {key: i for i, key in enumerate(self.keys)}
        for number, case in enumerate(cases):
            for key in case.keys:
                self._touched[place[key]].append(number)
        sizes = Counter((case.group, case.metric) for case in cases)
        self._weights = np.array([METRIC_WEIGHT[c.metric] * sizes[(c.group, c.metric)] ** -0.5 for c in cases])
        self._measured = np.log([case.measured for case in cases])
        self._pulls = np.array([PULLS[(key[0], key[3])] for key in self.keys])
        self._origin = np.log([start[key] for key in self.keys])
        self._base: Vector | None = None
        self._logs: Vector = np.zeros(len(cases))

    def run(self, iterations: int) -> dict[Key, float]:
        """The fitted parameters."""
        return self.values(solve(self._residuals, self._origin.copy(), iterations))

    def values(self, x: Vector) -> dict[Key, float]:
        return {**self.start, **{key: float(value) for key, value in zip(self.keys, np.exp(x), strict=True)}}

    def _residuals(self, x: Vector) -> Vector:
        logs = self._predicted(x)
        off = logs - self._measured
        soft = np.sign(off) * np.sqrt(2 * ROBUST**2 * (np.sqrt(1 + (off / ROBUST) ** 2) - 1))
        return np.concatenate([soft * self._weights, (x - self._origin) / self._pulls * 0.1])

    def _predicted(self, x: Vector) -> Vector:
        values = self.values(x)
        if self._base is not None:
            changed = np.flatnonzero(x != self._base)
            if changed.size <= 2:
                logs = self._logs.copy()
                for number in {n for i in changed for n in self._touched[int(i)]}:
                    logs[number] = math.log(predicted(self.cases[number], values))
                return logs
        logs = np.array([math.log(predicted(case, values)) for case in self.cases])
        self._base, self._logs = x.copy(), logs
        return logs


def report(cases: Sequence[Case], values: Mapping[Key, float]) -> None:
    """Median and 90th percentile of |ln(predicted / measured)| by metric and group."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for case in cases:
        groups[case.metric, case.group].append(math.log(predicted(case, values) / case.measured))
    for (metric, group), off in sorted(groups.items()):
        bias, size = float(np.median(off)), np.abs(off)
        say(f"{metric:22} {group:90} {len(off):4}  {bias:+.3f} {np.median(size):.3f} {np.quantile(size, 0.9):.3f}")
    for metric in METRIC_WEIGHT:
        medians = [np.median(np.abs(off)) for (m, _), off in groups.items() if m == metric]
        if medians:
            say(f"{metric:22} median over groups {np.median(medians):.3f}")


def left_out(cases: Sequence[Case], start: Mapping[Key, float], by: Callable[[Case], str]) -> dict[str, list[float]]:
    """ln(measured / predicted) by metric, each part of the cases predicted with parameters fitted to the others."""
    found: dict[str, list[float]] = defaultdict(list)
    for part in sorted({by(case) for case in cases}):
        rest = [case for case in cases if by(case) != part]
        values = Fit(rest, start).run(2)
        for case in cases:
            if by(case) == part:
                found[case.metric].append(math.log(case.measured / predicted(case, values)))
    return found


def written(values: Mapping[Key, float]) -> None:
    """Put the values into the tables, each number in its place."""
    for path in (CATALOGS / "efficiency" / f"{table}.yaml" for table in sorted({key[0] for key in values})):
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(_line(path.stem, line, values) for line in lines) + "\n", encoding="utf-8")


def _line(table: str, line: str, values: Mapping[Key, float]) -> str:
    entry = re.match(r"\s+- \{(.*)values: \{", line)
    if entry is None:
        return line
    variant = re.search(r"variant: ([^,]+),", entry.group(1))
    held = re.search(r"(gpu|chip|architecture): ([^,]+),", entry.group(1))
    of = variant.group(1).strip().strip('"') if variant else ""
    holder = f"{held.group(1)} {held.group(2)}" if held else ""
    for key, value in values.items():
        if key[0] == table and (key[1] == "*" or (key[1] == of and key[2] == holder)) and not of.startswith("kernel"):
            line = re.sub(rf"(?<=\b{key[3]}: )[^,}}]+", f"{value:.4g}", line)
    return line


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--iterations", type=int, default=12)
    options = parser.parse_args(arguments)
    if not all(path.exists() for path in FILES):
        say("the public measurements are not beside this checkout")
        return 1
    tables = Tables(read_efficiencies(CATALOGS / "efficiency"))
    cases = read_cases(tables)
    start = start_values(tables, cases)
    values = Fit(cases, start).run(options.iterations)
    for key in sorted(start):
        say(f"{' '.join(key):70} {start[key]:.4g} -> {values[key]:.4g}")
    report(cases, values)
    if options.left_out:
        for name, by in (
            ("same GPU", lambda c: c.group),
            ("same architecture", lambda c: c.gpu.id),
            ("other architecture", lambda c: c.gpu.chip or c.gpu.id),
        ):
            for metric, off in left_out(cases, values, by).items():
                low, middle, high = np.quantile(off, (0.1, 0.5, 0.9))
                ends = f"{math.exp(low):.3f} {math.exp(middle):.3f} {math.exp(high):.3f}"
                say(f"{name:20} {metric:24} {len(off):5}  factors {ends}  median {np.median(np.abs(off)):.3f}")
    if options.write:
        written(values)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
