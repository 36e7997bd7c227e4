"""The pool of a model that mixes attention with recurrent layers, as vLLM divides it: pages of one size for both.

A page of an attention layer is made as large as the state of a recurrent one, and the layers share the pool in groups
of equally many, so a request takes whole pages of a whole group. No flags here.
"""

from gpuplanner.engine.formulas.elementwise import Number, ceil, floor, maximum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

VLLM_HYBRID = "vLLM, v1/core/kv_cache_utils.py and model_executor/models/config.py, HybridAttentionMambaModelConfig"


@formula(
    Unit.TOKEN,
    "ceil(layer_state_bytes / (layer_bytes_per_token · block_tokens)) · block_tokens",
    VLLM_HYBRID,
)
def page_tokens(layer_state_bytes: Number, layer_bytes_per_token: Number, block_tokens: Number) -> Number:
    """Tokens of one page, which make the cache of one attention layer no smaller than the state of a recurrent one.

    `block_tokens`: what pages of the attention kernel are a multiple of.
    """
    return ceil(layer_state_bytes / (layer_bytes_per_token * block_tokens)) * block_tokens


@formula(Unit.BYTE, "page_tokens · layer_bytes_per_token · page_layers", VLLM_HYBRID)
def page_bytes(page_tokens: Number, layer_bytes_per_token: Number, page_layers: Number) -> Number:
    """One page of a group of `page_layers` layers."""
    return page_tokens * layer_bytes_per_token * page_layers


@formula(
    Unit.COUNT,
    "attention_groups · ceil(length / page_tokens) + recurrent_groups · pages_per_state",
    "vLLM, v1/kv_cache_interface.py, FullAttentionSpec and MambaSpec, max_memory_usage_bytes",
)
def request_pages(
    length: Number, page_tokens: Number, attention_groups: Number, recurrent_groups: Number, pages_per_state: Number
) -> Number:
    """Pages that one request of `length` tokens takes.

    `pages_per_state`: 1, and one more for each token drafted ahead, and one more with prefix caching.
    """
    return attention_groups * ceil(length / page_tokens) + recurrent_groups * pages_per_state


@formula(Unit.BYTE, "request_pages · page_bytes", VLLM_HYBRID)
def request_page_bytes(request_pages: Number, page_bytes: Number) -> Number:
    """What one request takes of the pool in whole pages."""
    return request_pages * page_bytes


@formula(
    Unit.TOKEN,
    "floor(max(floor(pool_bytes / page_bytes) - recurrent_groups · pages_per_state, 0) / attention_groups)"
    " · page_tokens",
    "the longest request whose pages the pool holds",
)
def longest_in_pages(
    pool_bytes: Number,
    page_bytes: Number,
    page_tokens: Number,
    attention_groups: Number,
    recurrent_groups: Number,
    pages_per_state: Number,
) -> Number:
    """Tokens of the longest request that a pool holds."""
    left = maximum(floor(pool_bytes / page_bytes) - recurrent_groups * pages_per_state, 0.0)
    return floor(left / attention_groups) * page_tokens
