"""Mixtures of experts: how many of them a step has to load, and the rows that each multiplies. Nothing of servers."""

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(
    Unit.COUNT,
    "experts · (1 - (1 - experts_per_token / experts)^tokens)",
    "expected number of distinct experts when each token chooses its own at random",
)
def experts_loaded(experts: Number, experts_per_token: Number, tokens: Number) -> Number:
    """Distinct routed experts of one layer that `tokens` tokens use together; `experts_per_token` of them for one."""
    return experts * (1.0 - (1.0 - experts_per_token / experts) ** tokens)


@formula(
    Unit.BYTE,
    "(attention_bytes · attention_ranks + mlp_bytes + head_bytes + expert_bytes · loaded / experts) / tensor_parallel"
    " + copied_bytes",
    "weights that a pass reads once, however many tokens it has",
)
def read_weight_bytes(
    attention_bytes: Number,
    attention_ranks: Number,
    mlp_bytes: Number,
    head_bytes: Number,
    expert_bytes: Number,
    loaded: Number,
    experts: Number,
    tensor_parallel: Number,
    copied_bytes: Number,
) -> Number:
    """Weight bytes that one GPU reads in a pass: all that every token uses, and of the routed experts those in use."""
    split = attention_bytes * attention_ranks + mlp_bytes + head_bytes + expert_bytes * loaded / experts
    return split / tensor_parallel + copied_bytes


@formula(
    Unit.TOKEN,
    "tokens + expert_padding_tokens · loaded / experts_per_token",
    "each expert in use pads its rows by itself",
)
def expert_rows(tokens: Number, expert_padding_tokens: Number, loaded: Number, experts_per_token: Number) -> Number:
    """Rows that each chosen expert's weights are multiplied with, padding included."""
    return tokens + expert_padding_tokens * loaded / experts_per_token
