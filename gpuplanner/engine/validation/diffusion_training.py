"""The family of measured training of image models: images a second, seconds of a step, peak memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpuplanner.catalog.networks import DiffusionNetwork
from gpuplanner.engine.diffusion_rates import sixteen_bit_peaks
from gpuplanner.engine.diffusion_train_run import run_of, training_phases, training_seconds
from gpuplanner.engine.diffusion_training import memory_range, time_range
from gpuplanner.engine.diffusion_work import pass_of
from gpuplanner.engine.machine import Host, Machine
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.validation.cells import count, needed
from gpuplanner.engine.validation.diffusion_rows import MOST, machine_of, model_of, precision_of, sizes_of
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext
from gpuplanner.engine.validation.training_rows import DEFAULT_NETWORK, NETWORK_BY_GENERATION
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB, GIB, TERA
from gpuplanner.workload.diffusion import DiffusionPrecision, DiffusionRuntime
from gpuplanner.workload.diffusion_training import DiffusionMethod, DiffusionTraining
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.training import AttentionKernel, Optimizer

RATE, STEP, FLOPS, MEMORY = (
    "measured_img_per_s", "measured_step_s", "measured_tflops_per_gpu", "measured_peak_mem_gb",
)  # fmt: skip
TRACKED_RATE, TRACKED_STEP = "tracked_throughput_samples_per_s", "tracked_step_s"
MLPERF_SIDE = 512
OTHER_ADAPTERS = re.compile(
    r"\b(BOFT|DEFT|DELORA|FOURIERFT|GRALORA|LOKR|LOHA|OFT|PSOFT|RANDLORA|SHIRA|VERA|HRA|OSF|MISS|WAVEFT|C3A|IA3|LN_TUNING)\b"
)
"""Adapters whose operations are not those of LoRA: rotations, transforms, masks, shared random matrices."""
BOTH_KINDS = 2
"""Samples of DreamBooth's batch of one: with prior preservation an image of the class goes with each of the subject."""
TRAINED = re.compile(r"trainable (\d{1,15})")


@dataclass(frozen=True, slots=True)
class Placed:
    """A row as what the engine estimates."""

    network: DiffusionNetwork
    work: DiffusionTraining
    machine: Machine
    kin: str


@dataclass(frozen=True, slots=True)
class DiffusionTrainingRows:
    """Rows of training runs of image models."""

    name: str = "training_diffusion"
    columns: frozenset[str] = frozenset({RATE, STEP, FLOPS, MEMORY, "resolution", "batch_global"})
    metrics: tuple[str, ...] = (RATE, STEP, FLOPS, "measured_tokens_per_s_per_gpu", MEMORY)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """An outcome for each measured cell; see `rows.Family`."""
        place = placed(row, context)
        run = run_of(place.work, place.network, place.machine)
        items = place.work.micro_batch * run.micro_batches * place.machine.gpus
        if row.text(MEMORY):
            yield _memory(row, self.name, place, context)
        if row.text(RATE) or row.text(STEP) or row.text(FLOPS):
            seconds = step_seconds_of(place, context)
            spread = time_range(place.machine, context.efficiencies)
            inverse = Spread(1.0 / spread.high, 1.0 / spread.low, spread.rung, spread.why)
            ideal = model_flops(place) / sixteen_bit_peaks(place.machine.gpu, DiffusionPrecision.FP16)[0]
            if row.text(RATE):
                yield _outcome(row, self.name, RATE, items / seconds, inverse, place.kin, items / ideal)
            if row.text(FLOPS):
                done = model_flops(place) / TERA
                peak = sixteen_bit_peaks(place.machine.gpu, DiffusionPrecision.FP16)[0] / TERA
                yield _outcome(row, self.name, FLOPS, done / seconds, inverse, place.kin, peak)
            if row.text(STEP):
                yield _outcome(row, self.name, STEP, seconds, spread, place.kin, ideal)


def mlperf_outcomes(row: Row, family: str, context: ValidationContext) -> Iterator[Outcome]:
    """Samples a second, and seconds of a step, of MLPerf's Stable Diffusion.

    Its reference trains the UNet of Stable Diffusion 2 at 512 × 512 on latents that were computed beforehand;
    submissions run fused kernels in CUDA graphs.
    """
    printed = replace(row, cells={**row.cells, "model": "stable-diffusion-2"})
    model, network = model_of(printed, context)
    machine = _with_network(machine_of(printed, context))
    batch = needed(row, "global_batch", lambda r, column: count(r, column, 100_000_000))
    work = DiffusionTraining(
        model=ModelChoice(catalog_id=model.id),
        method=DiffusionMethod.FULL,
        width=MLPERF_SIDE,
        height=MLPERF_SIDE,
        micro_batch=min(max(batch // machine.gpus, 1), MOST),
        global_batch=batch,
        cached=True,
        checkpointing=False,
        runtime=DiffusionRuntime.TENSORRT,
    )
    place = Placed(network, work, machine, f"mlperf {machine.gpu.id}")
    seconds = step_seconds_of(place, context)
    spread = time_range(machine, context.efficiencies)
    peak, _ = sixteen_bit_peaks(machine.gpu, DiffusionPrecision.FP16)
    ideal = model_flops(place) / peak
    if row.text(TRACKED_RATE):
        inverse = Spread(1.0 / spread.high, 1.0 / spread.low, spread.rung, spread.why)
        yield _outcome(row, family, TRACKED_RATE, batch / seconds, inverse, place.kin, batch / ideal)
    if row.text(TRACKED_STEP):
        yield _outcome(row, family, TRACKED_STEP, seconds, spread, place.kin, ideal)


def _with_network(machine: Machine) -> Machine:
    """The machine with the network of reference designs of its generation, where a row says nothing."""
    if machine.nodes == 1:
        return machine
    rate = NETWORK_BY_GENERATION.get(machine.gpu.architecture, DEFAULT_NETWORK)
    return replace(machine, host=Host(network_bytes_per_s=rate * machine.gpus_per_node / 8))


def placed(row: Row, context: ValidationContext) -> Placed:
    """The row as a plan on a machine. Raises InputError naming what cannot be read or is not modelled."""
    notes, kind = row.text("notes"), row.text("kind").lower()
    other = OTHER_ADAPTERS.search(notes)
    if other is not None:
        raise InputError(msg("validation.diffusion.other_adapter", adapter=other.group(1)))
    model, network = model_of(row, context)
    machine = _with_network(machine_of(row, context))
    width, height, frames = sizes_of(row.text("resolution"))
    micro = count(row, "micro_batch", MOST) or (BOTH_KINDS if "dreambooth" in notes.lower() else 1)
    printed = row.text("precision")
    automatic = "amp" in printed
    precision = precision_of("bf16" if automatic else printed or "fp32", DiffusionRuntime.EAGER, machine.gpu)
    pure = not automatic and precision is not DiffusionPrecision.FP32
    work = DiffusionTraining(
        model=ModelChoice(catalog_id=model.id),
        method=DiffusionMethod.FULL if "lora" not in kind else DiffusionMethod.LORA,
        precision=precision,
        weight_precision=precision if pure else DiffusionPrecision.FP32,
        width=width,
        height=height,
        frames=frames,
        micro_batch=micro,
        global_batch=count(row, "batch_global", 100_000_000),
        optimizer=Optimizer.ADAMW_BF16 if pure else Optimizer.ADAMW,
        checkpointing="ckpt" in kind or "ckpt true" in notes.lower(),
        cached=pure,
        ema="EMA" in notes,
        attention=AttentionKernel.FLASH if row.text("attn") or pure else AttentionKernel.MATH,
    )
    return Placed(network, _with_rank(work, network, machine, notes), machine, f"{machine.gpu.id} {kind} {printed}")


def _with_rank(work: DiffusionTraining, network: DiffusionNetwork, machine: Machine, notes: str) -> DiffusionTraining:
    """The rank that gives as many trained parameters as a row prints."""
    printed = TRAINED.search(notes)
    if work.method is DiffusionMethod.FULL or printed is None:
        return work
    each = float(run_of(work, network, machine).trained) / work.lora_rank
    rank = max(round(float(printed.group(1)) / each), 1)
    return work.model_copy(update={"lora_rank": min(rank, 4096)})


def step_seconds_of(place: Placed, context: ValidationContext) -> float:
    """Seconds of one optimizer step."""
    parts = training_seconds(place.work, place.network, place.machine, context.efficiencies)
    return sum(float(value) for value, _ in parts.values())


def peak_bytes(place: Placed, context: ValidationContext, *, process: bool) -> tuple[float, float]:
    """Bytes at the peak, with what the process takes beside its tensors or without, and what of them is estimated."""
    phases = training_phases(place.work, place.network, place.machine, context.efficiencies)
    totals = {
        name: sum(float(v) for part, v in parts.items() if process or part != "overhead")
        for name, parts in phases.items()
    }
    peak = max(totals, key=lambda name: totals[name])
    return totals[peak], sum(float(phases[peak].get(part, 0.0)) for part in ("activations", "step_copy", "cast"))


def _memory(row: Row, family: str, place: Placed, context: ValidationContext) -> Outcome:
    kind = row.text("mem_kind").lower()
    held_bytes, estimated = peak_bytes(place, context, process="reserved" not in kind and "allocated" not in kind)
    held = memory_range(context.efficiencies)
    low, high = (1.0 + estimated * (end - 1.0) / held_bytes for end in (held.low, held.high))
    unit = GIB if "gib" in kind else GB
    spread = Spread(low, high, held.rung, held.why)
    states = place.network.denoiser.parameters * (16.0 if place.work.method is DiffusionMethod.FULL else 2.0)
    return _outcome(row, family, MEMORY, held_bytes / unit, spread, f"memory {row.text('kind')}", states / unit)


def model_flops(place: Placed) -> float:
    """Operations of one GPU for one optimizer step, nothing computed twice and the denoiser alone."""
    run = run_of(place.work, place.network, place.machine)
    work = pass_of(run.grids, float(place.work.micro_batch), 0.0)
    return (1.0 + run.backward_passes) * run.micro_batches * float(work.flops + work.attention_flops)


def _outcome(row: Row, family: str, metric: str, predicted: float, spread: Spread, kin: str, ideal: float) -> Outcome:
    return Outcome(
        row.file, row.id, family, row.source, metric, row.required(metric), predicted,
        predicted * spread.low, predicted * spread.high, spread.rung, kin=kin, ideal=ideal,
    )  # fmt: skip
