"""A model as the numbers that serving depends on, in one weight and one KV precision. Looked up once; no machine."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import inf

from gpuplanner.catalog.architecture import (
    INDEX_BITS,
    Attention,
    AttentionKind,
    LayerGroup,
    ModelArchitecture,
    Part,
    Role,
    StoredPart,
)
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.parameters import parameters_by_part
from gpuplanner.engine.formulas.activations import ACTIVATION_BYTES
from gpuplanner.engine.formulas.weights import stored_bytes
from gpuplanner.engine.serving_inputs import CacheLayers, ModelNumbers
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import kept
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.precision import KvPrecision, WeightPrecision

FORMATS = "number_formats"
AVERAGED = re.compile(r"(exl[23])[- ](\d.*)")
"""ExLlama's formats are asked for by their average bits per weight: "exl2-4.0"."""
_WIDE = {"fp32": 4.0}


def precision_of(architecture: ModelArchitecture, weight_precision: WeightPrecision | str | None) -> str:
    """The format that the weights are served in: as asked for, else as published."""
    return str(weight_precision or architecture.weight_quantisation)


def cache_precision_of(architecture: ModelArchitecture, kv_precision: KvPrecision | str | None) -> str:
    """The format of the KV cache: as asked for, else as the model's files ask for, else 16 bits."""
    return str(kv_precision or architecture.kv_quantisation or "bf16")


def bits_by_part(
    architecture: ModelArchitecture, weight_precision: WeightPrecision | str | None, efficiencies: Efficiencies
) -> Mapping[str, float]:
    """Bits per weight of each part. Raises InputError for a format that is not known."""
    precision = precision_of(architecture, weight_precision)
    bits = format_bits(efficiencies, precision, is_moe=architecture.is_moe)
    if precision == architecture.weight_quantisation and architecture.stored_parts:
        bits = {**bits, **{s.part.value: _stored_bits(s, efficiencies) for s in architecture.stored_parts}}
    return bits


def _stored_bits(stored: StoredPart, efficiencies: Efficiencies) -> float:
    """Bits per weight of a part: those of its files where they were read, else those of its format's matrices.

    A part that is said to be in a format is so even where the format by itself would leave it wide (an output head).
    """
    return stored.bits_per_weight or format_bits(efficiencies, stored.precision, is_moe=False)[Part.MLP.value]


def format_bits(efficiencies: Efficiencies, precision: str, *, is_moe: bool) -> Mapping[str, float]:
    """Bits per weight of each kind of weights in a format. Raises InputError for one that the table does not have."""
    averaged = AVERAGED.fullmatch(precision)
    if averaged:
        other = efficiencies.constants(FORMATS, averaged[1]).values
        return {part: other[part] or float(averaged[2]) for part in other}
    names = [f"{precision} moe", precision] if is_moe else [precision]
    for name in names:
        try:
            return efficiencies.constants(FORMATS, name).values
        except MissingFactError:
            continue
    raise InputError(msg("serving.unknown_format", format=precision))


@kept(64)
def model_numbers(
    architecture: ModelArchitecture,
    weight_precision: WeightPrecision | str | None,
    kv_precision: KvPrecision | str | None,
    efficiencies: Efficiencies,
) -> ModelNumbers:
    """The numbers of a model; a precision that is None is the published one (KV: 16 bits, or as the files ask for).

    Raises InputError for a number format that is not known.
    """
    bits = bits_by_part(architecture, weight_precision, efficiencies)
    parts = parameters_by_part(architecture)
    size = {part: float(stored_bytes(float(parts[part]), bits[part.value])) for part in Part}
    kv_bits = cache_bits(architecture, kv_precision, efficiencies)
    word = _WIDE.get(precision_of(architecture, weight_precision), ACTIVATION_BYTES)
    groups = architecture.groups
    moe = [g for g in groups if g.mlp.experts]
    tied = architecture.head_parameters == 0
    head = parts[Part.EMBEDDING] if tied else parts[Part.HEAD]
    active_experts = sum(g.count * g.mlp.experts_per_token * g.mlp.expert_parameters for g in moe)
    server = efficiencies.constants("servers", "model")
    return ModelNumbers(
        layers=float(architecture.layers),
        moe_layers=float(sum(g.count for g in moe)),
        hidden=float(architecture.hidden),
        vocabulary=float(architecture.vocabulary),
        encoder_heads=float(max(g.attention.heads for g in groups)) if architecture.role is Role.ENCODER else 0.0,
        attention_bytes=size[Part.ATTENTION] + size[Part.LINEAR_ATTENTION],
        mlp_bytes=size[Part.MLP] + size[Part.SHARED_EXPERTS],
        expert_bytes=size[Part.EXPERTS],
        copied_bytes=size[Part.UNQUANTISED],
        head_bytes=float(stored_bytes(float(head), bits[Part.HEAD.value])),
        embedding_bytes=0.0 if tied else size[Part.EMBEDDING],
        beside_bytes=size[Part.TOWER],
        attention_parameters=float(parts[Part.ATTENTION] + parts[Part.LINEAR_ATTENTION]),
        mlp_parameters=float(parts[Part.MLP] + parts[Part.SHARED_EXPERTS] + parts[Part.UNQUANTISED]),
        head_parameters=float(head),
        active_expert_parameters=float(active_experts),
        experts=float(max((g.mlp.experts for g in moe), default=1)),
        experts_per_token=float(max((g.mlp.experts_per_token for g in moe), default=1)),
        cache=() if architecture.role is Role.ENCODER else tuple(_cache_layers(groups, kv_bits)),
        state_bytes=float(sum(g.count * g.attention.state_bytes for g in groups)),
        recurrent_layers=float(sum(g.count for g in groups if _is_recurrent(g.attention))),
        state_shards=float(max((g.attention.state_shards for g in groups), default=1)),
        split_activation_bytes=word * max(_mlp_widths(g) for g in groups),
        whole_activation_bytes=word * architecture.hidden * (3 + max(g.mlp.experts_per_token for g in groups)),
        attention_split_bytes=word * max(_attention_widths(g.attention) for g in groups),
        attention_whole_bytes=word * architecture.hidden * 4,
        split_traffic_bytes=word * sum(g.count * (_mlp_widths(g) + _attention_widths(g.attention)) for g in groups),
        whole_traffic_bytes=word * architecture.layers * architecture.hidden * server["hidden_passes"],
        mlp_pass_tokens=server["expert_pass_tokens"] if moe else inf,
        profile_bytes=server["tower_profile_bytes"] if architecture.tower_parameters else 0.0,
        activation_bytes=word,
        routed_traffic_bytes=word * sum(g.count * _routed_widths(g, architecture.hidden) for g in moe),
        expert_tile_padding=0.5 * server["expert_tile_rows"] if moe else 0.0,
    )


def _is_recurrent(attention: Attention) -> bool:
    return bool(attention.state_bytes) and not attention.cache_elements_per_token


def cache_bits(
    architecture: ModelArchitecture, kv_precision: KvPrecision | str | None, efficiencies: Efficiencies
) -> float:
    """Bits of one number in the KV cache. Raises InputError for a format that is not known."""
    precision = cache_precision_of(architecture, kv_precision)
    try:
        return efficiencies.constants(FORMATS, f"kv {precision}")["bits"]
    except MissingFactError:
        raise InputError(msg("serving.unknown_format", format=precision)) from None


def _cache_layers(groups: Iterable[LayerGroup], kv_bits: float) -> Iterator[CacheLayers]:
    """One entry for all layers that look equally far back and split equally, since their sums behave alike."""
    kinds: dict[tuple[float, float, float], list[tuple[int, Attention]]] = defaultdict(list)
    for group in groups:
        for attention in (group.attention, group.cross_attention):
            if attention is None or group.encoder or not attention.cache_elements_per_token:
                continue
            window = float(attention.window or inf)
            attended = min(window, float(attention.top_k_tokens or inf))
            kinds[window, attended, float(attention.cache_shards)].append((group.count, attention))
    for (window, attended, shards), layers in kinds.items():
        elements = sum(n * a.cache_elements_per_token for n, a in layers)
        index = sum(n * a.index_elements_per_token for n, a in layers)
        bits = ((elements - index) * kv_bits + index * INDEX_BITS) / elements
        yield CacheLayers(
            layers=float(sum(n for n, _ in layers)),
            elements=float(elements),
            bits=bits,
            shards=shards,
            window=window,
            attended=attended,
            flops_per_pair=float(sum(n * _decode_flops(a) for n, a in layers)),
            prefill_flops_per_pair=float(sum(n * _prompt_flops(a) for n, a in layers)),
            heads=float(sum(n * a.heads for n, a in layers)),
        )


def _decode_flops(attention: Attention) -> int:
    """FLOP of one layer for one new token and one cached one; latent attention multiplies with the latent itself."""
    if attention.kind is AttentionKind.MLA:
        return 4 * attention.heads * (attention.cache_elements_per_token - attention.index_elements_per_token)
    return 2 * attention.heads * (attention.head_dim + attention.value_head_dim)


def _prompt_flops(attention: Attention) -> int:
    """FLOP of one layer for two tokens of a prompt.

    Servers make keys and values of all heads from the latent first, which takes three to four times fewer FLOP than
    with the latent itself; a sparse attention picks tokens of the latent cache and multiplies with these.
    """
    sparse = attention.top_k_tokens is not None
    key = attention.head_dim if sparse else attention.expanded_head_dim or attention.head_dim
    value = attention.value_head_dim if sparse else attention.expanded_value_head_dim or attention.value_head_dim
    return 2 * attention.heads * (key + value)


def _mlp_widths(group: LayerGroup) -> int:
    """Numbers a token that live at once in the feed-forward part: what comes out of up and gate, and what goes down."""
    mlp = group.mlp
    one = 3 if mlp.gated else 2
    return one * (mlp.intermediate * max(mlp.experts_per_token, 1) + mlp.shared_intermediate)


def _routed_widths(group: LayerGroup, hidden: int) -> int:
    """Numbers a token that its experts move: a copy for each of them written, their results written, these summed."""
    return 3 * group.mlp.experts_per_token * hidden


def _attention_widths(attention: Attention) -> int:
    """Numbers a token that live at once in attention: queries, keys and values before and after rotation, output."""
    queries = attention.heads * attention.head_dim
    keys_and_values = attention.kv_heads * (attention.head_dim + attention.value_head_dim)
    return 2 * (queries + keys_and_values) + attention.heads * attention.value_head_dim
