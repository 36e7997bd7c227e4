"""Estimates making images and clips with a diffusion model: verdict, time of a batch, rates, what would make it fit."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.networks import DiffusionNetwork
from gpuplanner.engine.diffusion_pipeline import (
    Sizes,
    memory_phases,
    pipeline_seconds,
    sizes_of,
    step_seconds,
    text_precision,
    weights_of,
)
from gpuplanner.engine.diffusion_rates import EIGHT_BITS, TABLE, is_native
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.formulas.items import item_step_seconds
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, ranged, unmeasured, widened
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.figures import Figure, Rung
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.diffusion import Diffusion, DiffusionPrecision, DiffusionRuntime, PipelineOffload
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.training import AttentionKernel

NEARLY_FULL = 0.9
"""From this share of the usable memory on, drivers for Windows move allocations to host memory instead of failing."""
NAMES = ItemNames("image_batch", "image_batch_s", "generated_per_s", "generated_per_s_per_gpu")
MEASURED_UNETS = ("unet",)


def estimate_diffusion(plan: Plan, network: DiffusionNetwork, machine: Machine, efficiencies: Efficiencies) -> Estimate:
    """The estimate of a plan on a machine. Each GPU makes images of its own.

    Raises MissingFactError when the GPU's memory, its bandwidth or its peak is not known.
    """
    work = plan.workload
    if not isinstance(work, Diffusion):
        raise TypeError("estimate_diffusion takes plans of diffusion only")
    sizes = sizes_of(work, network)
    usable = slice_memory_bytes(usable_bytes(machine.gpu, efficiencies), float(machine.gpu_fraction))
    time_spread = time_range(network, machine, efficiencies)
    phases = memory_phases(work, network, sizes, efficiencies)
    step = Step(
        usable_bytes=usable,
        bytes_by_phase=phases,
        seconds=pipeline_seconds(work, network, sizes, machine, efficiencies),
        items=float(work.at_once),
        memory_spread=memory_range(network, efficiencies),
        time_spread=time_spread,
        exact_parts=frozenset({"text_encoder", "denoiser", "codec"}),
    )
    return estimate_items(
        plan,
        machine,
        step,
        NAMES,
        in_all=work.items,
        goals=goals_of(work.rate_goal, NAMES.rate, work.deadline_s, work.latency_goal_s, NAMES.each),
        metrics={"denoise_step_s": _step_figure(work, network, sizes, machine, efficiencies, time_spread)},
        remarks=(*_remarks(work, network, sizes, machine.gpu), *near_full(phases, float(usable))),
    )


def near_full(phases: Mapping[str, Mapping[str, Number]], usable_bytes: float) -> Iterator[Message]:
    """A remark where the peak is so near to what there is, or above it, that a driver may spill unnoticed."""
    peak = max(sum(float(value) for value in parts.values()) for parts in phases.values())
    if peak > NEARLY_FULL * usable_bytes:
        yield msg("diffusion.near_full")


def _step_figure(
    work: Diffusion,
    network: DiffusionNetwork,
    sizes: Sizes,
    machine: Machine,
    efficiencies: Efficiencies,
    spread: Spread,
) -> Figure:
    parts = step_seconds(work, network, sizes, machine, efficiencies)
    return ranged(float(item_step_seconds(tuple(value for value, _ in parts.values()))), Unit.SECOND, spread)


def time_range(network: DiffusionNetwork, machine: Machine, efficiencies: Efficiencies) -> Spread:
    """The range of a time, from what left-out sources were off on this rung; wider for networks nobody measured."""
    if machine.gpu.vendor != "NVIDIA":
        return unmeasured(efficiencies, msg("diffusion.why_vendor"))
    rung = efficiencies.find(TABLE, machine.gpu, "utilisation").rung
    spread = _spread(efficiencies, f"diffusion time, {rung.value}", rung)
    if network.denoiser.kind not in MEASURED_UNETS:
        wider = efficiencies.constants(TABLE, "unmeasured network")
        return widened(spread, wider["low"], wider["high"], msg("diffusion.why_transformer"))
    return spread


def memory_range(network: DiffusionNetwork, efficiencies: Efficiencies) -> Spread:
    """The range of memory; weights are exact, what stands beside them is not."""
    spread = _spread(efficiencies, "memory range", Rung.OTHER_ARCHITECTURE)
    if network.denoiser.kind not in MEASURED_UNETS:
        wider = efficiencies.constants(TABLE, "unmeasured network")
        return widened(spread, wider["low"], wider["high"], msg("diffusion.why_transformer"))
    return spread


def _spread(efficiencies: Efficiencies, variant: str, rung: Rung) -> Spread:
    found = efficiencies.constants(TABLE, variant)
    return Spread(found["low"], found["high"], rung, msg("diffusion.why_left_out", points=found.points))


def _remarks(work: Diffusion, network: DiffusionNetwork, sizes: Sizes, gpu: Gpu) -> Iterator[Message]:
    """What an option does or does not do here, and what a model was not made for."""
    if sizes.frames > 1 and network.codec.times == 1:
        yield msg("diffusion.no_video", model=network.name)
    if sizes.guided and not network.guided:
        yield msg("diffusion.guided_anyway", model=network.name)
    if work.precision in EIGHT_BITS and not is_native(work.precision, work.runtime, gpu):
        eager = work.runtime is DiffusionRuntime.EAGER
        yield msg("diffusion.stored_only.eager" if eager else "diffusion.stored_only.gpu", gpu=gpu.name)
    if work.precision is DiffusionPrecision.NF4:
        yield msg("diffusion.nf4_computes_wide")
    if work.precision is DiffusionPrecision.BF16 and gpu.known(GpuProperty.BF16_FLOP_PER_S) is None:
        yield msg("diffusion.no_bf16", gpu=gpu.name)
    if work.vae_slicing and work.at_once == 1:
        yield msg("diffusion.slicing_alone")
    if work.vae_tiling and max(sizes.width, sizes.height) <= network.codec.tile:
        yield msg("diffusion.tile_holds_all", pixels=network.codec.tile)
    if work.text_precision is not None and not network.text_encoders:
        yield msg("diffusion.no_text_encoder", model=network.name)
    if work.offload is PipelineOffload.SEQUENTIAL:
        yield msg("diffusion.sequential_is_slow")


def changes(made: Estimate, work: Diffusion) -> Iterator[tuple[Message, dict[str, Any]]]:
    """What costs little first: slices and tiles of the autoencoder, fewer at once, offloading, fewer bits."""
    if work.attention is not AttentionKernel.FLASH and (made.unmet or made.fit is not Fit.FITS):
        yield msg("change.flash"), {"attention": AttentionKernel.FLASH}
    if made.unmet:
        yield from _quicker(work)
    if made.fit is Fit.FITS:
        return
    if work.at_once > 1 and not work.vae_slicing:
        yield msg("change.vae_slicing"), {"vae_slicing": True}
    if not work.vae_tiling:
        yield msg("change.vae_tiling"), {"vae_tiling": True}
    fewer = work.at_once // 2
    while fewer >= 1:
        yield msg("change.items_at_once", count=fewer), {"at_once": fewer}
        fewer //= 2
    if work.precision is DiffusionPrecision.FP32:
        yield msg("change.weight_precision", precision="FP16"), {"precision": DiffusionPrecision.FP16}
    if work.offload is PipelineOffload.NONE:
        yield msg("change.offload_components"), {"offload": PipelineOffload.MODEL}
    for precision in (DiffusionPrecision.FP8, DiffusionPrecision.NF4):
        if work.precision is not precision and text_precision(work) is not precision:
            what = msg("change.weight_precision", precision=precision.value.upper())
            yield what, {"precision": precision, "text_precision": precision}
    if work.offload is not PipelineOffload.SEQUENTIAL:
        yield msg("change.offload_layers"), {"offload": PipelineOffload.SEQUENTIAL}


def _quicker(work: Diffusion) -> Iterator[tuple[Message, dict[str, Any]]]:
    """What makes images sooner on the same machine."""
    if work.runtime is DiffusionRuntime.EAGER:
        yield msg("change.compiled"), {"runtime": DiffusionRuntime.COMPILED}
    if work.runtime is not DiffusionRuntime.TENSORRT:
        yield msg("change.fused_engine"), {"runtime": DiffusionRuntime.TENSORRT}
    if work.offload is not PipelineOffload.NONE:
        yield msg("change.no_offload"), {"offload": PipelineOffload.NONE}
    if work.vae_tiling:
        yield msg("change.no_tiling"), {"vae_tiling": False}


def duty(made: Estimate, network: DiffusionNetwork, _efficiencies: Efficiencies) -> Duty:
    """Weights on disk, and in host memory what waits there; making images asks nothing of the CPU beside launches."""
    work = made.plan.workload
    if not isinstance(work, Diffusion):
        raise TypeError("diffusion's duty takes estimates of diffusion only")
    weights = weights_of(work, network)
    whole = float(weights.denoiser + weights.text + weights.codec)
    rate = made.metrics.get(NAMES.rate)
    return Duty(
        serving=True,
        weight_file_bytes=whole,
        offload_bytes=0.0 if work.offload is PipelineOffload.NONE else whole * made.machine.gpus,
        items_per_s=rate.value if rate else 0.0,
    )
