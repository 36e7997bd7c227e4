"""How each server is asked to draft: its flags as a person types them. From the documentation of each. No texts.

vLLM, docs/features/speculative_decoding; SGLang, docs/advanced_features/speculative_decoding; TensorRT-LLM, LLM API,
speculative_config; llama.cpp, common/arg.cpp; TabbyAPI, config_sample.yml; transformers, generation configuration (2025
and 2026; TensorRT-LLM, llama.cpp and transformers from memory). What has to be filled in stands as "...".
"""

from collections.abc import Callable, Mapping

from gpuplanner.workload.serving import Server, Serving, Speculation

TO_FILL_IN = "..."
_OF_VLLM = {
    Speculation.NGRAM: "ngram", Speculation.MODEL: "draft_model", Speculation.EAGLE: "eagle3",
    Speculation.MEDUSA: "medusa", Speculation.MTP: "mtp",
}  # fmt: skip
_OF_SGLANG = {
    Speculation.NGRAM: "NGRAM", Speculation.MODEL: "STANDALONE", Speculation.EAGLE: "EAGLE3", Speculation.MTP: "EAGLE"
}  # fmt: skip
_OF_TENSORRT_LLM = {
    Speculation.NGRAM: "NGram", Speculation.MODEL: "DraftTarget", Speculation.EAGLE: "Eagle3",
    Speculation.MEDUSA: "Medusa", Speculation.MTP: "MTP",
}  # fmt: skip
WITH_FILES = frozenset({Speculation.MODEL, Speculation.EAGLE, Speculation.MEDUSA})
"""What is read from files of its own."""


def drafting_flags(workload: Serving, tokens: int) -> str:
    """The flags that make a plan's server draft so many tokens a step; empty for one that does not."""
    of = _BY_SERVER.get(workload.server)
    return of(workload, tokens) if of is not None and workload.speculation is not Speculation.NONE else ""


def _drafter(workload: Serving) -> str:
    return workload.drafting_model or TO_FILL_IN


def _vllm(workload: Serving, tokens: int) -> str:
    model = f'"model": "{_drafter(workload)}", ' if workload.speculation in WITH_FILES else ""
    method = _OF_VLLM[workload.speculation]
    return f'--speculative-config \'{{"method": "{method}", {model}"num_speculative_tokens": {tokens}}}\''


def _sglang(workload: Serving, tokens: int) -> str:
    flags = f"--speculative-algorithm {_OF_SGLANG[workload.speculation]}"
    if workload.speculation in WITH_FILES:
        flags += f" --speculative-draft-model-path {_drafter(workload)}"
    if workload.speculation is not Speculation.NGRAM:
        flags += f" --speculative-num-steps {tokens} --speculative-eagle-topk 1"
    return f"{flags} --speculative-num-draft-tokens {tokens + 1}"


def _tensorrt_llm(workload: Serving, tokens: int) -> str:
    length = "num_nextn_predict_layers" if workload.speculation is Speculation.MTP else "max_draft_len"
    files = f", speculative_model_dir: {_drafter(workload)}" if workload.speculation in WITH_FILES else ""
    kind = _OF_TENSORRT_LLM[workload.speculation]
    return f"speculative_config: {{decoding_type: {kind}, {length}: {tokens}{files}}}"


def _llama_cpp(workload: Serving, tokens: int) -> str:
    if workload.speculation is Speculation.NGRAM:
        return f"--spec-type ngram-simple --draft-max {tokens}"
    return f"--model-draft {_drafter(workload)} --draft-max {tokens}"


def _exllama(workload: Serving, tokens: int) -> str:
    if workload.speculation is Speculation.MODEL:
        return f"draft_model: {{draft_model_name: {_drafter(workload)}, draft_num_tokens: {tokens}}}"
    mode = "ngram" if workload.speculation is Speculation.NGRAM else "mtp"
    return f"draft_model: {{draft_mode: {mode}, draft_num_tokens: {tokens}}}"


def _transformers(workload: Serving, tokens: int) -> str:
    if workload.speculation is Speculation.NGRAM:
        return f"prompt_lookup_num_tokens={tokens}"
    return f"assistant_model={_drafter(workload)}, num_assistant_tokens={tokens}"


_BY_SERVER: Mapping[Server, Callable[[Serving, int], str]] = {
    Server.VLLM: _vllm,
    Server.SGLANG: _sglang,
    Server.TENSORRT_LLM: _tensorrt_llm,
    Server.LLAMA_CPP: _llama_cpp,
    Server.EXLLAMA: _exllama,
    Server.TRANSFORMERS: _transformers,
}
