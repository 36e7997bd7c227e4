"""Decoders of the Llama kind: rotary positions, a gated MLP, few biases; and what each family changes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gpuplanner.catalog.architecture import Attention, ModelArchitecture
from gpuplanner.catalog.families.fields import Fields
from gpuplanner.catalog.families.layers import Layer, decoder, decoder_of, dense_mlp, grouped, grouped_attention
from gpuplanner.catalog.families.sizes import Sizes, decoder_sizes, layer_windows, sliding_window

NO_NORM, HEAD_NORM, WIDTH_NORM = "none", "one for all heads", "over all heads"


@dataclass(frozen=True, slots=True)
class Style:
    """How a family differs from Llama.

    `bias_field`, `query_bias`: the field that turns on biases of query, key and value, and what holds without it;
    `output_bias`: whether the same field also gives the output projection one.
    `qk_norm`: norms on queries and keys; `qk_norm_field`: the field that turns them on where it is not always so.
    `norms`: how many each layer has; `norm_width`: vectors in each (2 with a bias, 0 without weights).
    `windows`: the window of each layer, given the sizes; None: no layer has one.
    """

    bias_field: str = "attention_bias"
    query_bias: bool = False
    output_bias: bool = False
    mlp_bias_field: str = "mlp_bias"
    mlp_bias: bool = False
    gated: bool = True
    qk_norm: str = NO_NORM
    norms: int = 2
    norm_width: int = 1
    tied: bool = False
    qk_norm_field: str = ""
    windows: Callable[[Fields, Sizes], list[int | None]] | None = None


def every_layer(fields: Fields, sizes: Sizes) -> list[int | None]:
    """Mistral: a window, where there is one, holds for all layers."""
    window = sliding_window(fields)
    return layer_windows(fields, sizes.layers, [window is None] * sizes.layers, window)


def upper_layers(fields: Fields, sizes: Sizes) -> list[int | None]:
    """Qwen: the layers from `max_window_layers` on have a window, when windows are used at all."""
    if not fields.flag("use_sliding_window", False):
        return [None] * sizes.layers
    first = fields.whole_or(sizes.layers, "max_window_layers")
    return layer_windows(fields, sizes.layers, [i < first for i in range(sizes.layers)], sliding_window(fields))


def one_in(default_period: int) -> Callable[[Fields, Sizes], list[int | None]]:
    """Gemma 3, Cohere 2: the last layer of each period sees everything."""

    def windows(fields: Fields, sizes: Sizes) -> list[int | None]:
        period = fields.whole_or(default_period, "sliding_window_pattern", least=1)
        full = [(i + 1) % period == 0 for i in range(sizes.layers)]
        return layer_windows(fields, sizes.layers, full, sliding_window(fields))

    return windows


def alternating(fields: Fields, sizes: Sizes) -> list[int | None]:
    """Gemma 2, gpt-oss: every second layer sees everything, the first does not."""
    return layer_windows(fields, sizes.layers, [i % 2 == 1 for i in range(sizes.layers)], sliding_window(fields))


STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "llama": Style(output_bias=True),
        "mistral": Style(windows=every_layer),
        "ministral": Style(windows=every_layer),
        "yi": Style(output_bias=True),
        "aquila": Style(),
        "internlm": Style(bias_field="bias", query_bias=True, output_bias=True),
        "internlm2": Style(bias_field="bias"),
        "baichuan": Style(),
        "qwen2": Style(query_bias=True, windows=upper_layers),
        "qwen3": Style(output_bias=True, qk_norm=HEAD_NORM, windows=upper_layers),
        "mimo": Style(query_bias=True, windows=upper_layers),
        "phi3": Style(windows=every_layer),
        "gemma": Style(output_bias=True, tied=True),
        "gemma2": Style(output_bias=True, norms=4, tied=True, windows=alternating),
        "gemma3_text": Style(output_bias=True, qk_norm=HEAD_NORM, norms=4, tied=True, windows=one_in(6)),
        "olmo": Style(output_bias=True, norm_width=0),
        "olmo2": Style(output_bias=True, qk_norm=WIDTH_NORM),
        "olmo3": Style(output_bias=True, qk_norm=WIDTH_NORM, windows=one_in(4)),
        "stablelm": Style(bias_field="use_qkv_bias", norm_width=2),
        "cohere": Style(output_bias=True, qk_norm=WIDTH_NORM, qk_norm_field="use_qk_norm", norms=1, tied=True),
        "cohere2": Style(output_bias=True, norms=1, tied=True, windows=one_in(4)),
        "nemotron": Style(output_bias=True, gated=False, norm_width=2),
        "granite": Style(output_bias=True),
        "starcoder2": Style(
            bias_field="use_bias",
            query_bias=True,
            output_bias=True,
            mlp_bias_field="use_bias",
            mlp_bias=True,
            gated=False,
            norm_width=2,
            tied=True,
            windows=every_layer,
        ),
        "glm": Style(query_bias=True),
        "glm4": Style(query_bias=True, norms=4),
        "smollm3": Style(output_bias=True, tied=True),
    }
)


def qk_norm_parameters(fields: Fields, style: Style, sizes: Sizes) -> int:
    """Weights of the norms on queries and keys of one layer."""
    if style.qk_norm_field and not fields.flag(style.qk_norm_field, False):
        return 0
    if style.qk_norm == HEAD_NORM:
        return 2 * sizes.head_dim
    return (sizes.heads + sizes.kv_heads) * sizes.head_dim if style.qk_norm == WIDTH_NORM else 0


def attention_of(fields: Fields, style: Style, sizes: Sizes, window: int | None) -> Attention:
    """The attention of one layer in this style."""
    bias = fields.flag(style.bias_field, style.query_bias)
    return grouped_attention(
        sizes.hidden,
        sizes.heads,
        sizes.kv_heads,
        sizes.head_dim,
        window=window,
        query_bias=bias,
        output_bias=bias and style.output_bias,
        extra_vectors=qk_norm_parameters(fields, style, sizes),
    )


def attentions(fields: Fields, style: Style, sizes: Sizes) -> list[Attention]:
    """The attention of each layer; equal ones are one object."""
    windows = style.windows(fields, sizes) if style.windows else [None] * sizes.layers
    kinds = {window: attention_of(fields, style, sizes, window) for window in dict.fromkeys(windows)}
    return [kinds[window] for window in windows]


def dense_decoder(fields: Fields, style: Style, *, outer: Fields | None = None, tower: int = 0) -> ModelArchitecture:
    """A decoder whose layers differ in their windows only. `outer`: the configuration that this one is a part of."""
    sizes = decoder_sizes(fields, outer=outer, tied=style.tied)
    mlp = dense_mlp(
        sizes.hidden,
        fields.whole("intermediate_size"),
        gated=style.gated,
        bias=fields.flag(style.mlp_bias_field, style.mlp_bias),
    )
    norm = style.norm_width * sizes.hidden
    extra = 0
    layers: list[Layer] = [(attention, mlp, style.norms * norm) for attention in attentions(fields, style, sizes)]
    predicted = fields.whole_or(0, "num_nextn_predict_layers", most=sizes.layers)
    if predicted:
        attention, _, norms = layers[0]
        one = attention.parameters + mlp.parameters + norms + 2 * sizes.hidden * sizes.hidden + 3 * sizes.hidden
        extra = predicted * one
    return decoder_of(
        fields,
        sizes,
        grouped(layers),
        final_norm=norm,
        tower=tower,
        extra=extra,
    )


def qwen1(fields: Fields) -> ModelArchitecture:
    """The first Qwen: multi-head attention with biases, and an MLP of half the width that the file states."""
    sizes = decoder_sizes(fields)
    attention = grouped_attention(
        sizes.hidden,
        sizes.heads,
        sizes.heads,
        sizes.head_dim,
        query_bias=True,
        output_bias=not fields.flag("no_bias", True),
    )
    intermediate = fields.divisible(fields.whole("intermediate_size"), "intermediate_size", 2, "2")
    mlp = dense_mlp(sizes.hidden, intermediate)
    return decoder_of(
        fields,
        sizes,
        grouped([(attention, mlp, 2 * sizes.hidden)] * sizes.layers),
        final_norm=sizes.hidden,
    )


def chatglm(fields: Fields) -> ModelArchitecture:
    """ChatGLM 2 and 3, GLM-4 (2024): grouped queries with biases; older field names."""
    hidden = fields.whole("hidden_size")
    heads = fields.whole("num_attention_heads")
    kv_heads = heads
    if fields.flag("multi_query_attention", True):
        kv_heads = fields.whole("multi_query_group_num")
    sizes = decoder_sizes(fields)
    linear_bias = fields.flag("add_bias_linear", False)
    attention = grouped_attention(
        hidden,
        heads,
        kv_heads,
        sizes.head_dim,
        query_bias=linear_bias or fields.flag("add_qkv_bias", True),
        output_bias=linear_bias,
    )
    mlp = dense_mlp(hidden, fields.whole("ffn_hidden_size"), bias=linear_bias)
    return decoder(
        fields,
        grouped([(attention, mlp, 2 * hidden)] * sizes.layers),
        hidden=hidden,
        vocabulary=fields.whole("padded_vocab_size", "vocab_size"),
        tied=sizes.tied,
        final_norm=hidden,
        max_positions=sizes.max_positions,
    )
