"""Gemma 3 with its vision tower, and Gemma 4: global and sliding layers with heads of their own, dense or a mixture."""

from gpuplanner.catalog.architecture import HEADS, Attention, Mlp, ModelArchitecture, Note
from gpuplanner.catalog.families.dense import STYLES, dense_decoder
from gpuplanner.catalog.families.experts import expert_counts
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.layers import Layer, decoder_of, dense_mlp, grouped, grouped_attention, mixture
from gpuplanner.catalog.families.sizes import check_kv_heads, decoder_sizes, layer_windows
from gpuplanner.catalog.families.towers import gemma4_vision, siglip

_GEMMA3_DEFAULTS = {
    "vocab_size": 262208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131072,
}
"""What Gemma 3 files leave out because it equals the library's defaults (transformers, `Gemma3TextConfig`)."""


def gemma3(fields: Fields) -> ModelArchitecture:
    """Gemma 3 of any size; those from 4B on have a vision tower."""
    text = fields.inside_or_self("text_config").with_defaults(_GEMMA3_DEFAULTS)
    tower = 0
    if fields.has("vision_config"):
        tower = siglip(fields.inside("vision_config"), text.whole("hidden_size"))
    return dense_decoder(text, STYLES["gemma3_text"], outer=fields, tower=tower)


def gemma4(fields: Fields) -> ModelArchitecture:
    """Gemma 4. Global layers project keys only and use them as values too, but both are cached: they are normed apart.

    Layers that share another's keys and values (`num_kv_shared_layers`) have neither projections nor a cache.
    """
    text = fields.inside_or_self("text_config")
    sizes = decoder_sizes(text, outer=fields, tied=True)
    hidden, heads = sizes.hidden, sizes.heads
    windows = layer_windows(
        text, sizes.layers, [(i + 1) % 6 == 0 for i in range(sizes.layers)], text.whole("sliding_window")
    )
    shared = text.whole_or(0, "num_kv_shared_layers", most=sizes.layers)
    own = sizes.layers - shared
    mixers: dict[tuple[bool, bool], Attention] = {}
    global_dim = text.whole_or(sizes.head_dim, "global_head_dim", least=1)
    same = text.flag("attention_k_eq_v", False)
    global_kv = text.whole_or(sizes.kv_heads, "num_global_key_value_heads", least=1, most=HEADS)
    global_kv = global_kv if same else sizes.kv_heads
    check_kv_heads(text, heads, global_kv, "num_global_key_value_heads")
    for window in dict.fromkeys(windows):
        dim, kv = (sizes.head_dim, sizes.kv_heads) if window else (global_dim, global_kv)
        absent = -hidden * kv * dim if same and not window else 0
        mixers[window is None, False] = grouped_attention(
            hidden, heads, kv, dim, window=window, extra_matrices=absent, extra_vectors=2 * dim
        )
        mixers[window is None, True] = grouped_attention(
            hidden,
            heads,
            kv,
            dim,
            window=window,
            extra_matrices=-2 * hidden * kv * dim,
            extra_vectors=dim,
            cached=False,
        )
    narrow = text.whole_or(0, "hidden_size_per_layer_input")
    norms = 4 * hidden + (2 * hidden * narrow + hidden if narrow else 0)
    plain, wide = _feed_forward(text, hidden)
    if text.flag("enable_moe_block", False):
        norms += 3 * hidden
    layers: list[Layer] = [
        (mixers[window is None, i >= own > 0], wide if i >= own else plain, norms) for i, window in enumerate(windows)
    ]
    extra_embedding = 0
    if narrow:
        packed = sizes.layers * narrow
        extra_embedding = text.whole("vocab_size_per_layer_input") * packed + hidden * packed + narrow
    tower = 0
    if fields.has("vision_config"):
        tower = gemma4_vision(fields.inside("vision_config"), hidden)
    notes = (Note.AUDIO_NOT_COUNTED,) if fields.has("audio_config") else ()
    return decoder_of(
        text,
        sizes,
        grouped(layers),
        final_norm=hidden,
        extra_embedding=extra_embedding,
        tower=tower,
        notes=notes,
    )


def _feed_forward(text: Fields, hidden: int) -> tuple[Mlp, Mlp]:
    """The feed-forward part of a layer, and that of a layer which shares its KV (twice as wide in some models)."""
    intermediate = text.whole("intermediate_size")
    if text.flag("enable_moe_block", False):
        experts, chosen = expert_counts(text)
        beside = dense_mlp(hidden, intermediate)
        mlp = mixture(
            hidden,
            text.whole("moe_intermediate_size", "expert_intermediate_size"),
            experts,
            chosen,
            shared_intermediate=beside.intermediate,
            extra_vectors=hidden + experts,  # the router's scales
        )
        return mlp, mlp
    wide = 2 * intermediate if text.flag("use_double_wide_mlp", False) else intermediate
    plain = dense_mlp(hidden, intermediate)
    return plain, plain if wide == intermediate else dense_mlp(hidden, wide)
