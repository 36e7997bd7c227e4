"""The head of a GGUF file: its metadata and the names, types and shapes of its tensors. Never reads a weight.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Everything that the file says about lengths is
checked against limits and against its size before it is used.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from gpuplanner.messages import InputError
from gpuplanner.workload.model_files import ModelFile
from gpuplanner.workload.safetensors_header import Tensor

MAGIC: Final = b"GGUF"
_VERSIONS = (2, 3)
_MOST_METADATA, _MOST_TENSORS, _MOST_DIMENSIONS = 65_536, 200_000, 8
_LONGEST_KEY, _LONGEST_TEXT = 65_536, 64 * 2**20
_MOST_TEXTS = 2_000_000
"""Texts in one array: the largest vocabularies have 262,144 tokens and about 600,000 merges."""
_MOST_VALUES_KEPT = 4096
"""Longer arrays are counted only; those that matter have one value for each layer."""
_MOST_ELEMENTS = 2**60
_STRING, _ARRAY = 8, 9
_BLOCK_BYTES, _LARGEST_HEAD_BYTES = 2**20, 256 * 2**20
"""No head comes near the latter: 262,144 tokens with 600,000 merges take 20 MiB."""
_FORMATS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
BLOCKS: Mapping[int, tuple[str, int, int]] = {
    0: ("f32", 1, 4), 1: ("f16", 1, 2), 2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24), 8: ("q8_0", 32, 34), 9: ("q8_1", 32, 40), 10: ("q2_k", 256, 84), 11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144), 13: ("q5_k", 256, 176), 14: ("q6_k", 256, 210), 15: ("q8_k", 256, 292),
    16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74), 18: ("iq3_xxs", 256, 98), 19: ("iq1_s", 256, 50),
    20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82), 23: ("iq4_xs", 256, 136),
    24: ("i8", 1, 1), 25: ("i16", 1, 2), 26: ("i32", 1, 4), 27: ("i64", 1, 8), 28: ("f64", 1, 8),
    29: ("iq1_m", 256, 56), 30: ("bf16", 1, 2), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66),
    39: ("mxfp4", 32, 17), 40: ("nvfp4", 64, 36), 41: ("q1_0", 128, 18),
}  # fmt: skip
"""Tensor types of ggml: name, weights in a block, bytes of a block (ggml-common.h; gguf-py, GGML_QUANT_SIZES)."""


@dataclass(frozen=True, slots=True)
class LongArray:
    """An array of the metadata of which only the length is kept."""

    length: int


@dataclass(frozen=True, slots=True)
class GgufHead:
    """Metadata by key, and the tensors."""

    metadata: Mapping[str, Any]
    tensors: tuple[Tensor, ...]


def read_gguf(file: ModelFile) -> GgufHead:
    """The head of a file. Raises InputError with the byte at which something is wrong."""
    if file.read(len(MAGIC)) != MAGIC:
        raise file.refuse("model.gguf.not_gguf")
    version = int.from_bytes(file.read(4), "little")
    if version not in _VERSIONS:
        raise file.refuse("model.gguf.version", version=version)
    tensors, entries = struct.unpack("<QQ", file.read(16))
    if tensors > file.size or entries > _MOST_METADATA:
        raise _broken(file)
    if tensors > _MOST_TENSORS:
        raise file.refuse("model.file.too_many_tensors", count=f"{tensors:,}", limit=f"{_MOST_TENSORS:,}")
    metadata: dict[str, Any] = {}
    for _ in range(entries):
        key = _text(file, _LONGEST_KEY)
        if not key or file.position > _LARGEST_HEAD_BYTES:
            raise _broken(file)
        if key in metadata:
            raise file.refuse("model.file.key_twice", key=key[:80])
        metadata[key] = _value(file, _number(file, "<I"), 0)
    found = [_tensor(file) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or not 1 <= alignment <= 2**20:
        raise file.refuse("model.gguf.broken", place="general.alignment")
    start = -(-file.position // alignment) * alignment
    if found and start + max(offset + tensor.stored_bytes for tensor, offset in found) > file.size:
        raise file.cut_off()
    names = {tensor.name for tensor, _ in found}
    if len(names) != len(found):
        raise _broken(file)
    return GgufHead(metadata, tuple(tensor for tensor, _ in found))


def _value(file: ModelFile, kind: int, depth: int) -> Any:
    if kind == _STRING:
        return _text(file, _LONGEST_TEXT)
    if kind == _ARRAY:
        return _array(file, depth)
    form = _FORMATS.get(kind)
    if form is None:
        raise _broken(file)
    value = _number(file, form)
    return bool(value) if kind == 7 else value


def _array(file: ModelFile, depth: int) -> list[Any] | LongArray:
    kind, length = _number(file, "<I"), _number(file, "<Q")
    if kind == _ARRAY or depth:
        raise _broken(file)
    if kind == _STRING:
        if length > _MOST_TEXTS:
            raise _broken(file)
        _skip_texts(file, length)
        return LongArray(length)
    form = _FORMATS.get(kind)
    if form is None:
        raise _broken(file)
    if length > _MOST_VALUES_KEPT:
        file.skip(length * struct.calcsize(form))
        return LongArray(length)
    values = struct.unpack(f"<{length}{form[1]}", file.read(length * struct.calcsize(form)))
    return [bool(v) for v in values] if kind == 7 else list(values)


def _skip_texts(file: ModelFile, count: int) -> None:
    """Go past so many texts, each with its length before it; a block at a time, since vocabularies have many."""
    block, at = b"", 0
    for _ in range(count):
        if at + 8 > len(block):
            file.skip(at - len(block))
            if file.position > _LARGEST_HEAD_BYTES:
                raise _broken(file)
            block, at = file.ahead(_BLOCK_BYTES), 0
            if len(block) < 8:
                raise file.cut_off()
        at += 8 + int.from_bytes(block[at : at + 8], "little")
    file.skip(at - len(block))


def _tensor(file: ModelFile) -> tuple[Tensor, int]:
    """A tensor and where its data begins, counted from the start of all data."""
    name = _text(file, _LONGEST_KEY)
    dimensions = _number(file, "<I")
    if dimensions > _MOST_DIMENSIONS:
        raise _broken(file)
    shape = struct.unpack(f"<{dimensions}Q", file.read(8 * dimensions))
    kind, offset = _number(file, "<I"), _number(file, "<Q")
    if kind not in BLOCKS:
        raise file.refuse("model.gguf.tensor_type", tensor=name[:80], type=kind)
    label, block, block_bytes = BLOCKS[kind]
    elements = prod(shape)
    if elements > _MOST_ELEMENTS or (shape and shape[0] % block):
        raise file.refuse("model.gguf.broken_tensor", tensor=name[:80])
    return Tensor(name, label, shape, elements, elements // block * block_bytes), offset


def _number(file: ModelFile, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _text(file: ModelFile, longest: int) -> str:
    length = _number(file, "<Q")
    if length > longest:
        raise _broken(file)
    return str(file.read(length), "utf-8", "replace")


def _broken(file: ModelFile) -> InputError:
    return file.refuse("model.gguf.broken", place=file.position)
