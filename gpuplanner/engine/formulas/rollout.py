"""Generating the answers that GRPO trains on: memory that the server takes, and time of one round. No trainer here.

The server decodes all sequences of a step together, as many at once as its cache holds; each pass reads the weights
and the cache of those at work. Rates are those of training, since no rollout was measured.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum, where
from gpuplanner.figures import formula
from gpuplanner.units import Unit

GRPO = "Shao et al., DeepSeekMath (GRPO), 2024 (arXiv:2402.03300)"
DEGREES = (4.0, 2.0, 1.0)


@formula(
    Unit.COUNT,
    "min(n, gpus_per_node), n = min(1, 2, 4, 8): (server_weight_bytes + sequence_bytes) / n ≤ rollout_share ·"
    " usable_bytes",
    "a replica takes as few GPUs as hold it",
)
def rollout_ranks(
    server_weight_bytes: Number,
    sequence_bytes: Number,
    rollout_share: Number,
    usable_bytes: Number,
    gpus_per_node: Number,
) -> Number:
    """GPUs over which one replica of the generating server splits the model."""
    ranks: Number = 8.0
    for degree in DEGREES:
        fits = (server_weight_bytes + sequence_bytes) / degree <= rollout_share * usable_bytes
        ranks = where(fits, degree, ranks)
    return minimum(ranks, gpus_per_node)


@formula(
    Unit.BYTE,
    "max(rollout_share · usable_bytes, (server_weight_bytes + sequence_bytes) / rollout_ranks)",
    "a server reserves its share of the memory, and cannot do with less than the weights and one sequence",
)
def rollout_bytes(
    rollout_share: Number,
    usable_bytes: Number,
    server_weight_bytes: Number,
    sequence_bytes: Number,
    rollout_ranks: Number,
) -> Number:
    """Memory of one GPU that the generating server takes."""
    return maximum(rollout_share * usable_bytes, (server_weight_bytes + sequence_bytes) / rollout_ranks)


@formula(
    Unit.COUNT,
    "max(min((rollout_held_bytes · rollout_ranks - server_weight_bytes) / sequence_bytes, replica_sequences), 1)",
    "the cache holds what the weights leave",
)
def rollout_sequences(
    rollout_held_bytes: Number,
    rollout_ranks: Number,
    server_weight_bytes: Number,
    sequence_bytes: Number,
    replica_sequences: Number,
) -> Number:
    """Sequences that one replica decodes at once, of the `replica_sequences` that are its share of a step."""
    room = (rollout_held_bytes * rollout_ranks - server_weight_bytes) / sequence_bytes
    return maximum(minimum(room, replica_sequences), 1.0)


@formula(
    Unit.SECOND,
    "max((read_weight_bytes + sequences · sequence_bytes / 2) / (rollout_ranks · hbm_bytes_per_s · hbm_efficiency),"
    " 2 · active_parameters · sequences / (rollout_ranks · flop_per_s · utilisation)) + layers · layer_s",
    "weights and, on average, half-filled caches are read for each token; each kernel has a floor",
)
def rollout_token_seconds(
    read_weight_bytes: Number,
    sequences: Number,
    sequence_bytes: Number,
    rollout_ranks: Number,
    hbm_bytes_per_s: Number,
    hbm_efficiency: Number,
    active_parameters: Number,
    flop_per_s: Number,
    utilisation: Number,
    layers: Number,
    layer_s: Number,
) -> Number:
    """Time in which every sequence at work gets one more token."""
    read = (read_weight_bytes + sequences * sequence_bytes / 2.0) / (rollout_ranks * hbm_bytes_per_s * hbm_efficiency)
    multiply = 2.0 * active_parameters * sequences / (rollout_ranks * flop_per_s * utilisation)
    return maximum(read, multiply) + layers * layer_s


@formula(
    Unit.SECOND,
    "2 · active_parameters · replica_sequences · prompt_tokens / (rollout_ranks · flop_per_s · utilisation)"
    " + output_tokens · token_s · replica_sequences / sequences",
    GRPO,
)
def rollout_seconds(
    active_parameters: Number,
    replica_sequences: Number,
    prompt_tokens: Number,
    rollout_ranks: Number,
    flop_per_s: Number,
    utilisation: Number,
    output_tokens: Number,
    token_s: Number,
    sequences: Number,
) -> Number:
    """Time to generate the sequences of one step: their prompts, then token by token in as many rounds as it takes."""
    prompts = 2.0 * active_parameters * replica_sequences * prompt_tokens / (rollout_ranks * flop_per_s * utilisation)
    return prompts + output_tokens * token_s * replica_sequences / sequences
