"""What the numbers of a training run depend on beside the model: software, hardware, layout. Types only, no lookups.

Every field may be a float or an array of one length; arrays are ways of running that a search tries at once. Switches
are 0 or 1. Units: bytes, seconds, FLOP/s; shares are ratios.
"""

from dataclasses import dataclass

from gpuplanner.engine.feed import Feed
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.links import Reach


@dataclass(frozen=True, slots=True)
class SoftwareNumbers:
    """What a framework with an optimizer and a number format keeps, moves and reaches. Bytes are for one parameter.

    `word_bytes`: an activation, or a weight that is gathered or sent to be computed with.
    `weight_bytes` stay on the GPU between steps, `cast_bytes` are the copy for computing while a micro-batch runs,
    `frozen_weight_bytes` and `frozen_end_bytes` hold for a frozen base (its matrices; its embedding, head and norms).
    `state_bytes`: optimizer states with master weights. `step_copy_bytes`: allocated during the update.
    `residual_copies`, `saved_copies`, `workspace_copies`: see `formulas/activations.py`. `passes`: how often those
    bytes are moved in a forward and a backward pass. `selective_kept`: share of a layer that selective recomputation
    keeps, `selective_matrices` and `selective_attention` the shares that it computes again.
    `gathered_layers`, `gathered_parameters`: what is gathered at once of sharded weights, at least.
    `lost_share`, `cached_share`: of what comes and goes, holes that cannot be used and what the allocator keeps;
    `sharded_*`: more of both where weights are gathered.
    `*_hidden`: the most that compute can hide of a kind of communication. `gather_share`: what gathering reaches of
    what the links do. `launch_s`: CPU time to launch one layer's kernels forward and backward;
    `expert_launch_s`: the routing's beside. `expert_passes`: how often the tokens are moved to be sorted by expert, in
    `passes` of the rest. `rollout_layer_s`: the least time of one layer while a server generates.
    `exchanges_heads`: 1 where ranks that share a sequence exchange heads by all-to-all, 0 where keys and values go
    around a ring.
    """

    word_bytes: Number
    weight_bytes: Number
    cast_bytes: Number
    gradient_bytes: Number
    state_bytes: Number
    step_copy_bytes: Number
    frozen_weight_bytes: Number
    frozen_end_bytes: Number
    persistent_gradients: Number
    residual_copies: Number
    saved_copies: Number
    workspace_copies: Number
    score_bytes: Number
    bytes_per_logit: Number
    loss_chunk_tokens: Number
    selective_kept: Number
    selective_matrices: Number
    selective_attention: Number
    gathered_layers: Number
    gathered_parameters: Number
    bucket_bytes: Number
    bucket_parameters: Number
    reduced_bytes: Number
    lost_share: Number
    cached_share: Number
    sharded_lost_share: Number
    sharded_cached_share: Number
    context_bytes: Number
    communicator_bytes: Number
    flop_per_s: Number
    matrix_utilisation: Number
    wide_flop_per_s: Number
    wide_utilisation: Number
    padding_tokens: Number
    padding_columns: Number
    wave_elements: Number
    cast_traffic: Number
    attention_utilisation: Number
    expert_utilisation: Number
    hbm_efficiency: Number
    passes: Number
    launch_s: Number
    expert_passes: Number
    expert_launch_s: Number
    dequantised_traffic: Number
    tensor_hidden: Number
    data_hidden: Number
    gather_hidden: Number
    expert_hidden: Number
    gather_share: Number
    overhead_s: Number
    host_parameters_per_s: Number
    pcie_efficiency: Number
    rollout_layer_s: Number
    exchanges_heads: Number


@dataclass(frozen=True, slots=True)
class HardwareNumbers:
    """A machine. Rates are one way for one GPU; `network_bytes_per_s` its share of the node's network (any number above
    0 where there is one node). `usable_bytes`: what a program can allocate. `feed`: how tokens reach a node, None where
    no step waits for them.
    """

    gpus: Number
    gpus_per_node: Number
    usable_bytes: Number
    hbm_bytes_per_s: Number
    link_bytes_per_s: Number
    network_bytes_per_s: Number
    pcie_bytes_per_s: Number
    all_reduce: Reach
    all_gather: Reach
    reduce_scatter: Reach
    all_to_all: Reach
    send: Reach
    network_all_reduce: Reach
    network_all_gather: Reach
    network_all_to_all: Reach
    network_send: Reach
    feed: Feed | None = None


@dataclass(frozen=True, slots=True)
class LayoutNumbers:
    """How a run is laid out. `data_parallel` is what TP, PP and CP leave; experts lie on ranks of TP, CP and DP.

    `shard_weights`, `shard_gradients`, `shard_optimizer`: whether data-parallel ranks split them; `shard_in_node`: only
    those of one node do (HSDP); `shard_base`: whether a frozen base is split as weights are.
    `full_recomputation`: share of the layers that are computed again whole.
    `sequences_per_sample`: 2 where a sample is a pair. `length_share`: the mean sample over the longest, where a
    micro-batch is padded to its longest, else 1; `useful_share`: tokens of a mean sample that are trained on, in full
    sequences; `document_share`: of a full sequence, what attention spans where several documents are packed into it.
    `reference_passes`: forward passes of a reference model; `reference_copy`: 1 where it has weights of its own.
    `completion_tokens`: of a sequence, those that are generated first, on `rollout_gpus` by a server that takes
    `rollout_share` of their memory (0: nothing is generated); `rollout_apart` 1: on GPUs that do nothing else.
    """

    sequence_length: Number
    global_batch: Number
    sequences_per_sample: Number
    length_share: Number
    useful_share: Number
    document_share: Number
    reference_passes: Number
    reference_copy: Number
    completion_tokens: Number
    rollout_share: Number
    rollout_gpus: Number
    rollout_apart: Number
    micro_batch: Number
    tensor_parallel: Number
    pipeline_parallel: Number
    virtual_pipeline: Number
    context_parallel: Number
    expert_parallel: Number
    data_parallel: Number
    shard_weights: Number
    shard_gradients: Number
    shard_optimizer: Number
    shard_in_node: Number
    shard_base: Number
    sequence_parallel: Number
    full_recomputation: Number
    selective_recomputation: Number
    math_attention: Number
    offload_optimizer: Number
    offload_weights: Number
