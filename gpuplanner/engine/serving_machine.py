"""A GPU and a server as the numbers that serving depends on. Looked up once a machine; nothing is computed from them.

Which arithmetic a weight format runs in depends on the GPU: FP8 weights on a GPU without FP8 are turned into 16 bits
first, and 4-bit integer formats always are.
"""

from dataclasses import dataclass
from math import inf

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes, usable_memory_bytes
from gpuplanner.engine.formulas.own_measurements import own_part_share
from gpuplanner.engine.links import NETWORK, Collective, network_bytes_per_s_per_gpu, pcie_bytes_per_s, reach
from gpuplanner.engine.machine import Machine, MeasuredParts, Topology
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_inputs import GpuNumbers, ServerNumbers
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung, kept
from gpuplanner.workload.serving import Server, Serving

SERVERS = "servers"
RUNGS = tuple(Rung)
_PEAKS = {
    "fp32": (GpuProperty.TF32_FLOP_PER_S, GpuProperty.FP32_FLOP_PER_S),
    "bf16": (GpuProperty.BF16_FLOP_PER_S, GpuProperty.FP16_FLOP_PER_S, GpuProperty.FP32_FLOP_PER_S),
    "fp16 acc16": (GpuProperty.FP16_ACC16_FLOP_PER_S, GpuProperty.FP16_FLOP_PER_S, GpuProperty.BF16_FLOP_PER_S),
    "fp8": (GpuProperty.FP8_FLOP_PER_S,),
    "int8": (GpuProperty.INT8_FLOP_PER_S,),
    "fp4": (GpuProperty.FP4_FLOP_PER_S,),
}
_ARITHMETIC = {"fp32": "fp32", "fp8": "fp8", "int8": "int8", "nvfp4": "fp4", "mxfp4": "fp4"}
"""The arithmetic that a format is made for; formats that are not named here are turned into 16 bits."""
SIXTEEN_BITS = ("bf16", "fp16")
IN_16_BITS = frozenset({"bf16", "weight only", "gguf f16"})
"""Variants whose products are of 16 bits."""
GGUF = "gguf"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How a weight format is multiplied on a GPU: the table's variant, the peak, and whether as it is stored."""

    variant: str
    flop_per_s: float
    native: bool


def arithmetic(gpu: Gpu, precision: str, server: str) -> Arithmetic:
    """The arithmetic of a weight format on a GPU. Raises MissingFactError when the GPU's peak is not known."""
    if server == Server.LLAMA_CPP:
        sixteen = precision in {"bf16", "fp16", "fp32"}
        return Arithmetic(f"{GGUF} f16" if sixteen else GGUF, _peak(gpu, "fp16 acc16"), True)
    made_for = _ARITHMETIC.get(precision)
    if made_for is not None:
        try:
            return Arithmetic(made_for, _peak(gpu, made_for), True)
        except MissingFactError:
            pass
    if precision in SIXTEEN_BITS:
        return Arithmetic("bf16", _peak(gpu, "bf16"), True)
    return Arithmetic("weight only", _peak(gpu, "bf16"), False)


def _peak(gpu: Gpu, kind: str) -> float:
    for name in _PEAKS[kind]:
        known = gpu.known(name)
        if known is not None:
            return known.value
    raise MissingFactError(gpu.name, _PEAKS[kind][0].value)


def usable_bytes(gpu: Gpu, efficiencies: Efficiencies) -> float:
    """What a program can allocate on an empty GPU.

    From the usable size where it is published, else the reported one less what the driver keeps, else the nominal one.
    """
    known = gpu.known(GpuProperty.MEMORY_USABLE_BYTES)
    if known is not None:
        return known.value
    shares = efficiencies.constants(SERVERS, "memory")
    reported = gpu.known(GpuProperty.MEMORY_REPORTED_BYTES)
    if reported is not None:
        return float(usable_memory_bytes(reported.value, shares["usable_of_reported"]))
    return float(usable_memory_bytes(gpu.value(GpuProperty.MEMORY_BYTES), shares["usable_of_nominal"]))


def worst(*rungs: Rung) -> Rung:
    """The rung of the least certain of several look-ups."""
    return max(rungs, key=RUNGS.index)


@dataclass(frozen=True, slots=True)
class Found:
    """The numbers of a GPU with the rung that they stand on."""

    numbers: GpuNumbers
    rung: Rung
    arithmetic: Arithmetic


@kept(2048)
def gpu_numbers(machine: Machine, precision: str, server: str, eager: bool, efficiencies: Efficiencies) -> Found:
    """What one GPU of `machine` and its links reach with weights of this format in this server.

    Raises MissingFactError when the GPU's bandwidth, peak or memory, or an efficiency, is not known.
    """
    gpu = machine.gpu
    how = arithmetic(gpu, precision, server)
    profile = server if server == Server.LLAMA_CPP else ""
    hbm = efficiencies.find("hbm", gpu, profile)
    gemm = efficiencies.find("gemm", gpu, how.variant)
    attention = efficiencies.find("attention", gpu, profile)
    launch = efficiencies.find("launch", gpu, f"{server} eager" if eager else server)
    evidence = efficiencies.find("serving_evidence", gpu)
    bandwidth = gpu.value(GpuProperty.HBM_BYTES_PER_S)
    fraction = float(machine.gpu_fraction)
    usable = float(slice_memory_bytes(usable_bytes(gpu, efficiencies), fraction))
    exchange = _exchange(machine, efficiencies)
    parts = machine.parts
    memory, products = (None, None) if parts is None else (parts.memory, parts.products)
    if how.variant not in IN_16_BITS:
        products = None
    exchange["link_latency_s"] *= launch["exchange_latency"]
    numbers = GpuNumbers(
        memory_bytes=gpu.value(GpuProperty.MEMORY_BYTES) * fraction,
        usable_bytes=usable,
        hbm_bytes_per_s=bandwidth * fraction,
        hbm_share=reached(_hbm_share(hbm, gpu, bandwidth, how.native), memory),
        cache_share=reached(hbm["cache_share"] * launch["cache_reach"], memory),
        flop_per_s=how.flop_per_s * fraction,
        utilisation=reached(gemm["utilisation"], products),
        padding_tokens=gemm["padding_tokens"],
        expert_padding_tokens=gemm["expert_padding_tokens"],
        overlap_loss=gemm["overlap_loss"],
        attention_flop_per_s=_peak(gpu, "bf16") * fraction,
        attention_utilisation=reached(attention["utilisation"], None if parts is None else parts.products),
        pair_bytes=attention["pair_bytes"],
        layer_s=launch["layer_s"],
        moe_layer_s=launch["moe_layer_s"],
        prompt_layer_s=launch["prompt_layer_s"],
        prompt_moe_layer_s=launch["prompt_moe_layer_s"],
        **exchange,
    )
    return Found(numbers, worst(evidence.rung, *(Rung.ROOFLINE for e in (hbm, gemm, launch) if not e.points)), how)


def reached(share: Number, factor: float | None) -> Number:
    """A share of a data sheet's rate as this very machine reaches it; as such parts do where nobody measured."""
    return share if factor is None else own_part_share(share, factor)


def _hbm_share(hbm: Efficiency, gpu: Gpu, bandwidth: float, native: bool) -> float:
    share = hbm["share"] if native else hbm["converted_share"]
    per_sm = hbm.values.get("sm_bytes_per_s")
    sms = gpu.known(GpuProperty.SMS)
    if per_sm is None or sms is None:
        return share
    return min(share, per_sm * sms.value / bandwidth)


def _exchange(machine: Machine, efficiencies: Efficiencies) -> dict[str, float]:
    """The links of a machine, inside a node and between nodes; a machine of one GPU has none.

    Where the network is not known no replica spans nodes (`serving_choice.ways_on`), and its rate is never used.
    """
    if machine.gpus == 1:
        return {
            "gpus_per_node": 1.0, "link_bytes_per_s": inf, "link_efficiency": 1.0, "link_efficiency_growth": 0.0,
            "link_latency_s": 0.0, "link_latency_growth": 0.0, "network_bytes_per_s": inf, "network_efficiency": 1.0,
            "network_latency_s": 0.0, "send_bytes_per_s": inf, "send_latency_s": 0.0,
            "all_to_all_efficiency": 1.0, "all_to_all_efficiency_growth": 0.0, "all_to_all_latency_s": 0.0,
            "all_to_all_latency_growth": 0.0, "network_all_to_all_efficiency": 1.0, "network_all_to_all_latency_s": 0.0,
            "network_send_efficiency": 1.0, "network_send_latency_s": 0.0,
        }  # fmt: skip
    topology = Topology.PCIE if machine.topology is Topology.SINGLE else machine.topology
    link = reach(efficiencies, machine.gpu, Collective.ALL_REDUCE, topology)
    efficiency, growth = link.efficiency, link.efficiency_growth
    latency, latency_growth = link.latency_s, link.latency_growth
    if topology is not Topology.PCIE:
        own = efficiencies.find("exchange", machine.gpu, Topology.SWITCHED)
        latency, latency_growth = own["latency_s"], own["latency_growth"]
    elif _reads_peers(machine.gpu):
        own = efficiencies.find("exchange", machine.gpu, Topology.PCIE)
        efficiency, growth = own["efficiency"], own["efficiency_growth"]
    send = reach(efficiencies, machine.gpu, Collective.SEND, topology)
    spread = reach(efficiencies, machine.gpu, Collective.ALL_TO_ALL, topology)
    rate = inf if machine.link_bytes_per_s is None else machine.link_bytes_per_s
    between = {
        "network_bytes_per_s": inf, "network_efficiency": 1.0, "network_latency_s": 0.0,
        "network_all_to_all_efficiency": 1.0, "network_all_to_all_latency_s": 0.0,
        "network_send_efficiency": 1.0, "network_send_latency_s": 0.0,
    }  # fmt: skip
    if machine.nodes > 1 and machine.host.network_bytes_per_s is not None:
        network = reach(efficiencies, machine.gpu, Collective.ALL_REDUCE, NETWORK)
        wide = reach(efficiencies, machine.gpu, Collective.ALL_TO_ALL, NETWORK)
        sent = reach(efficiencies, machine.gpu, Collective.SEND, NETWORK)
        between = {
            "network_bytes_per_s": network_bytes_per_s_per_gpu(machine),
            "network_efficiency": network.efficiency,
            "network_latency_s": network.latency_s,
            "network_all_to_all_efficiency": wide.efficiency,
            "network_all_to_all_latency_s": wide.latency_s,
            "network_send_efficiency": sent.efficiency,
            "network_send_latency_s": sent.latency_s,
        }
    return {
        "gpus_per_node": float(machine.gpus_per_node),
        "link_bytes_per_s": rate,
        "link_efficiency": efficiency,
        "link_efficiency_growth": growth,
        "link_latency_s": latency,
        "link_latency_growth": latency_growth,
        "send_bytes_per_s": rate * send.efficiency,
        "send_latency_s": send.latency_s,
        "all_to_all_efficiency": spread.efficiency,
        "all_to_all_efficiency_growth": spread.efficiency_growth,
        "all_to_all_latency_s": spread.latency_s,
        "all_to_all_latency_growth": spread.latency_growth,
        **between,
    }


def _reads_peers(gpu: Gpu) -> bool:
    """Whether GPUs of this kind read each other's memory over PCIe; NVIDIA's driver does not let GeForce cards."""
    return "GeForce" not in gpu.name


def server_numbers(
    serving: Serving,
    gpu: Gpu,
    efficiencies: Efficiencies,
    profile: str = "",
    parts: MeasuredParts | None = None,
) -> ServerNumbers:
    """A server's flags on a GPU: those of the plan, else the server's own defaults, and its overheads.

    `profile` names an entry of the table of servers; the plan's server when empty. `parts`: as they were measured.
    Raises MissingFactError when the table has no such server, the GPU's memory is not known, or its PCIe rate is not
    and weights are offloaded.
    """
    serving = heeded(serving)
    name = profile or str(serving.server)
    found = efficiencies.constants(SERVERS, name)
    large = gpu.value(GpuProperty.MEMORY_BYTES) >= found["large_gpu_bytes"] and gpu.chip not in _SMALL_DEFAULTS
    size = "large" if large else "small"
    share = serving.memory_utilisation
    whole_prompts = serving.chunked_prefill is False
    shares_step = 0.0 if whole_prompts and found["chunk_is_length"] else found["shares_step"]
    batched = float(serving.max_batched_tokens or found[f"{size}_batched_tokens"])
    length = float(serving.max_length or serving.input_tokens + serving.output_tokens)
    sequences = float(serving.max_sequences or found[f"{size}_sequences"])
    if found["static_batches"]:
        sequences = min(sequences, float(serving.concurrency or 1))
        batched = min(batched, sequences * serving.input_tokens)
    elif serving.max_batched_tokens is None and whole_prompts:
        batched = max(batched, length)
    takes_share = found["free_share"] == 1.0
    host = efficiencies.constants(SERVERS, "host memory")
    return ServerNumbers(
        memory_share=share if share and takes_share else found["memory_share"],
        free_share=share if share and not takes_share else found["free_share"],
        counts_activations=found["counts_activations"],
        whole=found["whole"],
        admits_whole=found["admits_whole"],
        context_bytes=found["context_bytes"],
        peer_bytes=found["peer_bytes"],
        graph_layer_bytes=0.0 if serving.eager else found["graph_layer_bytes"],
        logit_bytes=found["logit_bytes"],
        score_bytes=found["score_bytes"],
        embedding_on_gpu=found["embedding_on_gpu"],
        max_batched_tokens=batched,
        max_sequences=sequences,
        block_tokens=found["block_tokens"],
        cache_copies=found["cache_copies"],
        window_blocks=found["window_blocks"],
        shares_step=shares_step,
        stages_overlap=found["stages_overlap"],
        copies_dense=found["copies_dense"],
        shared_pages=found["shared_pages"],
        step_s=found["step_s"],
        sequence_s=found["sequence_s"],
        request_s=found["request_s"],
        static_batches=found["static_batches"],
        burst_share=found["burst_share"],
        offline_share=found["offline_share"],
        offload_bytes=float(serving.cpu_offload_bytes),
        pcie_bytes_per_s=pcie_bytes_per_s(gpu) if serving.cpu_offload_bytes else inf,
        pcie_efficiency=reached(
            efficiencies.constants(SERVERS, "host link")["pcie_efficiency"],
            parts.host_link if parts is not None and serving.cpu_offload_bytes else None,
        ),
        computes_on_host=found["computes_on_host"],
        host_batch_rows=host["batch_rows"],
        host_memory_bytes_per_s=serving.host_memory_bytes_per_s or host["memory_bytes_per_s"],
        host_memory_share=host["memory_share"],
        host_flop_per_s=host["flop_per_s"],
        balance_steps=found.values.get("balance_steps", 0.0),
    )


_SMALL_DEFAULTS = frozenset({"GA100"})
"""vLLM keeps the defaults of small GPUs on the A100 whatever its memory (vllm/engine/arg_utils.py)."""
