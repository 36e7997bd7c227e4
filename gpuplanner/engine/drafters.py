"""What drafts tokens for a model, as a model of its own: prediction layers, an EAGLE layer, Medusa heads. Shapes only.

`runs` is what a pass of it works with, `holds` what it takes of memory beside the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuplanner.catalog.architecture import Attention, AttentionKind, LayerGroup, Mlp, ModelArchitecture
from gpuplanner.catalog.parameters import attention_parameters, cache_elements, gated_mlp_parameters, group_parameters
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.drafted import DraftedModel
from gpuplanner.workload.serving import Speculation

WIDE = "bf16"
"""Heads and layers that are trained for a model are published in 16 bits, however the model is stored."""
SIXTEEN_BITS = frozenset({"fp32", "fp16", WIDE})


@dataclass(frozen=True, slots=True)
class Drafter:
    """What drafts: as a pass meets it, and as memory does.

    `precision`: the format of its weights, "" for its own; `reads_prompt`: whether it keeps a cache of its own.
    """

    runs: ModelArchitecture
    holds: ModelArchitecture
    precision: str
    reads_prompt: bool


def drafter_of(
    model: ModelArchitecture, method: Speculation, precision: str, draft_tokens: float, heads: Mapping[str, float]
) -> Drafter | None:
    """What drafts for a model by a method, None where tokens are looked up.

    `precision`: the model's own; `heads`: sizes of heads that models themselves do not tell. Raises InputError when the
    model has no prediction layers, or no smaller model was chosen.
    """
    match method:
        case Speculation.MODEL:
            if not isinstance(model, DraftedModel):
                raise InputError(msg("serving.no_draft_model"))
            return Drafter(model.draft, model.draft, "", True)
        case Speculation.MTP:
            return _prediction(model, precision)
        case Speculation.EAGLE:
            return _eagle(model, heads)
        case Speculation.MEDUSA:
            return _medusa(model, draft_tokens)
        case _:
            return None


def _prediction(model: ModelArchitecture, precision: str) -> Drafter:
    """One layer like the last that attends, and what makes one vector of two; embedding and output are the model's."""
    if not model.extra_parameters:
        raise InputError(msg("serving.no_prediction_layers", model=model.name))
    last = _last_attending(model)
    layer = group_parameters(last.model_copy(update={"count": 1})) + 2 * model.hidden**2
    layers = max(round(model.extra_parameters / layer), 1)
    joined = last.mlp.model_copy(update=_with_dense(last.mlp, 2 * model.hidden**2))
    group = last.model_copy(update={"count": 1, "mlp": joined, "places": (), "cross_attention": None})
    head = model.head_parameters or model.embedding_parameters
    return Drafter(
        _drafting(model, group, head=head, quantisation=model.weight_quantisation),
        _drafting(model, group.model_copy(update={"count": layers}), quantisation=model.weight_quantisation),
        precision,
        True,
    )


def _eagle(model: ModelArchitecture, heads: Mapping[str, float]) -> Drafter:
    """EAGLE-3: three hidden states into one, a layer that attends, and an output over the most frequent tokens."""
    hidden = model.hidden
    last = _last_attending(model).attention
    plain = last.kind in {AttentionKind.FULL, AttentionKind.SLIDING}
    size = last.head_dim if plain else 128
    queries = last.heads if plain else max(hidden // size, 1)
    shared = last.kv_heads if plain else queries
    attention = Attention(
        kind=AttentionKind.FULL, heads=queries, kv_heads=shared, head_dim=size, value_head_dim=size,
        cache_elements_per_token=cache_elements(shared, size, size), cache_shards=max(shared, 1),
        parameters=attention_parameters(hidden, queries, shared, size, size),
    )  # fmt: skip
    width = max(*(g.mlp.intermediate for g in model.groups if not g.mlp.experts), 0, 0)
    width = width or int(hidden * heads["eagle_mlp_width"])
    mlp = Mlp(intermediate=width)
    weights = gated_mlp_parameters(hidden, width) + 3 * hidden**2
    mlp = mlp.model_copy(update={"parameters": weights, "active_parameters": weights})
    group = LayerGroup(count=1, attention=attention, mlp=mlp, norm_parameters=4 * hidden)
    vocabulary = min(model.vocabulary, int(heads["eagle_vocabulary"]))
    own = _drafting(model, group, head=vocabulary * hidden, quantisation=WIDE)
    return Drafter(own, own, WIDE, True)


def _medusa(model: ModelArchitecture, draft_tokens: float) -> Drafter:
    """A square layer and an output projection for each drafted token, all from the model's last hidden state."""
    hidden, heads = model.hidden, int(draft_tokens)
    mlp = Mlp(gated=False, parameters=heads * hidden**2, active_parameters=heads * hidden**2)
    group = LayerGroup(count=1, attention=Attention(kind=AttentionKind.NONE), mlp=mlp)
    own = _drafting(model, group, head=heads * model.vocabulary * hidden, quantisation=WIDE)
    return Drafter(own, own, WIDE, False)


def _drafting(model: ModelArchitecture, group: LayerGroup, *, head: int = 0, quantisation: str) -> ModelArchitecture:
    return ModelArchitecture(
        name=model.name,
        family=model.family,
        hidden=model.hidden,
        vocabulary=model.vocabulary,
        groups=(group,),
        head_parameters=head,
        weight_quantisation=quantisation,
        stored_parts=model.stored_parts if quantisation == model.weight_quantisation else (),
        kv_quantisation=model.kv_quantisation,
    )


def _last_attending(model: ModelArchitecture) -> LayerGroup:
    """The last layers of a model that keep a cache; the last of all where none does."""
    attending = [g for g in model.groups if g.attention.cache_elements_per_token and not g.encoder]
    return (attending or list(model.groups))[-1]


def _with_dense(mlp: Mlp, more: int) -> dict[str, int]:
    return {"parameters": mlp.parameters + more, "active_parameters": mlp.active_parameters + more}
