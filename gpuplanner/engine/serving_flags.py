"""How a way of serving is asked of its server: the flags that lay it out. Text of commands, in no language."""

from collections.abc import Iterator

from gpuplanner.engine.serving_inputs import WayNumbers
from gpuplanner.workload.serving import Server


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
