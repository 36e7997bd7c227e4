"""Changes of a plan that are worth trying, smallest first. Nothing is estimated here: `changes.py` tries them.

Each proposal changes one thing, and none repeats what the plan already has, so that they can also be piled up.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import MORE_NODES, bare, choice_of, networked, with_nodes, within_limits
from gpuplanner.engine.serving_flags import FLAGS
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import percent
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import KvPrecision, WeightPrecision
from gpuplanner.workload.serving import Server, Serving
from gpuplanner.workload.training import (
    AttentionKernel,
    Framework,
    Method,
    Offload,
    Optimizer,
    Recomputation,
    Sharding,
    Training,
)

HIGHEST_UTILISATION = 0.95
FEWER_BATCHED_TOKENS = (2048, 512)
FEW_SEQUENCES = 64
SHARED_UTILISATION = frozenset({Server.VLLM, Server.SGLANG, Server.TENSORRT_LLM, Server.LMDEPLOY})
COARSE_CACHE = {Server.LLAMA_CPP: KvPrecision.Q8_0, Server.LMDEPLOY: KvPrecision.INT8, Server.EXLLAMA: KvPrecision.INT8}
"""The 8-bit cache of servers that have none in FP8."""
LARGEST_NODE = 8
SMALLER_WEIGHTS = (WeightPrecision.FP8, WeightPrecision.INT4)
SMALLER = {
    Server.LLAMA_CPP: (WeightPrecision.Q8_0, WeightPrecision.Q4_K_M),
    Server.LMDEPLOY: (WeightPrecision.FP8, WeightPrecision.AWQ),
    Server.EXLLAMA: (WeightPrecision.EXL2_8, WeightPrecision.EXL2_5, WeightPrecision.EXL2_4),
}
"""By server the formats that take less memory, where it has other ones than most."""
NEXT_STAGE = {
    Framework.MEGATRON: (Sharding.ZERO1,),
    Framework.FSDP: (Sharding.ZERO2, Sharding.FSDP),
    Framework.DEEPSPEED: (Sharding.ZERO1, Sharding.ZERO2, Sharding.ZERO3),
    Framework.HUGGING_FACE: (Sharding.FSDP,),
}


PARALLEL = ("tensor_parallel", "pipeline_parallel", "attention_ranks", "prefill_workers")
"""Degrees that another machine chooses anew."""
Changes = Callable[[Estimate, Any], Iterator[tuple[Message, dict[str, Any]]]]
"""Changes of one kind's workload that are worth trying: what in words, and the fields."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan that differs in one thing, what that is in words, and the machine it is for."""

    what: Message
    plan: Plan
    machine: Machine


def setting_proposals(made: Estimate, changes: Changes) -> Iterator[Proposal]:
    """Changes of the plan on the same machine, those of its workload kind."""
    workload = made.plan.workload
    for what, changed in changes(made, workload):
        yield Proposal(
            what, made.plan.model_copy(update={"workload": workload.model_copy(update=changed)}), made.machine
        )


def machine_proposals(made: Estimate, gpus: Mapping[str, Gpu]) -> Iterator[Iterator[Proposal]]:
    """Families of other machines, each in order of size: more GPUs of the kind, more nodes, the next larger GPU."""
    yield _more_gpus(made)
    yield _larger_gpus(made, gpus)


def serving_changes(made: Estimate, workload: Serving) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Settings of a server, then precisions, then how the model is split."""
    memory_is_short = made.fit is not Fit.FITS
    if memory_is_short:
        yield from _serving_memory(made, workload)
    if workload.concurrency is not None and workload.concurrency > 1:
        for fewer in _fewer_requests(made, workload.concurrency, memory_is_short):
            yield msg("change.concurrency", count=fewer), {"concurrency": fewer}
    if workload.kv_precision in {None, KvPrecision.BF16, KvPrecision.FP16}:
        cache = COARSE_CACHE.get(workload.server, KvPrecision.FP8)
        yield msg("change.kv_precision", precision=cache.value.upper()), {"kv_precision": cache}
    for precision in SMALLER.get(workload.server, SMALLER_WEIGHTS):
        if workload.weight_precision != precision:
            yield msg("change.weight_precision", precision=precision.value.upper()), {"weight_precision": precision}
    yield from _more_tensor_parallel(made)


def _serving_memory(made: Estimate, workload: Serving) -> Iterator[tuple[Message, dict[str, Any]]]:
    share = workload.memory_utilisation
    if workload.server in SHARED_UTILISATION and (share is None or share < HIGHEST_UTILISATION):
        what = msg("change.utilisation", share=percent(HIGHEST_UTILISATION))
        yield what, {"memory_utilisation": HIGHEST_UTILISATION}
    batched = workload.max_batched_tokens
    for tokens in FEWER_BATCHED_TOKENS:
        if batched is None or batched > tokens:
            yield msg("change.batched_tokens", tokens=tokens), {"max_batched_tokens": tokens, "chunked_prefill": True}
    if workload.max_sequences is None or workload.max_sequences > FEW_SEQUENCES:
        yield msg("change.max_sequences", count=FEW_SEQUENCES), {"max_sequences": FEW_SEQUENCES}
    if not workload.eager and "eager" in FLAGS[workload.server] and workload.server is not Server.LLAMA_CPP:
        yield msg("change.eager"), {"eager": True}
    longest = made.metrics.get("max_length")
    wanted = workload.max_length or workload.input_tokens + workload.output_tokens
    if longest is not None and 1 <= longest.value < wanted:
        length = _rounded_down(int(longest.value))
        shorter = max(length - workload.output_tokens, 1)
        output = length - shorter
        if output >= 1:
            fitting = {
                "max_length": length,
                "input_tokens": min(workload.input_tokens, shorter),
                "output_tokens": output,
            }
            yield msg("change.length", tokens=length), fitting


def _fewer_requests(made: Estimate, concurrency: int, memory_is_short: bool) -> Iterator[int]:
    """As many as are held at once where memory is short; then a half, a quarter, and so on."""
    held = made.metrics.get("max_concurrency")
    if memory_is_short and held is not None and 1 <= held.value < concurrency:
        yield int(held.value)
    while concurrency > 1:
        concurrency //= 2
        yield concurrency


def _rounded_down(tokens: int) -> int:
    """A length that can be said: whole hundreds from a thousand on."""
    return tokens // 100 * 100 if tokens >= 1000 else tokens


def _more_tensor_parallel(made: Estimate) -> Iterator[tuple[Message, dict[str, Any]]]:
    degree = made.way.tensor_parallel * 2
    while degree <= made.machine.gpus_per_node:
        if made.machine.gpus_per_node % degree == 0:
            yield msg("change.tensor_parallel", degree=degree), {"tensor_parallel": degree, "pipeline_parallel": None}
        degree *= 2


def training_changes(made: Estimate, workload: Training) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Settings of a training run, then smaller methods, then a shorter sequence; nothing where memory suffices."""
    if made.fit is Fit.FITS:
        return
    smaller = made.way.micro_batch
    while smaller > 1:
        smaller //= 2
        yield msg("change.micro_batch", count=smaller), {"micro_batch": smaller}
    if workload.attention is not AttentionKernel.FLASH:
        yield msg("change.flash"), {"attention": AttentionKernel.FLASH}
    if not workload.fused_loss:
        yield msg("change.fused_loss"), {"fused_loss": True}
    if workload.recomputation is not Recomputation.FULL:
        yield msg("change.recomputation"), {"recomputation": Recomputation.FULL}
    if workload.optimizer in {Optimizer.ADAMW, Optimizer.ADAMW_BF16}:
        yield msg("change.optimizer_8bit"), {"optimizer": Optimizer.PAGED_ADAMW_8BIT}
    yield from _more_sharding(made, workload)
    if workload.offload is Offload.NONE and workload.framework is not Framework.MEGATRON:
        yield msg("change.offload"), {"offload": Offload.OPTIMIZER}
    if workload.method in {Method.PRETRAINING, Method.FULL}:
        yield from _smaller_method(workload, Method.LORA)
    if workload.method is not Method.QLORA and workload.method is not Method.PRETRAINING:
        yield from _smaller_method(workload, Method.QLORA)
    if workload.sequence_length > 1024:
        half = workload.sequence_length // 2
        yield msg("change.sequence", tokens=half), {"sequence_length": half}


def _smaller_method(workload: Training, method: Method) -> Iterator[tuple[Message, dict[str, Any]]]:
    if workload.method is Method.PRETRAINING:
        return
    changed: dict[str, Any] = {"method": method}
    if method is Method.QLORA:
        changed["base_precision"] = None
    yield msg(f"change.{method.value}"), changed


def _more_sharding(made: Estimate, workload: Training) -> Iterator[tuple[Message, dict[str, Any]]]:
    if made.way.data_parallel == 1 or workload.sharding is None:
        return
    stages = NEXT_STAGE[workload.framework]
    place = stages.index(workload.sharding) + 1 if workload.sharding in stages else 0
    for stage in stages[place:]:
        yield msg("change.sharding", stage=stage.value), {"sharding": stage}


def _more_gpus(made: Estimate) -> Iterator[Proposal]:
    machine = made.machine
    if machine.instance is None and machine.slice is None:
        counts = range(machine.gpus_per_node + 1, LARGEST_NODE + 1) if machine.nodes == 1 else ()
        for count in counts:
            yield from _on(made, partial(bare, machine.gpu, count))
    for factor in MORE_NODES:
        yield from _on(made, partial(with_nodes, machine, machine.nodes * factor))


def _larger_gpus(made: Estimate, gpus: Mapping[str, Gpu]) -> Iterator[Proposal]:
    """GPUs of the same maker with more memory, the next one first; of equal ones the faster.

    In one node only: what network other machines would have is not known.
    """
    if made.machine.nodes > 1:
        return
    have = made.machine.gpu
    known = [(g, _memory(g), _bandwidth(g)) for g in gpus.values() if g.vendor == have.vendor]
    larger = [(m, b, g) for g, m, b in known if m > _memory(have) and b >= _bandwidth(have)]
    for _, _, gpu in sorted(larger, key=lambda item: (item[0], item[1], item[2].id)):
        yield from _on(made, partial(bare, gpu, made.machine.gpus_per_node))


def _on(made: Estimate, machine_of: Callable[[], Machine]) -> Iterator[Proposal]:
    try:
        machine = machine_of()
    except InputError:
        return
    if not within_limits(machine):
        return
    if made.machine.network_bits_per_s is not None and machine.network_bits_per_s is None:
        machine = networked(machine, made.machine.network_bits_per_s)
    workload = made.plan.workload
    free = {name: None for name in PARALLEL if name in type(workload).model_fields}
    plan = made.plan.model_copy(update={"machine": choice_of(machine), "workload": workload.model_copy(update=free)})
    what = msg("change.machine", count=machine.gpus, gpu=machine.gpu.name)
    yield Proposal(what, plan, machine)


def _memory(gpu: Gpu) -> float:
    known = gpu.known(GpuProperty.MEMORY_BYTES)
    return known.value if known else 0.0


def _bandwidth(gpu: Gpu) -> float:
    known = gpu.known(GpuProperty.HBM_BYTES_PER_S)
    return known.value if known else 0.0
