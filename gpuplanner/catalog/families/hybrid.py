"""Decoders with recurrent layers: Qwen3-Next and 3.5, Kimi Linear and K3, Nemotron-H, Mamba, Jamba."""

from gpuplanner.catalog import parameters
from gpuplanner.catalog.architecture import HEADS, LAYERS, Attention, AttentionKind, Mlp, ModelArchitecture
from gpuplanner.catalog.families.experts import expert_counts, prediction_layers, qwen_moe_mlps
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.latent import latent_attention, latent_sizes
from gpuplanner.catalog.families.layers import (
    NO_ATTENTION,
    NO_MLP,
    Layer,
    decoder,
    decoder_of,
    dense_mlp,
    grouped,
    grouped_attention,
    mixture,
)
from gpuplanner.catalog.families.sizes import decoder_sizes, layer_count, positions

_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_MODEL_BYTES = 2


def gated_delta(fields: Fields, hidden: int) -> Attention:
    """The gated delta rule of Qwen3-Next: a matrix for each value head, and a short convolution."""
    key_heads = fields.whole("linear_num_key_heads", most=HEADS)
    value_heads = fields.whole("linear_num_value_heads", most=HEADS)
    key_dim, value_dim = fields.whole("linear_key_head_dim"), fields.whole("linear_value_head_dim")
    fields.divisible(value_heads, "linear_num_value_heads", key_heads, "linear_num_key_heads")
    kernel = fields.whole("linear_conv_kernel_dim", most=64)
    convolved = 2 * key_heads * key_dim + value_heads * value_dim
    vectors = convolved * kernel + 2 * value_heads + value_dim
    matrices = parameters.gated_delta_parameters(hidden, key_heads * key_dim, value_heads * value_dim, value_heads)
    recurrent, window = value_heads * key_dim * value_dim, convolved * (kernel - 1)
    number_bytes = state_bytes(fields, "mamba_ssm_dtype", "float32")
    return _recurrent(
        value_heads, key_dim, value_dim, matrices, vectors, recurrent, number_bytes, window=window, shards=key_heads
    )


def _recurrent(
    heads: int,
    head_dim: int,
    value_dim: int,
    matrices: int,
    vectors: int,
    state: int,
    number_bytes: int,
    *,
    window: int,
    shards: int,
) -> Attention:
    """A layer with `state` numbers of `number_bytes` for each sequence, and the last inputs of its convolution."""
    return Attention(
        kind=AttentionKind.LINEAR,
        heads=heads,
        head_dim=head_dim,
        value_head_dim=value_dim,
        state_elements=state + window,
        state_bytes=state * number_bytes + window * _MODEL_BYTES,
        state_shards=shards,
        parameters=matrices + vectors,
        unquantised_parameters=vectors,
    )


def state_bytes(fields: Fields, name: str, default: str) -> int:
    """Bytes of one number of a recurrent state."""
    value = fields.text(name, default)
    if value not in _STATE_BYTES:
        raise fields.refuse("model.field.choice", name, value=value, known=", ".join(_STATE_BYTES))
    return _STATE_BYTES[value]


def qwen_hybrid(
    fields: Fields, *, outer: Fields | None = None, tower: int = 0, predicted: int = 0
) -> ModelArchitecture:
    """Qwen3-Next, Qwen3.5: three gated-delta layers for each one of gated attention; dense or a mixture.

    `predicted`: prediction layers that the published weights hold although the configuration does not mention them.
    """
    sizes = decoder_sizes(fields, outer=outer)
    linear = gated_delta(fields, sizes.hidden)
    gate = sizes.hidden * sizes.heads * sizes.head_dim if fields.flag("attn_output_gate", True) else 0
    full = grouped_attention(
        sizes.hidden,
        sizes.heads,
        sizes.kv_heads,
        sizes.head_dim,
        extra_matrices=gate,
        extra_vectors=2 * sizes.head_dim,
    )
    kinds = fields.choices("layer_types", sizes.layers, ("full_attention", "linear_attention"))
    if kinds is None:
        interval = fields.whole("full_attention_interval")
        kinds = ["full_attention" if (i + 1) % interval == 0 else "linear_attention" for i in range(sizes.layers)]
    mlps: list[Mlp]
    if fields.has("num_experts"):
        mlps = qwen_moe_mlps(fields, sizes, shared=True)
    else:
        mlps = [dense_mlp(sizes.hidden, fields.whole("intermediate_size"))] * sizes.layers
    norms = 2 * sizes.hidden
    layers: list[Layer] = [
        (full if kind == "full_attention" else linear, mlp, norms) for kind, mlp in zip(kinds, mlps, strict=True)
    ]
    predicted = fields.whole_or(predicted, "mtp_num_hidden_layers", "num_nextn_predict_layers", most=sizes.layers)
    return decoder_of(
        fields,
        sizes,
        grouped(layers),
        final_norm=sizes.hidden,
        tower=tower,
        extra=prediction_layers((full, mlps[-1], norms), sizes, predicted),
    )


def kimi_linear(fields: Fields, *, outer: Fields | None = None, tower: int = 0) -> ModelArchitecture:
    """Kimi Linear and K3: Kimi delta attention, latent attention in some layers, experts in a narrower space (K3)."""
    sizes = latent_sizes(fields, outer=outer)
    hidden = sizes.hidden
    linear_fields = fields.inside("linear_attn_config")
    listed = set(linear_fields.indices("full_attn_layers", sizes.layers))
    gated = fields.flag("mla_use_output_gate", False)
    gate = hidden * sizes.heads * fields.whole("v_head_dim") if gated else 0
    full = latent_attention(fields, sizes, extra_matrices=gate)
    linear = _kimi_delta(linear_fields, hidden)

    experts, chosen = expert_counts(fields)
    moe = fields.whole("moe_intermediate_size")
    latent = fields.whole_or(0, "routed_expert_hidden_size")
    normed = latent if fields.flag("latent_moe_use_norm", False) else 0
    sparse = mixture(
        hidden,
        moe,
        experts,
        chosen,
        shared_intermediate=moe * fields.whole_or(0, "num_shared_experts", most=HEADS),
        expert_hidden=latent,
        extra_shared=2 * hidden * latent,
        extra_vectors=normed + experts,  # the norm before the projection back, the correction bias
    )
    dense = dense_mlp(hidden, fields.whole("intermediate_size"))
    first = fields.whole_or(0, "first_k_dense_replace", most=sizes.layers)
    residual = 4 * hidden if fields.has("attn_res_block_size") else 0
    norms = 2 * hidden + residual
    layers: list[Layer] = [
        (full if i + 1 in listed else linear, dense if i < first else sparse, norms) for i in range(sizes.layers)
    ]
    return decoder_of(
        fields,
        sizes,
        grouped(layers),
        final_norm=hidden + residual // 2,
        tower=tower,
    )


def _kimi_delta(fields: Fields, hidden: int) -> Attention:
    """Kimi delta attention: a gate for each channel; query, key and value each with a short convolution."""
    heads, head_dim = fields.whole("num_heads", most=HEADS), fields.whole("head_dim")
    kernel = fields.whole("short_conv_kernel_size", most=64)
    width = heads * head_dim
    low_rank = hidden * head_dim + head_dim * width
    full_rank = fields.flag("use_full_rank_gate", False)
    matrices = 4 * hidden * width + low_rank + (hidden * width if full_rank else low_rank) + hidden * heads
    vectors = 3 * width * kernel + heads + width + head_dim
    recurrent, window = heads * head_dim * head_dim, 3 * width * (kernel - 1)
    return _recurrent(heads, head_dim, head_dim, matrices, vectors, recurrent, 4, window=window, shards=heads)


def mamba2(fields: Fields, hidden: int) -> Attention:
    """The Mamba-2 mixer of Nemotron-H."""
    heads, head_dim = fields.whole("mamba_num_heads", most=HEADS), fields.whole("mamba_head_dim")
    groups, state = fields.whole("n_groups", most=HEADS), fields.whole("ssm_state_size")
    kernel = fields.whole("conv_kernel", most=64)
    inner = heads * head_dim
    convolved = inner + 2 * groups * state
    matrices = parameters.mamba2_parameters(hidden, inner, groups, state, heads)
    vectors = convolved * (kernel + (1 if fields.flag("use_conv_bias", True) else 0)) + 3 * heads + inner
    if fields.flag("mamba_proj_bias", False):
        vectors += 2 * inner + 2 * groups * state + heads + hidden
    recurrent, window = inner * state, convolved * (kernel - 1)
    number_bytes = state_bytes(fields, "mamba_ssm_cache_dtype", "float32")
    return _recurrent(heads, head_dim, state, matrices, vectors, recurrent, number_bytes, window=window, shards=groups)


_NEMOTRON_BLOCKS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron_h(fields: Fields) -> ModelArchitecture:
    """Nemotron-H and Nemotron 3: each layer is one mixer alone: Mamba-2, attention, MLP or experts."""
    hidden = fields.whole("hidden_size")
    kinds = _nemotron_layers(fields)
    heads = fields.whole("num_attention_heads", most=HEADS)
    kv_heads = fields.whole("num_key_value_heads", most=heads)
    head_dim = fields.whole("head_dim", "attention_head_dim")
    attention = grouped_attention(hidden, heads, kv_heads, head_dim)
    parts: dict[str, Layer] = {}
    for kind in dict.fromkeys(kinds):
        if kind == "mamba":
            parts[kind] = (mamba2(fields, hidden), NO_MLP, hidden)
        elif kind == "attention":
            parts[kind] = (attention, NO_MLP, hidden)
        elif kind == "mlp":
            parts[kind] = (NO_ATTENTION, dense_mlp(hidden, fields.whole("intermediate_size"), gated=False), hidden)
        else:
            parts[kind] = (NO_ATTENTION, _nemotron_experts(fields, hidden), hidden)
    predicted = fields.whole_or(0, "num_nextn_predict_layers", most=LAYERS)
    extra = 0
    if predicted and "moe" in parts:
        block = attention.parameters + parts["moe"][1].parameters + 2 * hidden
        extra = predicted * (block + 2 * hidden * hidden + 3 * hidden)
    return decoder(
        fields,
        grouped([parts[kind] for kind in kinds]),
        hidden=hidden,
        vocabulary=fields.whole("vocab_size"),
        tied=fields.flag("tie_word_embeddings", False),
        final_norm=hidden,
        max_positions=positions(fields),
        extra=extra,
    )


def _nemotron_layers(fields: Fields) -> list[str]:
    """The kind of each layer, from the pattern of signs or the list of words."""
    if fields.has("layers_block_type"):
        count = fields.whole_or(0, "num_hidden_layers", most=LAYERS) or fields.length("layers_block_type", LAYERS)
        return list(fields.choices("layers_block_type", count, tuple(_NEMOTRON_BLOCKS.values())) or ())
    pattern = fields.text("hybrid_override_pattern")
    if not pattern:
        raise fields.refuse("model.field.missing", "hybrid_override_pattern")
    unknown = sorted(set(pattern) - set(_NEMOTRON_BLOCKS))
    if unknown:
        raise fields.refuse("model.field.choice", "hybrid_override_pattern", value=unknown[0], known="M * - E")
    count = layer_count(fields)
    if len(pattern) != count:
        raise fields.refuse("model.field.short_list", "hybrid_override_pattern", entries=len(pattern), layers=count)
    return [_NEMOTRON_BLOCKS[sign] for sign in pattern]


def _nemotron_experts(fields: Fields, hidden: int) -> Mlp:
    experts, chosen = expert_counts(fields)
    latent = fields.whole_or(0, "moe_latent_size")
    return mixture(
        hidden,
        fields.whole("moe_intermediate_size"),
        experts,
        chosen,
        gated=False,
        shared_intermediate=fields.whole_or(0, "n_shared_experts", most=HEADS)
        * fields.whole_or(0, "moe_shared_expert_intermediate_size"),
        expert_hidden=latent,
        extra_shared=2 * hidden * latent,
        extra_vectors=experts,  # the correction bias
    )


def _mamba1(hidden: int, inner: int, rank: int, state: int, kernel: int, *, bias: bool, inner_norms: int) -> Attention:
    """The first Mamba mixer: a vector of states for each inner channel."""
    matrices = parameters.mamba_parameters(hidden, inner, rank, state)
    vectors = inner * (kernel + 1) + inner + inner * state + inner + inner_norms
    if bias:
        vectors += 2 * inner + hidden
    window = inner * (kernel - 1)
    return _recurrent(inner, 1, state, matrices, vectors, inner * state, _MODEL_BYTES, window=window, shards=inner)


def mamba(fields: Fields) -> ModelArchitecture:
    """Mamba: no attention at all, so no KV cache."""
    hidden = fields.whole("hidden_size", "d_model")
    count = layer_count(fields)
    inner = fields.whole_or(fields.whole_or(2, "expand", least=1) * hidden, "intermediate_size", "d_inner", least=1)
    rank = fields.whole_or(-(-hidden // 16), "time_step_rank", least=1)
    mixer = _mamba1(
        hidden,
        inner,
        rank,
        fields.whole_or(16, "state_size", "d_state", least=1),
        fields.whole_or(4, "conv_kernel", least=1, most=64),
        bias=fields.flag("use_bias", False),
        inner_norms=0,
    )
    return decoder(
        fields,
        grouped([(mixer, NO_MLP, hidden)] * count),
        hidden=hidden,
        vocabulary=fields.whole("vocab_size"),
        tied=fields.flag("tie_word_embeddings", True),
        final_norm=hidden,
        max_positions=None,
    )


def jamba(fields: Fields) -> ModelArchitecture:
    """Jamba: one attention layer in eight, experts in every second layer, Mamba elsewhere."""
    sizes = decoder_sizes(fields)
    hidden = sizes.hidden
    state, kernel = fields.whole("mamba_d_state"), fields.whole("mamba_d_conv", most=64)
    rank = fields.whole("mamba_dt_rank")
    inner = fields.whole("mamba_expand") * hidden
    mixer = _mamba1(
        hidden, inner, rank, state, kernel, bias=fields.flag("mamba_proj_bias", False), inner_norms=rank + 2 * state
    )
    full = grouped_attention(hidden, sizes.heads, sizes.kv_heads, sizes.head_dim)
    experts, chosen = expert_counts(fields)
    intermediate = fields.whole("intermediate_size")
    sparse, dense = mixture(hidden, intermediate, experts, chosen), dense_mlp(hidden, intermediate)
    attention_period = fields.whole("attn_layer_period")
    attention_offset = fields.whole_or(0, "attn_layer_offset")
    expert_period, expert_offset = fields.whole("expert_layer_period"), fields.whole_or(0, "expert_layer_offset")
    layers: list[Layer] = [
        (
            full if i % attention_period == attention_offset else mixer,
            sparse if i % expert_period == expert_offset else dense,
            2 * hidden,
        )
        for i in range(sizes.layers)
    ]
    return decoder_of(
        fields,
        sizes,
        grouped(layers),
        final_norm=hidden,
    )
