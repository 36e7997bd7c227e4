"""The building blocks that families share: attention, feed-forward and whole models out of checked numbers.

Knows no field names; sizes come in as arguments.
"""

from collections.abc import Iterable

from gpuplanner.catalog import parameters
from gpuplanner.catalog.architecture import Attention, AttentionKind, LayerGroup, Mlp, ModelArchitecture, Role
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.sizes import Sizes

Layer = tuple[Attention, Mlp, int]
"""Attention, feed-forward part and the parameters of the norms around them."""

NO_ATTENTION = Attention(kind=AttentionKind.NONE)
NO_MLP = Mlp()


def grouped_attention(
    hidden: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    *,
    value_head_dim: int = 0,
    window: int | None = None,
    query_bias: bool = False,
    output_bias: bool = False,
    extra_matrices: int = 0,
    extra_vectors: int = 0,
    cached: bool = True,
) -> Attention:
    """Multi-head, grouped-query or multi-query attention. `extra_vectors`: norms, sinks and biases beside the usual."""
    value_head_dim = value_head_dim or head_dim
    vectors = extra_vectors
    if query_bias:
        vectors += parameters.attention_bias_parameters(heads, kv_heads, head_dim, value_head_dim)
    if output_bias:
        vectors += hidden
    matrices = parameters.attention_parameters(hidden, heads, kv_heads, head_dim, value_head_dim) + extra_matrices
    return Attention(
        kind=AttentionKind.SLIDING if window else AttentionKind.FULL,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_head_dim=value_head_dim,
        window=window,
        cache_elements_per_token=parameters.cache_elements(kv_heads, head_dim, value_head_dim) if cached else 0,
        cache_shards=kv_heads,
        parameters=matrices + vectors,
        unquantised_parameters=vectors,
    )


def dense_mlp(hidden: int, intermediate: int, *, gated: bool = True, bias: bool = False) -> Mlp:
    """A feed-forward part without experts."""
    count = parameters.gated_mlp_parameters if gated else parameters.plain_mlp_parameters
    vectors = (intermediate * (2 if gated else 1) + hidden) if bias else 0
    total = count(hidden, intermediate) + vectors
    return Mlp(
        intermediate=intermediate,
        gated=gated,
        parameters=total,
        active_parameters=total,
        unquantised_parameters=vectors,
    )


def mixture(
    hidden: int,
    intermediate: int,
    experts: int,
    experts_per_token: int,
    *,
    gated: bool = True,
    shared_intermediate: int = 0,
    expert_hidden: int = 0,
    extra_shared: int = 0,
    extra_vectors: int = 0,
    expert_vectors: int = 0,
) -> Mlp:
    """A mixture of experts with its router.

    `expert_hidden`: the width that the routed experts work in, where it is not the model's. `extra_shared`: matrices
    that every token uses beside the shared experts. `extra_vectors`: gates and biases beside the router's matrix, used
    by every token; `expert_vectors`: the biases of one expert.
    """
    count = parameters.gated_mlp_parameters if gated else parameters.plain_mlp_parameters
    expert = count(expert_hidden or hidden, intermediate)
    shared = (count(hidden, shared_intermediate) if shared_intermediate else 0) + extra_shared
    router = parameters.projection_parameters(hidden, experts) + extra_vectors
    vectors = router + experts * expert_vectors
    total = parameters.mixture_parameters(experts, expert, shared, vectors)
    return Mlp(
        intermediate=intermediate,
        gated=gated,
        experts=experts,
        experts_per_token=experts_per_token,
        shared_intermediate=shared_intermediate,
        expert_parameters=expert,
        shared_parameters=shared,
        parameters=total,
        active_parameters=total - (experts - experts_per_token) * (expert + expert_vectors),
        unquantised_parameters=vectors,
    )


def grouped(
    layers: Iterable[Layer], *, encoder: bool = False, cross_attention: Attention | None = None
) -> tuple[LayerGroup, ...]:
    """Equal layers as groups, in the order in which each kind first appears.

    Layers are told apart by identity, which is much quicker than by value: equal layers share their parts.
    """
    kinds: dict[tuple[int, int, int], Layer] = {}
    places: dict[tuple[int, int, int], list[int]] = {}
    for place, layer in enumerate(layers):
        key = (id(layer[0]), id(layer[1]), layer[2])
        kinds[key] = layer
        places.setdefault(key, []).append(place)
    return tuple(
        LayerGroup(
            count=len(places[key]),
            places=tuple(places[key]) if len(kinds) > 1 else (),
            attention=attention,
            mlp=mlp,
            norm_parameters=norms,
            encoder=encoder,
            cross_attention=cross_attention,
        )
        for key, (attention, mlp, norms) in kinds.items()
    )


def decoder(
    fields: Fields,
    groups: tuple[LayerGroup, ...],
    *,
    hidden: int,
    vocabulary: int,
    tied: bool,
    final_norm: int,
    max_positions: int | None,
    extra_embedding: int = 0,
    head_bias: bool = False,
    tower: int = 0,
    extra: int = 0,
    role: Role = Role.DECODER,
    notes: tuple[str, ...] = (),
) -> ModelArchitecture:
    """A language model out of its layers; its name and how its weights are stored are filled in by the caller."""
    embedding = parameters.embedding_parameters(vocabulary, hidden)
    head = 0 if tied else embedding
    return ModelArchitecture(
        name="",
        family=fields.family,
        role=role,
        hidden=hidden,
        vocabulary=vocabulary,
        groups=groups,
        tied_embeddings=tied,
        embedding_parameters=embedding + extra_embedding,
        head_parameters=head + (vocabulary if head_bias else 0),
        final_norm_parameters=final_norm,
        tower_parameters=tower,
        extra_parameters=extra,
        max_positions=max_positions,
        notes=notes,
    )


def decoder_of(
    fields: Fields,
    sizes: Sizes,
    groups: tuple[LayerGroup, ...],
    *,
    final_norm: int,
    extra_embedding: int = 0,
    head_bias: bool = False,
    tower: int = 0,
    extra: int = 0,
    notes: tuple[str, ...] = (),
) -> ModelArchitecture:
    """A decoder of these sizes out of its layers."""
    return decoder(
        fields,
        groups,
        hidden=sizes.hidden,
        vocabulary=sizes.vocabulary,
        tied=sizes.tied,
        final_norm=final_norm,
        max_positions=sizes.max_positions,
        extra_embedding=extra_embedding,
        head_bias=head_bias,
        tower=tower,
        extra=extra,
        notes=notes,
    )
