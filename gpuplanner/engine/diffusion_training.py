"""Estimates training a diffusion model: verdict, time of an optimizer step, images a second, what would make it fit."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.networks import DiffusionNetwork
from gpuplanner.engine.diffusion import near_full
from gpuplanner.engine.diffusion_rates import BITS, EIGHT_BITS, TABLE
from gpuplanner.engine.diffusion_train_run import Run, run_of, stored_precision, training_phases, training_seconds
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.feed import Sample, feed_of
from gpuplanner.engine.formulas.data import images_per_core_second
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, unmeasured
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.figures import Figure, Rung, exact
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.diffusion import DiffusionPrecision, DiffusionRuntime
from gpuplanner.workload.diffusion_training import DiffusionMethod, DiffusionTraining, StateSharding
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.training import AttentionKernel, Optimizer

NAMES = ItemNames("diffusion_train_step", "diffusion_step_s", "images_per_s", "images_per_s_per_gpu")
SMALL_SIDE = 512
"""Pixels along a side: half of what most models are made for, and twice of what is worth training on."""


def estimate_diffusion_training(
    plan: Plan, network: DiffusionNetwork, machine: Machine, efficiencies: Efficiencies
) -> Estimate:
    """The estimate of a plan on a machine.

    Raises MissingFactError when the GPU's memory, its bandwidth, its peak or a link is not known.
    """
    work = _work(plan)
    run = run_of(work, network, machine)
    usable = slice_memory_bytes(usable_bytes(machine.gpu, efficiencies), float(machine.gpu_fraction))
    phases = training_phases(work, network, machine, efficiencies)
    step = Step(
        usable_bytes=usable,
        bytes_by_phase=phases,
        seconds=training_seconds(work, network, machine, efficiencies),
        items=work.micro_batch * run.micro_batches,
        memory_spread=memory_range(efficiencies),
        time_spread=time_range(machine, efficiencies),
        exact_parts=frozenset({"denoiser", "adapters", "optimizer", "average", "gradients", "text_encoder", "codec"}),
        feed=feed_of(work, _sample(work, run.sizes.frames, efficiencies), machine, efficiencies),
    )
    made = estimate_items(
        plan,
        machine,
        step,
        NAMES,
        in_all=work.items,
        goals=goals_of(work.rate_goal, NAMES.rate, work.deadline_s),
        metrics={"trained_parameters": _trained(run)},
        remarks=(*_remarks(work, network, run, machine.gpu), *near_full(phases, float(usable))),
    )
    return replace(made, way=replace(made.way, micro_batch=work.micro_batch))


def _work(plan: Plan) -> DiffusionTraining:
    if not isinstance(plan.workload, DiffusionTraining):
        raise TypeError("diffusion training takes plans of its own kind only")
    return plan.workload


def _trained(run: Run) -> Figure:
    return exact(float(run.trained), Unit.PARAMETER)


def time_range(machine: Machine, efficiencies: Efficiencies) -> Spread:
    """The range of a time: three sources were measured, so it is wide whatever the GPU."""
    if machine.gpu.vendor != "NVIDIA":
        return unmeasured(efficiencies, msg("diffusion.why_vendor"))
    found = efficiencies.constants(TABLE, "training time range")
    rung = efficiencies.find(TABLE, machine.gpu, "utilisation").rung
    return Spread(found["low"], found["high"], rung, msg("diffusion.why_few_runs", points=found.points))


def memory_range(efficiencies: Efficiencies) -> Spread:
    """The range of what stands beside the states, which are exact."""
    found = efficiencies.constants(TABLE, "training memory range")
    return Spread(
        found["low"], found["high"], Rung.OTHER_ARCHITECTURE, msg("diffusion.why_few_runs", points=found.points)
    )


def _remarks(work: DiffusionTraining, network: DiffusionNetwork, run: Run, gpu: Gpu) -> Iterator[Message]:
    """Options that change nothing here, and formats that only keep weights."""
    adapters = work.method is DiffusionMethod.LORA
    if run.sizes.frames > 1 and network.codec.times == 1:
        yield msg("diffusion.no_video", model=network.name)
    if not adapters and BITS[stored_precision(work)] < BITS[DiffusionPrecision.BF16]:
        yield msg("diffusion.too_few_bits_to_train")
    if work.precision in EIGHT_BITS or work.precision is DiffusionPrecision.NF4:
        yield msg("diffusion.computes_in_16_bits")
    if work.precision is DiffusionPrecision.BF16 and gpu.known(GpuProperty.BF16_FLOP_PER_S) is None:
        yield msg("diffusion.no_bf16", gpu=gpu.name)
    if not adapters:
        yield msg("diffusion.rank_unused")
    if work.cached:
        yield msg("diffusion.cached_beforehand")


def changes(made: Estimate, work: DiffusionTraining) -> Iterator[tuple[Message, dict[str, Any]]]:
    """What costs little first: kernels, computing again, a cache, smaller batches, smaller states, then LoRA."""
    if made.unmet and work.runtime is DiffusionRuntime.EAGER:
        yield msg("change.compiled"), {"runtime": DiffusionRuntime.COMPILED}
    if made.unmet and work.checkpointing:
        yield msg("change.no_recomputation"), {"checkpointing": False}
    if made.fit is Fit.FITS:
        return
    if work.attention is not AttentionKernel.FLASH:
        yield msg("change.flash"), {"attention": AttentionKernel.FLASH}
    if not work.checkpointing:
        yield msg("change.recomputation"), {"checkpointing": True}
    if not work.cached:
        yield msg("change.cached_latents"), {"cached": True}
    fewer = work.micro_batch // 2
    while fewer >= 1:
        whole = work.global_batch or work.micro_batch * made.machine.gpus
        yield msg("change.images_in_pass", count=fewer), {"micro_batch": fewer, "global_batch": whole}
        fewer //= 2
    if work.ema:
        yield msg("change.no_average"), {"ema": False}
    if work.optimizer in {Optimizer.ADAMW, Optimizer.ADAMW_BF16}:
        yield msg("change.optimizer_8bit"), {"optimizer": Optimizer.PAGED_ADAMW_8BIT}
    if made.machine.gpus > 1:
        stages = (StateSharding.ZERO2, StateSharding.ZERO3)
        for stage in stages[stages.index(work.sharding) + 1 if work.sharding in stages else 0 :]:
            yield msg("change.sharding", stage=stage.value), {"sharding": stage}
    if work.method is DiffusionMethod.FULL:
        yield msg("change.lora"), {"method": DiffusionMethod.LORA, "weight_precision": None}
    yield from _smaller(work)


def _smaller(work: DiffusionTraining) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Fewer bits of a frozen base, and fewer pixels."""
    stored = BITS[stored_precision(work)]
    if work.method is DiffusionMethod.LORA:
        for precision in (DiffusionPrecision.FP8, DiffusionPrecision.NF4):
            if BITS[precision] < stored:
                what = msg("change.weight_precision", precision=precision.value.upper())
                yield what, {"weight_precision": precision}
    width, height = ((side or SMALL_SIDE * 2) // 2 for side in (work.width, work.height))
    if min(width, height) >= SMALL_SIDE // 2:
        yield msg("change.resolution", width=width, height=height), {"width": width, "height": height}


def duty(made: Estimate, network: DiffusionNetwork, efficiencies: Efficiencies) -> Duty:
    """Weights and images on disk, and the cores that prepare images."""
    work = _work(made.plan)
    sample = _sample(work, work.frames or network.frames, efficiencies)
    rate = made.metrics.get(NAMES.rate)
    trained = made.metrics["trained_parameters"].value
    parameters = network.denoiser.parameters if work.cached else network.parameters
    return Duty(
        serving=False,
        weight_file_bytes=parameters * BITS[DiffusionPrecision.BF16] / 8.0,
        trained_parameters=trained,
        checkpoint_bytes_per_parameter=12.0,
        items_per_s=rate.value if rate else 0.0,
        bytes_per_item=sample.stored_bytes,
        items_per_core_s=sample.per_core_s,
        data_bytes=(work.items or 0.0) * sample.stored_bytes,
    )


def _sample(work: DiffusionTraining, frames: float, efficiencies: Efficiencies) -> Sample:
    """A sample on its way to the GPU: a core decodes the frames of a clip one after the other; latents are ready."""
    if not work.prepares:
        return Sample(work.sample_bytes)
    data = efficiencies.constants(TABLE, "data")
    each = images_per_core_second(
        float(frames), data["cropped_per_core_s"], work.sample_bytes, data["decoded_bytes_per_core_s"]
    )
    return Sample(work.sample_bytes, cast(float, each))
