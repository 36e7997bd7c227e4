"""Decoders of the GPT kind: layer norms with biases, plain MLPs, learned, rotary or ALiBi positions."""

from gpuplanner.catalog.architecture import HEADS, LAYERS, ModelArchitecture
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.layers import decoder, decoder_of, dense_mlp, grouped, grouped_attention
from gpuplanner.catalog.families.sizes import Sizes, check_kv_heads, decoder_sizes, positions

_OPT_POSITION_OFFSET = 2
"""Rows of OPT's position table before the first position."""


def _stack(
    fields: Fields,
    sizes: Sizes,
    *,
    kv_heads: int,
    intermediate: int,
    norms: int = 2,
    attention_bias: bool = True,
    query_norms: int = 0,
    head_bias: bool = False,
    extra_embedding: int = 0,
) -> ModelArchitecture:
    """Equal layers with layer norms and a plain MLP, both with biases; `norms` in each layer."""
    attention = grouped_attention(
        sizes.hidden,
        sizes.heads,
        kv_heads,
        sizes.head_dim,
        query_bias=attention_bias,
        output_bias=attention_bias,
        extra_vectors=query_norms,
    )
    mlp = dense_mlp(sizes.hidden, intermediate, gated=False, bias=True)
    return decoder_of(
        fields,
        sizes,
        grouped([(attention, mlp, 2 * norms * sizes.hidden)] * sizes.layers),
        final_norm=2 * sizes.hidden,
        head_bias=head_bias,
        extra_embedding=extra_embedding,
    )


def _inner(fields: Fields, sizes: Sizes) -> int:
    """The width of the MLP, four times that of the model unless the file says otherwise."""
    return fields.whole_or(4 * sizes.hidden, "n_inner", "intermediate_size", least=1)


def gpt2(fields: Fields) -> ModelArchitecture:
    """GPT-2 and GPT-3: learned positions, biases everywhere, tied embeddings."""
    sizes = decoder_sizes(fields, tied=True)
    table = fields.whole("n_positions", "n_ctx", "max_position_embeddings") * sizes.hidden
    return _stack(fields, sizes, kv_heads=sizes.kv_heads, intermediate=_inner(fields, sizes), extra_embedding=table)


def gpt_bigcode(fields: Fields) -> ModelArchitecture:
    """StarCoder, SantaCoder: GPT-2 with one KV head."""
    sizes = decoder_sizes(fields, tied=True)
    table = fields.whole("n_positions") * sizes.hidden
    kv_heads = 1 if fields.flag("multi_query", True) else sizes.heads
    return _stack(fields, sizes, kv_heads=kv_heads, intermediate=_inner(fields, sizes), extra_embedding=table)


def gpt_neox(fields: Fields) -> ModelArchitecture:
    """GPT-NeoX, Pythia, StableLM alpha: biases everywhere, rotary positions, separate output projection."""
    sizes = decoder_sizes(fields)
    bias = fields.flag("attention_bias", True)
    intermediate = fields.whole("intermediate_size")
    return _stack(fields, sizes, kv_heads=sizes.heads, intermediate=intermediate, attention_bias=bias)


def gptj(fields: Fields) -> ModelArchitecture:
    """GPT-J: no biases in attention, one norm a layer, an output projection with a bias."""
    sizes = decoder_sizes(fields)
    return _stack(
        fields,
        sizes,
        kv_heads=sizes.heads,
        intermediate=_inner(fields, sizes),
        norms=1,
        attention_bias=False,
        head_bias=True,
    )


def phi(fields: Fields) -> ModelArchitecture:
    """Phi-1, 1.5 and 2: biases everywhere, one norm a layer, an output projection with a bias."""
    sizes = decoder_sizes(fields)
    return _stack(
        fields,
        sizes,
        kv_heads=sizes.kv_heads,
        intermediate=_inner(fields, sizes),
        norms=1,
        query_norms=4 * sizes.head_dim if fields.flag("qk_layernorm", False) else 0,
        head_bias=True,
    )


def bloom(fields: Fields) -> ModelArchitecture:
    """BLOOM: ALiBi, a norm after the embedding, biases everywhere, tied embeddings."""
    sizes = decoder_sizes(fields, tied=True)
    norm = 2 * sizes.hidden
    return _stack(fields, sizes, kv_heads=sizes.heads, intermediate=_inner(fields, sizes), extra_embedding=norm)


def opt(fields: Fields) -> ModelArchitecture:
    """OPT: learned positions with an offset, biases everywhere, embeddings that may be narrower than the layers."""
    sizes = decoder_sizes(fields, tied=True)
    table = fields.whole("max_position_embeddings")
    narrow = fields.whole_or(sizes.hidden, "word_embed_proj_dim", least=1)
    bias = fields.flag("enable_bias", True)
    norm = 2 * sizes.hidden if fields.flag("layer_norm_elementwise_affine", True) else 0
    attention = grouped_attention(
        sizes.hidden, sizes.heads, sizes.heads, sizes.head_dim, query_bias=bias, output_bias=bias
    )
    mlp = dense_mlp(sizes.hidden, fields.whole("ffn_dim"), gated=False, bias=bias)
    last = fields.flag("do_layer_norm_before", True) and not fields.flag("_remove_final_layer_norm", False)
    projected = 2 * narrow * sizes.hidden if narrow != sizes.hidden else 0
    shape = decoder(
        fields,
        grouped([(attention, mlp, 2 * norm)] * sizes.layers),
        hidden=narrow,
        vocabulary=sizes.vocabulary,
        tied=sizes.tied,
        final_norm=norm if last else 0,
        max_positions=table,
        extra_embedding=(table + _OPT_POSITION_OFFSET) * sizes.hidden + projected,
    )
    return shape.model_copy(update={"hidden": sizes.hidden})


def falcon(fields: Fields) -> ModelArchitecture:
    """Falcon: one or a few KV heads, attention and MLP side by side; its files store the output projection."""
    sizes = decoder_sizes(fields)
    new = fields.flag("new_decoder_architecture", False)
    if new:
        kv_heads = fields.whole_or(sizes.heads, "num_kv_heads", "n_head_kv", least=1, most=HEADS)
        check_kv_heads(fields, sizes.heads, kv_heads, "num_kv_heads")
    else:
        kv_heads = 1 if fields.flag("multi_query", True) else sizes.heads
    bias = fields.flag("bias", False)
    parallel = fields.flag("parallel_attn", True)
    attention = grouped_attention(
        sizes.hidden, sizes.heads, kv_heads, sizes.head_dim, query_bias=bias, output_bias=bias
    )
    inner = fields.whole_or(4 * sizes.hidden, "ffn_hidden_size", least=1)
    mlp = dense_mlp(sizes.hidden, inner, gated=False, bias=bias)
    norms = 2 if (new and fields.whole_or(2, "num_ln_in_parallel_attn") == 2) or not parallel else 1
    return decoder(
        fields,
        grouped([(attention, mlp, norms * 2 * sizes.hidden)] * sizes.layers),
        hidden=sizes.hidden,
        vocabulary=sizes.vocabulary,
        # The published files hold an output projection although the configuration says that it is tied.
        tied=False,
        final_norm=2 * sizes.hidden,
        max_positions=sizes.max_positions or 2048,
    )


def mpt(fields: Fields) -> ModelArchitecture:
    """MPT: no biases, norms without biases, ALiBi or learned positions, tied embeddings."""
    hidden = fields.whole("d_model")
    heads = fields.whole("n_heads", most=HEADS)
    layers = fields.whole("n_layers", most=LAYERS)
    settings = fields.inside_or_self("attn_config")
    kv_heads = settings.whole_or(heads, "kv_n_heads", least=1, most=HEADS)
    if settings.text("attn_type") == "multiquery_attention":
        kv_heads = 1
    check_kv_heads(fields, heads, kv_heads, "attn_config.kv_n_heads")
    bias = not fields.flag("no_bias", True)
    norm = 2 * hidden if bias else hidden
    head_dim = fields.divisible(hidden, "d_model", heads, "n_heads")
    attention = grouped_attention(
        hidden,
        heads,
        kv_heads,
        head_dim,
        query_bias=bias,
        output_bias=bias,
        extra_vectors=(hidden + kv_heads * head_dim) * (norm // hidden) if settings.flag("qk_ln", False) else 0,
    )
    mlp = dense_mlp(hidden, fields.whole_or(4, "expansion_ratio", least=1) * hidden, gated=False, bias=bias)
    table = fields.whole("max_seq_len")
    learned = not settings.flag("alibi", False) and fields.flag("learned_pos_emb", True)
    return decoder(
        fields,
        grouped([(attention, mlp, 2 * norm)] * layers),
        hidden=hidden,
        vocabulary=fields.whole("vocab_size"),
        tied=fields.flag("tie_word_embeddings", True),
        final_norm=norm,
        max_positions=positions(fields, "max_seq_len"),
        extra_embedding=table * hidden if learned else 0,
    )
