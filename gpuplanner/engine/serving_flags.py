"""The flags of each server: which settings of a plan it has, and how a way of serving is asked of it. No texts."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from gpuplanner.engine.serving_inputs import WayNumbers
from gpuplanner.workload.serving import Server, Serving, Speculation

FLAGS: Mapping[Server, Mapping[str, str]] = {
    Server.VLLM: {
        "tensor_parallel": "--tensor-parallel-size",
        "pipeline_parallel": "--pipeline-parallel-size",
        "expert_parallel": "--enable-expert-parallel",
        "attention_ranks": "--data-parallel-size",
        "memory_utilisation": "--gpu-memory-utilization",
        "max_batched_tokens": "--max-num-batched-tokens",
        "max_sequences": "--max-num-seqs",
        "chunked_prefill": "--enable-chunked-prefill",
        "eager": "--enforce-eager",
        "cpu_offload_bytes": "--cpu-offload-gb",
        "disaggregated": "--kv-transfer-config",
        "prefill_workers": "",
        "prefill_tensor_parallel": "",
        "speculation": "--speculative-config (method)",
        "draft_model": "--speculative-config (model)",
        "draft_tokens": "--speculative-config (num_speculative_tokens)",
        "acceptance_rate": "",
    },
    Server.SGLANG: {
        "tensor_parallel": "--tp-size",
        "pipeline_parallel": "--pp-size",
        "expert_parallel": "--ep-size",
        "attention_ranks": "--enable-dp-attention --dp-size",
        "memory_utilisation": "--mem-fraction-static",
        "max_batched_tokens": "--chunked-prefill-size",
        "max_sequences": "--max-running-requests",
        "chunked_prefill": "--chunked-prefill-size -1",
        "eager": "--disable-cuda-graph",
        "cpu_offload_bytes": "--cpu-offload-gb",
        "disaggregated": "--disaggregation-mode",
        "prefill_workers": "",
        "prefill_tensor_parallel": "",
        "speculation": "--speculative-algorithm",
        "draft_model": "--speculative-draft-model-path",
        "draft_tokens": "--speculative-num-steps",
        "acceptance_rate": "",
    },
    Server.TENSORRT_LLM: {
        "tensor_parallel": "--tp_size",
        "pipeline_parallel": "--pp_size",
        "expert_parallel": "--ep_size",
        "attention_ranks": "enable_attention_dp",
        "memory_utilisation": "--kv_cache_free_gpu_memory_fraction",
        "max_batched_tokens": "--max_num_tokens",
        "max_sequences": "--max_batch_size",
        "chunked_prefill": "enable_chunked_prefill",
        "eager": "cuda_graph_config",
        "disaggregated": "trtllm-serve disaggregated",
        "prefill_workers": "",
        "prefill_tensor_parallel": "",
        "speculation": "speculative_config (decoding_type)",
        "draft_model": "speculative_config (speculative_model_dir)",
        "draft_tokens": "speculative_config (max_draft_len)",
        "acceptance_rate": "",
    },
    Server.LLAMA_CPP: {
        "tensor_parallel": "--split-mode row",
        "pipeline_parallel": "--split-mode layer",
        "max_batched_tokens": "--ubatch-size",
        "max_sequences": "--parallel",
        "eager": "GGML_CUDA_DISABLE_GRAPHS",
        "cpu_offload_bytes": "--n-gpu-layers",
        "host_memory_bytes_per_s": "",
        "speculation": "--model-draft, --spec-type",
        "draft_model": "--model-draft",
        "draft_tokens": "--draft-max",
        "acceptance_rate": "",
    },
    Server.LMDEPLOY: {
        "tensor_parallel": "--tp",
        "memory_utilisation": "--cache-max-entry-count",
        "max_batched_tokens": "--max-prefill-token-num",
        "max_sequences": "--max-batch-size",
    },
    Server.EXLLAMA: {
        "tensor_parallel": "tensor_parallel",
        "pipeline_parallel": "gpu_split",
        "max_batched_tokens": "chunk_size",
        "max_sequences": "max_batch_size",
        "speculation": "draft_mode",
        "draft_model": "draft_model_name",
        "draft_tokens": "draft_num_tokens",
        "acceptance_rate": "",
    },
    Server.TRANSFORMERS: {
        "tensor_parallel": "tp_plan",
        "pipeline_parallel": "device_map",
        "max_sequences": "batch size",
        "cpu_offload_bytes": "device_map, max_memory",
        "speculation": "assistant_model, prompt_lookup_num_tokens",
        "draft_model": "assistant_model",
        "draft_tokens": "num_assistant_tokens",
        "acceptance_rate": "",
    },
}
"""By server the settings of a plan that it has, and what it calls them (from the documentation of each, 2025; from
memory; LMDeploy: TurbomindEngineConfig; ExLlama: config_sample.yml of TabbyAPI, which serves v2 and v3). The bandwidth
of the host's memory is no flag, but only llama.cpp computes from it; which share of drafts is accepted is none either,
but what a server that drafts prints; how many workers read prompts is how many are started so.
"""
_ANY = frozenset(Speculation)
DRAFTS: Mapping[Server, frozenset[Speculation]] = {
    Server.VLLM: _ANY,
    Server.SGLANG: _ANY - {Speculation.MEDUSA},
    Server.TENSORRT_LLM: _ANY,
    Server.LLAMA_CPP: frozenset({Speculation.MODEL, Speculation.NGRAM}),
    Server.EXLLAMA: frozenset({Speculation.MODEL, Speculation.NGRAM, Speculation.MTP}),
    Server.TRANSFORMERS: frozenset({Speculation.MODEL, Speculation.NGRAM}),
}
"""What each server drafts with (documentation of each, 2025 and 2026; llama.cpp, Medusa and MTP of TensorRT-LLM from
memory). Of LMDeploy only its PyTorch engine drafts, which is not what is modelled.
"""
SETTINGS = (
    "tensor_parallel", "pipeline_parallel", "expert_parallel", "attention_ranks", "memory_utilisation",
    "max_batched_tokens", "max_sequences", "chunked_prefill", "eager", "cpu_offload_bytes", "host_memory_bytes_per_s",
    "disaggregated", "prefill_workers", "prefill_tensor_parallel", "speculation", "draft_model", "draft_tokens",
    "acceptance_rate",
)  # fmt: skip
"""The settings of a plan that some server has a flag for."""

_DEFAULTS = {name: field.default for name, field in Serving.model_fields.items()}


def is_set(serving: Serving, name: str) -> bool:
    """Whether a plan says something else of a setting than its server would do by itself."""
    return bool(getattr(serving, name) != _DEFAULTS[name])


def ignored(serving: Serving) -> tuple[str, ...]:
    """The settings of a plan that its server has no flag for."""
    return tuple(name for name in SETTINGS if is_set(serving, name) and not _has(serving, name))


def _has(serving: Serving, name: str) -> bool:
    """Whether a plan's server has a setting, or drafts in the way that the plan asks for."""
    if name == "speculation":
        return serving.speculation in DRAFTS.get(serving.server, frozenset())
    return name in FLAGS[serving.server]


@lru_cache(maxsize=256)
def heeded(serving: Serving) -> Serving:
    """The plan as its server understands it: what it has no flag for is left at its default."""
    names = ignored(serving)
    return without(serving, *names) if names else serving


def without(serving: Serving, *names: str) -> Serving:
    """The same plan with these settings left open."""
    return serving.model_copy(update={name: _DEFAULTS[name] for name in names})


def layout_flags(server: Server, way: WayNumbers) -> str:
    """The flags of one replica's parallel degrees; empty for a server that has none.

    vLLM (docs, Expert parallel deployment), SGLang (server arguments), TensorRT-LLM (LLM API arguments), 2025.
    """
    return " ".join(_flags(server, way))


def _flags(server: Server, way: WayNumbers) -> Iterator[str]:
    ranks, groups = int(way.tensor_parallel), int(way.attention_ranks)
    stages, experts = int(way.pipeline_parallel), int(way.expert_parallel)
    if server is Server.VLLM:
        yield f"--tensor-parallel-size {ranks // groups}"
        if groups > 1:
            yield f"--data-parallel-size {groups}"
        if stages > 1:
            yield f"--pipeline-parallel-size {stages}"
        if experts > 1:
            yield "--enable-expert-parallel"
    elif server is Server.SGLANG:
        yield f"--tp-size {ranks}"
        if groups > 1:
            yield f"--enable-dp-attention --dp-size {groups}"
        if stages > 1:
            yield f"--pp-size {stages}"
        if experts > 1:
            yield f"--ep-size {experts}"
    elif server is Server.TENSORRT_LLM:
        yield f"--tp_size {ranks}"
        if stages > 1:
            yield f"--pp_size {stages}"
        if experts > 1:
            yield f"--ep_size {experts}"
        if groups > 1:
            yield "enable_attention_dp: true"
