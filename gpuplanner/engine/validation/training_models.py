"""The model that a row of training measurements is of: from the sizes it gives, by its name, else a usual one. Pure."""

from gpuplanner.catalog.architecture import Attention, AttentionKind, Mlp, ModelArchitecture
from gpuplanner.catalog.parameters import (
    attention_parameters,
    cache_elements,
    gated_mlp_parameters,
    mixture_parameters,
    plain_mlp_parameters,
)
from gpuplanner.engine.validation.cells import count, positive
from gpuplanner.engine.validation.plain_models import plain_model
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.messages import InputError, msg

WIDTH_PER_LAYER, USUAL_HEAD, USUAL_VOCABULARY = 128, 128, 51_200
"""The shape of a GPT where a row gives its parameters only: the proportions of GPT-3 and of most models after it."""


def states_shape(row: Row, context: ValidationContext) -> bool:
    """Whether a row tells the shape of its model, by sizes or by name; else a usual one is taken."""
    return _told_model(row, context) is not None


def model_of_row(row: Row, context: ValidationContext) -> ModelArchitecture:
    """From the row's sizes; where they lack, by its name; else a plain GPT of as many parameters."""
    found = _told_model(row, context)
    if found is not None:
        return found
    parameters = positive(row, "params_b")
    if _latent(row) or parameters is None:
        raise InputError(msg("validation.no_sizes", model=row.text("model")[:60]))
    return _from_sizes(row, *_usual_shape(parameters * 1e9))


def _told_model(row: Row, context: ValidationContext) -> ModelArchitecture | None:
    hidden, parameters = count(row, "hidden"), positive(row, "params_b")
    layers = count(row, "n_layers") or (hidden and parameters and round(parameters * 1e9 / (12 * hidden**2)))
    if not _latent(row) and layers and hidden:
        return _from_sizes(row, layers, hidden)
    try:
        return context.names.model(row.text("model")).architecture
    except InputError:
        return None


def _latent(row: Row) -> bool:
    return "mla" in row.text("notes").lower()


def _usual_shape(parameters: float) -> tuple[int, int]:
    """Layers and hidden size of a GPT with 12 · layers · hidden² parameters and 128 units of width for each layer."""
    hidden = round((parameters * WIDTH_PER_LAYER / 12) ** (1 / 3) / 128) * 128 or 128
    return max(round(parameters / (12 * hidden**2)), 1), hidden


def _from_sizes(row: Row, layers: int, hidden: int) -> ModelArchitecture:
    heads = count(row, "n_heads") or max(hidden // USUAL_HEAD, 1)
    kv_heads = count(row, "n_kv_heads") or heads
    size = count(row, "head_dim") or hidden // heads
    gated = row.text("gated_mlp") == "1"
    width = count(row, "ffn") or hidden * (8 if gated else 12) // 3
    vocabulary = count(row, "vocab") or USUAL_VOCABULARY
    mlp = _mlp(row, hidden, width, gated)
    attention = Attention(
        kind=AttentionKind.FULL,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=size,
        value_head_dim=size,
        cache_elements_per_token=cache_elements(kv_heads, size, size),
        cache_shards=kv_heads,
        parameters=attention_parameters(hidden, heads, kv_heads, size, size),
    )
    tied = row.text("tied_embeddings") == "1"
    return plain_model(row.text("model"), layers, hidden, vocabulary, attention, mlp, tied=tied)


def _mlp(row: Row, hidden: int, width: int, gated: bool) -> Mlp:
    parameters = gated_mlp_parameters if gated else plain_mlp_parameters
    experts = count(row, "n_experts") or 0
    if not experts:
        return Mlp(
            intermediate=width,
            gated=gated,
            parameters=parameters(hidden, width),
            active_parameters=parameters(hidden, width),
        )
    inner = count(row, "moe_ffn") or width
    chosen = count(row, "experts_top_k") or 1
    shared = int(row.number("n_shared_experts") or 0)
    one, router = parameters(hidden, inner), hidden * experts
    return Mlp(
        intermediate=inner,
        gated=gated,
        experts=experts,
        experts_per_token=chosen,
        shared_intermediate=shared * inner,
        expert_parameters=one,
        shared_parameters=shared * one,
        parameters=mixture_parameters(experts, one, shared * one, router),
        active_parameters=mixture_parameters(chosen, one, shared * one, router),
        unquantised_parameters=router,
    )
