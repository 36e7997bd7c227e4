"""Vision towers that are loaded beside a language model: how many weights they have. They keep no KV cache."""

from gpuplanner.catalog import parameters
from gpuplanner.catalog.architecture import LAYERS
from gpuplanner.catalog.families.fields import Fields

_PIXEL_CHANNELS = 3


def _transformer(width: int, intermediate: int, layers: int, *, attention: int = 0) -> int:
    """Layers of a vision transformer with biases and two layer norms each. `attention`: inner width of attention."""
    inner = attention or width
    projections = 4 * width * inner + 3 * inner + width
    feed_forward = parameters.plain_mlp_parameters(width, intermediate) + intermediate + width
    return layers * (projections + feed_forward + 4 * width)


def qwen_vision(fields: Fields) -> int:
    """Qwen3-VL and Qwen3.5: patches of two frames, learned positions, a merger and those of the deep stack."""
    width, intermediate = fields.whole("hidden_size"), fields.whole("intermediate_size")
    depth = fields.whole("depth", most=LAYERS)
    patch, frames = fields.whole("patch_size", most=1024), fields.whole_or(2, "temporal_patch_size", least=1, most=64)
    channels = fields.whole_or(_PIXEL_CHANNELS, "in_channels", "in_chans", least=1, most=64)
    merged = width * fields.whole_or(2, "spatial_merge_size", least=1, most=64) ** 2
    output = fields.whole("out_hidden_size")
    embedding = channels * frames * patch * patch * width + width
    positions = fields.whole_or(0, "num_position_embeddings") * width
    projection = merged * merged + merged + merged * output + output
    deep = len(fields.indices("deepstack_visual_indexes", depth))
    mergers = 2 * width + projection + deep * (2 * merged + projection)
    return embedding + positions + _transformer(width, intermediate, depth) + mergers


def siglip(fields: Fields, text_hidden: int) -> int:
    """Gemma 3: a SigLIP encoder, one projection and one norm."""
    width = fields.whole("hidden_size")
    patch, image = fields.whole("patch_size", most=1024), fields.whole("image_size", most=2**16)
    embedding = _PIXEL_CHANNELS * patch * patch * width + width + (image // patch) ** 2 * width
    layers = fields.whole("num_hidden_layers", most=LAYERS)
    transformer = _transformer(width, fields.whole("intermediate_size"), layers)
    return embedding + transformer + 2 * width + width * text_hidden + width


def gemma4_vision(fields: Fields, text_hidden: int) -> int:
    """Gemma 4: gated MLPs, four norms a layer, a position table for each axis."""
    width = fields.whole("hidden_size")
    patch = fields.whole("patch_size", most=1024)
    heads, head_dim = fields.whole("num_attention_heads"), fields.whole("head_dim")
    kv_heads = fields.whole_or(heads, "num_key_value_heads", least=1)
    attention = parameters.attention_parameters(width, heads, kv_heads, head_dim, head_dim) + 2 * head_dim
    feed_forward = parameters.gated_mlp_parameters(width, fields.whole("intermediate_size"))
    layers = fields.whole("num_hidden_layers", most=LAYERS) * (attention + feed_forward + 4 * width)
    embedding = _PIXEL_CHANNELS * patch * patch * width + 2 * fields.whole("position_embedding_size") * width
    return embedding + layers + width * text_hidden


def llama4_vision(fields: Fields, text_hidden: int) -> int:
    """Llama 4: a class token, learned positions, an adapter after shuffling pixels together."""
    width, intermediate = fields.whole("hidden_size"), fields.whole("intermediate_size")
    patch, image = fields.whole("patch_size", most=1024), fields.whole("image_size", most=2**16)
    layers = fields.whole("num_hidden_layers", most=LAYERS)
    projected_in, projected = fields.whole("projector_input_dim"), fields.whole("projector_output_dim")
    embedding = _PIXEL_CHANNELS * patch * patch * width + width + ((image // patch) ** 2 + 1) * width
    adapter = intermediate * projected_in + projected_in * projected
    output = fields.whole("vision_output_dim") * text_hidden
    return embedding + 4 * width + _transformer(width, intermediate, layers) + adapter + output


def moon_vit(fields: Fields, text_hidden: int) -> int:
    """Kimi K2.5 and K3: MoonViT with a patch merger; K3 has no biases, plain norms and wider attention.

    Of K3's merger only the name is known; it is counted as that of K2.5, a thousandth of the tower.
    """
    width, intermediate = fields.whole("vt_hidden_size"), fields.whole("vt_intermediate_size")
    layers = fields.whole("vt_num_hidden_layers", most=LAYERS)
    inner = fields.whole_or(width, "qkv_hidden_size", least=1)
    patch = fields.whole("patch_size", most=1024)
    grid = fields.whole("init_pos_emb_height", most=2**16) * fields.whole("init_pos_emb_width", most=2**16)
    merged = 4 * width
    projection = merged * merged + merged + merged * text_hidden + text_hidden
    embedding = _PIXEL_CHANNELS * patch * patch * width + grid * width
    if fields.flag("linear_bias", True):
        return embedding + width + _transformer(width, intermediate, layers, attention=inner) + 4 * width + projection
    block = 4 * width * inner + parameters.plain_mlp_parameters(width, intermediate) + 2 * width
    return embedding + layers * block + 2 * width + projection


def minimax_vision(fields: Fields, projected: int, text_hidden: int) -> int:
    """MiniMax M3: a CLIP encoder over patches of two frames, a projection, and a merger of four patches."""
    width = fields.whole("hidden_size")
    patch = fields.whole("patch_size", most=1024)
    merging = fields.inside("img_token_compression_config")
    frames = merging.whole_or(2, "temporal_patch_size", least=1, most=64)
    merged = merging.whole_or(2, "spatial_merge_size", least=1, most=64) ** 2 * text_hidden
    layers = fields.whole("num_hidden_layers", most=LAYERS)
    embedding = _PIXEL_CHANNELS * frames * patch * patch * width
    projector = (width + 1) * projected + (projected + 1) * text_hidden
    merger = (merged + 1) * projected + (projected + 1) * text_hidden
    transformer = _transformer(width, fields.whole("intermediate_size"), layers)
    return embedding + 2 * width + transformer + projector + merger


def clip_vision(fields: Fields, projected: int) -> int:
    """The vision half of CLIP with its projection."""
    width = fields.whole("hidden_size")
    patch, image = fields.whole("patch_size", most=1024), fields.whole("image_size", most=2**16)
    layers = fields.whole("num_hidden_layers", most=LAYERS)
    embedding = _PIXEL_CHANNELS * patch * patch * width + width + ((image // patch) ** 2 + 1) * width
    transformer = _transformer(width, fields.whole("intermediate_size"), layers)
    return embedding + 4 * width + transformer + width * projected
