"""Ways of running training as numbers: what each sharding splits, and layouts as floats or as arrays for a search."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.training_inputs import LayoutNumbers
from gpuplanner.engine.training_ways import TrainingWay
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
WHOLE_PRECISIONS = {WeightPrecision.FP32, WeightPrecision.BF16, WeightPrecision.FP16}


def splits_base(workload: Training, sharding: Sharding) -> bool:
    """Whether ranks split a frozen base. ZeRO-3 leaves a quantised one whole on each; FSDP splits it (FSDP-QLoRA)."""
    quantised = workload.method is Method.QLORA and workload.base_precision not in WHOLE_PRECISIONS
    if sharding is Sharding.ZERO3:
        return not quantised
    return SWITCHES[sharding].weights > 0


def _rollout_share(workload: Training) -> float:
    """Of a GPU's memory, what the server takes that generates; a GPU of its own gives it what servers usually take."""
    if workload.objective is not TrainingObjective.GRPO:
        return 0.0
    return workload.rollout_memory_share if workload.rollout is Rollout.SAME_GPUS else USUAL_SERVER_SHARE


def layout_of(workload: Training, way: TrainingWay, gpus: int) -> LayoutNumbers:
    """One way of running on `gpus` GPUs as floats."""
    return _numbers(workload, (way,), (gpus,), lambda values: float(values[0]))


def layouts_of(workload: Training, ways: Sequence[TrainingWay], gpus: Sequence[int]) -> LayoutNumbers:
    """Many ways of running, each on its number of GPUs: what all have in common as a float, the rest as arrays."""
    return _numbers(workload, ways, gpus, _column)


def _column(values: Sequence[float]) -> Number:
    if values.count(values[0]) == len(values):
        return float(values[0])
    return np.array(values, dtype=np.float64)


def _numbers(
    workload: Training,
    ways: Sequence[TrainingWay],
    gpus: Sequence[int],
    column: Callable[[Sequence[float]], Number],
) -> LayoutNumbers:
    tp, pp, cp, ep, micro, shardings, recomputations, _, shares = zip(*ways, strict=True)
    kinds = {sharding: (*SWITCHES[sharding], float(splits_base(workload, sharding))) for sharding in set(shardings)}
    weights, gradients, optimizer, in_node, base = zip(*map(kinds.__getitem__, shardings), strict=True)
    # Without a known mean nothing says that a micro-batch could be cut: it is taken to be padded to the full length.
    length_share = 1.0 if workload.packed or workload.mean_tokens is None else workload.sample_share
    apart = workload.rollout is Rollout.OTHER_GPUS
    masked = workload.packed and workload.attention is AttentionKernel.FLASH
    chunks = {stages: workload.virtual_pipeline if stages > 1 else 1 for stages in set(pp)}
    ranks = [n // (t * p * c) for n, t, p, c in zip(gpus, tp, pp, cp, strict=True)]
    full, selective = Recomputation.FULL, Recomputation.SELECTIVE
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
        rollout_gpus=float(workload.rollout_gpus) if apart else column(gpus),
        rollout_apart=float(apart),
        reference_copy=float(workload.has_reference and workload.method not in ADAPTERS),
        micro_batch=column(micro),
        tensor_parallel=column(tp),
        pipeline_parallel=column(pp),
        virtual_pipeline=column([chunks[stages] for stages in pp]),
        context_parallel=column(cp),
        expert_parallel=column(ep),
        data_parallel=column(ranks),
        shard_weights=column(weights),
        shard_gradients=column(gradients),
        shard_optimizer=column(optimizer),
        shard_in_node=column(in_node),
        shard_base=column(base),
        sequence_parallel=float(workload.sequence_parallel),
        full_recomputation=column([s if r is full else 0.0 for r, s in zip(recomputations, shares, strict=True)]),
        selective_recomputation=column([1.0 if r is selective else 0.0 for r in recomputations]),
        math_attention=float(workload.attention is AttentionKernel.MATH),
        offload_optimizer=float(workload.offload is not Offload.NONE),
        offload_weights=float(workload.offload is Offload.ALL),
    )
