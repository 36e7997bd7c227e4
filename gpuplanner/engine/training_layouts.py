"""Ways of running training as numbers: what each sharding splits, and layouts as floats or as arrays for a search."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gpuplanner.engine.formulas.elementwise import Number, floor, where
from gpuplanner.engine.training_inputs import LayoutNumbers
from gpuplanner.engine.training_ways import RECOMPUTATION_PLACES, SHARDING_PLACES, TrainingWay, TrainingWays
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.training import (
    ADAPTERS,
    AttentionKernel,
    Method,
    Offload,
    Recomputation,
    Rollout,
    Sharding,
    Training,
    TrainingObjective,
)


class Switches(NamedTuple):
    """What data-parallel ranks split between them, 1 or 0; `in_node`: only those of one node do."""

    weights: float
    gradients: float
    optimizer: float
    in_node: float = 0.0


SWITCHES: Mapping[Sharding, Switches] = MappingProxyType(
    {
        Sharding.DDP: Switches(0.0, 0.0, 0.0),
        Sharding.ZERO1: Switches(0.0, 0.0, 1.0),
        Sharding.ZERO2: Switches(0.0, 1.0, 1.0),
        Sharding.ZERO3: Switches(1.0, 1.0, 1.0),
        Sharding.FSDP: Switches(1.0, 1.0, 1.0),
        Sharding.HSDP: Switches(1.0, 1.0, 1.0, 1.0),
    }
)
"""What each sharding splits (Rajbhandari et al., ZeRO, 2019)."""
USUAL_SERVER_SHARE = 0.9
"""vLLM's `gpu_memory_utilization` where nobody sets it."""
FULL = float(RECOMPUTATION_PLACES.index(Recomputation.FULL))
SELECTIVE = float(RECOMPUTATION_PLACES.index(Recomputation.SELECTIVE))
WHOLE_PRECISIONS = {WeightPrecision.FP32, WeightPrecision.BF16, WeightPrecision.FP16}


def splits_base(workload: Training, sharding: Sharding) -> bool:
    """Whether ranks split a frozen base. ZeRO-3 leaves a quantised one whole on each; FSDP splits it (FSDP-QLoRA)."""
    return _all_switches(_has_quantised_base(workload))[SHARDING_PLACES.index(sharding)][-1] > 0


def _has_quantised_base(workload: Training) -> bool:
    return workload.method is Method.QLORA and workload.base_precision not in WHOLE_PRECISIONS


@cache
def _all_switches(quantised: bool) -> tuple[tuple[float, ...], ...]:
    """By place of a sharding its switches, and whether it splits a frozen base that is quantised or is not."""
    base = {
        sharding: not quantised if sharding is Sharding.ZERO3 else switches.weights > 0
        for sharding, switches in SWITCHES.items()
    }
    return tuple((*SWITCHES[sharding], float(base[sharding])) for sharding in SHARDING_PLACES)


def _rollout_share(workload: Training) -> float:
    """Of a GPU's memory, what the server takes that generates; a GPU of its own gives it what servers usually take."""
    if workload.objective is not TrainingObjective.GRPO:
        return 0.0
    return workload.rollout_memory_share if workload.rollout is Rollout.SAME_GPUS else USUAL_SERVER_SHARE


def layout_of(workload: Training, way: TrainingWay, gpus: int) -> LayoutNumbers:
    """One way of running on `gpus` GPUs as floats."""
    return layouts_of(workload, TrainingWays.of([way]), float(gpus))


def layouts_of(workload: Training, ways: TrainingWays, gpus: Number) -> LayoutNumbers:
    """Many ways of running, each on its number of GPUs: what all have in common as a float, the rest as arrays."""
    rows = _all_switches(_has_quantised_base(workload))
    if not isinstance(ways.sharding, np.ndarray):
        return _numbers(workload, ways, gpus, rows[int(ways.sharding)])
    places = ways.sharding.astype(np.intp)
    tried = np.flatnonzero(np.bincount(places.ravel()))
    table = np.array(rows, dtype=np.float64)
    common = (table[tried] == table[tried[0]]).all(axis=0)
    splits = (float(table[tried[0], i]) if common[i] else table[places, i] for i in range(table.shape[1]))
    return _numbers(workload, ways, gpus, tuple(splits))


def _numbers(workload: Training, ways: TrainingWays, gpus: Number, splits: tuple[Number, ...]) -> LayoutNumbers:
    """`splits`: the switches of each way's sharding, and whether it splits a frozen base."""
    weights, gradients, optimizer, in_node, base = splits
    tp, pp, cp = ways.tensor_parallel, ways.pipeline_parallel, ways.context_parallel
    # Without a known mean nothing says that a micro-batch could be cut: it is taken to be padded to the full length.
    length_share = 1.0 if workload.packed or workload.mean_tokens is None else workload.sample_share
    apart = workload.rollout is Rollout.OTHER_GPUS
    masked = workload.packed and workload.attention is AttentionKernel.FLASH
    return LayoutNumbers(
        sequence_length=float(workload.sequence_length),
        global_batch=float(workload.global_batch),
        sequences_per_sample=float(workload.sequences_per_sample),
        length_share=length_share,
        useful_share=1.0 if workload.packed else workload.sample_share,
        document_share=workload.sample_share if masked else 1.0,
        reference_passes=float(workload.has_reference),
        completion_tokens=float(workload.generated_tokens),
        rollout_share=_rollout_share(workload),
        rollout_gpus=float(workload.rollout_gpus) if apart else gpus,
        rollout_apart=float(apart),
        reference_copy=float(workload.has_reference and workload.method not in ADAPTERS),
        micro_batch=ways.micro_batch,
        tensor_parallel=tp,
        pipeline_parallel=pp,
        virtual_pipeline=where(pp > 1, float(workload.virtual_pipeline), 1.0) if workload.virtual_pipeline > 1 else 1.0,
        context_parallel=cp,
        expert_parallel=ways.expert_parallel,
        data_parallel=floor(gpus / (tp * pp * cp)),
        shard_weights=weights,
        shard_gradients=gradients,
        shard_optimizer=optimizer,
        shard_in_node=in_node,
        shard_base=base,
        sequence_parallel=float(workload.sequence_parallel),
        full_recomputation=where(ways.recomputation == FULL, ways.recomputed_share, 0.0),
        selective_recomputation=where(ways.recomputation == SELECTIVE, 1.0, 0.0),
        math_attention=float(workload.attention is AttentionKernel.MATH),
        offload_optimizer=float(workload.offload is not Offload.NONE),
        offload_weights=float(workload.offload is Offload.ALL),
    )
