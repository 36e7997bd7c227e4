"""How a published model's weights are stored, read from the quantisation part of its configuration. Counts nothing.

Patterns of module names come from the file; they are recognised by the words in them and never run as expressions.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpuplanner.catalog.architecture import ModelArchitecture, Note, Part, StoredPart
from gpuplanner.catalog.parameters import parameters_by_part

_BASE = {"float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16"}
_METHODS = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp4": "mxfp4",
    "awq": "awq",
    "gptq": "gptq",
    "marlin": "gptq",
    "auto-round": "int4",
    "hqq": "int4",
    "eetq": "int8",
}
_ALGORITHMS = (
    ("NVFP4", "nvfp4"),
    ("MXFP4", "mxfp4"),
    ("MXFP8", "fp8"),
    ("FP8", "fp8"),
    ("INT4", "int4"),
    ("W4A8", "int4"),
    ("W4A16", "int4"),
    ("INT8", "int8"),
    ("W8A8", "int8"),
)
_MOST_ENTRIES = 1_000_000
_LAYER = re.compile(r"layers\D{0,3}(\d{1,5})")
_WHOLE_LAYER = re.compile(r"layers\D{0,3}\d{1,5}[.*]{0,3}$")
_SMALL = ("norm", "bias", "gate", "router", "indexer", "eh_proj", "ln_", "conv1d", "a_log", "dt_")
"""Modules that are vectors, or matrices that no format converts; `gate_proj` is told apart from `gate` before."""
_WORDS: tuple[tuple[str, Part], ...] = (
    ("vision", Part.TOWER),
    ("visual", Part.TOWER),
    ("image_newline", Part.TOWER),
    ("mm_projector", Part.TOWER),
    ("multi_modal", Part.TOWER),
    ("patch_merge", Part.TOWER),
    ("lm_head", Part.HEAD),
    ("embed_out", Part.HEAD),
    ("embed", Part.EMBEDDING),
    ("wte", Part.EMBEDDING),
    ("wpe", Part.EMBEDDING),
    ("mtp", Part.EXTRA),
    ("shared_expert", Part.SHARED_EXPERTS),
    ("experts", Part.EXPERTS),
    ("linear_attn", Part.LINEAR_ATTENTION),
    ("mixer", Part.LINEAR_ATTENTION),
    ("attn", Part.ATTENTION),
    ("attention", Part.ATTENTION),
    ("mlp", Part.MLP),
    ("feed_forward", Part.MLP),
)
_LANGUAGE = (Part.ATTENTION, Part.LINEAR_ATTENTION, Part.MLP, Part.EXPERTS, Part.SHARED_EXPERTS, Part.EXTRA)


def with_storage(architecture: ModelArchitecture, config: Mapping[str, Any]) -> ModelArchitecture:
    """The architecture with how its weights are stored, as far as the configuration says."""
    text = config.get("text_config")
    parts = [config, text] if isinstance(text, Mapping) else [config]
    stated = next((value for part in parts if (value := part.get("dtype") or part.get("torch_dtype"))), None)
    known = next((b for part in parts if (b := _base(part))), "")
    base = known or "bf16"
    found = (part.get(name) for part in parts for name in ("quantization_config", "compression_config"))
    given = next((q for q in found if q is not None), None)
    if given is None and (known or stated is None):
        return architecture.model_copy(update={"weight_quantisation": base})
    quantisation: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    stored = _stored(architecture, quantisation, base, config)
    if stored is None:
        notes = (*architecture.notes, Note.QUANTISATION_UNKNOWN)
        return architecture.model_copy(update={"weight_quantisation": base, "notes": notes})
    counts = parameters_by_part(architecture)
    main = max(stored, key=lambda precision: sum(counts[p] for p in Part if stored_in(stored, p) == precision))
    return architecture.model_copy(
        update={
            "weight_quantisation": main,
            "stored_parts": tuple(
                StoredPart(part=part, precision=precision)
                for precision, members in stored.items()
                if precision != main
                for part in sorted(members)
                if counts[part]
            ),
            "kv_quantisation": _kv(quantisation),
        }
    )


def stored_in(stored: Mapping[str, set[Part]], part: Part) -> str:
    """The precision of a part."""
    return next((precision for precision, members in stored.items() if part in members), "")


def _base(config: Mapping[str, Any]) -> str:
    value = config.get("dtype") or config.get("torch_dtype")
    return _BASE.get(value.removeprefix("torch."), "") if isinstance(value, str) else ""


def _kv(quantisation: Mapping[str, Any]) -> str:
    scheme = quantisation.get("kv_cache_scheme") or quantisation.get("kv_cache_quant_algo")
    if isinstance(scheme, Mapping):
        return "fp8" if scheme.get("num_bits") == 8 and scheme.get("type") == "float" else ""
    return "fp8" if isinstance(scheme, str) and scheme.upper() == "FP8" else ""


def _stored(
    architecture: ModelArchitecture, quantisation: Mapping[str, Any], base: str, config: Mapping[str, Any]
) -> dict[str, set[Part]] | None:
    """The parts by precision; None when the method is not known."""
    layered = quantisation.get("quantized_layers")
    main = _main_precision(quantisation)
    if main is None and not isinstance(layered, Mapping):
        return None
    of_part = dict.fromkeys(Part, base)
    if main is not None:
        converted = (Part.EXPERTS,) if main == "mxfp4" and quantisation.get("quant_method") == "mxfp4" else _LANGUAGE
        of_part.update(dict.fromkeys(converted, main))
        if quantisation.get("expert_dtype") == "fp4" or config.get("expert_dtype") == "fp4":
            of_part[Part.EXPERTS] = "mxfp4"
    if isinstance(layered, Mapping):
        for name, how in list(layered.items())[:_MOST_ENTRIES]:
            precision = _algorithm(how.get("quant_algo") if isinstance(how, Mapping) else None)
            if precision:
                of_part.update(dict.fromkeys(parts_of(name), precision))
    of_part.update(dict.fromkeys(_left_out(architecture, quantisation), base))
    of_part[Part.UNQUANTISED] = base
    stored: dict[str, set[Part]] = {}
    for part, precision in of_part.items():
        stored.setdefault(precision, set()).add(part)
    return stored


def _main_precision(quantisation: Mapping[str, Any]) -> str | None:
    """The precision that the configuration names for all it converts."""
    algorithm = _algorithm(quantisation.get("quant_algo"))
    if algorithm:
        return algorithm
    method = quantisation.get("quant_method")
    if method == "bitsandbytes":
        if quantisation.get("load_in_8bit") is True:
            return "int8"
        return "nf4" if quantisation.get("load_in_4bit", True) is True else None
    if isinstance(method, str) and method in _METHODS:
        return _of_bits(_METHODS[method], quantisation)
    return _scheme(quantisation)


def _of_bits(precision: str, quantisation: Mapping[str, Any]) -> str | None:
    """The precision of a method, which some have in 8 bit as well; None for a number of bits that is not known."""
    bits = quantisation.get("bits", quantisation.get("nbits"))
    if precision not in {"awq", "gptq", "int4"} or bits is None:
        return precision
    if isinstance(bits, bool) or bits not in (4, 8):
        return None
    return precision if bits == 4 else "int8"


def _scheme(quantisation: Mapping[str, Any]) -> str | None:
    """The precision of the first group of a compressed-tensors configuration."""
    groups = quantisation.get("config_groups")
    group = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = group.get("weights") if isinstance(group, Mapping) else None
    if not isinstance(weights, Mapping):
        return None
    bits, kind = weights.get("num_bits"), weights.get("type")
    if bits == 8:
        return "fp8" if kind == "float" else "int8"
    if bits != 4:
        return None
    if kind == "float":
        return "nvfp4" if weights.get("group_size") == 16 else "mxfp4"
    return "int4"


def _algorithm(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return next((precision for word, precision in _ALGORITHMS if word in value.upper()), None)


def _left_out(architecture: ModelArchitecture, quantisation: Mapping[str, Any]) -> set[Part]:
    """The parts that the configuration says are not converted."""
    entries: list[str] = []
    for name in ("ignore", "modules_to_not_convert", "exclude_modules"):
        value = quantisation.get(name)
        if isinstance(value, list):
            entries += [entry for entry in value[:_MOST_ENTRIES] if isinstance(entry, str)]
    parts: set[Part] = set()
    whole_layers: set[str] = set()
    for entry in entries:
        parts |= parts_of(entry)
        found = _LAYER.search(entry)
        if found and _WHOLE_LAYER.search(entry):
            whole_layers.add(found[1])
    dense = sum(group.count for group in architecture.groups if not group.mlp.experts)
    if architecture.is_moe and 0 < dense <= len(whole_layers):
        parts.add(Part.MLP)
    if Part.MLP in parts and not dense and architecture.is_moe:
        parts.add(Part.SHARED_EXPERTS)  # Gemma 4 calls the path beside its experts "mlp"
    return parts


def parts_of(name: object) -> set[Part]:
    """The part that a module name or a pattern of one is about; nothing for norms, routers and whole layers."""
    if not isinstance(name, str):
        return set()
    text = name.lower()
    if text == "head":
        return {Part.HEAD}
    words = text.replace("gate_proj", "").replace("gate|", "").replace("gate_up", "")
    if "lm_head" not in words and any(small in words for small in _SMALL):
        return set()
    return next(({part} for word, part in _WORDS if word in words), set())
