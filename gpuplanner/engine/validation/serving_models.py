"""A model from the sizes that a row of measurements gives, where the catalog has no entry for its name. Pure.

Only what such a row can tell: equal layers, one kind of attention, experts or none. Which of gated or plain MLP and of
tied or separate embeddings it has is chosen so that the parameter count comes nearest to the published one.
"""

from collections.abc import Iterator
from itertools import product

from gpuplanner.catalog.architecture import Attention, AttentionKind, Mlp, ModelArchitecture
from gpuplanner.catalog.parameters import (
    attention_parameters,
    cache_elements,
    gated_mlp_parameters,
    latent_attention_parameters,
    low_rank_query_parameters,
    mixture_parameters,
    plain_mlp_parameters,
    total_parameters,
)
from gpuplanner.engine.validation.cells import count, needed, positive
from gpuplanner.engine.validation.plain_models import plain_model
from gpuplanner.engine.validation.rows import Row
from gpuplanner.messages import InputError, msg

LATENT_RANK, ROTARY_DIM, NOPE_DIM, VALUE_DIM, QUERY_RANK = 512, 64, 128, 128, 1536
"""DeepSeek-V2 and later: the sizes of multi-head latent attention, which the rows do not carry."""
COUNT_TOLERANCE = 0.15


def architecture_of_row(row: Row) -> ModelArchitecture:
    """The model of a row from its sizes. Raises InputError when they are missing or do not add up to its parameters."""
    published = needed(row, "params_b", positive) * 1e9
    candidates = list(_candidates(row))
    best = min(candidates, key=lambda model: abs(total_parameters(model) - published))
    if abs(total_parameters(best) / published - 1) > COUNT_TOLERANCE:
        counted = f"{total_parameters(best) / 1e9:.2f}"
        raise InputError(msg("serving.sizes_do_not_add_up", counted=counted, published=f"{published / 1e9:.2f}"))
    return best


def _candidates(row: Row) -> Iterator[ModelArchitecture]:
    layers, hidden = needed(row, "n_layers", count), needed(row, "hidden", count)
    vocabulary, width = needed(row, "vocab", count), needed(row, "ffn", count)
    attention = _attention(row, hidden)
    experts, chosen = int(row.number("n_experts") or 0), int(row.number("top_k") or 0)
    for gated, tied, shared in product((True, False), (True, False), (0, 1) if experts else (0,)):
        one = gated_mlp_parameters(hidden, width) if gated else plain_mlp_parameters(hidden, width)
        if experts:
            router = hidden * experts
            beside = shared * one
            mlp = Mlp(
                intermediate=width, gated=gated, experts=experts, experts_per_token=chosen,
                shared_intermediate=shared * width, expert_parameters=one, shared_parameters=beside,
                parameters=mixture_parameters(experts, one, beside, router),
                active_parameters=mixture_parameters(chosen, one, beside, router), unquantised_parameters=router,
            )  # fmt: skip
        else:
            mlp = Mlp(intermediate=width, gated=gated, parameters=one, active_parameters=one)
        yield plain_model(row.text("model"), layers, hidden, vocabulary, attention, mlp, tied=tied)


def _attention(row: Row, hidden: int) -> Attention:
    heads = needed(row, "n_heads", count)
    if row.text("mla") == "1":
        weights = latent_attention_parameters(hidden, heads, LATENT_RANK, ROTARY_DIM, NOPE_DIM, VALUE_DIM)
        query = low_rank_query_parameters(hidden, QUERY_RANK, heads, NOPE_DIM + ROTARY_DIM)
        return Attention(
            kind=AttentionKind.MLA, heads=heads, kv_heads=heads, head_dim=NOPE_DIM + ROTARY_DIM,
            value_head_dim=VALUE_DIM, cache_elements_per_token=LATENT_RANK + ROTARY_DIM, parameters=weights + query,
        )  # fmt: skip
    kv_heads = needed(row, "n_kv_heads", count)
    size = count(row, "head_dim") or hidden // heads
    return Attention(
        kind=AttentionKind.FULL, heads=heads, kv_heads=kv_heads, head_dim=size, value_head_dim=size,
        cache_elements_per_token=cache_elements(kv_heads, size, size), cache_shards=kv_heads,
        parameters=attention_parameters(hidden, heads, kv_heads, size, size),
    )  # fmt: skip
