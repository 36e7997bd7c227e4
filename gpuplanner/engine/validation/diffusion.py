"""The family of measured image and clip models: seconds an image, steps a second, peak memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuplanner.engine.diffusion import memory_range, time_range
from gpuplanner.engine.diffusion_pipeline import (
    Sizes,
    decoding_peak,
    encoding_peak,
    memory_phases,
    pipeline_seconds,
    sizes_of,
    stages_seconds,
    step_pass,
    step_seconds,
    weights_of,
)
from gpuplanner.engine.diffusion_rates import sixteen_bit_peaks
from gpuplanner.engine.diffusion_stages import decoder_stages, encoder_stages
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.engine.validation.diffusion_rows import Placed, placed
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext
from gpuplanner.units import GB
from gpuplanner.workload.diffusion import DiffusionPrecision

RATE, EACH, MEMORY = "it_per_s", "s_per_image", "peak_mem_gb"


@dataclass(frozen=True, slots=True)
class DiffusionRows:
    """Rows of images and clips that were made, and of autoencoders alone."""

    name: str = "inference_diffusion"
    columns: frozenset[str] = frozenset({RATE, EACH, MEMORY, "res", "steps"})
    metrics: tuple[str, ...] = (RATE, EACH, MEMORY)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """An outcome for each measured cell; see `rows.Family`.

        What ran fitted: libraries take less workspace where memory is short, so no peak is above what there is.
        """
        place = placed(row, context)
        sizes = sizes_of(place.work, place.network)
        spread = time_range(place.network, place.machine, context.efficiencies)
        kin = f"{place.machine.gpu.id} {place.model.id} {place.work.precision} {place.work.runtime} {place.codec}"
        if row.text(EACH):
            seconds = seconds_each(place, sizes, context)
            ideal = ideal_seconds(place, sizes, context)
            yield _outcome(row, self.name, EACH, seconds, spread, kin, ideal)
        if row.text(RATE):
            whole = bool(row.text(EACH)) and bool(row.text("steps"))
            steps = float(sizes.steps) if whole else 1.0
            parts = _pipeline(place, sizes, context) if whole else step_seconds_of(place, sizes, context)
            ideal = steps / (ideal_seconds(place, sizes, context) * place.work.at_once)
            if not whole:
                ideal *= sizes.steps
            yield _outcome(row, self.name, RATE, steps / parts, _inverse(spread), kin, ideal)
        if row.text(MEMORY):
            needed, weights = peak_bytes(place, sizes, context)
            there = usable_bytes(place.machine.gpu, context.efficiencies) * float(place.machine.gpu_fraction)
            needed = max(min(needed, there), weights)
            held = memory_range(place.network, context.efficiencies)
            low = (weights + (needed - weights) * held.low) / needed
            high = (weights + (needed - weights) * held.high) / needed
            around = Spread(low, high, held.rung, held.why)
            yield _outcome(row, self.name, MEMORY, needed / GB, around, f"memory {kin}", weights / GB)


def seconds_each(place: Placed, sizes: Sizes, context: ValidationContext) -> float:
    """Seconds of one item; of all GPUs together where a throughput was measured."""
    seconds = _codec(place, sizes, context) if place.codec else _pipeline(place, sizes, context)
    return seconds / place.work.at_once / (place.machine.gpus if place.throughput else 1)


def ideal_seconds(place: Placed, sizes: Sizes, context: ValidationContext) -> float:
    """Seconds of one item at the dense peak of 16 bits, the denoiser's operations alone."""
    work = step_pass(place.work, place.network, sizes, context.efficiencies)
    peak, _ = sixteen_bit_peaks(place.machine.gpu, DiffusionPrecision.FP16)
    steps = 1 if place.codec else sizes.steps
    whole = steps * float(work.flops + work.attention_flops) / peak / float(place.machine.gpu_fraction)
    return whole / place.work.at_once / (place.machine.gpus if place.throughput else 1)


def peak_bytes(place: Placed, sizes: Sizes, context: ValidationContext) -> tuple[float, float]:
    """What tensors take at the peak, and the weights of it; nothing of the process, as allocators count."""
    if place.codec:
        weights = float(weights_of(place.work, place.network).codec)
        peak = encoding_peak if place.codec == "encode" else decoding_peak
        return weights + float(peak(place.work, place.network, sizes, context.efficiencies)), weights
    phases = memory_phases(place.work, place.network, sizes, context.efficiencies)
    totals = {
        name: sum(float(value) for part, value in parts.items() if part != "overhead") for name, parts in phases.items()
    }
    peak_phase = max(totals, key=lambda name: totals[name])
    return totals[peak_phase], totals[peak_phase] - float(phases[peak_phase]["activations"])


def _pipeline(place: Placed, sizes: Sizes, context: ValidationContext) -> float:
    parts = pipeline_seconds(place.work, place.network, sizes, place.machine, context.efficiencies)
    return sum(float(value) for value, _ in parts.values())


def step_seconds_of(place: Placed, sizes: Sizes, context: ValidationContext) -> float:
    """Seconds of one step of the denoiser, for a batch."""
    parts = step_seconds(place.work, place.network, sizes, place.machine, context.efficiencies)
    return sum(float(value) for value, _ in parts.values())


def _codec(place: Placed, sizes: Sizes, context: ValidationContext) -> float:
    stages = encoder_stages if place.codec == "encode" else decoder_stages
    seconds: Number = stages_seconds(
        stages(place.network.codec), place.work, place.network, sizes, place.machine, context.efficiencies
    )
    return float(seconds)


def _inverse(time: Spread) -> Spread:
    return Spread(1.0 / time.high, 1.0 / time.low, time.rung, time.why)


def _outcome(row: Row, family: str, metric: str, predicted: float, spread: Spread, kin: str, ideal: float) -> Outcome:
    return Outcome(
        row.file, row.id, family, row.source, metric, row.required(metric), predicted,
        predicted * spread.low, predicted * spread.high, spread.rung, kin=kin, ideal=ideal,
    )  # fmt: skip
