"""Small models in the formats that people have, made with the formats' own libraries. Not a test."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

from gpuplanner.messages import InputError, Language, Message, Translator
from gpuplanner.workload.model_files import file_name
from gpuplanner.workload.reading import read_model_file

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 96,
    "max_position_embeddings": 512,
    "torch_dtype": "bfloat16",
}
LLAMA_WEIGHTS = 2 * 96 * 64 + 64 + 2 * (64 * (64 + 32 + 32 + 64) + 3 * 64 * 128 + 2 * 64)


def refusal(path: Path) -> str:
    """Why a file is refused: the id of the reason. The sentence names the file, in both languages."""
    with pytest.raises(InputError) as caught:
        read_model_file(path)
    message = caught.value.message
    for language in Language:
        sentence = Translator(language).text(message)
        assert file_name(path) in sentence
        assert "\n" not in sentence
    why = message.values.get("why")
    return why.id if isinstance(why, Message) else message.id


def write_json(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def llama_tensors() -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights of `LLAMA`, as Hugging Face stores them."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (96, 64),
        "lm_head.weight": (96, 64),
        "model.norm.weight": (64,),
    }
    for i in range(2):
        layer = f"model.layers.{i}."
        shapes |= {
            layer + "self_attn.q_proj.weight": (64, 64),
            layer + "self_attn.k_proj.weight": (32, 64),
            layer + "self_attn.v_proj.weight": (32, 64),
            layer + "self_attn.o_proj.weight": (64, 64),
            layer + "mlp.gate_proj.weight": (128, 64),
            layer + "mlp.up_proj.weight": (128, 64),
            layer + "mlp.down_proj.weight": (64, 128),
            layer + "input_layernorm.weight": (64,),
            layer + "post_attention_layernorm.weight": (64,),
        }
    return shapes


def write_safetensors(path: Path, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Path:
    """A real safetensors file of half-precision zeros."""
    save_file({name: np.zeros(shape, np.float16) for name, shape in (shapes or llama_tensors()).items()}, path)
    return path


def write_gguf(
    path: Path,
    *,
    architecture: str = "llama",
    numbers: Mapping[str, int] | None = None,
    tensors: Mapping[str, tuple[int, ...]] | None = None,
    kinds: Mapping[str, gguf.GGMLQuantizationType] | None = None,
    file_type: int | None = 1,
    tokens: int = 96,
) -> Path:
    """A real GGUF file; shapes are in NumPy's order, as the library takes them. `kinds`: types by tensor name."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("Sample 0.1")
    for key, value in (numbers if numbers is not None else LLAMA_NUMBERS).items():
        writer.add_uint32(f"{architecture}.{key}", value)
    if file_type is not None:
        writer.add_file_type(file_type)
    writer.add_token_list([f"token {i}" for i in range(tokens)])
    writer.add_float32(f"{architecture}.rope.freq_base", 10000.0)
    for name, shape in (tensors if tensors is not None else GGUF_TENSORS).items():
        kind = (kinds or {}).get(name)
        if kind is None:
            single = name.endswith("_norm.weight") or len(shape) == 1
            writer.add_tensor(name, np.zeros(shape, np.float32 if single else np.float16))
        else:
            block, size = gguf.GGML_QUANT_SIZES[kind]
            stored = (*shape[:-1], shape[-1] // block * size)
            writer.add_tensor(name, np.zeros(stored, np.uint8), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


LLAMA_NUMBERS = {
    "block_count": 2,
    "context_length": 512,
    "embedding_length": 64,
    "feed_forward_length": 128,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "rope.dimension_count": 16,
}
GGUF_TENSORS: dict[str, tuple[int, ...]] = {
    "token_embd.weight": (96, 64),
    "output.weight": (96, 64),
    "output_norm.weight": (64,),
    "rope_freqs.weight": (8,),
    **{
        f"blk.{i}.{name}.weight": shape
        for i in range(2)
        for name, shape in {
            "attn_norm": (64,),
            "ffn_norm": (64,),
            "attn_q": (64, 64),
            "attn_k": (32, 64),
            "attn_v": (32, 64),
            "attn_output": (64, 64),
            "ffn_gate": (128, 64),
            "ffn_up": (128, 64),
            "ffn_down": (64, 128),
        }.items()
    },
}
