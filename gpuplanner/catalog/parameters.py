"""Parameter counts: one formula for each part of a model, and their sums over an architecture. Pure; whole numbers.

References: the modules of the Hugging Face transformers library, whose checkpoints these counts equal. What a module
registers as a buffer (rotary tables, the correction bias of a router) is not a parameter.
"""

from gpuplanner.catalog.architecture import AttentionKind, LayerGroup, ModelArchitecture, Part
from gpuplanner.figures import formula
from gpuplanner.units import Unit

_PARAMETER = Unit.PARAMETER


@formula(_PARAMETER, "inputs · outputs")
def projection_parameters(inputs: int, outputs: int) -> int:
    """Weights of a linear projection without a bias."""
    return inputs * outputs


@formula(_PARAMETER, "vocabulary · hidden")
def embedding_parameters(vocabulary: int, hidden: int) -> int:
    """A table of one vector for each token; the output projection has as many."""
    return vocabulary * hidden


@formula(
    _PARAMETER,
    "hidden · (heads · (head_dim + value_head_dim) + kv_heads · (head_dim + value_head_dim))",
    "Ainslie et al., GQA, 2023 (arXiv:2305.13245)",
)
def attention_parameters(hidden: int, heads: int, kv_heads: int, head_dim: int, value_head_dim: int) -> int:
    """Query, key, value and output projections; grouped-query attention shares keys and values between heads."""
    return hidden * (heads + kv_heads) * (head_dim + value_head_dim)


@formula(_PARAMETER, "heads · head_dim + kv_heads · (head_dim + value_head_dim)")
def attention_bias_parameters(heads: int, kv_heads: int, head_dim: int, value_head_dim: int) -> int:
    """Biases of the query, key and value projections."""
    return heads * head_dim + kv_heads * (head_dim + value_head_dim)


@formula(
    _PARAMETER,
    "hidden · (latent_rank + rotary_dim) + latent_rank · heads · (nope_dim + value_head_dim)"
    " + heads · value_head_dim · hidden",
    "DeepSeek-V2, 2024 (arXiv:2405.04434)",
)
def latent_attention_parameters(
    hidden: int, heads: int, latent_rank: int, rotary_dim: int, nope_dim: int, value_head_dim: int
) -> int:
    """Multi-head latent attention without its query: down to the latent, up to keys and values, and the output."""
    return (
        hidden * (latent_rank + rotary_dim)
        + latent_rank * heads * (nope_dim + value_head_dim)
        + heads * value_head_dim * hidden
    )


@formula(_PARAMETER, "hidden · query_rank + query_rank · heads · head_dim", "DeepSeek-V2, 2024 (arXiv:2405.04434)")
def low_rank_query_parameters(hidden: int, query_rank: int, heads: int, head_dim: int) -> int:
    """A query projection through a low rank."""
    return hidden * query_rank + query_rank * heads * head_dim


@formula(
    _PARAMETER,
    "query_rank · index_heads · index_head_dim + hidden · index_head_dim",
    "DeepSeek-V3.2-Exp, sparse attention, 2025",
)
def indexer_parameters(hidden: int, query_rank: int, index_heads: int, index_head_dim: int) -> int:
    """The lightning indexer's query and key projections (its head weights stay at 16 bits and are counted apart)."""
    return query_rank * index_heads * index_head_dim + hidden * index_head_dim


@formula(_PARAMETER, "3 · hidden · intermediate", "Shazeer, GLU variants, 2020 (arXiv:2002.05202)")
def gated_mlp_parameters(hidden: int, intermediate: int) -> int:
    """Gate, up and down projections."""
    return 3 * hidden * intermediate


@formula(_PARAMETER, "2 · hidden · intermediate")
def plain_mlp_parameters(hidden: int, intermediate: int) -> int:
    """Up and down projections."""
    return 2 * hidden * intermediate


@formula(_PARAMETER, "experts · expert_parameters + shared_parameters + unquantised_parameters")
def mixture_parameters(
    experts: int, expert_parameters: int, shared_parameters: int, unquantised_parameters: int
) -> int:
    """All resident weights of a mixture of experts; `unquantised_parameters`: the router with its gates and biases."""
    return experts * expert_parameters + shared_parameters + unquantised_parameters


@formula(
    _PARAMETER,
    "hidden · (2 · inner + 2 · state_groups · state_dim + state_heads) + inner · hidden",
    "Dao and Gu, Mamba-2, 2024 (arXiv:2405.21060)",
)
def mamba2_parameters(hidden: int, inner: int, state_groups: int, state_dim: int, state_heads: int) -> int:
    """Input and output projections of a Mamba-2 mixer."""
    return hidden * (2 * inner + 2 * state_groups * state_dim + state_heads) + inner * hidden


@formula(
    _PARAMETER,
    "hidden · 2 · inner + inner · (time_step_rank + 2 · state_dim) + time_step_rank · inner + inner · hidden",
    "Gu and Dao, Mamba, 2023 (arXiv:2312.00752)",
)
def mamba_parameters(hidden: int, inner: int, time_step_rank: int, state_dim: int) -> int:
    """Projections of a Mamba mixer."""
    return 2 * hidden * inner + inner * (time_step_rank + 2 * state_dim) + time_step_rank * inner + inner * hidden


@formula(
    _PARAMETER,
    "hidden · (2 · key_width + 2 · value_width + 2 · state_heads) + value_width · hidden",
    "Yang et al., Gated DeltaNet, 2024 (arXiv:2412.06464)",
)
def gated_delta_parameters(hidden: int, key_width: int, value_width: int, state_heads: int) -> int:
    """Projections of a gated delta rule mixer: query, key, value, output gate, the two gates of a head, output."""
    return hidden * (2 * key_width + 2 * value_width + 2 * state_heads) + value_width * hidden


@formula(_PARAMETER, "layers · (attention_parameters + mlp_parameters + norm_parameters)")
def layer_group_parameters(layers: int, attention_parameters: int, mlp_parameters: int, norm_parameters: int) -> int:
    """The weights of equal layers."""
    return layers * (attention_parameters + mlp_parameters + norm_parameters)


@formula(Unit.COUNT, "kv_heads · (head_dim + value_head_dim)")
def cache_elements(kv_heads: int, head_dim: int, value_head_dim: int) -> int:
    """Numbers that one layer keeps for each token: keys and values of all KV heads."""
    return kv_heads * (head_dim + value_head_dim)


def group_parameters(group: LayerGroup) -> int:
    """All weights of a group of layers."""
    attention = group.attention.parameters + (group.cross_attention.parameters if group.cross_attention else 0)
    return layer_group_parameters(group.count, attention, group.mlp.parameters, group.norm_parameters)


def language_parameters(architecture: ModelArchitecture) -> int:
    """The weights of the language model alone: embeddings, layers, last norm and output projection."""
    layers = sum(group_parameters(group) for group in architecture.groups)
    ends = architecture.embedding_parameters + architecture.final_norm_parameters + architecture.head_parameters
    return layers + ends


def total_parameters(architecture: ModelArchitecture) -> int:
    """All weights that a server loads to decode: the language model and its towers, without `extra_parameters`."""
    return language_parameters(architecture) + architecture.tower_parameters


def active_parameters(architecture: ModelArchitecture) -> int:
    """The weights of the language model that one token uses: of the routed experts only those it is sent to."""
    idle = sum(g.count * (g.mlp.parameters - g.mlp.active_parameters) for g in architecture.groups)
    return language_parameters(architecture) - idle


def parameters_by_part(architecture: ModelArchitecture) -> dict[Part, int]:
    """The weights by the part that a quantisation treats apart; they add up to total and extra parameters.

    `UNQUANTISED` holds biases, norms, routers and convolutions, which stay at 16 bits or more in every format.
    """
    parts = dict.fromkeys(Part, 0)
    parts[Part.EMBEDDING] = architecture.embedding_parameters
    parts[Part.HEAD] = architecture.head_parameters
    parts[Part.TOWER] = architecture.tower_parameters
    parts[Part.EXTRA] = architecture.extra_parameters
    parts[Part.UNQUANTISED] = architecture.final_norm_parameters
    for group in architecture.groups:
        mlp = group.mlp
        for mixer in (group.attention, group.cross_attention):
            if mixer is not None:
                part = Part.LINEAR_ATTENTION if mixer.kind is AttentionKind.LINEAR else Part.ATTENTION
                parts[part] += group.count * (mixer.parameters - mixer.unquantised_parameters)
                parts[Part.UNQUANTISED] += group.count * mixer.unquantised_parameters
        experts = mlp.experts * mlp.expert_parameters
        parts[Part.EXPERTS] += group.count * experts
        parts[Part.SHARED_EXPERTS] += group.count * mlp.shared_parameters
        dense = mlp.parameters - experts - mlp.shared_parameters - mlp.unquantised_parameters
        parts[Part.MLP] += group.count * dense
        parts[Part.UNQUANTISED] += group.count * (mlp.unquantised_parameters + group.norm_parameters)
    return parts
