"""The header of a safetensors file: names, types and shapes of its tensors. Never reads a weight.

Format: 8 bytes with the length of the header, the header in JSON, then the tensors one after another
(https://github.com/huggingface/safetensors).
"""

import re
from collections.abc import Mapping
from math import prod
from typing import Any, Final, NamedTuple, TypeGuard

from gpuplanner.messages import InputError, shortened
from gpuplanner.workload.model_files import ModelFile, json_content

LENGTH_BYTES: Final = 8
LARGEST_HEADER_BYTES: Final = 32 * 2**20
"""The format's own library allows 100 MB; a header for 140,000 tensors, more than any model has, takes 17 MB."""
_BITS: Mapping[str, int] = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "I64": 64, "U64": 64, "I32": 32, "U32": 32, "I16": 16,
    "U16": 16, "I8": 8, "U8": 8, "BOOL": 8, "C64": 64,
}  # fmt: skip
_MOST_TENSORS, _MOST_DIMENSIONS, _LONGEST_NAME = 200_000, 16, 4096
_MOST_ELEMENTS = 2**60
_SCALE = re.compile(
    r"(scale|scales|scale_inv|scale_2|scale_max|input_scale|zeros|qzeros|g_idx|absmax|quant_map|quant_state\S*|"
    r"zero_point|shape|nested_absmax|nested_quant_map)$"
)
_PACKED = ("weight_packed", "_blocks", "qweight")


class Tensor(NamedTuple):
    """A tensor of a weight file. `weights`: how many weights it holds, packed ones unpacked; 0 for scales."""

    name: str
    kind: str
    shape: tuple[int, ...]
    weights: int
    stored_bytes: int


def read_safetensors(file: ModelFile) -> tuple[Tensor, ...]:
    """The tensors of a file. Raises InputError for a header that is cut off, too long, or does not fit the file."""
    length = int.from_bytes(file.read(LENGTH_BYTES), "little")
    if length > LARGEST_HEADER_BYTES:
        raise file.refuse("model.safetensors.header_too_long", length=length, limit=LARGEST_HEADER_BYTES)
    header = json_content(file, file.read(length))
    if not isinstance(header, dict):
        raise file.refuse("model.safetensors.not_a_header")
    if len(header) > _MOST_TENSORS:
        raise file.refuse("model.file.too_many_tensors", count=f"{len(header):,}", limit=f"{_MOST_TENSORS:,}")
    space = file.size - LENGTH_BYTES - length
    tensors = tuple(_tensor(file, name, entry, space) for name, entry in header.items() if name != "__metadata__")
    if not tensors:
        raise file.refuse("model.safetensors.empty")
    return tensors


def _tensor(file: ModelFile, name: str, entry: Any, space: int) -> Tensor:
    if not isinstance(entry, dict):
        raise _broken(file, name)
    kind, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not (isinstance(kind, str) and _whole_numbers(shape) and _whole_numbers(offsets)):
        raise _broken(file, name)
    if len(name) > _LONGEST_NAME or len(shape) > _MOST_DIMENSIONS or len(offsets) != 2:
        raise _broken(file, name)
    if kind not in _BITS:
        raise file.refuse("model.safetensors.unknown_type", tensor=_short(name), type=_short(kind))
    elements = prod(shape)
    start, end = offsets
    if elements > _MOST_ELEMENTS or (end - start) * 8 != elements * _BITS[kind]:
        raise _broken(file, name)
    if end > space:
        raise file.cut_off()
    return Tensor(name, kind, tuple(shape), _weights(name, kind, elements), end - start)


def _weights(name: str, kind: str, elements: int) -> int:
    """The weights in a tensor: two 4-bit ones in a byte of a packed tensor, eight in an I32; none in scales."""
    # Most names end so, and of the patterns only that of `quant_state` allows it.
    plain = name.endswith(".weight") and "quant_state" not in name
    if not plain and _SCALE.search(name):
        return 0
    if name.endswith(_PACKED):
        return elements * _BITS[kind] // 4
    return elements


def _whole_numbers(value: object) -> TypeGuard[list[int]]:
    if not isinstance(value, list):
        return False
    return set(map(type, value)) <= {int} and (not value or (min(value) >= 0 and max(value) <= _MOST_ELEMENTS))


def _broken(file: ModelFile, name: str) -> InputError:
    return file.refuse("model.safetensors.broken_entry", tensor=_short(name))


def _short(text: str) -> str:
    return shortened(text, 80)
