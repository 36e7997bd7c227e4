"""The pool of a model that mixes attention with recurrent layers, where the server gives both pages of one size.

Pure arithmetic on floats or arrays; the formulas stand in `formulas/hybrid_pool.py`.
"""

from dataclasses import dataclass
from math import inf

from gpuplanner.engine.formulas import hybrid_pool, kv_cache
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.serving_inputs import ModelNumbers, ServerNumbers

NEARLY_EQUAL = 1.25
"""vLLM, kv_cache_utils.py: groups are as large as the larger kind of layers where it is no larger than this."""
PAGES_PER_STATE = 1.0
"""A drafted token or prefix caching takes more; neither is the server's default for such models."""


@dataclass(frozen=True, slots=True)
class Pages:
    """How attention and recurrent layers share a pool. `tokens` and `size_bytes`: of one page of a whole group."""

    tokens: Number
    size_bytes: Number
    attention_groups: float
    recurrent_groups: float

    def request_bytes(self, tokens: Number) -> Number:
        """What a request of so many tokens takes of the pool."""
        taken = hybrid_pool.request_pages(
            tokens, self.tokens, self.attention_groups, self.recurrent_groups, PAGES_PER_STATE
        )
        return hybrid_pool.request_page_bytes(taken, self.size_bytes)

    def longest_tokens(self, pool_bytes: Number) -> Number:
        """The longest request that the pool holds."""
        return hybrid_pool.longest_in_pages(
            pool_bytes, self.size_bytes, self.tokens, self.attention_groups, self.recurrent_groups, PAGES_PER_STATE
        )


def pages_of(model: ModelNumbers, server: ServerNumbers, ranks: Number) -> Pages | None:
    """The pages on one of `ranks` GPUs that attend together; None where all layers are of one kind, or have windows."""
    if not model.recurrent_layers or len(model.cache) != 1 or model.cache[0].window < inf:
        return None
    cache = model.cache[0]
    a_layer = kv_cache.cache_bytes_per_token(cache.elements / cache.layers, cache.bits, cache.shards, ranks)
    state = kv_cache.state_bytes_per_sequence(model.state_bytes / model.recurrent_layers, model.state_shards, ranks)
    tokens = hybrid_pool.page_tokens(state, a_layer, server.block_tokens)
    fewer, more = sorted((cache.layers, model.recurrent_layers))
    layers = more if more < NEARLY_EQUAL * fewer else fewer
    return Pages(
        tokens,
        hybrid_pool.page_bytes(tokens, a_layer, layers),
        -(-cache.layers // layers),
        -(-model.recurrent_layers // layers),
    )
