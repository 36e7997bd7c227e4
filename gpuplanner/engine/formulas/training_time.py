"""Time of a training step from its operators, and the communication that compute does not hide. Numbers of one GPU.

Matrix multiplications and attention are those of `gemm.py` and `attention.py`, forward; what the backward pass and
recomputation add are factors here.
"""

from gpuplanner.engine.formulas.elementwise import Number, added, maximum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

ACTIVATIONS_PAPER = "Korthikanti et al., MLSys 2023"
PALM = "Chowdhery et al., PaLM, 2022, appendix B (arXiv:2204.02311)"
ATTENTION_BACKWARD = 2.5
"""FLOP of flash attention's backward pass over those of its forward pass: five multiplications against two."""


@formula(
    Unit.SECOND,
    "forward_s · (2 + trained_share + reference_passes) + layers_s · recomputed_share",
    "forward, gradients of inputs, gradients of the weights that are trained, and what is computed again",
)
def matrix_seconds(
    forward_s: Number, trained_share: Number, reference_passes: Number, layers_s: Number, recomputed_share: Number
) -> Number:
    """Matrix multiplications of one micro-batch. `trained_share` 1 for full training, about 0 for a frozen base.

    `layers_s`: those of `forward_s` without the output projection, which is not computed again.
    """
    return forward_s * (2.0 + trained_share + reference_passes) + layers_s * recomputed_share


@formula(Unit.SECOND, "dense_s + experts_s", "")
def layer_matrix_seconds(dense_s: Number, experts_s: Number) -> Number:
    """Multiplications of the layers forward: those of every token, and those of the chosen experts."""
    return dense_s + experts_s


@formula(
    Unit.SECOND,
    "layers_s + max(ends_s - spare_layers · layers_s / stage_layers, 0)",
    "stages that do not divide evenly leave a layer's room to the embedding and the loss",
)
def slowest_stage_seconds(layers_s: Number, ends_s: Number, spare_layers: Number, stage_layers: Number) -> Number:
    """Time of the stage that the others wait for: all its layers, and the output projection on the last one."""
    return layers_s + maximum(ends_s - spare_layers * layers_s / stage_layers, 0.0)


@formula(
    Unit.SECOND,
    "quantised_parameters · dequantised_traffic · (2 + recomputed_share + reference_passes)"
    " / (hbm_bytes_per_s · hbm_efficiency)",
    "each pass turns every quantised matrix into a 16-bit one first",
)
def dequantise_seconds(
    quantised_parameters: Number,
    dequantised_traffic: Number,
    recomputed_share: Number,
    reference_passes: Number,
    hbm_bytes_per_s: Number,
    hbm_efficiency: Number,
) -> Number:
    """Turning a quantised base into 16 bits, forward, backward and where it is computed again.

    `dequantised_traffic`: bytes moved of one parameter in one pass.
    """
    passes = 2.0 + recomputed_share + reference_passes
    return quantised_parameters * dequantised_traffic * passes / (hbm_bytes_per_s * hbm_efficiency)


@formula(
    Unit.SECOND,
    "forward_s · (1 + 2.5 + reference_passes + recomputed_attention)",
    "Dao, FlashAttention-2, 2023 (arXiv:2307.08691)",
)
def attention_training_seconds(forward_s: Number, reference_passes: Number, recomputed_attention: Number) -> Number:
    """Attention of one micro-batch, forward, backward and computed again."""
    return forward_s * (1.0 + ATTENTION_BACKWARD + reference_passes + recomputed_attention)


@formula(
    Unit.SECOND,
    "((moved_bytes · passes + cast_moved_bytes) · (1 + (recomputed_share + reference_passes) / 3) + loss_moved_bytes)"
    " / (hbm_bytes_per_s · hbm_efficiency)",
    "norms, activations and residuals read and write what they keep; so does the loss",
)
def elementwise_seconds(
    moved_bytes: Number,
    passes: Number,
    cast_moved_bytes: Number,
    recomputed_share: Number,
    reference_passes: Number,
    loss_moved_bytes: Number,
    hbm_bytes_per_s: Number,
    hbm_efficiency: Number,
) -> Number:
    """Work that is bound by memory. `passes`: how often the activations are moved, forward and backward together."""
    layers = (moved_bytes * passes + cast_moved_bytes) * (1.0 + (recomputed_share + reference_passes) / 3.0)
    return (layers + loss_moved_bytes) / (hbm_bytes_per_s * hbm_efficiency)


@formula(
    Unit.BYTE,
    "(layer_activation_bytes · passed_share + dispatched_bytes) · stage_layers",
    "what a layer keeps is what its small kernels read and write; tokens are sorted by expert and back",
)
def moved_activation_bytes(
    layer_activation_bytes: Number, passed_share: Number, dispatched_bytes: Number, stage_layers: Number
) -> Number:
    """Bytes that norms, activations, residuals and the routing of one micro-batch go through once."""
    return (layer_activation_bytes * passed_share + dispatched_bytes) * stage_layers


@formula(
    Unit.BYTE,
    "cast_traffic · tokens · stage_layers · (inner_width / tensor_parallel + matrices · hidden + 2 · dispatch_width)",
    "matrices in 8 bits: what goes into them is scaled and cast, twice where rows and columns are scaled apart",
)
def cast_moved_bytes(
    cast_traffic: Number,
    tokens: Number,
    stage_layers: Number,
    inner_width: Number,
    tensor_parallel: Number,
    matrices: Number,
    hidden: Number,
    dispatch_width: Number,
) -> Number:
    """Bytes moved to bring a micro-batch's inputs and gradients of matrices into the format that they multiply in.

    `cast_traffic`: bytes of one number; 0 where it is the format that activations are in.
    """
    widths = inner_width / tensor_parallel + matrices * hidden + 2.0 * dispatch_width
    return cast_traffic * tokens * stage_layers * widths


@formula(
    Unit.BYTE,
    "loss_passes · tokens · vocabulary · bytes_per_logit / tensor_parallel",
    "what the loss makes is written once and read once",
)
def loss_moved_bytes(
    loss_passes: Number, tokens: Number, vocabulary: Number, bytes_per_logit: Number, tensor_parallel: Number
) -> Number:
    """Bytes of logits, probabilities and gradients that the loss of one micro-batch moves."""
    return loss_passes * tokens * vocabulary * bytes_per_logit / tensor_parallel


@formula(
    Unit.SECOND,
    "stage_layers · launch_s_per_layer · (1 + (recomputed_share + reference_passes) / 3)",
    "the CPU issues kernels one after the other",
)
def kernel_launch_seconds(
    stage_layers: Number, launch_s_per_layer: Number, recomputed_share: Number, reference_passes: Number
) -> Number:
    """What the CPU needs to launch the kernels of one micro-batch: the floor for short sequences and small batches."""
    return stage_layers * launch_s_per_layer * (1.0 + (recomputed_share + reference_passes) / 3.0)


@formula(Unit.SECOND, "launch_s + mixed_share · expert_launch_s", "")
def layer_launch_seconds(launch_s: Number, mixed_share: Number, expert_launch_s: Number) -> Number:
    """CPU time to launch a mean layer's kernels; `mixed_share`: of the layers that route tokens to experts."""
    return launch_s + mixed_share * expert_launch_s


@formula(Unit.SECOND, "micro_batch_compute_s + dequantise_s", "")
def overlap_window_seconds(micro_batch_compute_s: Number, dequantise_s: Number) -> Number:
    """The compute of one micro-batch that communication may hide behind."""
    return micro_batch_compute_s + dequantise_s


@formula(Unit.SECOND, "max(matrix_s + attention_s + elementwise_s, launch_s)", "the GPU waits for the CPU, or not")
def compute_seconds(matrix_s: Number, attention_s: Number, elementwise_s: Number, launch_s: Number) -> Number:
    """One micro-batch on one stage without communication."""
    return maximum(matrix_s + attention_s + elementwise_s, launch_s)


@formula(
    Unit.SECOND,
    "communication_s · (1 - hidden_share) + max(communication_s · hidden_share - window_s, 0)",
    "overlap is partial: what the framework can hide at most, and what the window has room for",
)
def unhidden_seconds(communication_s: Number, hidden_share: Number, window_s: Number) -> Number:
    """Communication that nothing hides; `window_s` is the compute that runs beside it."""
    hideable = communication_s * hidden_share
    return communication_s - hideable + maximum(hideable - window_s, 0.0)


@formula(Unit.SECOND, "all_reduce_s · layer_collectives · stage_layers", ACTIVATIONS_PAPER)
def tensor_parallel_seconds(all_reduce_s: Number, layer_collectives: Number, stage_layers: Number) -> Number:
    """Collectives of tensor parallelism in one micro-batch: two a layer forward, two backward, two when recomputed.

    With sequence parallelism each all-reduce is a reduce-scatter and an all-gather of the same bytes.
    """
    return all_reduce_s * layer_collectives * stage_layers


@formula(
    Unit.SECOND,
    "weights_are_sharded · (gather_s · gathers + reduce_s)",
    "ZeRO: three times the parameters cross the links",
)
def sharded_seconds(weights_are_sharded: Number, gather_s: Number, gathers: Number, reduce_s: Number) -> Number:
    """Moving sharded weights and gradients: gathered forward and backward, gradients reduced once."""
    return weights_are_sharded * (gather_s * gathers + reduce_s)


@formula(
    Unit.SECOND,
    "reduce_s · (1 - weights_are_sharded) + replica_reduce_s",
    "reduced over data-parallel ranks; with hybrid sharding, each shard once more over its copies on other nodes",
)
def gradient_reduce_seconds(reduce_s: Number, weights_are_sharded: Number, replica_reduce_s: Number) -> Number:
    """Summing the gradients of one step, and gathering the weights again where each rank updates a share."""
    return reduce_s * (1.0 - weights_are_sharded) + replica_reduce_s


@formula(Unit.SECOND, "hop_s · (context_parallel - 1) · ring_passes · stage_layers", "Liu et al., Ring Attention, 2023")
def ring_seconds(hop_s: Number, context_parallel: Number, ring_passes: Number, stage_layers: Number) -> Number:
    """Keys and values on their way around the ranks that share a sequence."""
    return hop_s * (context_parallel - 1.0) * ring_passes * stage_layers


@formula(
    Unit.SECOND,
    "exchange_s · context_exchanges · stage_layers",
    "Jacobs et al., DeepSpeed Ulysses, 2023 (arXiv:2309.14509)",
)
def context_exchange_seconds(exchange_s: Number, context_exchanges: Number, stage_layers: Number) -> Number:
    """All-to-alls that turn a part of the sequence with all heads into the whole sequence with a part of them."""
    return exchange_s * context_exchanges * stage_layers


@formula(Unit.SECOND, "exchange_s · dispatches · stage_layers", "tokens go to their experts and come back")
def expert_dispatch_seconds(exchange_s: Number, dispatches: Number, stage_layers: Number) -> Number:
    """All-to-alls of one micro-batch, forward and backward."""
    return exchange_s * dispatches * stage_layers


@formula(Unit.SECOND, "hop_s · 2 · virtual_pipeline · (pipeline_parallel > 1)", "activations on, gradients back")
def stage_send_seconds(hop_s: Number, virtual_pipeline: Number, pipeline_parallel: Number) -> Number:
    """What one micro-batch sends from stage to stage, once for each chunk of a stage."""
    return hop_s * 2.0 * virtual_pipeline * (pipeline_parallel > 1)


@formula(
    Unit.SECOND,
    "weight_bytes_over_pcie · (2 + recomputed_share) / (pcie_bytes_per_s · pcie_efficiency)",
    "Ren et al., ZeRO-Offload, USENIX ATC 2021",
)
def offloaded_weights_seconds(
    weight_bytes_over_pcie: Number, recomputed_share: Number, pcie_bytes_per_s: Number, pcie_efficiency: Number
) -> Number:
    """Fetching a rank's weights from host memory for each pass of one micro-batch."""
    return weight_bytes_over_pcie * (2.0 + recomputed_share) / (pcie_bytes_per_s * pcie_efficiency)


@formula(
    Unit.SECOND,
    "micro_batch_compute_s + dequantise_s + tensor_s + context_s + expert_s + gather_s + send_s + fetch_s",
    "one stage, one micro-batch",
)
def micro_batch_seconds(
    micro_batch_compute_s: Number,
    dequantise_s: Number,
    tensor_s: Number,
    context_s: Number,
    expert_s: Number,
    gather_s: Number,
    send_s: Number,
    fetch_s: Number,
) -> Number:
    """One micro-batch on the slowest stage with the communication that is not hidden."""
    return added(micro_batch_compute_s, dequantise_s, tensor_s, context_s, expert_s, gather_s, send_s, fetch_s)


@formula(Unit.SECOND, "part_s · micro_batches", "the same work for each micro-batch")
def over_micro_batches(part_s: Number, micro_batches: Number) -> Number:
    """A part of one micro-batch over all micro-batches of a step."""
    return part_s * micro_batches


@formula(Unit.SECOND, "max(launch_s - matrix_s - attention_s - elementwise_s, 0)", "")
def launch_wait_seconds(launch_s: Number, matrix_s: Number, attention_s: Number, elementwise_s: Number) -> Number:
    """Time in which the GPU waits for the CPU to launch kernels."""
    return maximum(launch_s - matrix_s - attention_s - elementwise_s, 0.0)


@formula(
    Unit.SECOND,
    "rollout_s + pipelined_s + reduce_s + optimizer_s + offload_s + overhead_s",
    "all micro-batches, then the update; before them, what is generated to train on",
)
def training_step_seconds(
    pipelined_s: Number,
    reduce_s: Number,
    optimizer_s: Number,
    offload_s: Number,
    overhead_s: Number,
    rollout_s: Number,
) -> Number:
    """One optimizer step."""
    return added(pipelined_s, reduce_s, optimizer_s, offload_s, overhead_s, rollout_s)


@formula(
    Unit.TOKEN_PER_S,
    "global_batch · sequences_per_sample · sequence_length · counted_share / training_step_s",
    "padding does not count as trained",
)
def training_tokens_per_s(
    global_batch: Number,
    sequences_per_sample: Number,
    sequence_length: Number,
    counted_share: Number,
    training_step_s: Number,
) -> Number:
    """Tokens that all GPUs together process in a second.

    `counted_share`: of a full sequence, the tokens of a sample; or, with padding, those that are computed.
    """
    return global_batch * sequences_per_sample * sequence_length * counted_share / training_step_s


@formula(Unit.TOKEN_PER_S, "tokens_per_s / gpus", "")
def tokens_per_s_per_gpu(tokens_per_s: Number, gpus: Number) -> Number:
    """Tokens a second for one GPU."""
    return tokens_per_s / gpus


@formula(
    Unit.FLOP,
    "pair_flops · attended_tokens + windowed_pair_flops · windowed_tokens",
    "two products for each pair of tokens that the mask shows",
)
def attention_flops_per_token(
    pair_flops: Number, attended_tokens: Number, windowed_pair_flops: Number, windowed_tokens: Number
) -> Number:
    """FLOP of attention for one token forward, in layers that see everything and in those with a window."""
    return pair_flops * attended_tokens + windowed_pair_flops * windowed_tokens


@formula(
    Unit.FLOP,
    "2 · (2 + trained_share + reference_passes) · active_parameters + (3 + reference_passes) · token_attention_flops",
    PALM,
)
def model_flops_per_token(
    trained_share: Number, reference_passes: Number, active_parameters: Number, token_attention_flops: Number
) -> Number:
    """FLOP that the model needs for one token, nothing computed twice.

    6N + 3 × attention when all is trained, 4N + 3 × attention when the base is frozen. `reference_passes`: forward
    passes of a reference model beside it.
    """
    passes = 2.0 + trained_share + reference_passes
    return 2.0 * passes * active_parameters + (3.0 + reference_passes) * token_attention_flops


@formula(
    Unit.FLOP,
    "2 · (2 + trained_share + reference_passes) · active_parameters + 2 · recomputed_share · layer_active_parameters"
    " + (3.5 + reference_passes + recomputed_attention) · token_attention_flops",
    "Korthikanti et al., MLSys 2023; flash attention's backward pass computes the scores again",
)
def hardware_flops_per_token(
    trained_share: Number,
    reference_passes: Number,
    active_parameters: Number,
    recomputed_share: Number,
    layer_active_parameters: Number,
    recomputed_attention: Number,
    token_attention_flops: Number,
) -> Number:
    """FLOP that are done for one token, with what is computed again; `token_attention_flops` as the kernel does it."""
    matrices = 2.0 * (2.0 + trained_share + reference_passes) * active_parameters
    again = 2.0 * recomputed_share * layer_active_parameters
    attention = 1.0 + ATTENTION_BACKWARD + reference_passes + recomputed_attention
    return matrices + again + attention * token_attention_flops


@formula(Unit.RATIO, "tokens_per_s · flops_per_token / (gpus · flop_per_s)", PALM)
def flops_utilisation(tokens_per_s: Number, flops_per_token: Number, gpus: Number, flop_per_s: Number) -> Number:
    """Share of the dense peak of the format that matrices are computed in: MFU with the model's FLOP, HFU with all."""
    return tokens_per_s * flops_per_token / (gpus * flop_per_s)


@formula(Unit.SECOND, "job_tokens / tokens_per_s", "")
def job_seconds(job_tokens: Number, tokens_per_s: Number) -> Number:
    """Time to process all tokens, without failures and without writing checkpoints."""
    return job_tokens / tokens_per_s
