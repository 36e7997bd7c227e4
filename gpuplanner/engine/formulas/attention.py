"""Time of attention: reading the cache for each new token, and multiplying with it. Nothing of servers.

The counts of the model come in as numbers for all layers of one kind: cache bytes, and FLOP for each pair of tokens.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

FLASH = "Dao et al., FlashAttention-2, 2023: 4 · heads · head_dim FLOP for each pair of tokens"


@formula(Unit.BYTE, "read_bytes + sequences · tokens · bytes_per_token", "each new token reads the cache once")
def cache_read_bytes(read_bytes: Number, sequences: Number, tokens: Number, bytes_per_token: Number) -> Number:
    """Cache that one decode step reads on one GPU, layers of one kind added to those counted before."""
    return read_bytes + sequences * tokens * bytes_per_token


@formula(Unit.BYTE, "read_bytes + 2 · sequences · state_bytes", "each token reads the state and writes it")
def state_traffic_bytes(read_bytes: Number, sequences: Number, state_bytes: Number) -> Number:
    """State of linear-attention layers that one decode step moves on one GPU, added to what was counted before."""
    return read_bytes + 2.0 * sequences * state_bytes


@formula(Unit.FLOP, "flops + sequences · tokens · flops_per_pair / ranks", FLASH)
def attention_flops(flops: Number, sequences: Number, tokens: Number, flops_per_pair: Number, ranks: Number) -> Number:
    """FLOP of one GPU for `sequences` new tokens with `tokens` earlier ones each, added to those counted before."""
    return flops + sequences * tokens * flops_per_pair / ranks


@formula(Unit.TOKEN, "min(prompt_tokens / 2 + prefix_tokens, window)", "causal: half of the prompt on average")
def mean_attended_tokens(prompt_tokens: Number, prefix_tokens: Number, window: Number) -> Number:
    """Earlier tokens that a token of the prompt looks at on average, `prefix_tokens` of them already in the cache."""
    return minimum(prompt_tokens * 0.5 + prefix_tokens, window)


@formula(Unit.SECOND, "max(read_s, multiply_s)", "decode attention reads and multiplies at once")
def decode_attention_seconds(read_s: Number, multiply_s: Number) -> Number:
    """Time of attention in a decode step: reading the cache, or multiplying where many heads share a latent."""
    return maximum(read_s, multiply_s)


@formula(
    Unit.BYTE, "moved_bytes + prompt_tokens · tokens · heads · pair_bytes / ranks", "scores written and read again"
)
def attention_score_bytes(
    moved_bytes: Number, prompt_tokens: Number, tokens: Number, heads: Number, pair_bytes: Number, ranks: Number
) -> Number:
    """Bytes of the matrix of scores that one GPU moves for a prompt, added to those counted before."""
    return moved_bytes + prompt_tokens * tokens * heads * pair_bytes / ranks


@formula(Unit.SECOND, "multiply_s + scores_s", "writing the scores does not overlap with multiplying")
def prefill_attention_seconds(multiply_s: Number, scores_s: Number) -> Number:
    """Time of attention over a prompt; `scores_s` is 0 with flash attention."""
    return multiply_s + scores_s
