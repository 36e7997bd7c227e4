"""From the metadata of a GGUF file to a configuration in the field names of the model's family. Pure."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gpuplanner.catalog.families.fields import shown
from gpuplanner.messages import InputError, MessageValue, msg
from gpuplanner.workload.gguf_file import GgufHead

_EMBEDDING = "token_embd.weight"


class _Head:
    """The metadata of one architecture, checked as it is read."""

    def __init__(self, head: GgufHead, architecture: str, file: str) -> None:
        self._head = head
        self._architecture = architecture
        self._file = file
        self._shapes = {tensor.name: tensor.shape for tensor in head.tensors}

    def whole(self, key: str) -> int:
        """A whole number that has to be there; of a list with equal values, that value."""
        value = self.whole_or(key, None)
        if value is None:
            raise self.refuse("model.gguf.missing_key", key=f"{self._architecture}.{key}")
        return value

    def whole_or(self, key: str, default: int | None) -> int | None:
        """A whole number or the default."""
        name = f"{self._architecture}.{key}"
        value = self._head.metadata.get(name)
        if value is None:
            return default
        if isinstance(value, list) and value and len(set(map(str, value))) == 1:
            value = value[0]
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse("model.gguf.wrong_value", key=name)
        return value

    def has_tensor(self, name: str) -> bool:
        """Whether the file has a tensor of this name."""
        return name in self._shapes

    def vocabulary(self) -> int:
        """The number of tokens: the columns of the embedding."""
        shape = self._shapes.get(_EMBEDDING, ())
        if len(shape) != 2:
            raise self.refuse("model.gguf.no_embedding")
        return shape[1]

    def refuse(self, message_id: str, **values: MessageValue) -> InputError:
        """The error for this file."""
        return InputError(msg(message_id, file=self._file, **values))


_Change = Callable[[_Head], Mapping[str, Any]]


def _common(head: _Head, model_type: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "model_type": model_type,
        "hidden_size": head.whole("embedding_length"),
        "num_hidden_layers": head.whole("block_count") - (head.whole_or("nextn_predict_layers", 0) or 0),
        "num_attention_heads": head.whole("attention.head_count"),
        "num_key_value_heads": head.whole_or("attention.head_count_kv", None),
        "head_dim": head.whole_or("attention.key_length", None),
        "intermediate_size": head.whole_or("feed_forward_length", None),
        "vocab_size": head.vocabulary(),
        "max_position_embeddings": head.whole_or("context_length", None),
        "tie_word_embeddings": not head.has_tensor("output.weight"),
        "sliding_window": head.whole_or("attention.sliding_window", None),
    }
    return config


def _experts(head: _Head) -> dict[str, Any]:
    return {
        "num_experts": head.whole("expert_count"),
        "num_experts_per_tok": head.whole("expert_used_count"),
        "moe_intermediate_size": head.whole("expert_feed_forward_length"),
    }


def _llama(head: _Head) -> dict[str, Any]:
    if not head.whole_or("expert_count", 0):
        return {"attention_bias": head.has_tensor("blk.0.attn_q.bias"), "sliding_window": None}
    return {
        "model_type": "mixtral",
        "num_local_experts": head.whole("expert_count"),
        "num_experts_per_tok": head.whole("expert_used_count"),
    }


def _qwen2_moe(head: _Head) -> dict[str, Any]:
    return {**_experts(head), "shared_expert_intermediate_size": head.whole("expert_shared_feed_forward_length")}


def _qwen3_next(head: _Head) -> dict[str, Any]:
    inner, groups = head.whole("ssm.inner_size"), head.whole("ssm.group_count")
    value_heads, state = head.whole("ssm.time_step_rank"), head.whole("ssm.state_size")
    return {
        **_experts(head),
        "shared_expert_intermediate_size": head.whole("expert_shared_feed_forward_length"),
        "full_attention_interval": head.whole_or("full_attention_interval", 4),
        "linear_conv_kernel_dim": head.whole("ssm.conv_kernel"),
        "linear_num_key_heads": groups,
        "linear_key_head_dim": state,
        "linear_num_value_heads": value_heads,
        "linear_value_head_dim": inner // value_heads if value_heads else 0,
    }


def _deepseek2(head: _Head) -> dict[str, Any]:
    rotary = head.whole("rope.dimension_count")
    key = head.whole_or("attention.key_length_mla", None) or head.whole("attention.key_length")
    return {
        "kv_lora_rank": head.whole("attention.kv_lora_rank"),
        "q_lora_rank": head.whole_or("attention.q_lora_rank", None),
        "qk_rope_head_dim": rotary,
        "qk_nope_head_dim": key - rotary,
        "v_head_dim": head.whole_or("attention.value_length_mla", None) or head.whole("attention.value_length"),
        "n_routed_experts": head.whole("expert_count"),
        "num_experts_per_tok": head.whole("expert_used_count"),
        "moe_intermediate_size": head.whole("expert_feed_forward_length"),
        "n_shared_experts": head.whole_or("expert_shared_count", 0),
        "first_k_dense_replace": head.whole_or("leading_dense_block_count", 0),
        **({"topk_method": "noaux_tc"} if _has_correction(head) else {"model_type": "deepseek_v2"}),
    }


def _has_correction(head: _Head) -> bool:
    layer = head.whole_or("leading_dense_block_count", 0)
    return head.has_tensor(f"blk.{layer}.exp_probs_b.bias") or head.has_tensor(f"blk.{layer}.exp_probs_b")


def _gpt_oss(head: _Head) -> dict[str, Any]:
    return {
        "intermediate_size": head.whole("expert_feed_forward_length"),
        "num_local_experts": head.whole("expert_count"),
        "num_experts_per_tok": head.whole("expert_used_count"),
    }


def _glm4_moe(head: _Head) -> dict[str, Any]:
    return {
        "n_routed_experts": head.whole("expert_count"),
        "num_experts_per_tok": head.whole("expert_used_count"),
        "moe_intermediate_size": head.whole("expert_feed_forward_length"),
        "n_shared_experts": head.whole_or("expert_shared_count", 1),
        "first_k_dense_replace": head.whole_or("leading_dense_block_count", 1),
        "attention_bias": True,
        "use_qk_norm": head.has_tensor("blk.0.attn_q_norm.weight"),
        "num_nextn_predict_layers": head.whole_or("nextn_predict_layers", 0),
    }


def _minimax(head: _Head) -> dict[str, Any]:
    return {**_gpt_oss(head), "use_qk_norm": head.has_tensor("blk.0.attn_q_norm.weight")}


def _falcon(head: _Head) -> dict[str, Any]:
    kv_heads = head.whole_or("attention.head_count_kv", 1) or 1
    return {"multi_query": True} if kv_heads == 1 else {"new_decoder_architecture": True, "num_kv_heads": kv_heads}


def _gpt2(head: _Head) -> dict[str, Any]:
    return {"n_positions": head.whole("context_length"), "n_inner": head.whole_or("feed_forward_length", None)}


def _mpt(head: _Head) -> dict[str, Any]:
    learned = head.has_tensor("position_embd.weight")
    return {
        "d_model": head.whole("embedding_length"),
        "n_layers": head.whole("block_count"),
        "n_heads": head.whole("attention.head_count"),
        "max_seq_len": head.whole("context_length"),
        "attn_config": {"alibi": not learned, "kv_n_heads": head.whole_or("attention.head_count_kv", None)},
        "tie_word_embeddings": True,
    }


def _none(_: _Head) -> dict[str, Any]:
    return {}


_ARCHITECTURES: Mapping[str, tuple[str, _Change]] = MappingProxyType(
    {
        "llama": ("llama", _llama),
        "mistral3": ("mistral", _none),
        "qwen2": ("qwen2", lambda _: {"sliding_window": None}),
        "qwen2moe": ("qwen2_moe", _qwen2_moe),
        "qwen3": ("qwen3", lambda _: {"sliding_window": None}),
        "qwen3moe": ("qwen3_moe", _experts),
        "qwen3next": ("qwen3_next", _qwen3_next),
        "gemma": ("gemma", _none),
        "gemma2": ("gemma2", _none),
        "gemma3": ("gemma3_text", _none),
        "phi2": ("phi", _none),
        "phi3": ("phi3", _none),
        "deepseek2": ("deepseek_v3", _deepseek2),
        "gpt-oss": ("gpt_oss", _gpt_oss),
        "glm4": ("glm4", _none),
        "glm4moe": ("glm4_moe", _glm4_moe),
        "minimax-m2": ("minimax_m2", _minimax),
        "gpt2": ("gpt2", _gpt2),
        "gptneox": ("gpt_neox", _none),
        "falcon": ("falcon", _falcon),
        "bloom": ("bloom", _none),
        "mpt": ("mpt", _mpt),
        "starcoder2": ("starcoder2", _none),
        "stablelm": ("stablelm", lambda head: {"use_qkv_bias": head.has_tensor("blk.0.attn_q.bias")}),
        "command-r": ("cohere", lambda head: {"use_qk_norm": head.has_tensor("blk.0.attn_q_norm.weight")}),
        "olmo2": ("olmo2", _none),
        "internlm2": ("internlm2", _none),
        "baichuan": ("baichuan", _none),
        "smollm3": ("smollm3", _none),
        "granite": ("granite", _none),
    }
)


def gguf_config(head: GgufHead, file: str) -> dict[str, Any]:
    """The configuration of the model in a GGUF file; `file` is its name for messages.

    Raises InputError: the architecture is not known (it is named), is a projector or an adapter, or a key is missing.
    """
    architecture = head.metadata.get("general.architecture")
    if not isinstance(architecture, str):
        raise InputError(msg("model.gguf.missing_key", file=file, key="general.architecture"))
    if head.metadata.get("general.type") == "adapter":
        raise InputError(msg("model.file.adapter", file=file, base=""))
    if architecture == "clip":
        raise InputError(msg("model.gguf.projector", file=file))
    if architecture not in _ARCHITECTURES:
        unknown = msg("model.family.unknown", name=shown(architecture))
        raise InputError(msg("model.file.refused", file=file, why=unknown))
    model_type, change = _ARCHITECTURES[architecture]
    own = _Head(head, architecture, file)
    config = _common(own, model_type)
    config.update(change(own))
    return {name: value for name, value in config.items() if value is not None}
