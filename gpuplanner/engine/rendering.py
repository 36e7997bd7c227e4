"""Estimates rendering: a frame whose time is known on one GPU, on others. What a scene does is never computed.

Memory is the hard limit: every GPU holds the whole scene, unless the renderer spreads it over NVLink.
"""

from collections.abc import Iterator
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.formulas import rendering as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.formulas.training_memory import process_overhead_bytes
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.machine import Machine, Topology
from gpuplanner.engine.ranges import Spread, inverse
from gpuplanner.engine.rendering_speed import TABLE, RelativeSpeed, has_tracing_cores, relative_speed
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.figures import Rung
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.rendering import Rendering

NAMES = ItemNames("frame", "frame_s", "frames_per_s", "frames_per_s_per_gpu")
PAIR = 2


def estimate_rendering(plan: Plan, known: Gpu, machine: Machine, efficiencies: Efficiencies) -> Estimate:
    """The estimate of a plan on a machine; `known`: the GPU of the known frame.

    Raises InputError when the renderer does not run on a GPU, MissingFactError when the GPU's memory is not known, or
    its FP32 rate where no score is.
    """
    work = plan.workload
    if not isinstance(work, Rendering):
        raise TypeError("estimate_rendering takes plans of rendering only")
    gpu, fraction = machine.gpu, float(machine.gpu_fraction)
    speed = relative_speed(work.renderer, known, gpu, efficiencies)
    several = efficiencies.constants(TABLE, "several")
    process = efficiencies.constants(TABLE, "process")
    pool = pool_gpus(machine) if work.pooled else 1
    traced: Number = formulas.traced_seconds(
        float(work.known_frame_s), float(work.fixed_frame_s), speed.value, fraction
    )
    scene: Number = float(work.scene_bytes)
    if pool > 1:
        traced = formulas.pooled_seconds(traced, several["pooling_factor"])
        scene = formulas.pooled_scene_bytes(scene, several["copied_share"], float(pool))
    sharing = machine.gpus_per_node if work.together else pool
    if sharing > 1:
        traced = formulas.together_seconds(traced, float(sharing), several["scaling_share"])
    memory = efficiencies.constants(TABLE, "memory range")
    step = Step(
        usable_bytes=slice_memory_bytes(usable_bytes(gpu, efficiencies), fraction),
        bytes_by_phase={
            "run": {
                "scene": scene,
                "overhead": process_overhead_bytes(process["context_bytes"], process["communicator_bytes"], 1.0),
            }
        },
        seconds={"trace": (traced, Limit.COMPUTE), "prepare": (float(work.fixed_frame_s), Limit.CPU)},
        items=1.0 / sharing,
        memory_spread=Spread(memory["low"], memory["high"], Rung.ROOFLINE, msg("rendering.why_memory")),
        time_spread=speed.spread,
    )
    return estimate_items(
        plan,
        machine,
        step,
        NAMES,
        in_all=work.frames,
        goals=goals_of(None, NAMES.rate, work.deadline_s, work.frame_goal_s, NAMES.each),
        metrics={"relative_speed": inverse(float(speed.value), Unit.COUNT, speed.spread)},
        remarks=tuple(_remarks(work, known, machine, speed, pool)),
    )


def pool_gpus(machine: Machine) -> int:
    """GPUs over which a scene can be spread: those that NVLink joins, one where it joins none."""
    if machine.slice is not None or not machine.gpu.link_kind.startswith("NVLink"):
        return 1
    if machine.topology is Topology.SWITCHED:
        return machine.gpus_per_node
    return min(PAIR, machine.gpus_per_node) if machine.topology is Topology.BRIDGED_PAIRS else 1


def _remarks(work: Rendering, known: Gpu, machine: Machine, speed: RelativeSpeed, pool: int) -> Iterator[Message]:
    if not speed.scored:
        yield msg("rendering.no_score", gpu=machine.gpu.name, known=known.name)
    if not has_tracing_cores(machine.gpu):
        yield msg("rendering.no_tracing_cores", gpu=machine.gpu.name)
    if work.pooled and pool == 1:
        yield msg("rendering.nothing_pooled")
    elif work.pooled:
        yield msg("rendering.pooled", gpus=pool)
    elif machine.gpus_per_node > 1:
        yield msg("rendering.copied")
    if work.together and machine.gpus_per_node == 1:
        yield msg("rendering.alone")
    if machine.gpu.vendor == "NVIDIA":
        yield msg("rendering.driver_library")


def changes(made: Estimate, work: Rendering) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Spreading the scene where NVLink joins GPUs, and all GPUs on one frame where a frame takes too long."""
    if made.memory.free < 0 and not work.pooled and pool_gpus(made.machine) > 1:
        yield msg("change.pooled_scene"), {"pooled": True}
    if made.unmet and not work.together and work.frame_goal_s is not None and made.machine.gpus_per_node > 1:
        yield msg("change.frame_together"), {"together": True}


def duty(made: Estimate, _known: Gpu, _efficiencies: Efficiencies) -> Duty:
    """The scene is read for each frame, and a core or two prepare it."""
    work = made.plan.workload
    rate = made.metrics.get(NAMES.rate)
    if not isinstance(work, Rendering):
        raise TypeError("duty takes estimates of rendering only")
    return Duty(
        serving=False,
        weight_file_bytes=0.0,
        items_per_s=rate.value if rate else 0.0,
        bytes_per_item=work.scene_bytes,
        items_per_core_s=1.0 / work.fixed_frame_s if work.fixed_frame_s else 0.0,
        data_bytes=work.scene_bytes,
    )
