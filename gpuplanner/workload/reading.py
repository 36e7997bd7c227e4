"""A model out of a file that a person chose or dropped: recognised by its content, never by its name alone.

Reads `config.json`, safetensors and their index, and GGUF; says of other files what they are and what is needed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.catalog.parameters import active_parameters, total_parameters
from gpuplanner.collector_pause import collector_paused
from gpuplanner.messages import InputError, Message, msg, shortened
from gpuplanner.workload import wrong_files
from gpuplanner.workload.gguf_config import gguf_config
from gpuplanner.workload.gguf_file import MAGIC, GgufHead, read_gguf
from gpuplanner.workload.model_files import ModelFile, file_name, json_content, opened, without_folder
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.safetensors_header import LENGTH_BYTES, Tensor, read_safetensors
from gpuplanner.workload.weight_tensors import weight_count, with_tensors

LARGEST_TEXT_BYTES: Final = 32 * 2**20
"""Largest text that is read whole: the index of a model with 70,000 experts has 15 MB."""
CONFIG: Final = "config.json"
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.(?:safetensors|gguf)$")
_SIZE_IN_NAME = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d{1,2})?)[bB](?![a-zA-Z0-9])")
_QUANTISATION_IN_NAME = re.compile(
    r"(?<![a-z])(nvfp4|mxfp4|fp8|awq|gptq|int4|int8|w4a16|w8a8)(?![a-z0-9])", re.IGNORECASE
)
_TOO_FAR = 1.35
"""A name states sizes roughly ("7B" for 7.6 billion); what is further off is another model or a shrunk copy."""
_HASH = re.compile(r"[0-9a-f]{12,64}")
"""The folder of a snapshot in a download cache."""
_ANY_FOLDER = frozenset({"downloads", "desktop", "documents", "tmp", "temp", "下载", "桌面", "文档"})
"""Where files of anything lie."""
_LONGEST_KIND = 80
_FILE_TYPES: Mapping[int, str] = {
    0: "fp32", 1: "fp16", 2: "q4_0", 7: "q8_0", 8: "q5_0", 10: "q2_k", 12: "q3_k_m", 14: "q4_k_s", 15: "q4_k_m",
    17: "q5_k_m", 18: "q6_k", 30: "iq4_xs", 32: "bf16", 38: "mxfp4", 39: "nvfp4",
}  # fmt: skip
"""`general.file_type` of those GGUF formats that can be chosen as a weight precision (llama.h, `llama_ftype`)."""


class FileKind(StrEnum):
    """What a file turned out to be."""

    CONFIG = "config"
    SAFETENSORS = "safetensors"
    INDEX = "index"
    GGUF = "gguf"


@dataclass(frozen=True, slots=True)
class ReadModel:
    """A model read from a file.

    `precision`: how its weights are stored, where that can be chosen for serving. `weights`: how many the file itself
    holds (None for a configuration). `problems`: what a person should know before trusting it; none stops a plan.
    """

    architecture: ModelArchitecture
    read_from: str
    kind: FileKind
    precision: WeightPrecision | None
    weights: int | None
    problems: tuple[Message, ...]


def read_model_file(path: Path) -> ReadModel:
    """The model that a file describes; of a folder, its `config.json`.

    Raises InputError, which names the file, the place in it, and what to do: it is missing, may not be read, is cut off
    or broken, is of another kind (which is named), or describes a family that is not known.
    """
    path = without_folder(path, CONFIG)
    with collector_paused(), opened(path) as file:
        start = file.start(LENGTH_BYTES + 1)
        if start.startswith(MAGIC):
            return _from_gguf(path, file)
        length = int.from_bytes(start[:LENGTH_BYTES], "little")
        if len(start) > LENGTH_BYTES and start[LENGTH_BYTES:] == b"{" and length < 2**48:
            return _from_safetensors(path, file)
        if path.suffix == ".safetensors" and not start.lstrip().startswith(b"{"):
            read_safetensors(file)  # raises, with the reason why this is none
        wrong_files.refuse_binary(file)
        if file.size > LARGEST_TEXT_BYTES:
            raise file.refuse("model.file.too_large", limit=LARGEST_TEXT_BYTES // 2**20)
        return _from_text(path, file, file.read(file.size))


def _from_text(path: Path, file: ModelFile, text: bytes) -> ReadModel:
    if not text.strip():
        raise file.refuse("model.file.empty")
    wrong_files.refuse_text(file, text)
    content = json_content(file, text)
    if not isinstance(content, dict):
        raise file.refuse("model.file.not_a_model")
    if isinstance(content.get("weight_map"), dict):
        return _from_index(path, file, content)
    wrong_files.refuse_json(file, content)
    return _from_config(path, content)


def _from_config(path: Path, content: Mapping[str, Any]) -> ReadModel:
    name = _stated_name(content) or _name(path, content)
    shape = _shape(path, _with_quantisation(path, content), name)
    return _read(path, shape, FileKind.CONFIG, None, (*_doubts(shape, name), *_notes(shape)))


def _from_safetensors(path: Path, file: ModelFile) -> ReadModel:
    tensors = read_safetensors(file)
    weights = weight_count(tensors)
    config = _config_beside(path)
    if config is None:
        raise file.refuse("model.safetensors.no_config", **_told(tensors), weights=f"{weights:,}")
    read = _from_config(path.with_name(CONFIG), config)
    if _SHARD.search(path.name):
        return _read(path, read.architecture, FileKind.SAFETENSORS, weights, read.problems)
    shape = with_tensors(read.architecture, tensors, gguf=False, named="")
    problems = (*read.problems, *_count_doubts(shape, weights))
    return _read(path, shape, FileKind.SAFETENSORS, weights, problems)


def _from_index(path: Path, file: ModelFile, content: Mapping[str, Any]) -> ReadModel:
    """The index names the files that tensors are in; the sizes stand in the configuration beside it."""
    for tensor, holder in content["weight_map"].items():
        if not isinstance(holder, str) or not holder or "/" in holder or "\\" in holder or ".." in holder:
            raise file.refuse("model.index.bad_file_name", tensor=shortened(str(tensor), 80))
    config = _config_beside(path)
    if config is None:
        raise file.refuse("model.index.no_config")
    read = _from_config(path.with_name(CONFIG), config)
    return _read(path, read.architecture, FileKind.INDEX, None, read.problems)


def _from_gguf(path: Path, file: ModelFile) -> ReadModel:
    head = read_gguf(file)
    shape = _shape(path, gguf_config(head, file.name), _gguf_name(path, head))
    if head.metadata.get("split.count", 0) not in {0, 1}:
        return _read(path, shape, FileKind.GGUF, None, (msg("model.gguf.one_of_several"),))
    weights = weight_count(head.tensors)
    file_type = head.metadata.get("general.file_type")
    named = _FILE_TYPES.get(file_type, "") if isinstance(file_type, int) else ""
    shape = with_tensors(shape, head.tensors, gguf=True, named=named)
    problems = (*_count_doubts(shape, weights), *_notes(shape))
    if not named:
        problems += (msg("model.gguf.counted_like", format=shape.weight_quantisation),)
    return _read(path, shape, FileKind.GGUF, weights, problems)


def _shape(path: Path, config: Mapping[str, Any], name: str) -> ModelArchitecture:
    """The architecture of a configuration; a refusal names the file before the field."""
    try:
        return architecture_from_config(config, name)
    except InputError as error:
        raise InputError(msg("model.file.refused", file=file_name(path), why=error.message)) from error


def _read(
    path: Path, shape: ModelArchitecture, kind: FileKind, weights: int | None, problems: tuple[Message, ...]
) -> ReadModel:
    stored = shape.weight_quantisation
    precision = WeightPrecision(stored) if stored in set(WeightPrecision) else None
    return ReadModel(shape, file_name(path), kind, precision, weights, problems)


def _notes(shape: ModelArchitecture) -> tuple[Message, ...]:
    """What could not be known from the sizes."""
    return tuple(msg(note) for note in shape.notes)


def _config_beside(path: Path) -> Mapping[str, Any] | None:
    """The configuration in the same folder, or None when there is none."""
    beside = path.with_name(CONFIG)
    if not beside.is_file():
        return None
    with opened(beside) as file:
        if file.size > LARGEST_TEXT_BYTES:
            raise file.refuse("model.file.too_large", limit=LARGEST_TEXT_BYTES // 2**20)
        content = json_content(file, file.read(file.size))
        if not isinstance(content, dict):
            raise file.refuse("model.file.not_a_model")
        return content


def _with_quantisation(path: Path, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configuration with its quantisation, which older ModelOpt files have in a file of its own beside it."""
    beside = path.with_name("hf_quant_config.json")
    if "quantization_config" in content or not beside.is_file():
        return content
    with opened(beside) as file:
        if file.size > LARGEST_TEXT_BYTES:
            return content
        own = json_content(file, file.read(file.size))
    quantisation = own.get("quantization") if isinstance(own, dict) else None
    return {**content, "quantization_config": quantisation} if isinstance(quantisation, dict) else content


def _stated_name(content: Mapping[str, Any]) -> str:
    """What a configuration says that its model is called: the last part, since it may be somebody's path."""
    stated = content.get("_name_or_path")
    last = re.split(r"[/\\]", stated.strip().rstrip("/\\"))[-1] if isinstance(stated, str) else ""
    return file_name(Path(last)) if last.strip(".") and not _HASH.fullmatch(last) else ""


def _name(path: Path, content: Mapping[str, Any]) -> str:
    """The folder of a `config.json`, its architecture where the folder says nothing of it; else the file's name."""
    stem = path.resolve().parent.name if path.name == CONFIG else path.stem
    kinds = content.get("architectures")
    if path.name == CONFIG and (stem.lower() in _ANY_FOLDER or _HASH.fullmatch(stem)):
        stem = kinds[0][:_LONGEST_KIND] if isinstance(kinds, list) and kinds and isinstance(kinds[0], str) else stem
    return file_name(Path(stem.replace("__", "/").rpartition("/")[2])) if stem else ""


def _gguf_name(path: Path, head: GgufHead) -> str:
    stated = head.metadata.get("general.name")
    return file_name(Path(stated.replace("/", " "))) if isinstance(stated, str) and stated.strip() else path.stem


def _doubts(shape: ModelArchitecture, name: str) -> tuple[Message, ...]:
    """What in a configuration does not go with the name of the model."""
    doubts: list[Message] = []
    stated = _SIZE_IN_NAME.search(name.replace("_", "-"))
    if stated and (billions := float(stated[1])):
        counts = (total_parameters(shape), active_parameters(shape))
        if all(not 1 / _TOO_FAR <= count / (billions * 1e9) <= _TOO_FAR for count in counts):
            counted = f"{counts[0] / 1e9:.2f} B"
            doubts.append(msg("model.doubt.size", name=name, stated=f"{stated[1]} B", counted=counted))
    quantised = _QUANTISATION_IN_NAME.search(name)
    if quantised and shape.weight_quantisation in {"bf16", "fp16", "fp32"}:
        doubts.append(msg("model.doubt.quantisation", name=name, format=quantised[1].upper()))
    return tuple(doubts)


def _count_doubts(shape: ModelArchitecture, weights: int) -> tuple[Message, ...]:
    """Whether the file holds the weights that its sizes add up to: with or without prediction layers and copies."""
    total = total_parameters(shape)
    language = total - shape.tower_parameters
    copies = shape.embedding_parameters if shape.tied_embeddings else 0
    allowed = {total, language, total + copies, language + copies, total + shape.extra_parameters}
    if weights in allowed:
        return ()
    return (msg("model.doubt.count", counted=f"{total:,}", held=f"{weights:,}"),)


def _told(tensors: tuple[Tensor, ...]) -> dict[str, str]:
    """What the names and shapes of tensors tell without a configuration: layers, hidden size and vocabulary."""
    layers = {found[1] for t in tensors if (found := re.search(r"(?:layers|\bh|blocks)\.(\d{1,5})\.", t.name))}
    table = next((t for t in tensors if re.search(r"(embed_tokens|wte|word_embeddings)\.weight$", t.name)), None)
    known = len(table.shape) == 2 if table else False
    return {
        "layers": str(len(layers)) if layers else "?",
        "hidden": str(table.shape[1]) if table and known else "?",
        "vocabulary": str(table.shape[0]) if table and known else "?",
    }
