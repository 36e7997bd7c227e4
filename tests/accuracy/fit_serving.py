"""Fits the efficiencies of serving to the public measurements, and says how well groups that were left out come.

Run as `python -m tests.accuracy.fit_serving [--write] [--left-out]` from the root of the checkout. Parameters move in
log space with a weak pull towards `PRIORS`; a group of rows (source, software and version, GPU, model, format) weighs
the same whatever its number of rows; large residuals count linearly. An entry for any GPU becomes the geometric mean of
those of its table and variant that were fitted. `--write` puts the result into `catalogs/efficiency/`; `--left-out`
predicts each group, each GPU and each chip with what the others alone tell, and prints the ends of the ranges.
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
from numpy.typing import NDArray

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency, read_efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.machine import Topology
from gpuplanner.engine.serving_inputs import GpuNumbers, ModelNumbers, ServerNumbers, stack
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
FILES = tuple(CATALOGS / "measurements" / f"{name}.csv" for name in ("inference_llm", "inference_llm_online"))
ROBUST = 0.15
METRIC_WEIGHT = {TOKEN: 2.0, OUTPUT: 2.0, PREFILL: 1.4, FIRST: 0.8}
PRIORS = {
    ("hbm", "share"): (0.85, 0.1), ("hbm", "converted_share"): (0.8, 0.1), ("hbm", "cache_share"): (0.85, 0.15),
    ("hbm", "sm_bytes_per_s"): (9e9, 0.3), ("gemm", "utilisation"): (0.65, 0.15),
    ("gemm", "expert_padding_tokens"): (8.0, 0.6), ("gemm", "overlap_loss"): (0.3, 0.4),
    ("attention", "utilisation"): (0.5, 0.2), ("attention", "pair_bytes"): (40.0, 0.3),
    ("launch", "layer_s"): (25e-6, 0.35), ("launch", "moe_layer_s"): (25e-6, 0.5),
    ("launch", "prompt_layer_s"): (4e-4, 0.6), ("launch", "prompt_moe_layer_s"): (1.5e-3, 1.0),
    ("launch", "cache_reach"): (0.9, 0.2),
    ("launch", "exchange_latency"): (2.0, 1.0), ("exchange", "efficiency"): (0.5, 0.6),
    ("exchange", "latency_s"): (10e-6, 0.2), ("exchange", "latency_growth"): (0.55, 0.2),
    ("servers", "step_s"): (5e-4, 0.6), ("servers", "sequence_s"): (5e-6, 0.6), ("servers", "request_s"): (10e-3, 0.6),
    ("servers", "offline_share"): (0.95, 0.05),
}  # fmt: skip
"""Which numbers are fitted: what they are without rows that tell, and how far in log space each moves for the cost of a
group that is a tenth off."""
PRIORS_OF = {
    ("gemm", "gguf", "utilisation"): 0.35,
    ("gemm", "gguf f16", "utilisation"): 0.5,
    ("gemm", "weight only", "utilisation"): 0.45,
    ("gemm", "fp4", "utilisation"): 0.5,
    ("hbm", "llama.cpp", "cache_share"): 0.45,
    ("servers", "llama.cpp", "step_s"): 2e-3,
}
"""Those of one variant, where its kernels are known to be of another kind."""
STREAMED = {"architecture Hopper": 0.92, "chip GA100": 0.83, "architecture Ada Lovelace": 0.92, "chip GA102": 0.92}
"""Share of the memory's rate for weights as stored, by what kernels that only read reach (te42kyfo/gpu-benches, "HBM
(read)" of H100 PCIe, A100 80GB, L40 and A40 in achievable_bandwidth.csv) less a twentieth for the ends of a matrix."""
STREAMED_PULL = 0.04
ANY = (("hbm", "share"), ("hbm", "converted_share"), ("hbm", "cache_share"), ("gemm", "utilisation"))
"""What an entry for any GPU takes from those of one kind of GPU."""
HELD_IF_STATIC = frozenset({"sequence_s", "request_s", "offline_share"})
"""Numbers of a server that a fixed batch tells nothing about."""
MEASURED = " measured"
"""Ends the name of a profile whose rows tell the numbers of the server of the same name too."""
RELATIVE = frozenset({"cache_reach", "exchange_latency"})
"""Factors of one server against the others: 1 stays 1."""
TIED = frozenset({("gemm", "overlap_loss"), ("gemm", "expert_padding_tokens")})
"""Numbers that have one value in all entries of their table."""
SKIPPED = re.compile(r"outlier|confidence=low", re.IGNORECASE)

OTHERS = re.compile(r"mlc|llm-awq|\btgi\b|text-generation-inference|tabbyapi", re.IGNORECASE)
"""Software that has the profile of another for want of its own: predicted so, but it tells nothing of that other."""
SPECULATIVE = re.compile(r"deepseek", re.IGNORECASE)
"""Models with layers that predict further tokens: the rows do not say whether they were used, and come in pairs. Only
their first tokens are fitted."""

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
        kept = {name: tuple(e for e in tables._tables[name] if not hidden(_holder(e))) for name in tables.names()}
        super().__init__(kept, tables.software)
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
    if SKIPPED.search(row.text("notes")) or MLPERF in row.text("notes") or OTHERS.search(row.text("engine")):
        return
    speculative = SPECULATIVE.search(row.text("model"))
    tables = Tables(tables)  # of its own, or what the engine keeps of a look-up would answer for it
    try:
        place = placed(row, replace(context, efficiencies=tables))
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
        if speculative and metric != FIRST:
            continue
        yield Case(place, row, metric, measured, group, gpu, keys)


def _keys(used: tuple[str, str, str], tables: Tables) -> Iterable[Key]:
    table, variant, holder = used
    for of, name in PRIORS:
        if of != table:
            continue
        entry = next(e for e in tables._tables[table] if e.variant == variant and _holder(e) == holder)
        static = name in HELD_IF_STATIC and entry.values.get("static_batches")
        fixed = static or not entry.values.get(name) or (name in RELATIVE and entry.values[name] == 1)
        if not fixed:
            yield (table, "*", "*", name) if (table, name) in TIED else (table, variant, holder, name)


def prior(key: Key) -> float:
    """What a number is taken for when no row tells."""
    table, variant, _, name = key
    return _streamed(key) or PRIORS_OF.get((table, variant, name)) or PRIORS[table, name][0]


def pull(key: Key) -> float:
    """How far in log space a number moves for the cost of a group that is a tenth off."""
    return STREAMED_PULL if _streamed(key) else PRIORS[key[0], key[3]][1]


def _streamed(key: Key) -> float | None:
    table, variant, holder, name = key
    return STREAMED.get(holder) if (table, variant, name) == ("hbm", "", "share") else None


def borrowed(key: Key, values: Mapping[Key, float]) -> float:
    """A number that no row tells, from other kinds of GPU: their geometric mean, else what it is taken for."""
    near = [value for other, value in values.items() if other[:2] == key[:2] and other[3] == key[3]]
    return math.exp(sum(map(math.log, near)) / len(near)) if near and key[2] else prior(key)


@dataclass(frozen=True)
class Slots:
    """Where the parameters of some cases stand: for each number the place in the vector, -1 where it is as given."""

    places: Mapping[tuple[str, str], NDArray[np.int64]]

    def put(self, name: tuple[str, str], values: Vector, given: Number) -> Vector:
        """The number of each case: a parameter's value, else what is given."""
        places = self.places[name]
        chosen: Vector = np.where(places >= 0, values[places], np.asarray(given))
        return chosen


class Batch:
    """Cases of one model in one precision, computed at once."""

    def __init__(self, cases: Sequence[tuple[int, Case]], keys: Mapping[Key, int]) -> None:
        self.numbers = np.array([number for number, _ in cases])
        own = [case for _, case in cases]
        self._model = own[0].place.numbers
        self._gpu = stack([case.place.found.numbers for case in own])
        self._server = stack([case.place.server for case in own])
        self._way = replace(stack([case.place.way for case in own]), prefill_workers=0.0)
        self._load = replace(stack([replace(c.place.load, request_per_s=0.0) for c in own]), request_per_s=None)
        self._replicas = np.array([case.place.way.replicas for case in own])
        self._native = np.array([case.place.found.arithmetic.native for case in own])
        self._pcie = np.array([case.place.machine.topology is Topology.PCIE for case in own])
        self._finite = np.array([case.place.finite for case in own])
        self._sms = np.array([_sms(case.gpu) for case in own])
        self._metric = np.array([_column(case) for case in own])
        named = [{(key[0], key[3]): keys[key] for key in case.keys} for case in own]
        self._slots = Slots({name: np.array([n.get(name, -1) for n in named]) for name in PRIORS})
        self.touched = {place for n in named for place in n.values()}

    def logs(self, values: Vector) -> Vector:
        """Logarithms of what the engine says for the cases with these parameters, in the units of their columns."""
        gpu, server = self._gpu_with(values), self._server_with(values)
        result = serving_numbers(self._model, gpu, server, self._load, self._way)
        steady = np.where(self._finite, server.offline_share, 1.0)
        columns = (
            np.asarray(result.ttft_s) * 1e3,
            np.asarray(result.tpot_s) * 1e3,
            result.prefill_tokens_per_s,
            result.resident * self._replicas / result.step.total_s,
            result.output_tokens_per_s * steady,
        )
        told: Vector = np.choose(self._metric, np.broadcast_arrays(*columns))
        return np.log(told)

    def _gpu_with(self, values: Vector) -> GpuNumbers:
        gpu, put = self._gpu, self._slots.put
        share = np.where(
            self._native,
            put(("hbm", "share"), values, gpu.hbm_share),
            put(("hbm", "converted_share"), values, gpu.hbm_share),
        )
        per_sm = put(("hbm", "sm_bytes_per_s"), values, math.inf)
        reach = put(("launch", "cache_reach"), values, 1.0)
        latency = put(("exchange", "latency_s"), values, 0.0) * put(("launch", "exchange_latency"), values, 1.0)
        return replace(
            gpu,
            hbm_share=np.minimum(share, per_sm * self._sms / gpu.hbm_bytes_per_s),
            cache_share=put(("hbm", "cache_share"), values, gpu.cache_share) * reach,
            utilisation=put(("gemm", "utilisation"), values, gpu.utilisation),
            expert_padding_tokens=put(("gemm", "expert_padding_tokens"), values, gpu.expert_padding_tokens),
            overlap_loss=put(("gemm", "overlap_loss"), values, gpu.overlap_loss),
            attention_utilisation=put(("attention", "utilisation"), values, gpu.attention_utilisation),
            pair_bytes=put(("attention", "pair_bytes"), values, gpu.pair_bytes),
            layer_s=put(("launch", "layer_s"), values, gpu.layer_s),
            moe_layer_s=put(("launch", "moe_layer_s"), values, gpu.moe_layer_s),
            prompt_layer_s=put(("launch", "prompt_layer_s"), values, gpu.prompt_layer_s),
            prompt_moe_layer_s=put(("launch", "prompt_moe_layer_s"), values, gpu.prompt_moe_layer_s),
            link_latency_s=np.where(latency > 0, latency, gpu.link_latency_s),
            link_latency_growth=put(("exchange", "latency_growth"), values, gpu.link_latency_growth),
            link_efficiency=np.where(
                self._pcie, put(("exchange", "efficiency"), values, gpu.link_efficiency), gpu.link_efficiency
            ),
        )

    def _server_with(self, values: Vector) -> ServerNumbers:
        server, put = self._server, self._slots.put
        return replace(
            server,
            step_s=put(("servers", "step_s"), values, server.step_s),
            sequence_s=put(("servers", "sequence_s"), values, server.sequence_s),
            request_s=put(("servers", "request_s"), values, server.request_s),
            offline_share=np.minimum(put(("servers", "offline_share"), values, server.offline_share), 1.0),
        )


def _sms(gpu: Gpu) -> float:
    known = gpu.known(GpuProperty.SMS)
    return known.value if known else math.inf


def _column(case: Case) -> int:
    """Which of the columns of `Batch.logs` a case was measured in."""
    if case.metric == OUTPUT:
        return 3 if case.row.text("mode") == "decode" or case.row.text(PREFILL) else 4
    return (FIRST, TOKEN, PREFILL).index(case.metric)


class Fit:
    """The fit of some cases. Only batches that a changed parameter touches are computed anew."""

    def __init__(self, cases: Sequence[Case], start: Mapping[Key, float] | None = None) -> None:
        self.cases = cases
        self.keys = sorted({key for case in cases for key in case.keys})
        places = {key: i for i, key in enumerate(self.keys)}
        models: dict[int, list[tuple[int, Case]]] = defaultdict(list)
        kinds: list[ModelNumbers] = []
        for number, case in enumerate(cases):
            if case.place.numbers not in kinds:
                kinds.append(case.place.numbers)
            models[kinds.index(case.place.numbers)].append((number, case))
        self._batches = [Batch(own, places) for own in models.values()]
        sizes = Counter((case.group, case.metric) for case in cases)
        self._weights = np.array([METRIC_WEIGHT[c.metric] * sizes[(c.group, c.metric)] ** -0.5 for c in cases])
        self._measured = np.log([case.measured for case in cases])
        self._pulls = np.array([pull(key) for key in self.keys])
        self._origin = np.log([prior(key) for key in self.keys])
        self._start = np.log([(start or {}).get(key, prior(key)) for key in self.keys])
        self._base: Vector | None = None
        self._logs: Vector = np.zeros(len(cases))

    def run(self, iterations: int) -> dict[Key, float]:
        """The fitted parameters."""
        x = solve(self._residuals, self._start.copy(), iterations)
        return dict(zip(self.keys, map(float, np.exp(x)), strict=True))

    def off(self, values: Mapping[Key, float]) -> Vector:
        """ln(measured / predicted) of each case; what `values` does not have is borrowed."""
        x = np.array([values[key] if key in values else borrowed(key, values) for key in self.keys])
        logs = np.zeros(len(self.cases))
        for batch in self._batches:
            logs[batch.numbers] = batch.logs(x)
        off: Vector = self._measured - logs
        return off

    def _residuals(self, x: Vector) -> Vector:
        off = self._predicted(x) - self._measured
        soft = np.sign(off) * np.sqrt(2 * ROBUST**2 * (np.sqrt(1 + (off / ROBUST) ** 2) - 1))
        return np.concatenate([soft * self._weights, (x - self._origin) / self._pulls * 0.1])

    def _predicted(self, x: Vector) -> Vector:
        changed = None if self._base is None else set(np.flatnonzero(x != self._base).tolist())
        values, logs = np.exp(x), self._logs.copy()
        for batch in self._batches:
            if changed is None or len(changed) > 1 or changed & batch.touched:
                logs[batch.numbers] = batch.logs(values)
        if changed is None or len(changed) > 1:
            self._base, self._logs = x.copy(), logs
        return logs


def report(cases: Sequence[Case], values: Mapping[Key, float]) -> None:
    """Median and 90th percentile of |ln(predicted / measured)| by metric and group."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for case, off in zip(cases, Fit(cases).off(values), strict=True):
        groups[case.metric, case.group].append(-float(off))
    for (metric, group), off in sorted(groups.items()):
        bias, size = float(np.median(off)), np.abs(off)
        say(f"{metric:22} {group:90} {len(off):4}  {bias:+.3f} {np.median(size):.3f} {np.quantile(size, 0.9):.3f}")
    for metric in METRIC_WEIGHT:
        medians = [np.median(np.abs(off)) for (m, _), off in groups.items() if m == metric]
        if medians:
            say(f"{metric:22} median over groups {np.median(medians):.3f}")


def left_out(cases: Sequence[Case], start: Mapping[Key, float], iterations: int) -> None:
    """Predict each part of the cases with parameters fitted to the others, and say how far off, by what was left out.

    Where the GPU was left out and another of its chip or architecture was not, the evidence is of the same
    architecture, else of another.
    """
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    sizes = Counter((case.group, case.metric) for case in cases)
    for by in (lambda c: c.group, lambda c: c.gpu.id, lambda c: c.gpu.chip or c.gpu.id):
        for part in sorted({by(case) for case in cases}):
            rest = [case for case in cases if by(case) != part]
            own = [case for case in cases if by(case) == part]
            rung = _rung(own[0].gpu, {case.gpu.id: case.gpu for case in rest})
            values = Fit(rest, start).run(iterations)
            for case, off in zip(own, Fit(own).off(values), strict=True):
                found[_family(case), rung].append((float(off), sizes[case.group, case.metric] ** -0.5))
    for (family, rung), rows in sorted(found.items()):
        off, weights = np.array(rows).T
        ends = " ".join(f"{math.exp(_quantile(off, weights, share)):.3f}" for share in (0.1, 0.5, 0.9))
        say(f"{family:36} {rung:20} {len(rows):5}  factors {ends}  median {_quantile(np.abs(off), weights, 0.5):.3f}")


def _family(case: Case) -> str:
    """The family of ranges that a measured number belongs to."""
    alone = case.place.load.concurrency == 1
    if case.metric == OUTPUT:
        return "time per token of one request" if alone else "throughput"
    column = {FIRST: "time to first token", TOKEN: "time per token", PREFILL: "prompt rate"}[case.metric]
    return f"{column} of one request" if alone and case.metric != PREFILL else column


def _rung(gpu: Gpu, others: Mapping[str, Gpu]) -> str:
    if gpu.id in others:
        return "same GPU"
    kin = any(o.architecture == gpu.architecture and (o.chip == gpu.chip) for o in others.values())
    return "same architecture" if kin else "other architecture"


def _quantile(values: Vector, weights: Vector, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def for_any(values: Mapping[Key, float]) -> dict[Key, float]:
    """The numbers of entries for any GPU: the means of those for one kind of GPU."""
    kinds = {(key[0], key[1], key[3]) for key in values if key[2] and (key[0], key[3]) in ANY}
    means: dict[Key, float] = {}
    for table, variant, name in kinds:
        key = (table, variant, "", name)
        own = [value for other, value in values.items() if other[:2] == key[:2] and other[2] and other[3] == name]
        means[key] = math.exp(sum(map(math.log, own)) / len(own))
    return means


def written(values: Mapping[Key, float], cases: Sequence[Case]) -> None:
    """Put the values and the numbers of rows behind them into the tables, each in its place."""
    points = Counter(holder for case in cases for holder in {key[:3] for key in case.keys})
    for path in (CATALOGS / "efficiency" / f"{table}.yaml" for table in sorted({key[0] for key in values})):
        lines = path.read_text(encoding="utf-8").splitlines()
        changed = (_line(path.stem, line, values, points) for line in lines)
        path.write_text("\n".join(changed) + "\n", encoding="utf-8")


def _line(table: str, line: str, values: Mapping[Key, float], points: Mapping[tuple[str, str, str], int]) -> str:
    entry = re.match(r"\s+- \{(.*)values: \{", line)
    if entry is None:
        return line
    variant = re.search(r"variant: ([^,]+),", entry.group(1))
    held = re.search(r"(gpu|chip|architecture): ([^,]+),", entry.group(1))
    of = variant.group(1).strip().strip('"') if variant else ""
    holder = f"{held.group(1)} {held.group(2)}" if held else ""
    if of.startswith("kernel"):
        return line
    for key, value in values.items():
        if key[0] == table and (key[1] == "*" or (key[1] in {of, f"{of}{MEASURED}"} and key[2] == holder)):
            line = re.sub(rf"(?<=\b{key[3]}: )[^,}}]+", f"{value:.4g}", line)
    count = points.get((table, of, holder)) or sum(n for k, n in points.items() if k[:2] == (table, of) and not holder)
    return re.sub(r"(?<=\bpoints: )\d+", str(count), line) if count else line


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--iterations", type=int, default=12)
    options = parser.parse_args(arguments)
    tables = Tables(read_efficiencies(CATALOGS / "efficiency"))
    cases = read_cases(tables)
    values = Fit(cases).run(options.iterations)
    for key, value in sorted(values.items()):
        say(f"{' '.join(key):70} {prior(key):.4g} -> {value:.4g}")
    report(cases, values)
    if options.left_out:
        left_out(cases, values, 3)
    if options.write:
        written({**for_any(values), **values}, cases)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
