"""Bytes of the KV cache: per token, per sequence, and what a server reserves of it. No flags here."""

from gpuplanner.engine.formulas.elementwise import Number, ceil, floor, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

VLLM_WINDOW = "vLLM, v1/kv_cache_interface.py, SlidingWindowSpec.max_memory_usage_bytes"


@formula(
    Unit.BYTE_PER_TOKEN,
    "cache_elements · bits_per_element / 8 / min(tensor_parallel, cache_shards)",
    "K and V of every KV head and layer; ranks beyond the KV heads hold copies",
)
def cache_bytes_per_token(
    cache_elements: Number, bits_per_element: Number, cache_shards: Number, tensor_parallel: Number
) -> Number:
    """KV cache of one token on one GPU. `cache_elements`: numbers kept for one token in all layers of one kind.

    `cache_shards`: the KV heads; 1 for latent attention, whose cache every rank holds whole.
    """
    return cache_elements * bits_per_element / 8.0 / minimum(tensor_parallel, cache_shards)


@formula(Unit.BYTE, "state_bytes / min(tensor_parallel, state_shards)", "recurrent state, split by heads")
def state_bytes_per_sequence(state_bytes: Number, state_shards: Number, tensor_parallel: Number) -> Number:
    """State of linear-attention and state-space layers for one sequence on one GPU, whatever its length."""
    return state_bytes / minimum(tensor_parallel, state_shards)


@formula(Unit.TOKEN, "min(tokens, window)", "a window layer reads no further back")
def tokens_in_window(tokens: Number, window: Number) -> Number:
    """Tokens that a layer with a sliding window looks at; the window of a full-attention layer is infinite."""
    return minimum(tokens, window)


@formula(
    Unit.TOKEN,
    "(ceil(min(window - 1 + max_batched_tokens, length) / block_tokens) + extra_blocks) · block_tokens",
    VLLM_WINDOW,
)
def reserved_tokens(
    window: Number, max_batched_tokens: Number, length: Number, block_tokens: Number, extra_blocks: Number
) -> Number:
    """Tokens for which a server holds the cache of one request of `length` tokens, in whole blocks.

    A layer with a sliding window keeps the window and the chunk of the prompt that is being computed;
    `extra_blocks`: vLLM adds one there, because a window seldom starts on a block's edge.
    """
    return (ceil(minimum(window - 1.0 + max_batched_tokens, length) / block_tokens) + extra_blocks) * block_tokens


@formula(Unit.TOKEN, "max(pool_bytes, 0) / bytes_per_token", "")
def pool_tokens(pool_bytes: Number, bytes_per_token: Number) -> Number:
    """Tokens of full length that a KV pool holds; 0 where the pool is negative."""
    return maximum(pool_bytes, 0.0) / bytes_per_token


@formula(Unit.TOKEN, "floor(tokens / block_tokens) · block_tokens", "servers hand out the cache in blocks")
def whole_block_tokens(tokens: Number, block_tokens: Number) -> Number:
    """The tokens of whole blocks."""
    return floor(tokens / block_tokens) * block_tokens
