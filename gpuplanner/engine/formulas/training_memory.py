"""Model states of one GPU while training, buffers, and the three totals that are measured. No activations here.

A rank holds `dense_parameters` (its share of what every token uses) and `expert_parameters` (its experts). The two are
copied over different groups of ranks, so their states are sharded over different numbers of them.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

ZERO = "Rajbhandari et al., ZeRO, SC 2020 (arXiv:1910.02054)"
MEGATRON = "Narayanan et al., Efficient large-scale language model training on GPU clusters, SC 2021"
BUFFER_BYTES = 2.0


@formula(
    Unit.PARAMETER,
    "(layer_parameters · stage_layers / layers + max(end_parameters - spare_layers · layer_parameters / layers, 0))"
    " / tensor_parallel",
    MEGATRON,
)
def stage_parameters(
    layer_parameters: Number,
    layers: Number,
    stage_layers: Number,
    end_parameters: Number,
    spare_layers: Number,
    tensor_parallel: Number,
) -> Number:
    """Parameters of one rank of the fullest pipeline stage, without routed experts.

    `end_parameters`: embedding and output projection there; `spare_layers`: 1 where stages do not divide evenly.
    """
    one_layer = layer_parameters / layers
    ends = maximum(end_parameters - spare_layers * one_layer, 0.0)
    return (one_layer * stage_layers + ends) / tensor_parallel


@formula(Unit.PARAMETER, "all_expert_parameters · stage_layers / layers / (expert_parallel · expert_tensor)", MEGATRON)
def rank_expert_parameters(
    all_expert_parameters: Number, stage_layers: Number, layers: Number, expert_parallel: Number, expert_tensor: Number
) -> Number:
    """Parameters of the routed experts that one rank holds; all of them are resident, whatever a token uses."""
    return all_expert_parameters * stage_layers / layers / (expert_parallel * expert_tensor)


@formula(
    Unit.BYTE,
    "bytes_per_weight · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    ZERO,
)
def resident_weight_bytes(
    bytes_per_weight: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """Weights that stay on the GPU between steps, sharded once: over data-parallel ranks where the stage does."""
    return bytes_per_weight * (dense_parameters / dense_shards + expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "bytes_per_gradient · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    ZERO,
)
def gradient_bytes(
    bytes_per_gradient: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """Gradients of what is trained."""
    return bytes_per_gradient * (dense_parameters / dense_shards + expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "bytes_per_state · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    ZERO,
)
def optimizer_bytes(
    bytes_per_state: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """Optimizer states and FP32 master weights of what is trained; divided by TP and PP whatever the stage."""
    return bytes_per_state * (dense_parameters / dense_shards + expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "bytes_per_copy · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    "equals the allocation that failed in three public reports of DeepSpeed: 4 · parameters / ranks",
)
def step_copy_bytes(
    bytes_per_copy: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """What the optimizer step allocates for a while: gradients of the rank's partition in FP32."""
    return bytes_per_copy * (dense_parameters / dense_shards + expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "2 · min(gathered_parameters, rank_parameters) · (weights_are_sharded)",
    ZERO,
)
def gather_bytes(gathered_parameters: Number, rank_parameters: Number, weights_are_sharded: Number) -> Number:
    """16-bit weights that are gathered from other ranks at once: layers that live, and the ends of the model."""
    return BUFFER_BYTES * minimum(gathered_parameters, rank_parameters) * weights_are_sharded


@formula(
    Unit.BYTE,
    "bytes_per_bucket_parameter · min(bucket_parameters, trained_parameters) · (data_parallel > 1)",
    "buckets in which gradients wait to be reduced",
)
def bucket_bytes(
    bytes_per_bucket_parameter: Number,
    bucket_parameters: Number,
    trained_parameters: Number,
    data_parallel: Number,
) -> Number:
    """Buffers that collect gradients before they are reduced over data-parallel ranks; none on a single one."""
    return bytes_per_bucket_parameter * minimum(bucket_parameters, trained_parameters) * (data_parallel > 1)


@formula(
    Unit.BYTE,
    "weights + gradients + optimizer + activations + workspace + loss + buffers",
    "what is alive at once",
)
def phase_bytes(
    weights: Number,
    gradients: Number,
    optimizer: Number,
    activations: Number,
    workspace: Number,
    loss: Number,
    buffers: Number,
) -> Number:
    """Memory that tensors take in one phase: the allocated number."""
    return weights + gradients + optimizer + activations + workspace + loss + buffers


@formula(Unit.BYTE, "max(load, forward, backward, reduce, step)", "memory is a maximum over phases, not a sum")
def allocated_bytes(load: Number, forward: Number, backward: Number, reduce: Number, step: Number) -> Number:
    """The most that tensors take at once (`torch.cuda.max_memory_allocated`)."""
    return maximum(maximum(maximum(load, forward), maximum(backward, reduce)), step)


@formula(Unit.BYTE, "allocated + lost_share · (allocated - static)", "PyTorch caching allocator")
def held_bytes(allocated: Number, static: Number, lost_share: Number) -> Number:
    """Memory that the allocator holds; holes grow with what comes and goes, not with what stays (`static`)."""
    return allocated + lost_share * (allocated - static)


@formula(Unit.BYTE, "held + context + communicators", "as nvidia-smi shows it")
def process_bytes(held: Number, context: Number, communicators: Number) -> Number:
    """Memory of the process: what the allocator holds, the CUDA context with its kernels, and NCCL's buffers."""
    return held + context + communicators
