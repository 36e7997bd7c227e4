"""Encoders and encoder-decoders: BERT, RoBERTa, CLIP, T5, Whisper. An encoder keeps no KV cache."""

from gpuplanner.catalog.architecture import HEADS, LAYERS, POSITIONS, Attention, ModelArchitecture, Role
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.layers import decoder, dense_mlp, grouped, grouped_attention
from gpuplanner.catalog.families.sizes import decoder_sizes
from gpuplanner.catalog.families.towers import clip_vision


def bert(fields: Fields) -> ModelArchitecture:
    """BERT and RoBERTa with their pooler, which is counted as the head; the masked-language head is not loaded."""
    sizes = decoder_sizes(fields)
    hidden = sizes.hidden
    table = fields.whole("max_position_embeddings")
    attention = grouped_attention(
        hidden, sizes.heads, sizes.heads, sizes.head_dim, query_bias=True, output_bias=True, cached=False
    )
    mlp = dense_mlp(hidden, fields.whole("intermediate_size"), gated=False, bias=True)
    shape = decoder(
        fields,
        grouped([(attention, mlp, 4 * hidden)] * sizes.layers),
        hidden=hidden,
        vocabulary=sizes.vocabulary,
        tied=True,
        final_norm=0,
        max_positions=table,
        extra_embedding=(table + fields.whole_or(2, "type_vocab_size") + 2) * hidden,
        role=Role.ENCODER,
    )
    return shape.model_copy(update={"head_parameters": hidden * hidden + hidden})


def clip(fields: Fields) -> ModelArchitecture:
    """CLIP: its text encoder as the language model, its vision encoder as the tower."""
    text = fields.inside("text_config")
    hidden, heads = text.whole("hidden_size"), text.whole("num_attention_heads", most=HEADS)
    head_dim = text.divisible(hidden, "hidden_size", heads, "num_attention_heads")
    table = text.whole("max_position_embeddings")
    projected = fields.whole("projection_dim")
    attention = grouped_attention(hidden, heads, heads, head_dim, query_bias=True, output_bias=True, cached=False)
    mlp = dense_mlp(hidden, text.whole("intermediate_size"), gated=False, bias=True)
    shape = decoder(
        text,
        grouped([(attention, mlp, 4 * hidden)] * text.whole("num_hidden_layers", most=LAYERS)),
        hidden=hidden,
        vocabulary=text.whole("vocab_size"),
        tied=True,
        final_norm=2 * hidden,
        max_positions=table,
        extra_embedding=table * hidden,
        tower=clip_vision(fields.inside("vision_config"), projected),
        role=Role.ENCODER,
    )
    return shape.model_copy(update={"head_parameters": hidden * projected + 1})


def t5(fields: Fields) -> ModelArchitecture:
    """T5, v1.1 and Flan; an encoder alone where the file is for one (as in FLUX and Stable Diffusion 3)."""
    hidden, heads = fields.whole("d_model"), fields.whole("num_heads", most=HEADS)
    head_dim = fields.whole("d_kv")
    layers = fields.whole("num_layers", most=LAYERS)
    gated = fields.text("feed_forward_proj", "relu").startswith("gated-")
    mlp = dense_mlp(hidden, fields.whole("d_ff"), gated=gated)
    encoder_only = fields.is_architecture("T5EncoderModel", "UMT5EncoderModel")
    distances = fields.whole_or(32, "relative_attention_num_buckets", least=1) * heads

    def mixer(cached: bool) -> Attention:
        return grouped_attention(hidden, heads, heads, head_dim, cached=cached)

    encoder = grouped([(mixer(False), mlp, 2 * hidden)] * layers, encoder=True)
    groups, stacks = encoder, 1
    if not encoder_only:
        decoder_layers = fields.whole_or(layers, "num_decoder_layers", least=1, most=LAYERS)
        groups += grouped([(mixer(True), mlp, 3 * hidden)] * decoder_layers, cross_attention=mixer(True))
        stacks = 2
    return decoder(
        fields,
        groups,
        hidden=hidden,
        vocabulary=fields.whole("vocab_size"),
        tied=encoder_only or fields.flag("tie_word_embeddings", True),
        final_norm=stacks * hidden,
        max_positions=fields.whole_or(0, "n_positions", most=POSITIONS) or None,
        extra_embedding=stacks * distances,
        role=Role.ENCODER if encoder_only else Role.ENCODER_DECODER,
    )


def whisper(fields: Fields) -> ModelArchitecture:
    """Whisper: two convolutions over mel bands, an encoder of fixed length, a text decoder with cross attention."""
    hidden = fields.whole("d_model")
    mel = fields.whole_or(80, "num_mel_bins", least=1)
    source = fields.whole_or(1500, "max_source_positions", least=1)
    target = fields.whole_or(448, "max_target_positions", least=1)

    def mixer(heads_name: str, cached: bool) -> Attention:
        heads = fields.whole(heads_name, most=HEADS)
        head_dim = fields.divisible(hidden, "d_model", heads, heads_name)
        # Query, value and output have a bias, the key has none.
        return grouped_attention(hidden, heads, heads, head_dim, cached=cached, extra_vectors=3 * hidden)

    encoder_mlp = dense_mlp(hidden, fields.whole("encoder_ffn_dim"), gated=False, bias=True)
    decoder_mlp = dense_mlp(hidden, fields.whole("decoder_ffn_dim"), gated=False, bias=True)
    encoder_layers = fields.whole("encoder_layers", most=LAYERS)
    decoder_layers = fields.whole("decoder_layers", most=LAYERS)
    groups = grouped(
        [(mixer("encoder_attention_heads", False), encoder_mlp, 4 * hidden)] * encoder_layers, encoder=True
    ) + grouped(
        [(mixer("decoder_attention_heads", True), decoder_mlp, 6 * hidden)] * decoder_layers,
        cross_attention=mixer("decoder_attention_heads", True),
    )
    convolutions = 3 * mel * hidden + hidden + 3 * hidden * hidden + hidden
    return decoder(
        fields,
        groups,
        hidden=hidden,
        vocabulary=fields.whole("vocab_size"),
        tied=True,
        final_norm=4 * hidden,
        max_positions=target,
        extra_embedding=(source + target) * hidden + convolutions,
        role=Role.ENCODER_DECODER,
    )
