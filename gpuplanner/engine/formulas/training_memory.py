"""Model states of one GPU while training, buffers, and the three totals that are measured. No activations here.

A rank holds `dense_parameters` (its share of what every token uses) and `expert_parameters` (its experts). The two are
copied over different groups of ranks, so their states are sharded over different numbers of them.
"""

from gpuplanner.engine.formulas.elementwise import Number, added, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

ZERO = "Rajbhandari et al., ZeRO, SC 2020 (arXiv:1910.02054)"
MEGATRON = "Narayanan et al., Efficient large-scale language model training on GPU clusters, SC 2021"


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
    "on_gpu · bytes_per_weight · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    ZERO,
)
def resident_weight_bytes(
    on_gpu: Number,
    bytes_per_weight: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """Weights that stay on the GPU between steps, sharded once: over data-parallel ranks where the stage does."""
    return on_gpu * bytes_per_weight * added(dense_parameters / dense_shards, expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "bytes_per_cast · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    "PyTorch automatic mixed precision keeps its 16-bit copies until the backward pass is done",
)
def cast_bytes(
    bytes_per_cast: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """16-bit copies of the weights that are computed with, where the framework keeps them for a whole pass."""
    return bytes_per_cast * added(dense_parameters / dense_shards, expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "on_gpu · bytes_per_gradient · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    ZERO,
)
def gradient_bytes(
    on_gpu: Number,
    bytes_per_gradient: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """Gradients of what is trained, at the end of the backward pass."""
    return on_gpu * bytes_per_gradient * added(dense_parameters / dense_shards, expert_parameters / expert_shards)


@formula(Unit.BYTE, "held_gradient_bytes · max(persistent_gradients, micro_batches > 1)", ZERO)
def early_gradient_bytes(held_gradient_bytes: Number, persistent_gradients: Number, micro_batches: Number) -> Number:
    """Gradients that are there before the backward pass: in a buffer that stays, or from an earlier micro-batch."""
    return held_gradient_bytes * maximum(persistent_gradients, (micro_batches > 1) * 1.0)


@formula(
    Unit.BYTE,
    "on_gpu · bytes_per_state · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    ZERO,
)
def optimizer_bytes(
    on_gpu: Number,
    bytes_per_state: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """Optimizer states and FP32 master weights of what is trained; divided by TP and PP whatever the stage."""
    return on_gpu * bytes_per_state * added(dense_parameters / dense_shards, expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "on_gpu · bytes_per_copy · (dense_parameters / dense_shards + expert_parameters / expert_shards)",
    "equals the allocation that failed in three public reports of DeepSpeed: 4 · parameters / ranks",
)
def step_copy_bytes(
    on_gpu: Number,
    bytes_per_copy: Number,
    dense_parameters: Number,
    dense_shards: Number,
    expert_parameters: Number,
    expert_shards: Number,
) -> Number:
    """What the optimizer step allocates for a while: gradients of the rank's partition in FP32."""
    return on_gpu * bytes_per_copy * added(dense_parameters / dense_shards, expert_parameters / expert_shards)


@formula(
    Unit.BYTE,
    "weights_are_sharded · (min(gathered_layer_parameters, layer_parameters) · bytes_per_gathered"
    " + plain_parameters · bytes_per_end)",
    ZERO,
)
def gather_bytes(
    weights_are_sharded: Number,
    gathered_layer_parameters: Number,
    layer_parameters: Number,
    bytes_per_gathered: Number,
    plain_parameters: Number,
    bytes_per_end: Number,
) -> Number:
    """Weights gathered from other ranks at once: the layers that live, and the embedding and output projection."""
    layers = minimum(gathered_layer_parameters, layer_parameters) * bytes_per_gathered
    return weights_are_sharded * (layers + plain_parameters * bytes_per_end)


@formula(
    Unit.BYTE,
    "bytes_per_bucket_parameter · min(bucket_parameters, trained_parameters) · (data_parallel > 1)"
    " · (1 - weights_are_sharded)",
    "buckets in which gradients wait to be reduced",
)
def bucket_bytes(
    bytes_per_bucket_parameter: Number,
    bucket_parameters: Number,
    trained_parameters: Number,
    data_parallel: Number,
    weights_are_sharded: Number,
) -> Number:
    """Buffers that collect gradients before they are reduced over data-parallel ranks, and weights that come back.

    None on a single rank; with sharded weights they are small beside what is gathered.
    """
    bucket = bytes_per_bucket_parameter * minimum(bucket_parameters, trained_parameters)
    return bucket * (data_parallel > 1) * (1.0 - weights_are_sharded)


@formula(
    Unit.BYTE,
    "trained_weight_bytes + base_bytes + cast_copy_bytes + held_gradient_bytes + optimizer_state_bytes"
    " + kept_activation_bytes + working_bytes + logit_loss_bytes + gathered_bytes + reduce_bucket_bytes"
    " + update_copy_bytes",
    "what is alive at once",
)
def phase_tensor_bytes(
    trained_weight_bytes: Number,
    base_bytes: Number,
    cast_copy_bytes: Number,
    held_gradient_bytes: Number,
    optimizer_state_bytes: Number,
    kept_activation_bytes: Number,
    working_bytes: Number,
    logit_loss_bytes: Number,
    gathered_bytes: Number,
    reduce_bucket_bytes: Number,
    update_copy_bytes: Number,
) -> Number:
    """Memory that tensors take in one phase: the allocated number."""
    return added(
        trained_weight_bytes,
        base_bytes,
        cast_copy_bytes,
        held_gradient_bytes,
        optimizer_state_bytes,
        gathered_bytes,
        reduce_bucket_bytes,
        update_copy_bytes,
        kept_activation_bytes,
        working_bytes,
        logit_loss_bytes,
    )


@formula(
    Unit.BYTE,
    "max(load_bytes, forward_bytes, backward_bytes, reduce_bytes, update_bytes)",
    "memory is a maximum over phases, not a sum",
)
def allocated_bytes(
    load_bytes: Number, forward_bytes: Number, backward_bytes: Number, reduce_bytes: Number, update_bytes: Number
) -> Number:
    """The most that tensors take at once (`torch.cuda.max_memory_allocated`)."""
    return maximum(maximum(maximum(load_bytes, forward_bytes), maximum(backward_bytes, reduce_bytes)), update_bytes)


@formula(Unit.BYTE, "base_bytes + reference_bytes", "")
def frozen_weight_bytes(base_bytes: Number, reference_bytes: Number) -> Number:
    """Weights that are not trained: the base beside adapters, and the reference model that is compared with."""
    return base_bytes + reference_bytes


@formula(
    Unit.RATIO,
    "lost_share + sharded_lost_share · weights_are_sharded",
    "PyTorch caching allocator; what a second stream gathers is not given back before it is done",
)
def held_share(lost_share: Number, sharded_lost_share: Number, weights_are_sharded: Number) -> Number:
    """Of what comes and goes, the share that the allocator holds on top; more where weights are gathered."""
    return lost_share + sharded_lost_share * weights_are_sharded


@formula(
    Unit.BYTE,
    "lost_share · (tensor_bytes - (trained_weight_bytes + base_bytes + optimizer_state_bytes))",
    "PyTorch caching allocator",
)
def hole_bytes(
    lost_share: Number,
    tensor_bytes: Number,
    trained_weight_bytes: Number,
    base_bytes: Number,
    optimizer_state_bytes: Number,
) -> Number:
    """Memory that the allocator holds without a tensor in it; grows with what comes and goes, not with what stays."""
    return lost_share * (tensor_bytes - (trained_weight_bytes + base_bytes + optimizer_state_bytes))


@formula(Unit.BYTE, "context_bytes + communicator_bytes · (gpus > 1)", "CUDA context with its kernels; NCCL's buffers")
def process_overhead_bytes(context_bytes: Number, communicator_bytes: Number, gpus: Number) -> Number:
    """What a process takes beside its tensors."""
    return context_bytes + communicator_bytes * (gpus > 1)


@formula(Unit.BYTE, "tensor_bytes + lost_bytes + overhead_bytes + rollout_held_bytes", "as nvidia-smi shows it")
def process_bytes(
    tensor_bytes: Number, lost_bytes: Number, overhead_bytes: Number, rollout_held_bytes: Number
) -> Number:
    """Memory of the whole process on its GPU, with that of a server that generates beside it."""
    return added(tensor_bytes, lost_bytes, overhead_bytes, rollout_held_bytes)


@formula(Unit.BYTE, "tensor_bytes + lost_bytes", "torch.cuda.max_memory_reserved")
def allocator_bytes(tensor_bytes: Number, lost_bytes: Number) -> Number:
    """Memory that the allocator took from the driver."""
    return tensor_bytes + lost_bytes
