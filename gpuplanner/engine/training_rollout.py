"""The rollout of GRPO beside its trainer: what it takes of a GPU's memory, how long one round takes. Numbers only."""

from dataclasses import dataclass

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.engine.formulas.rollout import (
    rollout_bytes,
    rollout_ranks,
    rollout_seconds,
    rollout_sequences,
    rollout_token_seconds,
)
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.training import Rollout, Training, TrainingObjective

CACHE_BYTES = 2.0
"""A key or value in 16 bits."""


@dataclass(frozen=True, slots=True)
class RolloutNumbers:
    """`held`: bytes of a GPU that trains; `seconds`: of one step; both 0 where nothing is generated."""

    held: Number
    seconds: Number


NO_ROLLOUT = RolloutNumbers(0.0, 0.0)


def rollout_numbers(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers
) -> RolloutNumbers:
    """What generating costs; see `training_numbers`. GPUs that only generate take nothing from those that train."""
    if not layout.rollout_share:
        return NO_ROLLOUT
    weights = model.resident_parameters * minimum(software.frozen_weight_bytes, software.word_bytes)
    # A model without a cache of keys and values holds any number of sequences.
    sequence = maximum(model.kv_width * model.layers * CACHE_BYTES * layout.sequence_length, 1.0)
    ranks = rollout_ranks(weights, sequence, layout.rollout_share, hardware.usable_bytes, hardware.gpus_per_node)
    held = rollout_bytes(layout.rollout_share, hardware.usable_bytes, weights, sequence, ranks)
    each = layout.global_batch / maximum(layout.rollout_gpus / ranks, 1.0)
    at_once = rollout_sequences(held, ranks, weights, sequence, each)
    read = weights * minimum(model.active_parameters * at_once / model.resident_parameters, 1.0)
    utilisation = software.wide_utilisation
    token_s = rollout_token_seconds(
        read,
        at_once,
        sequence,
        ranks,
        hardware.hbm_bytes_per_s,
        software.hbm_efficiency,
        model.active_parameters,
        software.wide_flop_per_s,
        utilisation,
        model.layers,
        software.rollout_layer_s,
    )
    seconds = rollout_seconds(
        model.active_parameters,
        each,
        layout.sequence_length - layout.completion_tokens,
        ranks,
        software.wide_flop_per_s,
        utilisation,
        layout.completion_tokens,
        token_s,
        at_once,
    )
    return RolloutNumbers(0.0 if layout.rollout_apart else held, seconds)


def trainer_shape(workload: Training, gpus_per_node: int, nodes: int) -> tuple[int, int] | None:
    """GPUs in a node and nodes that train, when some of the machine's GPUs only generate; None when that leaves none.

    Those that generate are part of a single node, or whole nodes of several.
    """
    if workload.objective is not TrainingObjective.GRPO or workload.rollout is Rollout.SAME_GPUS:
        return gpus_per_node, nodes
    apart = workload.rollout_gpus
    if nodes == 1:
        return (gpus_per_node - apart, 1) if apart < gpus_per_node else None
    taken, left = divmod(apart, gpus_per_node)
    return (gpus_per_node, nodes - taken) if not left and taken < nodes else None


def known_trainer_shape(workload: Training, gpus_per_node: int, nodes: int) -> tuple[int, int]:
    """The same. Raises InputError when the GPUs that only generate leave none, or part of a node of several."""
    shape = trainer_shape(workload, gpus_per_node, nodes)
    if shape is None:
        raise InputError(
            msg(
                "training.rollout_gpus_do_not_divide",
                apart=workload.rollout_gpus,
                gpus=gpus_per_node * nodes,
                each=gpus_per_node,
            )
        )
    return shape


def trainer_gpus(workload: Training, gpus_per_node: int, nodes: int) -> int:
    """How many GPUs train; see `known_trainer_shape`."""
    per_node, left = known_trainer_shape(workload, gpus_per_node, nodes)
    return per_node * left
