"""Decoders with a mixture of experts and ordinary attention: Mixtral, Qwen MoE, gpt-oss, GLM-4.5, MiniMax M2, …"""

from collections.abc import Sequence

from gpuplanner.catalog.architecture import HEADS, Mlp, ModelArchitecture, Note
from gpuplanner.catalog.families.dense import (
    HEAD_NORM,
    WIDTH_NORM,
    Style,
    alternating,
    attentions,
    every_layer,
    upper_layers,
)
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.layers import (
    Layer,
    decoder,
    decoder_of,
    dense_mlp,
    grouped,
    grouped_attention,
    mixture,
)
from gpuplanner.catalog.families.sizes import Sizes, check_kv_heads, decoder_sizes, layer_windows, sliding_window
from gpuplanner.catalog.families.towers import llama4_vision


def expert_counts(fields: Fields) -> tuple[int, int]:
    """How many experts there are, and how many each token goes to."""
    experts = fields.whole(
        "num_experts", "num_local_experts", "n_routed_experts", "num_routed_experts", "moe_num_experts", most=HEADS
    )
    chosen = fields.whole(
        "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_top_k", "top_k_experts", most=HEADS
    )
    if chosen > experts:
        raise fields.refuse("model.field.experts", "num_experts_per_tok", chosen=chosen, experts=experts)
    return experts, chosen


def correction_bias(fields: Fields, experts: int) -> int:
    """The bias that evens out the load of the experts (DeepSeek-V3), which files store with the router."""
    return experts if fields.text("topk_method") == "noaux_tc" else 0


def sparse_layers(fields: Fields, layers: int) -> list[bool]:
    """Which layers have experts: `moe_layer_freq` as a list or a period, after the first dense ones."""
    first = fields.whole_or(0, "first_k_dense_replace", most=layers)
    listed = fields.choices("mlp_layer_types", layers, ("dense", "sparse"))
    if listed is not None:
        return [kind == "sparse" for kind in listed]
    if fields.is_list("moe_layer_freq"):
        listed_flags = fields.whole_items("moe_layer_freq", layers, most=1)
        return [flag == 1 for flag in listed_flags or ()]
    period = fields.whole_or(1, "moe_layer_freq", least=1)
    return [i >= first and i % period == 0 for i in range(layers)]


def assembled(
    fields: Fields,
    sizes: Sizes,
    style: Style,
    mlps: Sequence[Mlp],
    *,
    extra: int = 0,
    tower: int = 0,
    notes: tuple[str, ...] = (),
) -> ModelArchitecture:
    """A decoder out of one feed-forward part for each layer."""
    norms = style.norms * style.norm_width * sizes.hidden
    layers: list[Layer] = [(a, m, norms) for a, m in zip(attentions(fields, style, sizes), mlps, strict=True)]
    return decoder_of(
        fields,
        sizes,
        grouped(layers),
        final_norm=style.norm_width * sizes.hidden,
        extra=extra,
        tower=tower,
        notes=notes,
    )


def prediction_layers(layer: Layer, sizes: Sizes, layers: int) -> int:
    """Multi-token-prediction layers: a whole layer, a projection of two vectors into one, and three norms each."""
    attention, mlp, norms = layer
    return layers * (attention.parameters + mlp.parameters + norms + 2 * sizes.hidden**2 + 3 * sizes.hidden)


def mixtral(fields: Fields) -> ModelArchitecture:
    """Mixtral: experts in every layer."""
    sizes = decoder_sizes(fields)
    experts, chosen = expert_counts(fields)
    mlp = mixture(sizes.hidden, fields.whole("intermediate_size"), experts, chosen)
    return assembled(fields, sizes, Style(windows=every_layer), [mlp] * sizes.layers)


def qwen_moe_mlps(fields: Fields, sizes: Sizes, *, shared: bool) -> list[Mlp]:
    """The feed-forward parts of Qwen's mixtures: experts every `decoder_sparse_step` layers, but not where listed."""
    experts, chosen = expert_counts(fields)
    shared_intermediate = fields.whole("shared_expert_intermediate_size") if shared else 0
    sparse = mixture(
        sizes.hidden,
        fields.whole("moe_intermediate_size"),
        experts,
        chosen,
        shared_intermediate=shared_intermediate,
        extra_vectors=sizes.hidden if shared else 0,  # the gate of the shared expert
    )
    step = fields.whole_or(1, "decoder_sparse_step", least=1)
    only = set(fields.indices("mlp_only_layers", sizes.layers))
    is_sparse = [i not in only and (i + 1) % step == 0 for i in range(sizes.layers)]
    if all(is_sparse):
        return [sparse] * sizes.layers
    dense = dense_mlp(sizes.hidden, fields.whole("intermediate_size"))
    return [sparse if flag else dense for flag in is_sparse]


def qwen2_moe(fields: Fields) -> ModelArchitecture:
    """Qwen1.5 and Qwen2 MoE: shared expert behind a gate, biases on query, key and value."""
    sizes = decoder_sizes(fields)
    style = Style(query_bias=True, bias_field="qkv_bias", windows=upper_layers)
    return assembled(fields, sizes, style, qwen_moe_mlps(fields, sizes, shared=True))


def qwen3_moe(fields: Fields, *, outer: Fields | None = None, tower: int = 0) -> ModelArchitecture:
    """Qwen3 MoE: no shared expert."""
    sizes = decoder_sizes(fields, outer=outer)
    style = Style(output_bias=True, qk_norm=HEAD_NORM, windows=upper_layers)
    return assembled(fields, sizes, style, qwen_moe_mlps(fields, sizes, shared=False), tower=tower)


def olmoe(fields: Fields) -> ModelArchitecture:
    """OLMoE: norms over all heads of queries and keys."""
    sizes = decoder_sizes(fields)
    experts, chosen = expert_counts(fields)
    mlp = mixture(sizes.hidden, fields.whole("intermediate_size"), experts, chosen)
    return assembled(fields, sizes, Style(output_bias=True, qk_norm=WIDTH_NORM), [mlp] * sizes.layers)


def glm4_moe(fields: Fields) -> ModelArchitecture:
    """GLM-4.5 and 4.6: first layers dense, a shared expert, biases on query, key and value."""
    sizes = decoder_sizes(fields)
    experts, chosen = expert_counts(fields)
    moe = fields.whole("moe_intermediate_size")
    sparse = mixture(
        sizes.hidden,
        moe,
        experts,
        chosen,
        shared_intermediate=moe * fields.whole_or(1, "n_shared_experts", most=HEADS),
        extra_vectors=experts,  # the correction bias
    )
    dense = dense_mlp(sizes.hidden, fields.whole("intermediate_size"))
    style = Style(query_bias=True, qk_norm=HEAD_NORM, qk_norm_field="use_qk_norm")
    mlps = [sparse if flag else dense for flag in sparse_layers(fields, sizes.layers)]
    last: Layer = (attentions(fields, style, sizes)[-1], sparse, 2 * sizes.hidden)
    extra = prediction_layers(last, sizes, fields.whole_or(0, "num_nextn_predict_layers", most=sizes.layers))
    return assembled(fields, sizes, style, mlps, extra=extra)


def minimax_m2(fields: Fields) -> ModelArchitecture:
    """MiniMax M2: experts in every layer, norms over all heads of queries and keys."""
    sizes = decoder_sizes(fields)
    experts, chosen = expert_counts(fields)
    bias = experts if fields.flag("use_routing_bias", True) else 0
    mlp = mixture(sizes.hidden, fields.whole("intermediate_size"), experts, chosen, extra_vectors=bias)
    style = Style(qk_norm=WIDTH_NORM, qk_norm_field="use_qk_norm")
    return assembled(fields, sizes, style, [mlp] * sizes.layers)


def gpt_oss(fields: Fields) -> ModelArchitecture:
    """gpt-oss: biases everywhere, experts included, a sink for each head, a window in every second layer."""
    sizes = decoder_sizes(fields)
    experts, chosen = expert_counts(fields)
    intermediate = fields.whole("intermediate_size")
    bias = fields.flag("attention_bias", True)
    windows = alternating(fields, sizes)
    kinds = {
        window: grouped_attention(
            sizes.hidden,
            sizes.heads,
            sizes.kv_heads,
            sizes.head_dim,
            window=window,
            query_bias=bias,
            output_bias=bias,
            extra_vectors=sizes.heads,
        )
        for window in dict.fromkeys(windows)
    }
    mlp = mixture(
        sizes.hidden,
        intermediate,
        experts,
        chosen,
        extra_vectors=experts,
        expert_vectors=2 * intermediate + sizes.hidden,
    )
    return decoder_of(
        fields,
        sizes,
        grouped([(kinds[window], mlp, 2 * sizes.hidden) for window in windows]),
        final_norm=sizes.hidden,
    )


def llama4(outer: Fields) -> ModelArchitecture:
    """Llama 4: an expert and a shared one in every n-th layer, attention in chunks in three of four layers.

    A chunk bounds what a layer keeps as a window of its length does.
    """
    fields = outer.inside_or_self("text_config")
    sizes = decoder_sizes(fields, outer=outer)
    tower = llama4_vision(outer.inside("vision_config"), sizes.hidden) if outer.has("vision_config") else 0
    notes = () if tower else (Note.TOWER_NOT_DESCRIBED,)
    experts, chosen = expert_counts(fields)
    intermediate = fields.whole("intermediate_size")
    sparse = mixture(sizes.hidden, intermediate, experts, chosen, shared_intermediate=intermediate)
    step = fields.whole_or(1, "interleave_moe_layer_step", least=1)
    dense = dense_mlp(sizes.hidden, fields.whole_or(intermediate, "intermediate_size_mlp", least=1))
    mlps = [sparse if (i + 1) % step == 0 else dense for i in range(sizes.layers)]
    period = fields.whole_or(4, "no_rope_layer_interval", least=1)
    full = [(i + 1) % period == 0 for i in range(sizes.layers)]
    windows = layer_windows(fields, sizes.layers, full, sliding_window(fields, "attention_chunk_size"))
    kinds = {
        window: grouped_attention(sizes.hidden, sizes.heads, sizes.kv_heads, sizes.head_dim, window=window)
        for window in dict.fromkeys(windows)
    }
    return decoder_of(
        fields,
        sizes,
        grouped([(kinds[w], m, 2 * sizes.hidden) for w, m in zip(windows, mlps, strict=True)]),
        final_norm=sizes.hidden,
        tower=tower,
        notes=notes,
    )


def dbrx(fields: Fields) -> ModelArchitecture:
    """DBRX: sizes in `attn_config` and `ffn_config`, norms without biases."""
    hidden = fields.whole("d_model")
    heads = fields.whole("n_heads", most=HEADS)
    kv_heads = fields.inside("attn_config").whole("kv_n_heads", most=HEADS)
    check_kv_heads(fields, heads, kv_heads, "attn_config.kv_n_heads")
    feed_forward = fields.inside("ffn_config")
    experts, chosen = expert_counts(feed_forward)
    mlp = mixture(hidden, feed_forward.whole("ffn_hidden_size"), experts, chosen)
    head_dim = fields.divisible(hidden, "d_model", heads, "n_heads")
    attention = grouped_attention(hidden, heads, kv_heads, head_dim)
    layers = fields.whole("n_layers", most=4096)
    return decoder(
        fields,
        grouped([(attention, mlp, 2 * hidden)] * layers),
        hidden=hidden,
        vocabulary=fields.whole("vocab_size"),
        tied=fields.flag("tie_word_embeddings", False),
        final_norm=hidden,
        max_positions=fields.whole_or(0, "max_seq_len") or None,
    )


def grok(fields: Fields) -> ModelArchitecture:
    """Grok-1: gated experts in every layer, four norms, tied embeddings."""
    sizes = decoder_sizes(fields, tied=True)
    experts, chosen = expert_counts(fields)
    mlp = mixture(sizes.hidden, fields.whole("intermediate_size"), experts, chosen)
    return assembled(fields, sizes, Style(norms=4), [mlp] * sizes.layers)


def mimo_v2(fields: Fields) -> ModelArchitecture:
    """MiMo-V2: two kinds of attention with their own KV heads, sinks in those with a window, narrow values."""
    sizes = decoder_sizes(fields)
    pattern = fields.whole_items("hybrid_layer_pattern", sizes.layers, most=1)
    if pattern is None:
        raise fields.refuse("model.field.missing", "hybrid_layer_pattern")
    sliding_heads = fields.whole_or(sizes.heads, "swa_num_attention_heads", least=1, most=HEADS)
    sliding_kv = fields.whole_or(sizes.kv_heads, "swa_num_key_value_heads", least=1, most=HEADS)
    check_kv_heads(fields, sliding_heads, sliding_kv, "swa_num_key_value_heads")
    value = fields.whole_or(sizes.head_dim, "v_head_dim", least=1)
    bias = fields.flag("attention_bias", False)
    full = grouped_attention(
        sizes.hidden,
        sizes.heads,
        sizes.kv_heads,
        sizes.head_dim,
        value_head_dim=value,
        query_bias=bias,
        extra_vectors=sizes.heads if fields.flag("add_full_attention_sink_bias", False) else 0,
    )
    window = fields.whole("sliding_window", "sliding_window_size")
    sliding = grouped_attention(
        sizes.hidden,
        sliding_heads,
        sliding_kv,
        fields.whole_or(sizes.head_dim, "swa_head_dim", least=1),
        value_head_dim=fields.whole_or(value, "swa_v_head_dim", least=1),
        window=window,
        query_bias=bias,
        extra_vectors=sliding_heads if fields.flag("add_swa_attention_sink_bias", False) else 0,
    )
    experts, chosen = expert_counts(fields)
    moe = fields.whole("moe_intermediate_size")
    shared = moe * fields.whole_or(0, "n_shared_experts", most=HEADS)
    correction = correction_bias(fields, experts)
    sparse = mixture(sizes.hidden, moe, experts, chosen, shared_intermediate=shared, extra_vectors=correction)
    dense = dense_mlp(sizes.hidden, fields.whole("intermediate_size"))
    mlps = [sparse if flag else dense for flag in sparse_layers(fields, sizes.layers)]
    mixers = [sliding if kind else full for kind in pattern]
    return decoder_of(
        fields,
        sizes,
        grouped([(a, m, 2 * sizes.hidden) for a, m in zip(mixers, mlps, strict=True)]),
        final_norm=sizes.hidden,
    )
