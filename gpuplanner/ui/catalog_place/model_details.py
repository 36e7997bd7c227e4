"""The facts of a model in groups: size, layers, what one token keeps, licence. No Qt."""

from collections.abc import Iterable, Sequence

from gpuplanner.catalog.architecture import AttentionKind, LayerGroup, ModelArchitecture
from gpuplanner.catalog.entries import Model
from gpuplanner.catalog.networks import DiffusionNetwork, Network, VisionNetwork
from gpuplanner.catalog.table.contents import kv_bytes_per_token
from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.catalog_place.rows import FactGroup, FactRow, NumberRow, Row, WordRow, groups
from gpuplanner.units import Unit

_ROUNDED = msg("catalogui.model.rounded")
_WIDTHS = (("kv16", 2.0), ("kv8", 1.0))
"""Bytes of one number in the KV cache."""


def model_groups(model: Model) -> tuple[FactGroup, ...]:
    """Everything that is known of a model."""
    shape = model.architecture
    size: list[Row] = [FactRow(msg("catalogui.model.parameters"), model.parameters)]
    exact = msg("catalogui.model.exact", count=f"{model.parameters.value:,.0f}")
    size.append(WordRow(msg("catalogui.model.count"), exact if model.parameters_exact else _ROUNDED))
    if model.active_parameters is not None:
        size.append(FactRow(msg("catalogui.model.active"), model.active_parameters))
    size += [WordRow(msg("catalogui.model.kind"), msg(f"model.kind.{model.kind}"))]
    if model.licence:
        size.append(WordRow(msg("catalogui.model.licence"), model.licence))
    if shape is None:
        return groups(FactGroup(msg("catalogui.group.size"), tuple(size)), _network(model.network))
    return groups(
        FactGroup(msg("catalogui.group.size"), tuple(size)),
        FactGroup(msg("catalogui.group.token"), tuple(_per_token(shape))),
        FactGroup(msg("catalogui.group.layers"), tuple(_layers(shape))),
    )


def _network(network: Network | None) -> FactGroup:
    """What is known of a model that is no language model."""
    rows: tuple[Row, ...]
    match network:
        case VisionNetwork():
            rows = tuple(_of_images(network))
            return FactGroup(msg("catalogui.group.image"), rows)
        case DiffusionNetwork():
            rows = tuple(_of_pipeline(network))
            return FactGroup(msg("catalogui.group.pipeline"), rows)
        case _:
            rows = (WordRow(msg("catalogui.model.layers"), msg("catalogui.model.no_architecture")),)
            return FactGroup(msg("catalogui.group.layers"), rows)


def _of_images(network: VisionNetwork) -> Iterable[Row]:
    side = network.image_px
    yield WordRow(msg("catalogui.model.image"), msg("catalogui.model.pixels", width=side, height=side))
    yield NumberRow(msg("catalogui.model.flop"), 2 * network.macs, Unit.FLOP, msg("catalogui.model.flop.note"))
    if network.activations:
        yield NumberRow(msg("catalogui.model.activations"), network.activations, Unit.COUNT)
    if network.layers:
        yield NumberRow(msg("catalogui.model.layers"), float(network.layers), Unit.COUNT)
    yield WordRow(msg("catalogui.model.operators"), msg(f"catalogui.operators.{network.operators.value}"))


def _of_pipeline(network: DiffusionNetwork) -> Iterable[Row]:
    kind = network.denoiser.kind
    yield NumberRow(msg(f"catalogui.model.denoiser.{kind}"), network.denoiser.parameters, Unit.COUNT)
    for encoder in network.text_encoders:
        yield NumberRow(msg("catalogui.model.text_encoder", name=encoder.name), encoder.parameters, Unit.COUNT)
    yield NumberRow(msg("catalogui.model.codec"), network.codec.parameters, Unit.COUNT)
    size = msg("catalogui.model.pixels", width=network.width, height=network.height)
    yield WordRow(msg("catalogui.model.card_size"), size)
    if network.frames > 1:
        yield NumberRow(msg("catalogui.model.card_frames"), float(network.frames), Unit.COUNT)
    yield NumberRow(msg("catalogui.model.card_steps"), float(network.steps), Unit.COUNT)
    runs = 2 if network.guided or network.guided_apart else 1
    yield NumberRow(msg("catalogui.model.passes"), float(runs), Unit.COUNT)


def _per_token(shape: ModelArchitecture) -> Iterable[Row]:
    windowed = any(group.attention.window is not None for group in shape.groups)
    note: MessageValue = msg("catalogui.model.window_note") if windowed else ""
    if kv_bytes_per_token(shape, 1.0):
        for name, width in _WIDTHS:
            kept = kv_bytes_per_token(shape, width)
            yield NumberRow(msg(f"catalogui.model.{name}"), kept, Unit.BYTE_PER_TOKEN, note)
    else:
        yield WordRow(msg("catalogui.model.kv16"), msg("catalogui.model.no_cache"))
    if shape.max_positions is not None:
        yield NumberRow(msg("catalogui.model.context"), float(shape.max_positions), Unit.TOKEN)


def _layers(shape: ModelArchitecture) -> Iterable[Row]:
    yield NumberRow(msg("catalogui.model.layers"), float(shape.layers), Unit.COUNT)
    yield NumberRow(msg("catalogui.model.hidden"), float(shape.hidden), Unit.COUNT)
    yield NumberRow(msg("catalogui.model.vocabulary"), float(shape.vocabulary), Unit.COUNT)
    for kind, alike in _by_attention(shape.groups):
        heads = alike[0].attention
        count = sum(group.count for group in alike)
        said = msg("catalogui.model.heads", count=count, heads=heads.heads, kv_heads=heads.kv_heads, dim=heads.head_dim)
        window = msg("catalogui.model.window", tokens=f"{heads.window:,}") if heads.window is not None else ""
        yield WordRow(msg(f"catalogui.attention.{kind.name.lower()}"), said, note=window)
    experts = next((group.mlp for group in shape.groups if group.mlp.experts), None)
    if experts is not None:
        said = msg("catalogui.model.of_experts", chosen=experts.experts_per_token, experts=experts.experts)
        yield WordRow(msg("catalogui.model.experts"), said)
    tied = msg("catalogui.word.yes" if shape.tied_embeddings else "catalogui.word.no")
    yield WordRow(msg("catalogui.model.tied"), tied)
    if shape.weight_quantisation:
        yield WordRow(msg("catalogui.model.published_in"), shape.weight_quantisation.upper())


def _by_attention(
    layer_groups: Sequence[LayerGroup],
) -> Iterable[tuple[AttentionKind, list[LayerGroup]]]:
    """Layers whose attention is the same, together."""
    found: dict[tuple[AttentionKind, int, int, int, int | None], list[LayerGroup]] = {}
    for group in layer_groups:
        attention = group.attention
        key = (attention.kind, attention.heads, attention.kv_heads, attention.head_dim, attention.window)
        found.setdefault(key, []).append(group)
    for (kind, *_), alike in found.items():
        yield kind, alike
