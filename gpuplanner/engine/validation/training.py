"""Families of training measurements: single rows of runs, longest sequences that fit, and audited MLPerf runs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpuplanner.engine.formulas.training_time import attention_flops_per_token, model_flops_per_token
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.training_choice import ways_on
from gpuplanner.engine.training_inputs import LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_limits import largest_that_fits
from gpuplanner.engine.training_memory import memory_numbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_run import TrainingRun, training_run
from gpuplanner.engine.training_split import split
from gpuplanner.engine.training_time import recomputed_shares
from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.engine.validation.diffusion_training import mlperf_outcomes
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, refusal
from gpuplanner.engine.validation.training_rows import AUDITED_CHUNKS, PlacedRow, placed
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB, GIB, TERA
from gpuplanner.workload.training import Training

TOKENS, STEP, FLOPS, MFU, HFU, MEMORY, OUTCOME = (
    "measured_tokens_per_s_per_gpu",
    "measured_step_s",
    "measured_tflops_per_gpu",
    "measured_mfu_pct",
    "measured_hfu_pct",
    "measured_peak_mem_gb",
    "outcome",
)
LONGEST = "max_seq_len_that_fits"
DOES_NOT_FIT = "oom"
MEASURED_TENSORS = ("allocated", "active")
MEASURED_RESERVED = ("reserved",)
NOT_EXPRESSIBLE = r"not LoRA|LoRA \(emb\)|peft_type=OSF|--offload-residual"
"""Methods that train other parts of the model than a plan can say; residuals kept on the host."""
RECOMPUTED = r"include full recompute|incl\. recompute|hardware tflops|tflops hardware|recompute counted"
LONGEST_SEQUENCE = 16_000_000


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of training runs."""

    name: str = "training_llm"
    columns: frozenset[str] = frozenset({TOKENS, STEP, MEMORY, OUTCOME, "kind", "micro_batch", "seq_len"})
    metrics: tuple[str, ...] = (TOKENS, STEP, FLOPS, MFU, HFU, MEMORY, OUTCOME)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """An outcome for each measured cell; see `rows.Family`."""
        place = placed(row, context)
        run = _run(place, place.workload.sequence_length, context)
        if row.text(OUTCOME):
            yield _verdict(row, self.name, run)
        if row.text(MEMORY):
            yield _memory(row, self.name, run)
        timed = [name for name in (TOKENS, STEP, FLOPS, MFU, HFU) if row.text(name)]
        if timed and not run.unknown:
            short = _run(place, place.mean_length, context, packed=True)
            for name in timed:
                yield _rate(row, self.name, name, short, place)


@dataclass(frozen=True, slots=True)
class FitLimits:
    """Longest sequences that fit on a GPU."""

    name: str = "training_fit_limits"
    columns: frozenset[str] = frozenset({LONGEST, "gpu_vram_gb", "lora_rank"})
    metrics: tuple[str, ...] = (LONGEST, OUTCOME)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """The longest sequence of a row, or whether even a short one fits where it says none does."""
        place = placed(_limited_run(row), context)
        run = _run(place, place.workload.sequence_length, context)
        usable = float(run.hardware.usable_bytes)

        def needed(tokens: float) -> float:
            layout = replace(run.layout, sequence_length=tokens)
            part = split(run.model, run.hardware, layout)
            return float(memory_numbers(run.model, run.software, layout, part).needed)

        longest = largest_that_fits(needed, usable, LONGEST_SEQUENCE)
        spread = run.memory_spread
        if row.text(LONGEST):
            low = largest_that_fits(needed, usable / spread.high, LONGEST_SEQUENCE)
            high = largest_that_fits(needed, usable / spread.low, LONGEST_SEQUENCE)
            yield Outcome(
                row.file, row.id, self.name, row.source, LONGEST, row.required(LONGEST),
                float(longest), float(low), float(high), spread.rung,
            )  # fmt: skip
        if row.text(OUTCOME):
            measured = row.text(OUTCOME)
            says = "fits" if measured != DOES_NOT_FIT else DOES_NOT_FIT
            fits = longest >= (row.number(LONGEST) or SHORTEST_USEFUL) * ROOM
            told = "fits" if fits else DOES_NOT_FIT
            yield Outcome(row.file, row.id, self.name, row.source, OUTCOME, says, told, rung=spread.rung)


SHORTEST_USEFUL = 256
"""Tokens: a row that says that nothing fits means that not even a short sequence does."""
ROOM = 0.8
"""A row's longest sequence is found by trial, so one that is nearly as long counts as fitting."""


@dataclass(frozen=True, slots=True)
class MlperfRows:
    """Audited runs: throughput and step time of the language models among them."""

    name: str = "mlperf_training"
    columns: frozenset[str] = frozenset({"benchmark", "tracked_throughput_samples_per_s", "submitter"})
    metrics: tuple[str, ...] = ("time_to_train_min", "tracked_throughput_samples_per_s", "tracked_step_s")

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """Samples a second and step time of GPT-3, Llama-2-70B LoRA, Stable Diffusion; others are refused by name."""
        if row.text("benchmark") == IMAGE_BENCHMARK:
            yield from mlperf_outcomes(row, self.name, context)
            return
        benchmark = row.text("benchmark")
        if benchmark not in BENCHMARKS:
            raise InputError(msg("validation.benchmark_not_modelled", benchmark=benchmark[:40]))
        known = context.efficiencies.constants(SIZES, benchmark).values
        sizes = BENCHMARKS[benchmark] | {name: str(int(size)) for name, size in known.items()}
        place = placed(_audited_run(row, sizes), context)
        run = _run(place, place.workload.sequence_length, context)
        spread = run.time_spread
        tokens_per_s = float(run.numbers.tokens_per_s)
        samples = tokens_per_s / place.workload.sequence_length
        if row.text("tracked_throughput_samples_per_s"):
            counted = tokens_per_s if row.text("benchmark") in COUNTED_IN_TOKENS else samples
            yield _outcome(row, self.name, "tracked_throughput_samples_per_s", counted, spread, inverse=True)
        if row.text("tracked_step_s"):
            yield _outcome(row, self.name, "tracked_step_s", place.workload.global_batch / samples, spread)


COUNTED_IN_TOKENS = frozenset({"gpt3"})
"""Benchmarks whose logs track tokens a second in the column of samples: global batch × 2,048 / step time gives them."""
_COMMON = {"precision": "fp8", "packed": "1", "outcome": "ok", "framework": "NVIDIA NeMo"}
BENCHMARKS = {
    "gpt3": {**_COMMON, "kind": "pretrain", "model": "gpt3-175b", "vpp": str(AUDITED_CHUNKS)},
    "llama2_70b_lora": {**_COMMON, "kind": "lora", "model": "llama2-70b", "notes": "targets: attention o_proj"},
}
"""The language models of MLPerf Training; their sizes are in the table `benchmarks`."""
SIZES = "benchmarks"
IMAGE_BENCHMARK = "stable_diffusion"


def _audited_run(row: Row, sizes: dict[str, str]) -> Row:
    """A row of an audited run with the columns of a training run; `sizes`: of its benchmark."""
    memory = re.match(r"(\d{1,6})", row.cells.get("gpu_mem", ""))
    cells = dict(row.cells) | sizes
    cells["gpu_mem_gb"] = memory.group(1) if memory and int(memory.group(1)) < 1000 else ""
    cells["global_batch_seqs"] = cells.get("global_batch", "")
    cells["gpu"] = re.sub(r"^NVIDIA ", "", cells.get("gpu", ""))
    return Row(row.file, row.line, cells)


def _limited_run(row: Row) -> Row:
    """A row of what fits on a card, known by its memory alone, with the columns of a training run."""
    cells = dict(row.cells)
    memory = cells.get("gpu_vram_gb", "")
    cells["gpu"] = GPU_BY_MEMORY.get(memory, "")
    cells |= {"gpu_mem_gb": memory, "seq_len": "1024", "n_gpus": "1", "sharding": "none"}
    cells |= {"tp": "1", "pp": "1", "precision": "bf16"}
    cells["notes"] = f"{cells.get('notes', '')} {cells.get('lora_targets', '')} gate"
    return Row(row.file, row.line, cells)


GPU_BY_MEMORY = {
    "8": "RTX 3070", "12": "RTX 3060", "16": "RTX A4000", "24": "RTX 4090",
    "40": "A100 SXM", "48": "L40S", "80": "H100 SXM",
}  # fmt: skip
"""A card of each size that the fit limits name by its memory alone; only the memory matters there."""


def _run(place: PlacedRow, tokens: int, context: ValidationContext, *, packed: bool | None = None) -> TrainingRun:
    """The run of a row with sequences of so many tokens.

    `packed`: for its rate, since a row's tokens a second are those that it computes; the one source that pads sorts its
    samples by length, so that next to nothing is padding.
    """
    packed = place.workload.packed if packed is None else packed
    workload = place.workload.model_copy(update={"sequence_length": tokens, "packed": packed})
    return training_run(workload, place.model, place.machine, context.efficiencies, ways_of(place, workload))


def ways_of(place: PlacedRow, workload: Training) -> Sequence[TrainingWay]:
    """The layouts that a row may mean: its own, or those that it leaves open."""
    if place.way is not None:
        return [place.way]
    if place.data_parallel is None:
        return ways_on(place.machine, place.model, workload)
    found = ways_on(place.machine, place.model, workload.model_copy(update={"micro_batch": 1}))
    ranks = [way.tensor_parallel * way.pipeline_parallel * way.context_parallel for way in found]
    kept = [w for w, r in zip(found, ranks, strict=True) if place.machine.gpus // r == place.data_parallel]
    return kept or ways_on(place.machine, place.model, workload)


def _kin(row: Row) -> str:
    return " ".join((row.text("gpu"), row.text("kind"), row.text("precision")))


def _verdict(row: Row, family: str, run: TrainingRun) -> Outcome:
    if re.search(NOT_EXPRESSIBLE, row.text("notes")):
        return refusal(row, family, OUTCOME, msg("validation.not_expressible"))
    measured = row.text(OUTCOME)
    says = "ok" if measured == "ok" else DOES_NOT_FIT
    fits = float(run.numbers.memory.needed) <= float(run.hardware.usable_bytes)
    told = "ok" if fits else DOES_NOT_FIT
    return Outcome(row.file, row.id, family, row.source, OUTCOME, says, told, rung=run.memory_spread.rung)


def _memory(row: Row, family: str, run: TrainingRun) -> Outcome:
    if re.search(NOT_EXPRESSIBLE, row.text("notes")):
        return refusal(row, family, MEMORY, msg("validation.not_expressible"))
    memory = run.numbers.memory
    kind = row.text("mem_kind").lower()
    if kind.startswith(("analytic", *MEASURED_TENSORS)):
        value = memory.allocated
    elif kind.startswith(MEASURED_RESERVED):
        value = memory.reserved
    else:
        value = memory.shown
    printed = row.text("mem_unit")
    unit = GIB if printed == "GiB" or kind == "nvidia-smi" else GB
    return _outcome(row, family, MEMORY, float(value) / unit, run.memory_spread)


def _rate(row: Row, family: str, metric: str, run: TrainingRun, place: PlacedRow) -> Outcome:
    workload, gpus = place.workload, place.machine.gpus
    tokens = float(run.numbers.tokens_per_s_per_gpu)
    best = float(run.software.flop_per_s) / _whole_flops(run.model, float(run.layout.sequence_length))
    step_tokens = workload.global_batch * workload.sequence_length / gpus
    counted = flops_counted(row, run.model, run.software, run.layout, metric)
    match metric:
        case "measured_tokens_per_s_per_gpu":
            value, ideal, inverse = tokens, best, True
        case "measured_step_s":
            value, ideal, inverse = step_tokens / tokens, step_tokens / best, False
        case "measured_tflops_per_gpu":
            value, ideal, inverse = tokens * counted / TERA, best * counted / TERA, True
        case _:
            share = counted / _peak_of(row, run) * 100
            value, ideal, inverse = tokens * share, best * share, True
    return _outcome(row, family, metric, value, run.time_spread, inverse=inverse, ideal=ideal, kin=_kin(row))


def _whole_flops(model: ModelNumbers, length: float) -> float:
    """FLOP of one token as most sources count them: attention without its mask, but no more than a window shows."""
    attention = attention_flops_per_token(
        model.pair_flops, length, model.windowed_pair_flops, min(model.window, length)
    )
    return float(model_flops_per_token(1.0 - model.frozen, 0.0, model.active_parameters, attention))


def flops_counted(
    row: Row, model: ModelNumbers, software: SoftwareNumbers, layout: LayoutNumbers, metric: str
) -> float:
    """FLOP of one token as the row's source counts them.

    Where the row gives both tokens and FLOP a second, the convention is the one of four that comes nearest to them:
    attention whole or halved by its mask, with recomputation or without. Else what its notes say, or whole without.
    """
    length = float(layout.sequence_length)
    flops = _whole_flops(model, length)
    recomputed, _ = recomputed_shares(software, layout)
    again = 1.0 + float(recomputed) * _forward_flops(model, length) / flops
    full = max(again, 4.0 / 3.0)
    pairs = (model.pair_flops + model.windowed_pair_flops) * length / 2
    halved = float(model_flops_per_token(1.0 - model.frozen, 0.0, model.active_parameters, pairs))
    ways = (flops, halved, flops * full, halved * full)
    tokens, rate = row.number(TOKENS), row.number(FLOPS)
    if metric == FLOPS and tokens and rate:
        stated = rate * TERA / tokens
        return min(ways, key=lambda way: abs(way / stated - 1))
    if metric == HFU:
        return flops * again
    return flops * full if metric == FLOPS and re.search(RECOMPUTED, row.text("notes"), re.IGNORECASE) else flops


def _forward_flops(model: ModelNumbers, length: float) -> float:
    attended = model.pair_flops * length + model.windowed_pair_flops * min(model.window, length)
    return 2.0 * model.active_parameters + attended


def _peak_of(row: Row, run: TrainingRun) -> float:
    """The peak that a row's utilisation is of: FP8's where it says so, else that of 16 bits."""
    low = re.search(r"vs (fp8|1979)|fp8 peak", row.text("notes"))
    return float(run.software.flop_per_s if low else run.software.wide_flop_per_s)


def _outcome(
    row: Row,
    family: str,
    metric: str,
    value: float,
    spread: Spread,
    *,
    inverse: bool = False,
    ideal: float | None = None,
    kin: str = "",
) -> Outcome:
    low, high = (value / spread.high, value / spread.low) if inverse else (value * spread.low, value * spread.high)
    return Outcome(
        row.file, row.id, family, row.source, metric, row.required(metric), value, low, high, spread.rung,
        ideal=ideal, kin=kin,
    )  # fmt: skip


TRAINING = (TrainingRows(), FitLimits(), MlperfRows())
