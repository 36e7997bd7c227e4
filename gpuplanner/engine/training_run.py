"""One training run put together: a workload on a machine in one way of running, as numbers with their spreads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Part
from gpuplanner.engine.feed import HOST, Sample, fed_spread, feed_of, wait_parts
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, unmeasured
from gpuplanner.engine.training_choice import best_way, chosen_way
from gpuplanner.engine.training_hardware import hardware_numbers
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_layouts import layout_of
from gpuplanner.engine.training_model import ModelNumbers, model_numbers
from gpuplanner.engine.training_numbers import TrainingNumbers, training_numbers
from gpuplanner.engine.training_ranges import (
    beside,
    memory_spread_of,
    padded_step_spread,
    padded_token_spread,
    spread_of,
    time_family,
)
from gpuplanner.engine.training_rollout import trainer_gpus
from gpuplanner.engine.training_software import rung_of, software_numbers
from gpuplanner.engine.training_time import read_tokens
from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import Message, msg
from gpuplanner.workload.training import Training


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """Everything that one estimate is made of. `unknown` says what keeps the time from being told.

    `time_spread` is that of a step, `token_spread` that of the time of a token that counts, `busy_spread` that of a
    step without what it waits for its data; `waiting`: the parts that are such waits.
    """

    workload: Training
    model: ModelNumbers
    software: SoftwareNumbers
    hardware: HardwareNumbers
    layout: LayoutNumbers
    way: TrainingWay
    numbers: TrainingNumbers
    memory_spread: Spread
    time_spread: Spread
    token_spread: Spread
    busy_spread: Spread
    waiting: tuple[Part, ...] = ()
    unknown: tuple[Message, ...] = ()


def text_sample(workload: Training, efficiencies: Efficiencies) -> Sample:
    """A token on its way to the GPU: as it was stored, or made of text by the CPU."""
    each = efficiencies.constants(HOST, "storage")["bytes_per_token"]
    if not workload.prepares:
        return Sample(each)
    return Sample(each, efficiencies.constants(HOST, "training cpu")["tokens_per_core_s"])


def training_run(
    workload: Training,
    model: ModelArchitecture,
    machine: Machine,
    efficiencies: Efficiencies,
    ways: Sequence[TrainingWay] | None = None,
) -> TrainingRun:
    """The run of a workload in the best of `ways`; without them, what the workload leaves open is chosen.

    Raises InputError when it cannot be laid out on the machine, MissingFactError when a fact of the GPU is missing.
    """
    unknown: tuple[Message, ...] = ()
    try:
        hardware = hardware_numbers(machine, efficiencies)
    except MissingFactError as error:
        if error.fact != "network_bytes_per_s":
            raise
        unknown = (msg("training.network_unknown", machine=error.subject),)
        hardware = replace(hardware_numbers(replace(machine, nodes=1), efficiencies), gpus=float(machine.gpus))
    hardware = replace(hardware, feed=feed_of(workload, text_sample(workload, efficiencies), machine, efficiencies))
    numbers = model_numbers(model, workload)
    software = software_numbers(workload, machine, efficiencies)
    trainers = trainer_gpus(workload, machine.gpus_per_node, machine.nodes)
    highest = memory_spread_of(workload, efficiencies).high
    if ways is None:
        way = chosen_way(machine, model, workload, numbers, software, hardware, highest)
    else:
        way = best_way(ways, workload, numbers, software, hardware, trainers, highest)
    layout = layout_of(workload, way, trainers)
    family = time_family(workload)
    measured = beside(workload, spread_of(efficiencies, family, rung_of(workload, machine.gpu, efficiencies)))
    if workload.generated_tokens:
        measured = unmeasured(efficiencies, msg("training.why.rollout"))
    made = training_numbers(numbers, software, hardware, layout)
    passed, useful = made.split.passed_share, layout.useful_share
    step_spread = padded_step_spread(workload, measured, passed, useful)
    token_spread = padded_token_spread(workload, measured, passed, useful)
    busy_spread, waiting = step_spread, tuple[Part, ...]()
    if hardware.feed is not None:
        reads = *read_tokens(hardware, layout), made.time.busy
        waiting = wait_parts(hardware.feed, *reads, busy_spread, made.time.waits)
        step_spread, token_spread = (
            fed_spread(hardware.feed, *reads, spread) for spread in (step_spread, token_spread)
        )
    return TrainingRun(
        workload=workload,
        model=numbers,
        software=software,
        hardware=hardware,
        layout=layout,
        way=way,
        numbers=made,
        memory_spread=memory_spread_of(workload, efficiencies),
        time_spread=step_spread,
        token_spread=token_spread,
        busy_spread=busy_spread,
        waiting=waiting,
        unknown=unknown,
    )
