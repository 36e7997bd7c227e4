"""Mixtures of experts: how many a step has to load, rows for each, how unevenly both fall on ranks. Nothing of servers.

Routers are taken to choose at random. Experts that are chosen more often than others make the busiest rank busier.
"""

from gpuplanner.engine.formulas.elementwise import Number, ceil, maximum, minimum
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
    "(attention_bytes · attention_ranks + (mlp_bytes + head_bytes) · dense_copies + expert_bytes · loaded / experts)"
    " / tensor_parallel + copied_bytes",
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
    dense_copies: Number = 1.0,
) -> Number:
    """Weight bytes that one GPU reads in a pass: all that every token uses, and of the routed experts those in use."""
    dense = (mlp_bytes + head_bytes) * dense_copies
    split = attention_bytes * attention_ranks + dense + expert_bytes * loaded / experts
    return split / tensor_parallel + copied_bytes


@formula(
    Unit.TOKEN,
    "tokens + expert_padding_tokens · loaded / experts_per_token",
    "each expert in use pads its rows by itself",
)
def expert_rows(tokens: Number, expert_padding_tokens: Number, loaded: Number, experts_per_token: Number) -> Number:
    """Rows that each chosen expert's weights are multiplied with, padding included."""
    return tokens + expert_padding_tokens * loaded / experts_per_token


BALLS = "balls in bins: hypergeometric counts, the largest of them by Blom, Statistical Estimates, 1958"


@formula(
    Unit.RATIO,
    "4.91 · (((ranks - 0.375) / (ranks + 0.25))^0.14 - (0.625 / (ranks + 0.25))^0.14)",
    "largest of `ranks` normal numbers: Blom 1958; normal quantile: Joiner and Rosenblatt, JASA 66 (1971) 394",
)
def largest_deviation(ranks: Number) -> Number:
    """By how many standard deviations the busiest of `ranks` equal ranks lies above the mean; 0 for one rank."""
    whole = ranks + 0.25
    return 4.91 * (((ranks - 0.375) / whole) ** 0.14 - (0.625 / whole) ** 0.14)


@formula(
    Unit.TOKEN,
    "tokens · min(1 + deviations · ((expert_parallel - 1) · (experts - experts_per_token) /"
    " ((experts - 1) · tokens · experts_per_token))^0.5, expert_parallel, experts / experts_per_token)",
    BALLS,
)
def busiest_rank_tokens(
    tokens: Number, experts_per_token: Number, experts: Number, expert_parallel: Number, deviations: Number
) -> Number:
    """Tokens that, spread evenly, would give every rank as much work as the busiest one has.

    A token's experts are distinct, so the share of them on one rank is hypergeometric, and tokens are independent.
    """
    spread = (expert_parallel - 1.0) * (experts - experts_per_token) / (maximum(experts - 1.0, 1.0) * experts_per_token)
    uneven = 1.0 + deviations * (spread / tokens) ** 0.5
    return tokens * minimum(uneven, minimum(expert_parallel, experts / experts_per_token))


@formula(
    Unit.COUNT,
    "experts · min((loaded + deviations · ((expert_parallel - 1) · loaded · (1 - loaded / experts))^0.5) / experts, 1)",
    BALLS,
)
def busiest_rank_loaded(loaded: Number, experts: Number, expert_parallel: Number, deviations: Number) -> Number:
    """Distinct experts of a layer that would be loaded if every rank had to load as many as the busiest one."""
    spread = (expert_parallel - 1.0) * loaded * (1.0 - loaded / experts)
    return experts * minimum((loaded + deviations * spread**0.5) / experts, 1.0)


@formula(
    Unit.BYTE,
    "expert_bytes · ceil(experts / expert_parallel) · expert_parallel / experts",
    "whole experts on every rank; the fullest one counts",
)
def spread_expert_bytes(expert_bytes: Number, experts: Number, expert_parallel: Number) -> Number:
    """Bytes of the routed experts as if every rank held as many as the fullest one."""
    return expert_bytes * ceil(experts / expert_parallel) * expert_parallel / experts


@formula(
    Unit.COUNT,
    "groups · (1 - (1 - 1 / groups)^experts_per_token)",
    "expected number of distinct groups among a token's experts",
)
def distinct_groups(groups: Number, experts_per_token: Number) -> Number:
    """Groups of experts (ranks, nodes) that the experts of one token lie in."""
    return groups * (1.0 - (1.0 - 1.0 / groups) ** experts_per_token)


@formula(
    Unit.BYTE,
    "max(tokens / tensor_parallel, 1) · distinct_groups(expert_parallel, experts_per_token) · tensor_parallel /"
    " expert_parallel · hidden · element_bytes",
    "DeepEP: a token travels once to each rank that has one of its experts",
)
def dispatch_bytes(
    tokens: Number,
    tensor_parallel: Number,
    expert_parallel: Number,
    experts_per_token: Number,
    hidden: Number,
    element_bytes: Number,
) -> Number:
    """Bytes that one rank sends to the ranks of the experts that its share of the tokens has chosen.

    Each expert is split over `tensor_parallel / expert_parallel` GPUs, each of which gets the token.
    """
    own = maximum(tokens / tensor_parallel, 1.0)
    copies = distinct_groups(expert_parallel, experts_per_token) * (tensor_parallel / expert_parallel)
    return own * copies * hidden * element_bytes


@formula(
    Unit.RATIO,
    "network_efficiency · distinct_groups(expert_parallel, experts_per_token) / distinct_groups(nodes,"
    " experts_per_token)",
    "DeepEP: copies for several ranks of one node cross the network as one",
)
def once_per_node_efficiency(
    network_efficiency: Number, expert_parallel: Number, nodes: Number, experts_per_token: Number
) -> Number:
    """Share of the network's rate as if every copy of a token crossed it by itself; above 1 where few of them do."""
    copies = distinct_groups(expert_parallel, experts_per_token)
    return network_efficiency * copies / distinct_groups(nodes, experts_per_token)


@formula(Unit.SECOND, "passes · 2 · moe_layers · all_to_all_s", "out to the experts and back, in each layer of experts")
def dispatch_seconds(passes: Number, moe_layers: Number, all_to_all_s: Number) -> Number:
    """Time in which tokens travel to the ranks of their experts and the results back."""
    return passes * 2.0 * moe_layers * all_to_all_s
