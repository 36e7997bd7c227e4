"""Estimates networks that see images: inference and training, from multiply-adds, activations and weights.

Every GPU works on images of its own; in training they sum up their gradients, mostly while the backward pass goes on.
"""

from collections.abc import Iterator
from typing import Any, cast

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.networks import VisionNetwork
from gpuplanner.engine.estimate import Estimate, Fit, Limit
from gpuplanner.engine.feed import Sample, feed_of
from gpuplanner.engine.formulas.data import images_per_core_second
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gpu_memory import phase_bytes, slice_memory_bytes
from gpuplanner.engine.formulas.training_memory import process_overhead_bytes
from gpuplanner.engine.formulas.vision import gradient_sum_bytes, images_in_all
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.links import all_reduce_seconds_on
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.serving_machine import usable_bytes, worst
from gpuplanner.engine.vision_inputs import ATTENDS, TABLE, NetworkNumbers, gpu_numbers, network_numbers, sized
from gpuplanner.engine.vision_numbers import StepSeconds, step_bytes, step_seconds
from gpuplanner.figures import Rung
from gpuplanner.messages import Message, msg
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.vision import Vision, VisionData, VisionJob, VisionOptimizer, VisionPrecision, VisionRuntime

NAMES = ItemNames("vision_step", "vision_step_s", "images_per_s", "images_per_s_per_gpu")
SMALLEST_SHARE = 0.25
"""Of the batch: fewer images leave most GPUs idle, and another machine is the better answer."""


def estimate_vision(plan: Plan, subject: Any, machine: Machine, efficiencies: Efficiencies) -> Estimate:
    """The estimate of a plan on a machine.

    Raises InputError when the model is none that sees images, MissingFactError when the GPU's memory, its bandwidth,
    its peak in this arithmetic or a link is not known.
    """
    work = plan.workload
    if not isinstance(work, Vision):
        raise TypeError("estimate_vision takes plans of vision only")
    network = sized(subject, work)
    fraction = float(machine.gpu_fraction)
    numbers = network_numbers(network, work, efficiencies)
    gpu = gpu_numbers(machine, work, efficiencies)
    exchange = (
        all_reduce_seconds_on(machine, gradient_sum_bytes(network.parameters, numbers.bytes_per_gradient), efficiencies)
        if numbers.trained
        else 0.0
    )
    batch = float(work.batch)
    parts = _parts(numbers, batch, float(machine.gpus), efficiencies)
    step = Step(
        usable_bytes=slice_memory_bytes(usable_bytes(machine.gpu, efficiencies), fraction),
        bytes_by_phase={work.job.value: parts},
        seconds=_seconds(step_seconds(numbers, gpu, batch, exchange), machine),
        items=batch,
        memory_spread=memory_spread(efficiencies, numbers.rung),
        time_spread=time_spread(efficiencies, worst(numbers.rung, gpu.rung)),
        exact_parts=frozenset({"input_images"}),
        feed=feed_of(work, _sample(work, efficiencies), machine, efficiencies),
    )
    images = work.images
    in_all = float(images_in_all(images, float(work.epochs))) if images is not None and numbers.trained else images
    return estimate_items(
        plan,
        machine,
        step,
        NAMES,
        in_all=in_all,
        goals=goals_of(
            work.rate_goal, NAMES.rate, work.deadline_s, None if numbers.trained else work.latency_goal_s, NAMES.each
        ),
        remarks=tuple(_remarks(work, network)),
    )


_REASONS = {
    Rung.SAME_GPU: "same_gpu",
    Rung.SAME_ARCHITECTURE: "same_architecture",
    Rung.OTHER_ARCHITECTURE: "other_architecture",
}


def changes(made: Estimate, work: Vision) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Fewer images at once, then half the bits, then activations computed again; for speed, more images and fusing."""
    short = made.fit is not Fit.FITS
    fewer = work.batch // 2
    while short and fewer >= max(1.0, work.batch * SMALLEST_SHARE):
        yield msg("change.vision_batch", count=fewer), {"batch": fewer}
        fewer //= 2
    if work.precision in {VisionPrecision.TF32, VisionPrecision.FP32}:
        yield msg("change.vision_precision"), {"precision": VisionPrecision.FP16}
    if short and work.job is VisionJob.TRAINING and not work.recompute:
        yield msg("change.vision_recompute"), {"recompute": True}
    while short and fewer >= 1:
        yield msg("change.vision_batch", count=fewer), {"batch": fewer}
        fewer //= 2
    if work.runtime is VisionRuntime.EAGER:
        yield msg("change.vision_compiled"), {"runtime": VisionRuntime.COMPILED}
    if not short:
        yield from _other_batches(made, work)


def _other_batches(made: Estimate, work: Vision) -> Iterator[tuple[Message, dict[str, Any]]]:
    late = any(goal.constraint == "latency" for goal in made.goals) and bool(made.unmet)
    sizes = [work.batch // 2**i for i in range(1, 12)] if late else [work.batch * 2**i for i in range(1, 5)]
    for size in sizes:
        if size >= 1:
            yield msg("change.vision_batch", count=size), {"batch": size}


def duty(made: Estimate, subject: Any, efficiencies: Efficiencies) -> Duty:
    """Images that the CPU decodes and varies, or that it only hands on; what lies on disk; what a training saves."""
    work = made.plan.workload
    if not isinstance(work, Vision):
        raise TypeError("duty takes estimates of vision only")
    network = sized(subject, work)
    image = _sample(work, efficiencies)
    rate = made.metrics.get(NAMES.rate)
    trained = work.job is VisionJob.TRAINING
    kept = efficiencies.constants(TABLE, f"optimizer {work.optimizer}")["bytes_per_state"]
    return Duty(
        serving=False,
        weight_file_bytes=network.parameters * 4.0,
        trained_parameters=network.parameters if trained else 0.0,
        checkpoint_bytes_per_parameter=4.0 + kept,
        items_per_s=rate.value if rate else 0.0,
        bytes_per_item=image.stored_bytes,
        items_per_core_s=image.per_core_s,
        data_bytes=(work.images or 0.0) * image.stored_bytes,
    )


def _sample(work: Vision, efficiencies: Efficiencies) -> Sample:
    """An image on its way to the GPU; one that is in memory as the network takes it is neither read nor prepared."""
    data = efficiencies.constants(TABLE, "data")
    match work.data:
        case VisionData.READY:
            return Sample(0.0)
        case VisionData.CPU:
            each = images_per_core_second(
                1.0, data["cropped_per_core_s"], work.image_bytes, data["decoded_bytes_per_core_s"]
            )
            return Sample(work.image_bytes, cast(float, each))
        case VisionData.GPU:
            return Sample(work.image_bytes, data["decoded_on_gpu_per_core_s"])


def needed_bytes(network: NetworkNumbers, batch: Number, gpus: Number, efficiencies: Efficiencies) -> Number:
    """Memory of one GPU at the peak of a step."""
    return phase_bytes(tuple(_parts(network, batch, gpus, efficiencies).values()))


def _parts(network: NetworkNumbers, batch: Number, gpus: Number, efficiencies: Efficiencies) -> dict[str, Number]:
    process = efficiencies.constants(TABLE, "process")
    held = step_bytes(network, batch)
    together = gpus if network.trained else 1.0
    return {
        "vision_states" if network.trained else "weights": held.states,
        "vision_activations": held.activations,
        "input_images": held.images,
        "overhead": process_overhead_bytes(process["context_bytes"], process["communicator_bytes"], together),
    }


def _seconds(step: StepSeconds, machine: Machine) -> dict[str, tuple[Any, Limit]]:
    over = Limit.NETWORK if machine.nodes > 1 else Limit.LINK
    return {
        "vision_compute": (step.compute, Limit.COMPUTE),
        "vision_traffic": (step.activations, Limit.HBM),
        "vision_weights": (step.weights, Limit.HBM),
        "launch": (step.launch, Limit.CPU),
        "exchange": (step.exchange, over),
    }


def _remarks(work: Vision, network: VisionNetwork) -> Iterator[Message]:
    """What has no effect on this plan, and what the estimate lacks."""
    if work.job is VisionJob.INFERENCE:
        if work.recompute:
            yield msg("vision.no_recompute")
        if work.epochs > 1:
            yield msg("vision.no_epochs")
        if work.optimizer is not VisionOptimizer.SGD:
            yield msg("vision.no_optimizer")
    elif work.latency_goal_s is not None:
        yield msg("vision.no_latency")
    if not work.fused_attention and network.operators not in ATTENDS:
        yield msg("vision.no_attention")
    if not network.relatives:
        yield msg("vision.no_relatives")
    if not network.activations:
        yield msg("vision.activations_assumed")
    if not network.layers and work.batch <= SMALL_BATCH:
        yield msg("vision.layers_assumed")


SMALL_BATCH = 8
"""Images: below, the number of kernels decides, and so the number of layers."""


def time_spread(efficiencies: Efficiencies, rung: Rung, of: str = "vision") -> Spread:
    """How far off times are on this rung. `of`: "vision", or "vision tasks" for benchmarks of other networks."""
    return _spread(efficiencies, of, rung, f"vision.why_time.{_REASONS[rung]}")


def memory_spread(efficiencies: Efficiencies, rung: Rung) -> Spread:
    """How far off memory is: of networks with measured relatives, or without."""
    return _spread(efficiencies, "memory", rung, "vision.why_memory")


def _spread(efficiencies: Efficiencies, of: str, rung: Rung, why: str) -> Spread:
    found = efficiencies.constants(TABLE, f"{of}, {rung.value}")
    return Spread(found["low"], found["high"], rung, msg(why))
