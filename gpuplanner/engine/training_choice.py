"""Which way of running a plan comes to on one machine: degrees that the person left open are chosen here.

Of the ways that fit the fastest is taken, one that fits comfortably before one that is tight unless that is much
faster; where none fits, the one that needs the least memory.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.training_inputs import HardwareNumbers, SoftwareNumbers
from gpuplanner.engine.training_layouts import layouts_of
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_numbers import held_numbers, tokens_a_second
from gpuplanner.engine.training_rollout import known_trainer_shape, trainer_gpus
from gpuplanner.engine.training_time import step_seconds
from gpuplanner.engine.training_ways import CONTEXT_FROM_TOKENS, Shape, TrainingWay, TrainingWays, layouts_on
from gpuplanner.engine.verdict import comfortable
from gpuplanner.figures import kept, unrecorded
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.training import Training

MUCH_FASTER = 1.25
"""So many times as fast a way has to be that it is taken although memory gets tight."""
JOB = ("tokens", "samples", "deadline_s")
"""Settings of how much there is to do: no step depends on them."""


def shape_of(model: ModelArchitecture) -> Shape:
    """What of a model is divided over ranks: heads that all its layers have in common, layers, experts."""
    heads = gcd(*(g.attention.heads for g in model.groups))
    return Shape(heads, model.layers, max(g.mlp.experts for g in model.groups))


def ways_on(machine: Machine, model: ModelArchitecture, workload: Training) -> TrainingWays:
    """The ways of running on this machine. Raises InputError when the plan cannot be laid out on its GPUs at all."""
    return _ways_on(machine.gpus_per_node, machine.nodes, shape_of(model), workload)


def _ways_on(gpus_per_node: int, nodes: int, shape: Shape, workload: Training) -> TrainingWays:
    expert = workload.expert_parallel or 1
    if expert > 1 and not shape.experts_divide(expert):
        raise InputError(msg("training.experts_do_not_divide", experts=shape.experts, expert=expert))
    ways = _layouts_on(*known_trainer_shape(workload, gpus_per_node, nodes), shape, _as_laid_out(workload), nodes)
    if not ways:
        raise InputError(
            msg(
                "training.no_layout",
                gpus=gpus_per_node * nodes,
                tensor=workload.tensor_parallel or 1,
                pipeline=workload.pipeline_parallel or 1,
                context=workload.context_parallel or 1,
                expert=expert,
                batch=workload.global_batch,
                micro=workload.micro_batch or 1,
            )
        )
    return ways


def _as_laid_out(workload: Training) -> Training:
    """The same workload without what no layout depends on. Of a sequence it only counts whether it is a long one."""
    length = CONTEXT_FROM_TOKENS if workload.sequence_length >= CONTEXT_FROM_TOKENS else 1
    return workload.model_copy(update={**dict.fromkeys(JOB), "sequence_length": length})


_layouts_on = kept(64)(layouts_on)


def chosen_way(
    machine: Machine,
    architecture: ModelArchitecture,
    workload: Training,
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    highest_need: float,
) -> TrainingWay:
    """The best of all ways on this machine; see `ways_on` and `best_way`.

    It is kept for plans that differ only in what no choice depends on, as one does from key to key.
    """
    asked = workload.model_copy(update=dict.fromkeys(JOB))
    shape = shape_of(architecture)
    return _chosen(asked, shape, machine.gpus_per_node, machine.nodes, model, software, hardware, highest_need)


@lru_cache(maxsize=256)
def _chosen(
    workload: Training,
    shape: Shape,
    gpus_per_node: int,
    nodes: int,
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    highest_need: float,
) -> TrainingWay:
    ways = _ways_on(gpus_per_node, nodes, shape, workload)
    trainers = trainer_gpus(workload, gpus_per_node, nodes)
    return best_way(ways, workload, model, software, hardware, trainers, highest_need)


def best_way(
    ways: Sequence[TrainingWay],
    workload: Training,
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    gpus: int,
    highest_need: float = 1.0,
) -> TrainingWay:
    """The fastest of the ways that fit, else the one that needs the least memory.

    `highest_need`: the upper end of the range of memory, over the expected need.
    """
    if len(ways) == 1:
        return ways[0]
    with unrecorded():
        return _fastest_that_fits(ways, workload, model, software, hardware, gpus, highest_need)


def _fastest_that_fits(
    ways: Sequence[TrainingWay],
    workload: Training,
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    gpus: int,
    highest_need: float,
) -> TrainingWay:
    columns = TrainingWays.of(ways)
    layouts = layouts_of(workload, columns, float(gpus))
    held = held_numbers(model, software, hardware, layouts)
    needed = np.broadcast_to(np.asarray(held.memory.needed), len(ways))
    fits = needed <= hardware.usable_bytes
    if not fits.any():
        return ways[int(np.argmin(needed))]
    # Time of all of them: to take out those that fit would cost more.
    step_s = step_seconds(model, software, hardware, layouts, held.split, held.memory.kept, held.rollout.seconds)
    speed = tokens_a_second(layouts, layouts.useful_share, step_s) / reluctance(
        float(hardware.usable_bytes), needed, highest_need
    )
    return ways[int(np.argmax(np.where(fits, speed, -1.0)))]


def reluctance(usable_bytes: float, needed_bytes: NDArray[Any], highest_need: float) -> NDArray[Any]:
    """By how much the speed of each way is discounted in the choice: those that are tight have to be much faster."""
    return np.where(comfortable(usable_bytes, needed_bytes, highest_need), 1.0, MUCH_FASTER)
