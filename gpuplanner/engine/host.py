"""What the host must offer for a run: CPU threads, memory, disk, storage rate, network; rules of thumb beside.

None of it is calibrated: the constants (`catalogs/efficiency/host.yaml`) say where they are from, the figures say that
they are rules of thumb, and their ranges are wide.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty, Rule
from gpuplanner.engine.estimate import HostNeed, Limit, Part
from gpuplanner.engine.feed import HOST, LIMITS
from gpuplanner.engine.formulas.host import (
    checkpoint_interval_seconds,
    host_memory_bytes,
    network_rate_to_hide,
    offloaded_bytes,
    preparing_vcpus,
    seconds_between_failures,
    serving_vcpus,
)
from gpuplanner.engine.formulas.storage import (
    checkpoint_bytes,
    item_storage_rate,
    load_rate,
    storage_bytes,
    token_file_bytes,
    training_storage_rate,
)
from gpuplanner.engine.machine import Machine
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import Message, msg
from gpuplanner.units import GIB, Unit, show_duration
from gpuplanner.workload.training import Offload

TABLE = HOST
PARAMETERS_OFFLOADED = {Offload.NONE: 0.0, Offload.OPTIMIZER: 0.0, Offload.ALL: 1.0}


@dataclass(frozen=True, slots=True)
class Duty:
    """What a run asks of its host, as plain numbers, whatever the workload kind.

    `tokens_per_s`: prompt and output tokens, or trained tokens, of all nodes; `trained_parameters`: 0 when serving;
    `items_per_s`: of work in items, each of `bytes_per_item` on disk. A core prepares `items_per_core_s` of them, or so
    many tokens where no items are counted (0: the CPU has nothing to do for them). `data_bytes`: all items on disk;
    `data_tokens`: tokens that lie on disk; `offload_bytes`: weights that all nodes together keep in host memory beside
    what is trained. `loaded_whole`: one process of a node holds all weights before they are split.
    """

    serving: bool
    weight_file_bytes: float
    tokens_per_s: float = 0.0
    trained_parameters: float = 0.0
    checkpoint_bytes_per_parameter: float = 0.0
    data_tokens: float = 0.0
    offload: Offload = Offload.NONE
    offload_bytes: float = 0.0
    loaded_whole: bool = False
    items_per_s: float = 0.0
    bytes_per_item: float = 0.0
    items_per_core_s: float = 0.0
    data_bytes: float = 0.0


def host_needs(
    duty: Duty, machine: Machine, time: Sequence[Part], efficiencies: Efficiencies, rules: Iterable[Rule]
) -> tuple[HostNeed, ...]:
    """The needs of one node that apply, each with what the node has and what the rules of thumb ask for.

    What storage has to give is meant for all nodes together. A run that waits for its data asks for what it would not
    have to wait for.
    """
    host, kept, duty = machine.host, tuple(rules), without_waiting(duty, time)
    needs = [
        HostNeed("vcpus", _vcpus(duty, machine, efficiencies), host.vcpus, rule_values("vcpus", kept, machine)),
        HostNeed("ram", _memory(duty, machine, efficiencies), host.ram_bytes, rule_values("ram", kept, machine)),
        HostNeed(
            "storage", _storage(duty, efficiencies), host.local_storage_bytes, rule_values("storage", kept, machine)
        ),
        HostNeed(
            "storage_rate",
            _storage_rate(duty, efficiencies),
            host.storage_bytes_per_s,
            rule_values("storage_rate", kept, machine),
        ),
    ]
    network = _network(machine, time, efficiencies)
    if network is not None:
        offered = host.network_bytes_per_s
        needs.append(HostNeed("network", network, offered, rule_values("network", kept, machine)))
    return tuple(needs)


def without_waiting(duty: Duty, time: Sequence[Part]) -> Duty:
    """What the same run would ask for if no step waited for its data."""
    waits = sum(part.figure.value for part in time if part.id in LIMITS)
    rest = sum(part.figure.value for part in time if part.id not in LIMITS)
    if waits <= 0 or rest <= 0:
        return duty
    faster = (waits + rest) / rest
    return replace(duty, tokens_per_s=duty.tokens_per_s * faster, items_per_s=duty.items_per_s * faster)


def checkpoint_remark(duty: Duty, machine: Machine, efficiencies: Efficiencies) -> Message | None:
    """How often a training run should write a checkpoint, from how often so many GPUs fail; None when serving."""
    if duty.serving or not duty.trained_parameters:
        return None
    failures = efficiencies.constants(TABLE, "failures")
    storage = efficiencies.constants(TABLE, "storage")
    between = float(seconds_between_failures(failures["gpu_seconds_between_failures"], machine.gpus))
    interval = float(checkpoint_interval_seconds(storage["stall_goal_s"], between))
    return msg(
        "host.checkpoint_interval" if machine.gpus > 1 else "host.checkpoint_interval_one",
        gpus=machine.gpus,
        between=str(show_duration(between)),
        interval=str(show_duration(interval)),
    )


def shortfalls(needs: Iterable[HostNeed]) -> Iterator[Message]:
    """A remark for each thing of which the machine has less than the low end of the need."""
    for need in needs:
        if need.offered is not None and need.offered < need.need.low:
            yield msg(f"host.short.{need.id}")


def rule_values(need: str, rules: Iterable[Rule], machine: Machine) -> tuple[tuple[str, float], ...]:
    """What each rule of thumb about this need asks of one node, in the need's base unit, by the rule's id."""
    found = []
    for rule in rules:
        if rule.factor is None or need not in rule.bears_on:
            continue
        value = rule_value(rule, machine)
        if value is not None:
            found.append((rule.id, value))
    return tuple(found)


def rule_value(rule: Rule, machine: Machine) -> float | None:
    """The factor of a rule times what it is for one of (`applies_to`: "per GPU", "per GB of GPU memory")."""
    if rule.factor is None:
        return None
    if "per GPU" in rule.applies_to:
        return rule.factor * machine.gpus_per_node
    if "per GB of GPU memory" in rule.applies_to:
        memory = machine.gpu.known(GpuProperty.MEMORY_BYTES)
        gigabytes = memory.value / GIB if memory else None
        return (
            None if gigabytes is None else rule.factor * gigabytes * float(machine.gpu_fraction) * machine.gpus_per_node
        )
    return rule.factor if "per node" in rule.applies_to else None


def _vcpus(duty: Duty, machine: Machine, efficiencies: Efficiencies) -> Figure:
    if duty.serving:
        cpu = efficiencies.constants(TABLE, "serving cpu")
        rate = duty.tokens_per_s / machine.nodes
        value = serving_vcpus(
            cpu["threads_per_core"], cpu["server_cores"], machine.gpus_per_node, rate, cpu["tokens_per_core_s"]
        )
    else:
        cpu = efficiencies.constants(TABLE, "training cpu")
        prepared = (duty.items_per_s or duty.tokens_per_s) / machine.nodes if duty.items_per_core_s else 0.0
        value = preparing_vcpus(
            cpu["threads_per_core"],
            machine.gpus_per_node,
            cpu["cores_per_rank"],
            prepared,
            duty.items_per_core_s or 1.0,
        )
    return _rule_figure(float(value), Unit.COUNT, efficiencies)


def _memory(duty: Duty, machine: Machine, efficiencies: Efficiencies) -> Figure:
    memory = efficiencies.constants(TABLE, "memory")
    offload = efficiencies.constants(TABLE, "offload")
    offloaded = duty.offload_bytes / machine.nodes
    if duty.offload is not Offload.NONE:
        each = offload["bytes_per_parameter"] + PARAMETERS_OFFLOADED[duty.offload] * offload["parameter_bytes"]
        offloaded += float(offloaded_bytes(duty.trained_parameters, each, offload["copies"], machine.nodes))
    value = host_memory_bytes(
        memory["system_bytes"],
        machine.gpus_per_node,
        memory["process_bytes"],
        machine.gpus_per_node * memory["pinned_bytes_per_gpu"],
        offloaded,
        duty.weight_file_bytes / (1 if duty.loaded_whole else machine.gpus),
    )
    return _rule_figure(float(value), Unit.BYTE, efficiencies)


def _storage(duty: Duty, efficiencies: Efficiencies) -> Figure:
    storage = efficiencies.constants(TABLE, "storage")
    value = storage_bytes(
        storage["system_bytes"],
        duty.weight_file_bytes,
        storage["checkpoints_kept"],
        checkpoint_bytes(duty.trained_parameters, duty.checkpoint_bytes_per_parameter),
        duty.data_bytes or token_file_bytes(duty.data_tokens, storage["bytes_per_token"]),
    )
    return _rule_figure(float(value), Unit.BYTE, efficiencies)


def _storage_rate(duty: Duty, efficiencies: Efficiencies) -> Figure:
    storage = efficiencies.constants(TABLE, "storage")
    if duty.serving:
        goal = efficiencies.constants(TABLE, "memory")["load_goal_s"]
        value = load_rate(duty.weight_file_bytes, goal)
    else:
        written = checkpoint_bytes(duty.trained_parameters, duty.checkpoint_bytes_per_parameter)
        if duty.bytes_per_item:
            value = item_storage_rate(written, storage["stall_goal_s"], duty.items_per_s, duty.bytes_per_item)
        else:
            stall, each = storage["stall_goal_s"], storage["bytes_per_token"]
            value = training_storage_rate(written, stall, duty.tokens_per_s, each)
    return _rule_figure(float(value), Unit.BYTE_PER_S, efficiencies)


def _network(machine: Machine, time: Sequence[Part], efficiencies: Efficiencies) -> Figure | None:
    """The rate at which the network would hide behind the rest of a step; None inside one node."""
    offered = machine.host.network_bytes_per_s
    waits = sum(part.figure.value for part in time if part.limit is Limit.NETWORK)
    rest = sum(part.figure.value for part in time if part.limit is not Limit.NETWORK)
    if machine.nodes == 1 or offered is None or waits <= 0 or rest <= 0:
        return None
    share = efficiencies.constants(TABLE, "network")["hidden_share"]
    return _rule_figure(float(network_rate_to_hide(offered, waits, share, rest)), Unit.BYTE_PER_S, efficiencies)


def _rule_figure(value: float, unit: Unit, efficiencies: Efficiencies) -> Figure:
    spread = efficiencies.constants(TABLE, "range")
    return Figure(
        value, unit, Certainty.RULE, value * spread["low"], value * spread["high"], why=msg("host.why_rule_of_thumb")
    )
