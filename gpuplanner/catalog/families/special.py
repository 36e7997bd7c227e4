"""Decoders with layers of several designs in one model: MiniMax M3, Step 3.5 and 3.7, Nemotron found by search."""

from gpuplanner.catalog.architecture import HEADS, Attention, Mlp, ModelArchitecture, Note
from gpuplanner.catalog.families.experts import expert_counts, prediction_layers, sparse_layers
from gpuplanner.catalog.families.fields import Fields
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
from gpuplanner.catalog.families.sizes import decoder_sizes, layer_windows, sliding_window
from gpuplanner.catalog.families.towers import minimax_vision

_ROUNDING = 256
"""Nemotron NAS rounds the width of a feed-forward part up to a multiple of this."""


def minimax_m3(fields: Fields) -> ModelArchitecture:
    """MiniMax M3: from the fourth layer on, an indexer chooses blocks of past tokens, and experts replace the MLP."""
    text = fields.inside_or_self("text_config")
    sizes = decoder_sizes(text, outer=fields)
    hidden = sizes.hidden
    sparse_attention = text.inside("sparse_attention_config")
    indexed = sparse_attention.whole_items("sparse_attention_freq", sizes.layers, most=1)
    index = sparse_attention.whole("sparse_index_dim")
    index_heads = sparse_attention.whole("sparse_num_index_heads", most=HEADS)
    block = sparse_attention.whole("sparse_block_size")
    norm = 2 * sizes.head_dim if text.flag("use_qk_norm", True) else 0
    plain = grouped_attention(hidden, sizes.heads, sizes.kv_heads, sizes.head_dim, extra_vectors=norm)
    own = grouped_attention(
        hidden,
        sizes.heads,
        sizes.kv_heads,
        sizes.head_dim,
        extra_matrices=hidden * (index_heads + 1) * index,
        extra_vectors=norm + 2 * index,
    )
    own = own.model_copy(
        update={
            "cache_elements_per_token": own.cache_elements_per_token + index,
            "index_elements_per_token": index,
            "top_k_tokens": sparse_attention.whole("sparse_topk_blocks") * block,
        }
    )
    experts, chosen = expert_counts(text)
    bias = experts if text.flag("use_routing_bias", True) else 0
    moe = mixture(
        hidden,
        text.whole("intermediate_size"),
        experts,
        chosen,
        extra_vectors=bias,
        shared_intermediate=text.whole_or(0, "n_shared_experts", most=HEADS) * text.whole("shared_intermediate_size"),
    )
    dense = dense_mlp(hidden, text.whole("dense_intermediate_size"))
    flags = sparse_layers(text, sizes.layers)
    layers: list[Layer] = [
        (own if i else plain, moe if f else dense, 2 * hidden)
        for i, f in zip(indexed or [1] * sizes.layers, flags, strict=True)
    ]
    tower = 0
    if fields.has("vision_config"):
        projected = fields.whole_or(hidden, "projector_hidden_size", least=1)
        tower = minimax_vision(fields.inside("vision_config"), projected, hidden)
    return decoder_of(
        text,
        sizes,
        grouped(layers),
        final_norm=hidden,
        tower=tower,
    )


def step(fields: Fields) -> ModelArchitecture:
    """Step 3.5 and 3.7 Flash: sliding layers may have more heads (`attention_other_setting`), a gate for each head.

    Where a file does not give the sliding layers' heads they are counted as those of the others, and a note says so.
    """
    text = fields.inside_or_self("text_config")
    sizes = decoder_sizes(text.with_names({"num_attention_groups": "num_key_value_heads"}), outer=fields)
    hidden = sizes.hidden
    full = [i % 4 == 0 for i in range(sizes.layers)]
    windows = layer_windows(text, sizes.layers, full, sliding_window(text))
    sliding_heads, sliding_kv = sizes.heads, sizes.kv_heads
    notes: tuple[Note, ...] = (Note.SLIDING_HEADS_UNKNOWN,)
    if text.has("attention_other_setting"):
        other = text.inside("attention_other_setting")
        sliding_heads = other.whole("num_attention_heads", most=HEADS)
        sliding_kv, notes = other.whole("num_attention_groups", "num_key_value_heads", most=HEADS), ()
    gated = text.flag("use_head_wise_attn_gate", True)

    def mixer(window: int | None) -> Attention:
        heads, kv_heads = (sliding_heads, sliding_kv) if window else (sizes.heads, sizes.kv_heads)
        return grouped_attention(
            hidden,
            heads,
            kv_heads,
            sizes.head_dim,
            window=window,
            extra_matrices=hidden * heads if gated else 0,
            extra_vectors=2 * sizes.head_dim,
        )

    mixers = {window: mixer(window) for window in dict.fromkeys(windows)}
    experts, chosen = expert_counts(text)
    sparse = mixture(
        hidden,
        text.whole("moe_intermediate_size"),
        experts,
        chosen,
        shared_intermediate=text.whole_or(0, "share_expert_dim", "share_expert_dims"),
        extra_vectors=experts if text.flag("use_moe_router_bias", True) else 0,
    )
    dense = dense_mlp(hidden, text.whole("intermediate_size"))
    first = text.whole_or(3, "first_k_dense_replace", most=sizes.layers)
    layers: list[Layer] = [
        (mixers[window], dense if i < first else sparse, 2 * hidden) for i, window in enumerate(windows)
    ]
    predicted = text.whole_or(0, "num_nextn_predict_layers", most=sizes.layers)
    return decoder_of(
        text,
        sizes,
        grouped(layers),
        final_norm=hidden,
        extra=prediction_layers((layers[-1][0], dense, 2 * hidden), sizes, predicted),
        notes=notes,
    )


def nemotron_nas(fields: Fields) -> ModelArchitecture:
    """Llama Nemotron: a Llama of which a search has taken attentions away and narrowed feed-forward parts, by layer."""
    hidden = fields.whole("hidden_size")
    heads = fields.whole("num_attention_heads", most=HEADS)
    head_dim = fields.divisible(hidden, "hidden_size", heads, "num_attention_heads")
    count = fields.whole("num_hidden_layers", most=4096)
    blocks = fields.parts("block_configs", count)
    attentions: dict[int | str, Attention] = {}
    mlps: dict[float | str, Mlp] = {}
    layers: list[Layer] = []
    for block in blocks:
        attention, norms = _nas_attention(block.inside("attention"), hidden, heads, head_dim, attentions)
        mlp, more = _nas_mlp(block.inside("ffn"), hidden, mlps)
        layers.append((attention, mlp, (norms + more) * hidden))
    return decoder(
        fields,
        grouped(layers),
        hidden=hidden,
        vocabulary=fields.whole("vocab_size"),
        tied=fields.flag("tie_word_embeddings", False),
        final_norm=hidden,
        max_positions=fields.whole_or(0, "max_position_embeddings", most=2**40) or None,
    )


def _nas_attention(
    block: Fields, hidden: int, heads: int, head_dim: int, known: dict[int | str, Attention]
) -> tuple[Attention, int]:
    """The attention of a block and how many norms it has; equal ones are one object."""
    if block.flag("no_op", False):
        return NO_ATTENTION, 0
    if block.flag("replace_with_linear", False):
        linear = NO_ATTENTION.model_copy(update={"parameters": hidden * hidden})
        return known.setdefault("linear", linear), 1
    in_group = block.whole("n_heads_in_group", most=HEADS)
    if in_group not in known:
        kv_heads = block.divisible(heads, "num_attention_heads", in_group, "n_heads_in_group")
        known[in_group] = grouped_attention(hidden, heads, kv_heads, head_dim)
    return known[in_group], 1


def _nas_mlp(block: Fields, hidden: int, known: dict[float | str, Mlp]) -> tuple[Mlp, int]:
    """The feed-forward part of a block and how many norms it has; equal ones are one object."""
    if block.flag("no_op", False):
        return NO_MLP, 0
    if block.flag("replace_with_linear", False):
        linear = Mlp(intermediate=hidden, gated=False, parameters=hidden * hidden, active_parameters=hidden * hidden)
        return known.setdefault("linear", linear), 1
    factor = block.number_or(0.0, "ffn_mult", 1 / 64, 64.0)
    if not factor:
        raise block.refuse("model.field.missing", "ffn_mult")
    if factor not in known:
        width = int(2 * factor * hidden / 3)
        known[factor] = dense_mlp(hidden, -(-width // _ROUNDING) * _ROUNDING)
    return known[factor], 1
