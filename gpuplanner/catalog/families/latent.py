"""Decoders with latent attention: DeepSeek, Kimi K2, GLM-5, Mistral 4; and the compressed one of DeepSeek V4."""

from collections.abc import Sequence

from gpuplanner.catalog import parameters
from gpuplanner.catalog.architecture import HEADS, Attention, AttentionKind, Mlp, ModelArchitecture
from gpuplanner.catalog.families.experts import correction_bias, expert_counts, prediction_layers, sparse_layers
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.layers import Layer, decoder, decoder_of, dense_mlp, grouped, mixture
from gpuplanner.catalog.families.sizes import Sizes, layer_count, positions

_INDEXED = ("full", "shared")


def latent_sizes(fields: Fields, *, outer: Fields | None = None) -> Sizes:
    """The sizes of a decoder whose KV heads are virtual."""
    heads = fields.whole("num_attention_heads", most=HEADS)
    tied = outer.flag("tie_word_embeddings", False) if outer is not None else False
    return Sizes(
        layers=layer_count(fields),
        hidden=fields.whole("hidden_size"),
        heads=heads,
        kv_heads=heads,
        head_dim=fields.whole_or(0, "qk_nope_head_dim") + fields.whole("qk_rope_head_dim"),
        vocabulary=fields.whole("vocab_size"),
        max_positions=positions(fields),
        tied=fields.flag("tie_word_embeddings", tied),
    )


def latent_attention(
    fields: Fields, sizes: Sizes, *, indexed: bool = False, extra_matrices: int = 0, extra_vectors: int = 0
) -> Attention:
    """Latent attention: every token keeps its latent and one rotary key, whatever the number of heads.

    `indexed`: with the lightning indexer of DeepSeek-V3.2, which keeps one more key of its own.
    """
    hidden, heads = sizes.hidden, sizes.heads
    latent = fields.whole("kv_lora_rank")
    rotary = fields.whole("qk_rope_head_dim")
    nope = fields.whole_or(0, "qk_nope_head_dim")
    value = fields.whole("v_head_dim")
    query_rank = fields.whole_or(0, "q_lora_rank")
    matrices = parameters.latent_attention_parameters(hidden, heads, latent, rotary, nope, value) + extra_matrices
    vectors = latent + extra_vectors
    if query_rank:
        matrices += parameters.low_rank_query_parameters(hidden, query_rank, heads, sizes.head_dim)
        vectors += query_rank
    else:
        matrices += parameters.projection_parameters(hidden, heads * sizes.head_dim)
    if fields.flag("attention_bias", False):
        vectors += query_rank + latent + rotary + hidden
    index = 0
    if indexed:
        index = fields.whole("index_head_dim")
        index_heads = fields.whole("index_n_heads", most=HEADS)
        matrices += parameters.indexer_parameters(hidden, query_rank or hidden, index_heads, index)
        vectors += 2 * index + parameters.projection_parameters(hidden, index_heads)
    return Attention(
        kind=AttentionKind.MLA,
        heads=heads,
        kv_heads=1,
        head_dim=latent + rotary,
        value_head_dim=latent,
        expanded_head_dim=sizes.head_dim,
        expanded_value_head_dim=value,
        cache_elements_per_token=latent + rotary + index,
        cache_shards=1,
        index_elements_per_token=index,
        top_k_tokens=fields.whole("index_topk") if fields.has("index_topk") else None,
        parameters=matrices + vectors,
        unquantised_parameters=vectors,
    )


def latent_mlps(fields: Fields, sizes: Sizes) -> tuple[Mlp, Mlp, list[bool]]:
    """The mixture, the dense feed-forward part, and which layers have the mixture."""
    experts, chosen = expert_counts(fields)
    moe = fields.whole("moe_intermediate_size")
    shared = moe * fields.whole_or(0, "n_shared_experts", "num_shared_experts", most=HEADS)
    bias = correction_bias(fields, experts)
    sparse = mixture(sizes.hidden, moe, experts, chosen, shared_intermediate=shared, extra_vectors=bias)
    dense = dense_mlp(sizes.hidden, fields.whole("intermediate_size"))
    return sparse, dense, sparse_layers(fields, sizes.layers)


def deepseek(fields: Fields, *, outer: Fields | None = None, tower: int = 0) -> ModelArchitecture:
    """DeepSeek V2, V3, V3.2 and those built like them. Prediction layers are counted apart: servers may leave them."""
    sizes = latent_sizes(fields, outer=outer)
    sparse, dense, is_sparse = latent_mlps(fields, sizes)
    has_index = fields.has("index_head_dim")
    plain = latent_attention(fields, sizes)
    own = latent_attention(fields, sizes, indexed=True) if has_index else plain
    mixers = [own if flag else plain for flag in _indexed(fields, sizes.layers)]
    layers: list[Layer] = [
        (mixer, sparse if flag else dense, 2 * sizes.hidden) for mixer, flag in zip(mixers, is_sparse, strict=True)
    ]
    predicted = fields.whole_or(0, "num_nextn_predict_layers", most=sizes.layers)
    return decoder_of(
        fields,
        sizes,
        grouped(layers),
        final_norm=sizes.hidden,
        tower=tower,
        extra=prediction_layers((own, sparse, 2 * sizes.hidden), sizes, predicted),
    )


def _indexed(fields: Fields, layers: int) -> list[bool]:
    """Which layers have an indexer of their own; the others take over the choice of the one before (GLM-5.2)."""
    types = fields.choices("indexer_types", layers, _INDEXED)
    if types is not None:
        return [kind == "full" for kind in types]
    period = fields.whole_or(1, "index_topk_freq", least=1)
    first = fields.whole_or(0, "index_skip_topk_offset", most=layers)
    return [i < first or (i - first + 1) % period == 0 for i in range(layers)]


def deepseek_v4(fields: Fields) -> ModelArchitecture:
    """DeepSeek V4: one shared key-value head, a window in each layer, and beside it the past in compressed entries.

    A layer with compression ratio 4 keeps one entry for 4 tokens and an indexer's key beside it, one with 128 an entry
    for 128 tokens; `compress_ratios` 0 is a window alone. Each layer has its residual streams mixed by hyper
    connections. Source: the reference in transformers (`deepseek_v4`).
    """
    hidden = fields.whole("hidden_size")
    count = layer_count(fields)
    ratios = fields.whole_items("compress_ratios", count)
    if ratios is None:
        raise fields.refuse("model.field.missing", "compress_ratios")
    mixers = _compressed_attentions(fields, ratios)
    experts, chosen = expert_counts(fields)
    moe = fields.whole("moe_intermediate_size")
    shared = moe * fields.whole_or(0, "n_shared_experts", most=HEADS)
    mlp = mixture(hidden, moe, experts, chosen, shared_intermediate=shared, extra_vectors=experts)
    hashed = mixture(hidden, moe, experts, chosen, shared_intermediate=shared)  # chosen by a table, without a bias
    first = fields.whole_or(0, "num_hash_layers", most=count)
    streams = fields.whole_or(0, "hc_mult", most=HEADS)
    mixes = (2 + streams) * streams
    norms = 2 * hidden + 2 * (mixes * streams * hidden + mixes + 3) if streams else 2 * hidden
    final = hidden + (streams * streams * hidden + streams + 1 if streams else 0)
    vocabulary = fields.whole("vocab_size")
    predicted = fields.whole_or(0, "num_nextn_predict_layers", most=count)
    last = mixers[ratios[-1]]
    one = last.parameters + mlp.parameters + norms + 2 * hidden * hidden + 3 * hidden
    return decoder(
        fields,
        grouped([(mixers[ratio], hashed if i < first else mlp, norms) for i, ratio in enumerate(ratios)]),
        hidden=hidden,
        vocabulary=vocabulary,
        tied=fields.flag("tie_word_embeddings", False),
        final_norm=final,
        max_positions=positions(fields),
        extra=predicted * one,
    )


def _compressed_attentions(fields: Fields, ratios: Sequence[int]) -> dict[int, Attention]:
    """The attention of a layer for each compression ratio; see `deepseek_v4`."""
    hidden = fields.whole("hidden_size")
    heads = fields.whole("num_attention_heads", most=HEADS)
    head_dim = fields.whole("head_dim")
    query_rank = fields.whole("q_lora_rank")
    groups = fields.whole("o_groups", most=HEADS)
    output_rank = fields.whole("o_lora_rank")
    window = fields.whole("sliding_window")
    index, index_heads = fields.whole("index_head_dim"), fields.whole("index_n_heads", most=HEADS)
    per_group = fields.divisible(heads * head_dim, "num_attention_heads", groups, "o_groups")
    shared_matrices = (
        parameters.low_rank_query_parameters(hidden, query_rank, heads, head_dim)
        + parameters.projection_parameters(hidden, head_dim)
        + parameters.projection_parameters(per_group, groups * output_rank)
        + parameters.projection_parameters(groups * output_rank, hidden)
    )
    shared_vectors = query_rank + head_dim + heads

    def mixer(ratio: int) -> Attention:
        matrices, vectors, cached, indexed = shared_matrices, shared_vectors, 0, 0
        if ratio:
            overlap = 2 if ratio <= _OVERLAPPING_RATIO else 1
            matrices += 2 * parameters.projection_parameters(hidden, overlap * head_dim)
            vectors += ratio * overlap * head_dim + head_dim
            cached = fields.divisible(head_dim, "head_dim", ratio, "compress_ratios")
        if 0 < ratio <= _OVERLAPPING_RATIO:
            indexed = fields.divisible(index, "index_head_dim", ratio, "compress_ratios")
            matrices += 2 * parameters.projection_parameters(hidden, 2 * index)
            matrices += parameters.projection_parameters(query_rank, index_heads * index)
            vectors += ratio * 2 * index + index + parameters.projection_parameters(hidden, index_heads)
        return Attention(
            kind=AttentionKind.MLA if ratio else AttentionKind.SLIDING,
            heads=heads,
            kv_heads=1,
            head_dim=head_dim,
            value_head_dim=head_dim,
            window=None if ratio else window,
            cache_elements_per_token=cached + indexed if ratio else head_dim,
            cache_shards=1,
            index_elements_per_token=indexed,
            state_elements=window * head_dim if ratio else 0,
            state_bytes=2 * window * head_dim if ratio else 0,
            top_k_tokens=fields.whole("index_topk") if indexed else None,
            parameters=matrices + vectors,
            unquantised_parameters=vectors,
        )

    return {ratio: mixer(ratio) for ratio in dict.fromkeys(ratios)}


_OVERLAPPING_RATIO = 4
"""Up to this ratio windows overlap, and an indexer chooses among the entries."""
