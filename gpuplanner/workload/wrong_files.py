"""Files that people take for a model's configuration: what they are and which file is needed instead. Reads none."""

import re
from collections.abc import Mapping
from typing import Any

from gpuplanner.messages import InputError
from gpuplanner.workload.model_files import ModelFile

_START = 65_536
_BASE_MODEL = re.compile(
    rb"^[ \t]{0,40}(?:model_name_or_path|base_model|pretrained_model_name_or_path|model_path)[ \t]{0,40}:[ \t]{0,40}"
    rb"[\"']?([\w./\\-]{1,200})",
    re.MULTILINE,
)
_YAML_LINE = re.compile(rb"^[ \t]{0,40}[\w.-]{1,200}[ \t]{0,40}:(?:\s|$)", re.MULTILINE)
_PICKLES = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_TOKENIZER = ({"added_tokens", "model"}, {"tokenizer_class"}, {"added_tokens_decoder"}, {"bos_token", "eos_token"})
_TRAINING = ("zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu", "per_device_train_batch_size")


def refuse_binary(file: ModelFile) -> None:
    """Raise InputError when the file is a pickle or an archive, which is never opened: it could run code."""
    start = file.start(4)
    if start.startswith(_PICKLES):
        raise file.refuse("model.file.pickle")
    if start.startswith((b"\x08", b"\x1f\x8b\x08", b"\x89PNG", b"%PDF")):
        raise file.refuse("model.file.not_a_model")


def refuse_text(file: ModelFile, text: bytes) -> None:
    """Raise InputError when the text is a training configuration in YAML, or no JSON at all."""
    if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) or text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    start = text[:_START]
    base = _BASE_MODEL.search(start)
    if base:
        raise file.refuse("model.file.training", base=base[1].decode("utf-8", "replace"))
    if _YAML_LINE.search(start) and b"\0" not in start:
        raise file.refuse("model.file.yaml")


def refuse_json(file: ModelFile, content: Mapping[str, Any]) -> None:
    """Raise InputError when JSON of another kind was given; a configuration passes."""
    if "peft_type" in content:
        base = content.get("base_model_name_or_path")
        raise file.refuse("model.file.adapter", base=base[:200] if isinstance(base, str) else "")
    if str(content.get("format", "")).startswith("gpuplan/"):
        raise file.refuse("model.file.plan")
    if "_class_name" in content or "_diffusers_version" in content:
        raise file.refuse("model.file.diffusion")
    if any(name in content for name in _TRAINING):
        raise file.refuse("model.file.training", base="")
    if "dim" in content and "n_layers" in content and "model_type" not in content:
        raise file.refuse("model.file.original_parameters")
    if "model_type" in content or "architectures" in content or "num_hidden_layers" in content:
        return
    raise _other(file, content)


def _other(file: ModelFile, content: Mapping[str, Any]) -> InputError:
    if any(names <= content.keys() for names in _TOKENIZER):
        return file.refuse("model.file.tokenizer")
    if "image_processor_type" in content or "feature_extractor_type" in content or "processor_class" in content:
        return file.refuse("model.file.tokenizer")
    if "quantization" in content and "producer" in content:
        return file.refuse("model.file.quantisation_alone")
    if "transformers_version" in content or "eos_token_id" in content:
        return file.refuse("model.file.generation")
    return file.refuse("model.file.not_a_model")
