"""Activations that training keeps for the backward pass, and what the loss takes. Numbers of one GPU; no states here.

What a layer keeps follows from its matrices: each keeps its output (or its input) once, so the sum of their widths is
the layer's active parameters over the hidden size. The residual stream and the norms keep `residual_copies` of the
hidden size; frameworks that do not fuse keep more of both.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, where
from gpuplanner.figures import formula
from gpuplanner.units import Unit

KORTHIKANTI = "Korthikanti et al., Reducing activation recomputation in large transformer models, MLSys 2023"
ACTIVATION_BYTES = 2.0
"""Activations are kept in 16 bits whatever the matrices are multiplied in, while training and while serving."""


@formula(Unit.TOKEN, "micro_batch · sequence_length / context_parallel", KORTHIKANTI)
def tokens_per_micro_batch(micro_batch: Number, sequence_length: Number, context_parallel: Number) -> Number:
    """Tokens that one rank passes forward and backward at once."""
    return micro_batch * sequence_length / context_parallel


@formula(Unit.BYTE_PER_TOKEN, "2 · residual_copies · hidden / residual_shards", KORTHIKANTI)
def residual_bytes_per_token(residual_copies: Number, hidden: Number, residual_shards: Number) -> Number:
    """What one layer keeps outside of attention and MLP: inputs and outputs of its norms.

    `residual_shards`: the tensor-parallel ranks with sequence parallelism, else 1.
    """
    return ACTIVATION_BYTES * residual_copies * hidden / residual_shards


@formula(
    Unit.BYTE_PER_TOKEN,
    "(2 · (saved_copies · (inner_width + dispatch_width) - unread_width)"
    " + score_bytes · heads · sequence_length) / tensor_parallel",
    KORTHIKANTI,
)
def inner_bytes_per_token(
    saved_copies: Number,
    inner_width: Number,
    dispatch_width: Number,
    unread_width: Number,
    score_bytes: Number,
    heads: Number,
    sequence_length: Number,
    tensor_parallel: Number,
) -> Number:
    """What one layer keeps inside attention and MLP.

    `dispatch_width`: copies of the token for the experts it is sent to; `unread_width`: inputs of frozen matrices,
    which no gradient needs; `score_bytes`: 0 unless the attention matrix is written to memory.
    """
    kept = ACTIVATION_BYTES * (saved_copies * (inner_width + dispatch_width) - unread_width)
    return (kept + score_bytes * heads * sequence_length) / tensor_parallel


@formula(Unit.BYTE, "tokens · (residual_bytes_per_token + inner_bytes_per_token)", KORTHIKANTI)
def layer_activation_bytes(tokens: Number, residual_bytes_per_token: Number, inner_bytes_per_token: Number) -> Number:
    """Everything that one layer would keep of one micro-batch without recomputation."""
    return tokens * (residual_bytes_per_token + inner_bytes_per_token)


@formula(
    Unit.BYTE,
    "full_recomputation · tokens · 2 · hidden / residual_shards"
    " + (1 - full_recomputation) · tokens · (residual_bytes_per_token + kept_share · inner_bytes_per_token)",
    KORTHIKANTI,
)
def kept_layer_bytes(
    tokens: Number,
    residual_bytes_per_token: Number,
    inner_bytes_per_token: Number,
    kept_share: Number,
    full_recomputation: Number,
    hidden: Number,
    residual_shards: Number,
) -> Number:
    """What one layer keeps of one micro-batch until its backward pass: all, a part, or only its input.

    `full_recomputation`: share of the layers that keep only their input.
    """
    checkpoint = tokens * ACTIVATION_BYTES * hidden / residual_shards
    kept = tokens * (residual_bytes_per_token + kept_share * inner_bytes_per_token)
    return full_recomputation * checkpoint + (1.0 - full_recomputation) * kept


@formula(Unit.BYTE, "kept_layer_bytes · stage_layers · in_flight", KORTHIKANTI)
def kept_activation_bytes(kept_layer_bytes: Number, stage_layers: Number, in_flight: Number) -> Number:
    """Activations kept by all layers of a stage for all micro-batches that are in flight there."""
    return kept_layer_bytes * stage_layers * in_flight


@formula(
    Unit.BYTE,
    "layer_activation_bytes · recomputed + tokens · 2 · workspace_copies · inner_width / tensor_parallel"
    " + dequantised_bytes",
    "the layer that is recomputed, gradients on their way through it, a quantised matrix in 16 bits",
)
def workspace_bytes(
    layer_activation_bytes: Number,
    recomputed: Number,
    tokens: Number,
    workspace_copies: Number,
    inner_width: Number,
    tensor_parallel: Number,
    dequantised_bytes: Number,
) -> Number:
    """What the backward pass of one layer needs beside the kept activations."""
    gradients = tokens * ACTIVATION_BYTES * workspace_copies * inner_width / tensor_parallel
    return layer_activation_bytes * recomputed + gradients + dequantised_bytes


@formula(
    Unit.BYTE, "max(working_bytes - logit_loss_bytes, 0)", "the loss is freed before the first layer goes backward"
)
def workspace_beyond_loss_bytes(working_bytes: Number, logit_loss_bytes: Number) -> Number:
    """What the largest layer needs on top of the loss, since the two are never there at once."""
    return maximum(working_bytes - logit_loss_bytes, 0.0)


@formula(
    Unit.BYTE,
    "min(tokens, loss_chunk_tokens) · vocabulary · bytes_per_logit / tensor_parallel",
    "transformers' causal-LM loss: 16-bit logits, their FP32 copy, log-probabilities and gradients of both",
)
def loss_bytes(
    tokens: Number, loss_chunk_tokens: Number, vocabulary: Number, bytes_per_logit: Number, tensor_parallel: Number
) -> Number:
    """Logits, loss and their gradients. A fused or chunked loss holds those of `loss_chunk_tokens` tokens only."""
    held = where(tokens < loss_chunk_tokens, tokens, loss_chunk_tokens)
    return held * vocabulary * bytes_per_logit / tensor_parallel
