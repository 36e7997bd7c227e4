"""Estimates scientific work: a roofline by kind of problem, with the metric that decides named first. No kernels known.

Rates of memory streams are measured; what a kind of problem needs and reaches is a rule of thumb with a wide range.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.arithmetic import peak_flop_per_s
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.formulas import science as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gemm import multiply_seconds, read_seconds
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.formulas.items import item_launch_seconds, item_step_seconds
from gpuplanner.engine.formulas.training_memory import process_overhead_bytes
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.links import (
    NETWORK,
    Collective,
    all_reduce_seconds_on,
    network_bytes_per_s_per_gpu,
    reach,
)
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, inverse
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Figure, Rung
from gpuplanner.messages import Message, msg
from gpuplanner.units import Display, Unit, percent, show
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.science import Problem, Science

TABLE = "science"
NAMES = ItemNames("item_step", "science_step_s", "science_steps_per_s", "science_steps_per_s_per_gpu")
USUAL: Mapping[Problem, Arithmetic] = {
    Problem.DENSE: Arithmetic.FP64_TENSOR,
    Problem.STENCIL: Arithmetic.FP64,
    Problem.SPARSE: Arithmetic.FP64,
    Problem.FFT: Arithmetic.FP64,
    Problem.PARTICLES: Arithmetic.FP32,
    Problem.NETWORK: Arithmetic.FP16,
}
"""What such work is usually done in; packages for molecular dynamics compute forces in FP32 and add them up exactly."""
ELEMENT_BYTES: Mapping[Arithmetic, float] = {
    Arithmetic.FP64: 8.0,
    Arithmetic.FP64_TENSOR: 8.0,
    Arithmetic.FP32: 4.0,
    Arithmetic.TF32: 4.0,
    Arithmetic.BF16: 2.0,
    Arithmetic.FP16: 2.0,
    Arithmetic.FP8: 1.0,
    Arithmetic.INT8: 1.0,
    Arithmetic.FP4: 0.5,
}
DOUBLE = frozenset({Arithmetic.FP64, Arithmetic.FP64_TENSOR})
REDUCED_FP64 = 1 / 8
"""Below this share of its FP32 rate a GPU is not made for FP64; those that are have a half or a third of it."""
NEIGHBOURS = 6.0
DOT_BYTES = 16.0
"""An iteration of a solver sums up two numbers over all GPUs."""


@dataclass(frozen=True, slots=True)
class _Need:
    """What one GPU does in a step. `sent`: what of its exchange, as the bytes, the messages and the collective."""

    flops: Number
    moved: Number
    held: Number
    sent: tuple[Number, float, Collective] | None


def estimate_science(plan: Plan, _subject: None, machine: Machine, efficiencies: Efficiencies) -> Estimate:
    """The estimate of a plan on a machine.

    Raises MissingFactError when the GPU's memory, its bandwidth, its peak in this arithmetic or a link is not known.
    """
    work = plan.workload
    if not isinstance(work, Science):
        raise TypeError("estimate_science takes plans of scientific work only")
    gpu, fraction = machine.gpu, float(machine.gpu_fraction)
    arithmetic = work.arithmetic or USUAL[work.problem]
    of_kind = efficiencies.constants(TABLE, work.problem.value)
    process = efficiencies.constants(TABLE, "process")
    shares = float(machine.gpus) if work.split else 1.0
    need = _need(work, of_kind, ELEMENT_BYTES[arithmetic], shares)
    peak, peak_name = peak_flop_per_s(gpu, arithmetic)
    hbm = gpu.value(GpuProperty.HBM_BYTES_PER_S) * fraction
    stream = efficiencies.find(TABLE, gpu, "stream")
    compute_s = multiply_seconds(need.flops, peak * fraction, of_kind["utilisation"])
    memory_s = read_seconds(need.moved, hbm, formulas.kernel_hbm_share(stream["hbm_share"], of_kind["of_stream"]))
    limit = Limit.COMPUTE if compute_s >= memory_s else Limit.HBM
    seconds: dict[str, tuple[Number, Limit]] = {
        "compute" if limit is Limit.COMPUTE else "traffic": (max(compute_s, memory_s), limit),
        "launch": (
            item_launch_seconds(of_kind["kernels"], efficiencies.constants(TABLE, "launch")["kernel_s"]),
            Limit.LATENCY,
        ),
    }
    if need.sent is not None:
        over = Limit.NETWORK if machine.nodes > 1 else Limit.LINK
        exchange_s = _exchange_seconds(machine, need.sent, efficiencies)
        seconds["exchange"] = (formulas.shown_exchange_seconds(of_kind["exposed_share"], exchange_s), over)
        if work.problem is Problem.SPARSE:
            seconds["reductions"] = (all_reduce_seconds_on(machine, DOT_BYTES, efficiencies), over)
    spread = _spread(efficiencies, "time range", "science.why_time")
    step = Step(
        usable_bytes=slice_memory_bytes(usable_bytes(gpu, efficiencies), fraction),
        bytes_by_phase={
            "run": {
                "problem": need.held,
                "overhead": process_overhead_bytes(
                    process["context_bytes"], process["communicator_bytes"], float(machine.gpus if work.split else 1)
                ),
            }
        },
        seconds=seconds,
        items=1.0 / shares,
        memory_spread=_spread(efficiencies, "memory range", "science.why_memory"),
        time_spread=spread,
    )
    return estimate_items(
        plan,
        machine,
        step,
        NAMES,
        in_all=work.steps,
        goals=goals_of(work.rate_goal, NAMES.rate, work.deadline_s),
        choices={"arithmetic": arithmetic.value},
        metrics=_reached(need, step, spread),
        remarks=tuple(_remarks(work, arithmetic, gpu, limit, peak, peak_name, hbm)),
    )


def _need(work: Science, of_kind: Efficiency, element_bytes: float, shares: float) -> _Need:
    elements, values = float(work.elements), float(work.values_each)
    if work.problem is Problem.DENSE:
        flops = formulas.factor_flops(elements)
        held = formulas.matrix_bytes(elements, element_bytes)
        moved = formulas.blocked_moved_bytes(flops, element_bytes, of_kind["block_rows"])
        sent: tuple[Number, float, Collective] = (
            formulas.panel_bytes(held, shares),
            elements / of_kind["block_rows"],
            Collective.SEND,
        )
    else:
        held = formulas.problem_bytes(
            elements,
            of_kind["held_per_element"],
            element_bytes,
            values,
            of_kind["held_per_value"],
            of_kind["index_bytes"],
        )
        moved = formulas.step_moved_bytes(
            elements,
            of_kind["moves_per_element"],
            element_bytes,
            values,
            of_kind["moves_per_value"],
            of_kind["index_bytes"],
        )
        if work.problem is Problem.FFT:
            flops = formulas.transform_flops(of_kind["transforms"], elements, values)
            moved_once = formulas.problem_bytes(elements, 0.0, element_bytes, values, of_kind["held_per_value"], 0.0)
            sent = formulas.transposed_bytes(moved_once, shares), 2.0 * NEIGHBOURS, Collective.ALL_TO_ALL
        else:
            flops = formulas.step_flops(elements, of_kind["flops_per_element"], values, of_kind["flops_per_value"])
            face = _face_bytes(work.problem, values, element_bytes)
            sent = formulas.halo_bytes(elements, shares, face), NEIGHBOURS, Collective.SEND
    return _Need(
        formulas.shared_flops(flops, shares),
        formulas.shared_bytes(moved, shares),
        formulas.shared_bytes(held, shares),
        sent if shares > 1 and work.problem is not Problem.NETWORK else None,
    )


def _face_bytes(problem: Problem, values: float, element_bytes: float) -> float:
    """What an element of a face sends: all numbers of a grid's point, one of a vector, six of a particle.

    Particles are sent within a cut-off as deep as the cube of their neighbours is wide.
    """
    if problem is Problem.STENCIL:
        return values * element_bytes
    return element_bytes if problem is Problem.SPARSE else 6.0 * element_bytes * values ** (1.0 / 3.0)


def _exchange_seconds(machine: Machine, sent: tuple[Number, float, Collective], efficiencies: Efficiencies) -> Number:
    """The slower of the links in a node and the network between nodes. Raises MissingFactError when one is unknown."""
    payload, messages, operation = sent
    inside: Number = 0.0
    if machine.gpus_per_node > 1:
        if machine.link_bytes_per_s is None:
            raise MissingFactError(machine.gpu.name, GpuProperty.LINK_BYTES_PER_S.value)
        link = reach(efficiencies, machine.gpu, operation, machine.topology)
        members = float(machine.gpus_per_node)
        inside = formulas.exchanged_seconds(
            messages, link.latency(members), payload, machine.link_bytes_per_s or inf, link.share(members)
        )
    if machine.nodes == 1:
        return inside
    wide = reach(efficiencies, machine.gpu, operation, NETWORK)
    between = formulas.exchanged_seconds(
        messages,
        wide.latency(float(machine.nodes)),
        payload,
        network_bytes_per_s_per_gpu(machine),
        wide.share(float(machine.nodes)),
    )
    return max(inside, between)


def _reached(need: _Need, step: Step, spread: Spread) -> dict[str, Figure]:
    whole = item_step_seconds(tuple(s for s, _ in step.seconds.values() if float(s) > 0))
    flop_per_s = float(formulas.step_flop_per_s(need.flops, whole))
    bytes_per_s = float(formulas.step_bytes_per_s(need.moved, whole))
    return {
        "reached_flop_per_s": inverse(flop_per_s, Unit.FLOP_PER_S, spread),
        "reached_bytes_per_s": inverse(bytes_per_s, Unit.BYTE_PER_S, spread),
    }


def _remarks(
    work: Science,
    arithmetic: Arithmetic,
    gpu: Gpu,
    limit: Limit,
    peak: float,
    peak_name: GpuProperty,
    hbm: float,
) -> Iterator[Message]:
    """First the metric by which GPUs are to be compared for this work, then what precision means here."""
    if limit is Limit.HBM:
        rate = str(show(hbm, Unit.BYTE_PER_S, Display()))
        yield msg("science.decides.bandwidth", rate=rate)
    else:
        rate = str(show(peak, Unit.FLOP_PER_S, Display()))
        yield msg("science.decides.compute", fact=msg(f"limits.fact.{peak_name.value}"), rate=rate)
    fp32 = gpu.known(GpuProperty.FP32_FLOP_PER_S)
    if work.problem is Problem.NETWORK:
        if arithmetic in DOUBLE:
            yield msg("science.network_in_fp64")
    elif arithmetic in DOUBLE:
        if fp32 is not None and peak < REDUCED_FP64 * fp32.value:
            yield msg("science.reduced_fp64", gpu=gpu.name, share=percent(peak / fp32.value, 2))
    elif work.problem is Problem.DENSE:
        yield msg("science.refinement")
    elif work.problem is Problem.PARTICLES:
        yield msg("science.mixed_particles")
    else:
        yield msg("science.reduced_precision")


def changes(_made: Estimate, _work: Science) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Nothing smaller gives the same answer; more GPUs and larger ones are proposed for every kind."""
    return iter(())


def duty(_made: Estimate, _subject: None, _efficiencies: Efficiencies) -> Duty:
    """Scientific work reads its input once; how large that is, nobody said."""
    return Duty(serving=False, weight_file_bytes=0.0)


def _spread(efficiencies: Efficiencies, variant: str, why: str) -> Spread:
    found = efficiencies.constants(TABLE, variant)
    return Spread(found["low"], found["high"], Rung.ROOFLINE, msg(why))
