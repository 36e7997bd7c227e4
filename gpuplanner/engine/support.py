"""Whether the software of a workload is known to run on a GPU. Says no only with a reason; speed is not judged here."""

from collections.abc import Mapping

from gpuplanner.catalog.entries import Gpu
from gpuplanner.messages import Message, msg
from gpuplanner.workload.plan import Workload
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.serving import Server, Serving
from gpuplanner.workload.training import Training

NVIDIA = "NVIDIA"
LEAST_CAPABILITY: Mapping[str, float] = {
    Server.VLLM: 7.0,
    Server.SGLANG: 7.5,
    Server.TENSORRT_LLM: 8.0,
    Server.LLAMA_CPP: 5.0,
    Server.TRANSFORMERS: 5.0,
    "training": 7.0,
}
"""Least CUDA compute capability, from the installation pages of each (2025; from memory) and PyTorch's build matrix.

PyTorch's CUDA 12.6 wheels start at 5.0; training with FlashAttention, BF16 or FP16 tensor cores starts at Volta.
"""
OTHER_ARCHITECTURES: Mapping[str, frozenset[str]] = {
    Server.VLLM: frozenset({"CDNA2", "CDNA3", "CDNA4", "RDNA3", "RDNA4", "Gaudi2", "Gaudi3"}),
    Server.SGLANG: frozenset({"CDNA3", "CDNA4"}),
    Server.TENSORRT_LLM: frozenset(),
    Server.LLAMA_CPP: frozenset({"GCN5", "GCN5.1", "CDNA", "CDNA2", "CDNA3", "CDNA4", "RDNA1", "RDNA3", "RDNA4", "Xe"}),
    Server.TRANSFORMERS: frozenset({"CDNA2", "CDNA3", "CDNA4", "RDNA3", "RDNA4"}),
    "training": frozenset({"CDNA2", "CDNA3", "CDNA4"}),
}
"""Architectures of other vendors that the same pages name."""
LEAST_FOR_PRECISION: Mapping[ComputePrecision, float] = {
    ComputePrecision.BF16: 8.0,
    ComputePrecision.TF32: 8.0,
    ComputePrecision.FP8: 8.9,
    ComputePrecision.NVFP4: 10.0,
}
"""CUDA programming guide: BF16 and TF32 from Ampere on. Transformer Engine: FP8 from Ada on, NVFP4 on Blackwell."""

_GGUF = frozenset(p for p in WeightPrecision if p.startswith(("q", "iq")))
_LLAMA_CPP = _GGUF | {WeightPrecision.FP32, WeightPrecision.BF16, WeightPrecision.FP16, WeightPrecision.MXFP4}
NOT_LOADED: Mapping[str, frozenset[WeightPrecision]] = {
    Server.TENSORRT_LLM: _GGUF | {WeightPrecision.NF4},
    Server.LLAMA_CPP: frozenset(WeightPrecision) - _LLAMA_CPP,
}
"""Formats of weights that a server has no loader for, from the quantisation pages of each (2025; from memory)."""


def unsupported(gpu: Gpu, workload: Workload) -> Message | None:
    """Why the workload's software or precision is not known to run on this GPU, or None when it is."""
    precision = workload.weight_precision if isinstance(workload, Serving) else None
    software = workload.server if isinstance(workload, Serving) else "training"
    name = msg(f"limits.software.{software}")
    if precision is not None and precision in NOT_LOADED.get(software, ()):
        return msg("limits.support.format", software=name, precision=precision.upper())
    if gpu.vendor != NVIDIA:
        if gpu.architecture in OTHER_ARCHITECTURES[software]:
            return None
        return msg("limits.support.vendor", software=name, gpu=gpu.name)
    capability = _capability(gpu)
    if capability is None:
        return msg("limits.support.unknown_capability", gpu=gpu.name)
    if capability < LEAST_CAPABILITY[software]:
        return _too_old(gpu, name, LEAST_CAPABILITY[software])
    if isinstance(workload, Training):
        needed = LEAST_FOR_PRECISION.get(workload.precision, 0.0)
        if capability < needed:
            return _too_old(gpu, msg(f"limits.precision.{workload.precision}"), needed)
    return None


def _too_old(gpu: Gpu, name: Message, least: float) -> Message:
    return msg("limits.support.capability", software=name, least=least, gpu=gpu.name, capability=gpu.compute_capability)


def _capability(gpu: Gpu) -> float | None:
    """9.0 for "9.0"; minor versions have one digit."""
    try:
        return float(gpu.compute_capability)
    except ValueError:
        return None
