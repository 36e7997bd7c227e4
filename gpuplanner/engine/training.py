"""Estimates LLM training on one machine: memory by phase, time of a step, what fits. Host, cost and power come later.

Three memory numbers are told apart: what tensors take (allocated), what has to fit (needed, with the allocator's holes,
CUDA context and communicators), and what nvidia-smi shows (reserved, with everything that the allocator keeps cached).
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import cast

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Estimate, Limit, Memory, Part, Phase, Way
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gpu_memory import largest_that_fitted, phase_bytes
from gpuplanner.engine.formulas.training_time import job_seconds
from gpuplanner.engine.limit_shares import limit_shares
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, bounded, certainty_on, inverse, ranged
from gpuplanner.engine.training_growth import Grown, grown_bytes, growth
from gpuplanner.engine.training_memory import ActivationNumbers, MemoryNumbers
from gpuplanner.engine.training_remarks import deadline_goals, remarks, unmet
from gpuplanner.engine.training_run import TrainingRun, training_run
from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.engine.verdict import usable_figure, verdict
from gpuplanner.figures import Figure, exact, explained
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.training import Training

STEP = "train_step"
LONGEST_SEQUENCE = 16_000_000

_FROZEN = ("base", "reference")
_STATES = ("weights", *_FROZEN, "cast", "early_gradients", "optimizer")
PHASE_PARTS: Mapping[str, tuple[str, ...]] = {
    "load": ("weights", *_FROZEN),
    "forward": (*_STATES, "activations", "gathered"),
    "backward": (*_STATES, "activations", "late_workspace", "loss", "gathered", "buckets"),
    "reduce": ("weights", *_FROZEN, "cast", "gradients", "optimizer", "layer", "workspace", "gathered", "buckets"),
    "step": ("weights", *_FROZEN, "gradients", "optimizer", "buckets", "step_copy"),
}
"""What is in memory in each phase, in the order of `phase_bytes`."""
_NAMES = tuple(dict.fromkeys(name for names in PHASE_PARTS.values() for name in names))
_KEPT = frozenset(field.name for field in fields(ActivationNumbers))
_IN_EVERY_PHASE = ("holes", "overhead", "rollout")
SHOWN_AS = {"early_gradients": "gradients", "late_workspace": "workspace", "layer": "activations"}
"""Parts that differ between phases and mean the same to a person."""
SHOWN_TIME_AS = {"optimizer": "update", "overhead": "fixed"}
"""Times whose names stand for memory elsewhere."""
TIME_LIMITS: Mapping[str, Limit] = {
    "matrices": Limit.COMPUTE,
    "attention": Limit.COMPUTE,
    "elementwise": Limit.HBM,
    "dequantise": Limit.HBM,
    "launch": Limit.CPU,
    "tensor": Limit.LINK,
    "context": Limit.LINK,
    "experts": Limit.LINK,
    "gather": Limit.LINK,
    "send": Limit.LINK,
    "fetch": Limit.LINK,
    "bubble": Limit.LATENCY,
    "reduce": Limit.LINK,
    "optimizer": Limit.HBM,
    "offload": Limit.CPU,
    "overhead": Limit.LATENCY,
    "rollout": Limit.HBM,
}


def estimate_training(
    plan: Plan,
    model: ModelArchitecture,
    machine: Machine,
    efficiencies: Efficiencies,
    way: TrainingWay | None = None,
) -> Estimate:
    """The estimate of a training plan on a machine.

    `way`: a layout to take as it is; without it, what the plan leaves open is chosen. Raises InputError when the plan
    cannot be laid out on the machine, MissingFactError when a fact of the GPU is missing that memory or time needs.
    Without a known network between nodes there is no time, and `unknown` says so.
    """
    workload = plan.workload
    if not isinstance(workload, Training):
        raise TypeError("estimate_training takes plans of training only")
    run = training_run(workload, model, machine, efficiencies, None if way is None else [way])
    memory = _memory(run, machine)
    fit, reason = verdict(memory.usable, memory.needed)
    parts = () if run.unknown else _time(run, machine)
    metrics = _limits_of_growth(run)
    if not run.unknown:
        metrics |= _rates(run)
    return Estimate(
        plan=plan,
        machine=machine,
        way=_way(run),
        fit=fit,
        reason=reason,
        memory=memory,
        step_name=STEP,
        time=parts,
        limits=limit_shares(parts),
        metrics=metrics,
        host=(),
        unknown=run.unknown,
        remarks=remarks(workload, model, run.way, run.numbers, machine),
        unmet=unmet(workload, metrics),
        goals=deadline_goals(workload),
    )


def _memory(run: TrainingRun, machine: Machine) -> Memory:
    spread = run.memory_spread
    numbers = run.numbers.memory
    parts = _parts(numbers, spread)
    phases = tuple(_phase(name, parts, numbers, spread) for name in PHASE_PARTS)
    usable = float(run.hardware.usable_bytes)
    return Memory(
        usable=usable_figure(usable, machine.gpu),
        needed=ranged(_float(numbers.needed), Unit.BYTE, spread),
        reserved=ranged(_float(numbers.shown), Unit.BYTE, spread),
        phases=phases,
        peak_phase=max(PHASE_PARTS, key=lambda name: _float(getattr(numbers, name))),
    )


def _parts(numbers: MemoryNumbers, spread: Spread) -> dict[str, Part]:
    """What takes memory in any phase, by the names of the numbers."""
    found = {}
    for name in _NAMES:
        owner = numbers.kept if name in _KEPT else numbers.states
        value = _float(getattr(owner, name))
        if value > 0:
            found[name] = Part(SHOWN_AS.get(name, name), _part_figure(name, value, spread))
    for name in ("holes", "overhead"):
        found[name] = Part(name, ranged(_float(getattr(numbers, name)), Unit.BYTE, spread))
    if numbers.rollout > 0:
        found["rollout"] = Part("rollout", ranged(_float(numbers.rollout), Unit.BYTE, spread))
    return found


def _phase(name: str, parts: Mapping[str, Part], numbers: MemoryNumbers, spread: Spread) -> Phase:
    found = [parts[part] for part in (*PHASE_PARTS[name], *_IN_EVERY_PHASE) if part in parts]
    is_peak = getattr(numbers, name) is numbers.allocated
    total = _float(numbers.needed) if is_peak else _float(phase_bytes(tuple(p.figure.value for p in found)))
    return Phase(name, _merged(found), ranged(total, Unit.BYTE, spread))


def _merged(parts: list[Part]) -> tuple[Part, ...]:
    """Parts of one name as one, in the order of their first."""
    by_name: dict[str, Part] = {}
    for part in parts:
        known = by_name.get(part.id)
        if known is None:
            by_name[part.id] = part
        else:
            a, b = known.figure, part.figure
            both = replace(a, value=a.value + b.value, low=a.low + b.low, high=a.high + b.high)
            by_name[part.id] = Part(part.id, both, part.limit)
    return tuple(by_name.values())


def _part_figure(part: str, value: float, spread: Spread) -> Figure:
    """Model states follow from the parameters alone and are exact; what the software allocates is calibrated."""
    if part in {"weights", *_FROZEN, "gradients", "early_gradients", "optimizer"}:
        return exact(value, Unit.BYTE)
    return ranged(value, Unit.BYTE, spread)


def _time(run: TrainingRun, machine: Machine) -> tuple[Part, ...]:
    spread = run.busy_spread
    parts = list(run.waiting)
    for name, limit in TIME_LIMITS.items():
        value = _float(getattr(run.numbers.time, name))
        if value > 0:
            parts.append(
                Part(
                    SHOWN_TIME_AS.get(name, name),
                    ranged(value, Unit.SECOND, spread),
                    _over_network(name, limit, run, machine),
                )
            )
    return tuple(sorted(parts, key=lambda part: -part.figure.value))


def _over_network(name: str, limit: Limit, run: TrainingRun, machine: Machine) -> Limit:
    """Communication between nodes waits for the network, not for the link inside of one."""
    if limit is not Limit.LINK or machine.nodes == 1 or name == "fetch":
        return limit
    part, layout = run.numbers.split, run.layout
    spans = {
        "tensor": layout.tensor_parallel > part.tensor_in_node,
        "context": layout.context_parallel > part.context_in_node,
        "experts": layout.expert_parallel > part.expert_in_node,
        "gather": part.shard_members > part.data_in_node,
        "reduce": part.data_members > part.data_in_node,
        "send": layout.tensor_parallel * part.data_members * layout.pipeline_parallel > run.hardware.gpus_per_node,
    }
    return Limit.NETWORK if spans[name] else limit


def _rates(run: TrainingRun) -> dict[str, Figure]:
    spread = run.token_spread
    numbers = run.numbers
    tokens_per_s = _float(numbers.tokens_per_s)
    found = {
        "step_s": ranged(_float(numbers.time.step), Unit.SECOND, run.time_spread),
        "tokens_per_s": inverse(tokens_per_s, Unit.TOKEN_PER_S, spread),
        "tokens_per_s_per_gpu": inverse(_float(numbers.tokens_per_s_per_gpu), Unit.TOKEN_PER_S, spread),
        "mfu": _share(_float(numbers.mfu), spread),
        "hfu": _share(_float(numbers.hfu), run.time_spread),
    }
    tokens = run.workload.tokens_in_all
    if tokens is not None:
        found["job_s"] = ranged(_float(job_seconds(tokens, tokens_per_s)), Unit.SECOND, spread)
    return found


def _share(value: float, spread: Spread) -> Figure:
    """A share of the peak, which no range passes."""
    return bounded(inverse(value, Unit.RATIO, spread), 1.0)


def _limits_of_growth(run: TrainingRun) -> dict[str, Figure]:
    """The largest micro-batch and the longest sequence that fit, everything else unchanged."""
    share = int(run.workload.global_batch // _float(run.layout.data_parallel))
    sequence = _largest(run, "sequence_length", LONGEST_SEQUENCE, Unit.TOKEN)
    # Nearly the same number of tokens fits, in longer sequences or in more of them.
    alike = int(sequence.value * run.way.micro_batch / run.workload.sequence_length)
    return {
        "max_micro_batch": _largest(run, "micro_batch", max(share, 1), Unit.COUNT, alike),
        "max_sequence": sequence,
    }


def _largest(run: TrainingRun, field: Grown, most: int, unit: Unit, hint: int = 0) -> Figure:
    spread = run.memory_spread
    usable, needed = _float(run.hardware.usable_bytes), _float(run.numbers.memory.needed)
    numbers = run.model, run.software, run.hardware, run.layout
    grown = growth(*numbers, field, most, run.numbers.split, run.numbers.memory, hint)

    def at(limit: float) -> float:
        each = grown.bytes_each
        reached = 1 + (limit - grown.least_bytes) / each if each > 0 else float(most)
        return float(min(max(int(reached), 0), most))

    found = float(grown.largest)
    low, high = min(at(usable / spread.high), found), max(at(usable / spread.low), found)
    tried = max(found, 1.0)
    if tried != getattr(run.layout, field):
        needed = explained(grown.largest_bytes, lambda: grown_bytes(*numbers, field, tried))
    value = _float(largest_that_fitted(found, needed, usable))
    return Figure(value, unit, certainty_on(spread.rung), low, high, spread.rung, spread.why)


def _way(run: TrainingRun) -> Way:
    way = run.way
    return Way(
        tensor_parallel=way.tensor_parallel,
        pipeline_parallel=way.pipeline_parallel,
        context_parallel=way.context_parallel,
        expert_parallel=way.expert_parallel,
        data_parallel=int(_float(run.layout.data_parallel)),
        micro_batch=way.micro_batch,
        choices={"sharding": way.sharding.value, "recomputation": way.recomputation.value},
    )


def _float(value: Number) -> float:
    """A number of a single estimate as it is: recorded formulas are found again by the identity of their value."""
    return cast(float, value)
