"""What the tensors of a weight file say of a model: how many weights, and in which format each part. Pure."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from gpuplanner.catalog.architecture import ModelArchitecture, Part, StoredPart
from gpuplanner.catalog.families.storage import parts_of
from gpuplanner.workload.safetensors_header import Tensor

_NEAREST: Mapping[str, float] = MappingProxyType(
    {
        "q8_0": 8.5,
        "q6_k": 6.5625,
        "q5_k_m": 5.69,
        "q5_0": 5.5,
        "q4_k_m": 4.85,
        "q4_0": 4.5,
        "iq4_xs": 4.25,
        "q3_k_m": 3.91,
        "q2_k": 2.96,
    }
)
"""Formats of llama.cpp that can be chosen, with the bits of a weight that each comes to."""
_FLOATS = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "F32": "fp32", "F16": "fp16", "BF16": "bf16"}
_EIGHT_BITS = {"F8_E4M3": "fp8", "F8_E5M2": "fp8", "I8": "int8", "q8_0": "q8_0"}
_GGUF_PARTS: tuple[tuple[re.Pattern[str], Part], ...] = (
    (re.compile(r"^token_embd|^position_embd|^per_layer_token_embd"), Part.EMBEDDING),
    (re.compile(r"^output\.weight"), Part.HEAD),
    (re.compile(r"norm|bias$|ffn_gate_inp|exp_probs|sinks"), Part.UNQUANTISED),
    (re.compile(r"_exps"), Part.EXPERTS),
    (re.compile(r"_shexp"), Part.SHARED_EXPERTS),
    (re.compile(r"ssm_"), Part.LINEAR_ATTENTION),
    (re.compile(r"attn_"), Part.ATTENTION),
    (re.compile(r"ffn_"), Part.MLP),
)
_NUMBER_OF_A_LAYER = re.compile(r"\.\d+(?=\.)")
_NOT_WEIGHTS = re.compile(r"^rope_(freqs|factors_long|factors_short)\.weight$|rotary_emb\.inv_freq$|position_ids$")


def gguf_part(name: str) -> Part:
    """The part that a tensor of a GGUF file belongs to."""
    return next((part for pattern, part in _GGUF_PARTS if pattern.search(name)), Part.UNQUANTISED)


def module_part(name: str) -> Part:
    """The part that a tensor of a safetensors file belongs to."""
    return next(iter(parts_of(name)), Part.UNQUANTISED)


def weight_count(tensors: Iterable[Tensor]) -> int:
    """All weights, tables of rotary positions and scales left out."""
    weights: dict[str, int] = {}
    for tensor in tensors:
        name = _any_layer(tensor.name)
        weights[name] = weights.get(name, 0) + tensor.weights
    return sum(count for name, count in weights.items() if not _NOT_WEIGHTS.search(name))


def _any_layer(name: str) -> str:
    """The name without its layer's and expert's numbers: no rule here looks at them, and there are far fewer names."""
    return _NUMBER_OF_A_LAYER.sub(".0", name)


def with_tensors(shape: ModelArchitecture, tensors: Iterable[Tensor], *, gguf: bool, named: str) -> ModelArchitecture:
    """The architecture with how each part is stored, to the bit. `named`: the format that the file says it has."""
    bits: dict[Part, int] = {}
    counts: dict[Part, int] = {}
    kinds: dict[Part, dict[str, int]] = {}
    of_a_name: dict[str, Part | None] = {}
    for tensor in tensors:
        name = _any_layer(tensor.name)
        if name not in of_a_name:
            whole = gguf_part(tensor.name) if gguf else module_part(tensor.name)
            of_a_name[name] = None if _NOT_WEIGHTS.search(tensor.name) else whole
        part = of_a_name[name]
        if part is None:
            continue
        bits[part] = bits.get(part, 0) + 8 * tensor.stored_bytes
        counts[part] = counts.get(part, 0) + tensor.weights
        own = kinds.setdefault(part, {})
        own[tensor.kind] = own.get(tensor.kind, 0) + tensor.weights
    stored = {
        part: StoredPart(
            part=part,
            precision=_format(max(kinds[part].items(), key=lambda item: item[1])[0], bits[part] / counts[part]),
            bits_per_weight=bits[part] / counts[part],
        )
        for part in counts
        if counts[part] and bits[part] / counts[part] <= 64
    }
    matrices = [part for part in stored if part not in {Part.EMBEDDING, Part.HEAD, Part.UNQUANTISED, Part.TOWER}]
    if not matrices:
        return shape
    most = max(matrices, key=lambda part: counts[part])
    average = sum(bits[part] for part in matrices) / sum(counts[part] for part in matrices)
    main = named or stored[most].precision
    if gguf and not named and main in _NEAREST:
        main = nearest_format(average)
    return shape.model_copy(
        update={"weight_quantisation": main, "stored_parts": tuple(stored[p] for p in sorted(stored))}
    )


def nearest_format(bits: float) -> str:
    """The format of llama.cpp that comes nearest to so many bits a weight."""
    return min(_NEAREST, key=lambda name: abs(_NEAREST[name] - bits))


def _format(kind: str, bits: float) -> str:
    known = _FLOATS.get(kind) or _EIGHT_BITS.get(kind)
    if known:
        return known
    if kind in {"mxfp4", "nvfp4"}:
        return kind
    if kind in {"I32", "U8"}:
        return "int4"
    return nearest_format(bits)
