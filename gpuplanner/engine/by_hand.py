"""Estimates work that a person describes by hand: operations, bytes and memory of one item. A roofline, and said to be.

What kernels reach of the peaks is a rule of thumb with a wide range: nobody can know the kernels.
"""

from collections.abc import Iterator
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.arithmetic import peak_flop_per_s
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.feed import Sample, feed_of
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gemm import multiply_seconds, read_seconds
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.formulas.items import batch_bytes, batch_flops, item_launch_seconds
from gpuplanner.engine.formulas.training_memory import process_overhead_bytes
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.links import all_reduce_seconds_on
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.figures import Rung
from gpuplanner.messages import Message, msg
from gpuplanner.workload.by_hand import ByHand
from gpuplanner.workload.plan import Plan

TABLE = "by_hand"
NAMES = ItemNames("item_step", "item_step_s", "items_per_s", "items_per_s_per_gpu")


def estimate_by_hand(plan: Plan, _subject: None, machine: Machine, efficiencies: Efficiencies) -> Estimate:
    """The estimate of a plan on a machine.

    Raises MissingFactError when the GPU's memory, its bandwidth, its peak in this arithmetic or a link is not known.
    """
    work = plan.workload
    if not isinstance(work, ByHand):
        raise TypeError("estimate_by_hand takes plans of work by hand only")
    gpu, fraction = machine.gpu, float(machine.gpu_fraction)
    reached = efficiencies.constants(TABLE, "shares")
    process = efficiencies.constants(TABLE, "process")
    peak, _ = peak_flop_per_s(gpu, work.arithmetic)
    hbm = gpu.value(GpuProperty.HBM_BYTES_PER_S) * fraction
    items = float(work.at_once)
    compute_s = multiply_seconds(batch_flops(work.flops, items), peak * fraction, reached["utilisation"])
    memory_s = read_seconds(batch_bytes(work.moved_bytes, items), hbm, reached["hbm_share"])
    slower, limit = ("compute", Limit.COMPUTE) if compute_s >= memory_s else ("traffic", Limit.HBM)
    seconds: dict[str, tuple[Number, Limit]] = {
        slower: (compute_s if limit is Limit.COMPUTE else memory_s, limit),
        "launch": (item_launch_seconds(float(work.kernels), reached["kernel_s"]), Limit.CPU),
    }
    if work.exchanged_bytes and machine.gpus > 1:
        over = Limit.NETWORK if machine.nodes > 1 else Limit.LINK
        seconds["exchange"] = (all_reduce_seconds_on(machine, work.exchanged_bytes, efficiencies), over)
    step = Step(
        usable_bytes=slice_memory_bytes(usable_bytes(gpu, efficiencies), fraction),
        bytes_by_phase={
            "run": {
                "resident": work.resident_bytes,
                "items": batch_bytes(work.item_bytes, items),
                "overhead": process_overhead_bytes(
                    process["context_bytes"],
                    process["communicator_bytes"],
                    float(machine.gpus if work.exchanged_bytes else 1),
                ),
            }
        },
        seconds=seconds,
        items=items,
        memory_spread=_spread(efficiencies, "memory range", "items.why_described"),
        time_spread=_spread(efficiencies, "time range", "items.why_roofline"),
        exact_parts=frozenset({"resident", "items"}),
        feed=feed_of(work, Sample(work.read_bytes), machine, efficiencies),
    )
    return estimate_items(
        plan, machine, step, NAMES, in_all=work.items, goals=goals_of(work.rate_goal, NAMES.rate, work.deadline_s)
    )


def changes(made: Estimate, work: ByHand) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Fewer items at once where memory is short; nothing else can be known of the work."""
    fewer = work.at_once // 2
    while work.item_bytes and fewer >= 1 and made.memory.free < 0:
        yield msg("change.items_at_once", count=fewer), {"at_once": fewer}
        fewer //= 2


def duty(made: Estimate, _subject: None, _efficiencies: Efficiencies) -> Duty:
    """What the work reads from storage; it says nothing of the CPU."""
    work = made.plan.workload
    rate = made.metrics.get(NAMES.rate)
    each = work.read_bytes if isinstance(work, ByHand) else 0.0
    return Duty(serving=False, weight_file_bytes=0.0, items_per_s=rate.value if rate else 0.0, bytes_per_item=each)


def _spread(efficiencies: Efficiencies, variant: str, why: str) -> Spread:
    found = efficiencies.constants(TABLE, variant)
    return Spread(found["low"], found["high"], Rung.ROOFLINE, msg(why))
