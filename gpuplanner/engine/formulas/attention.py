"""Time of attention: reading the cache for each new token, and multiplying with it. Nothing of servers.

The counts of the model come in as numbers for all layers of one kind: cache bytes, and FLOP for each pair of tokens.
"""

from gpuplanner.engine.formulas.elementwise import Number, added, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

FLASH = "Dao et al., FlashAttention-2, 2023: 4 · heads · head_dim FLOP for each pair of tokens"


@formula(
    Unit.BYTE, "other_kinds_bytes + sequences · earlier_tokens · bytes_per_token", "each new token reads the cache once"
)
def cache_read_bytes(
    other_kinds_bytes: Number, sequences: Number, earlier_tokens: Number, bytes_per_token: Number
) -> Number:
    """Cache that one decode step reads on one GPU, layers of one kind added to those counted before."""
    return added(other_kinds_bytes, sequences * (earlier_tokens * bytes_per_token))


@formula(Unit.BYTE, "other_kinds_bytes + 2 · sequences · state_bytes", "each token reads the state and writes it")
def state_traffic_bytes(other_kinds_bytes: Number, sequences: Number, state_bytes: Number) -> Number:
    """State of linear-attention layers that one decode step moves on one GPU, added to what was counted before."""
    return other_kinds_bytes + 2.0 * sequences * state_bytes


@formula(Unit.FLOP, "other_kinds_flops + new_tokens · earlier_tokens · flops_per_pair / ranks", FLASH)
def attention_flops(
    other_kinds_flops: Number, new_tokens: Number, earlier_tokens: Number, flops_per_pair: Number, ranks: Number
) -> Number:
    """FLOP of one GPU for new tokens with so many earlier ones each, added to those of other kinds of layers."""
    return added(other_kinds_flops, new_tokens * (earlier_tokens * flops_per_pair / ranks))


@formula(Unit.TOKEN, "min(prompt_tokens / 2 + prefix_tokens, window)", "causal: half of the prompt on average")
def mean_attended_tokens(prompt_tokens: Number, prefix_tokens: Number, window: Number) -> Number:
    """Earlier tokens that a token of the prompt looks at on average, `prefix_tokens` of them already in the cache."""
    return minimum(prompt_tokens * 0.5 + prefix_tokens, window)


@formula(Unit.SECOND, "max(read_s, multiply_s)", "decode attention reads and multiplies at once")
def decode_attention_seconds(read_s: Number, multiply_s: Number) -> Number:
    """Time of attention in a decode step: reading the cache, or multiplying where many heads share a latent."""
    return maximum(read_s, multiply_s)


@formula(
    Unit.BYTE,
    "other_kinds_bytes + new_tokens · earlier_tokens · all_heads · pair_bytes / ranks",
    "scores written and read again",
)
def attention_score_bytes(
    other_kinds_bytes: Number,
    new_tokens: Number,
    earlier_tokens: Number,
    all_heads: Number,
    pair_bytes: Number,
    ranks: Number,
) -> Number:
    """Bytes of the matrix of scores that one GPU moves for a prompt, added to those of other kinds of layers.

    `all_heads`: the query heads of all layers of this kind.
    """
    return other_kinds_bytes + new_tokens * earlier_tokens * all_heads * pair_bytes / ranks


@formula(Unit.SECOND, "multiply_s + scores_s", "writing the scores does not overlap with multiplying")
def prefill_attention_seconds(multiply_s: Number, scores_s: Number) -> Number:
    """Time of attention over a prompt; `scores_s` is 0 with flash attention."""
    return multiply_s + scores_s
