"""The fields of a GPU in our files: which property each is, in which unit, on which basis, and what can be.

This is the only place where a unit of a file is turned into the program's base unit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.facts import Accumulate, Basis, Density, Direction, MemoryKind, Per, Pipe
from gpuplanner.units import GB, GIB, MIB, TERA, Unit


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number of a file: its property, the base unit that `factor` leads to, its plain basis, and the bounds that no
    real value passes, in the unit of the file.
    """

    property: GpuProperty
    unit: Unit
    factor: float
    basis: Basis
    low: float
    high: float


_VECTOR = Basis(pipe=Pipe.VECTOR, density=Density.DENSE, per=Per.GPU)
_TENSOR = Basis(pipe=Pipe.TENSOR, density=Density.DENSE, per=Per.GPU)
_TENSOR_32 = replace(_TENSOR, accumulate=Accumulate.FP32)
_TENSOR_16 = replace(_TENSOR, accumulate=Accumulate.FP16)
_GPU = Basis(per=Per.GPU)
_ONE_WAY = Basis(per=Per.GPU, direction=Direction.ONE_WAY)
_BOTH_WAYS = Basis(per=Per.GPU, direction=Direction.BOTH_WAYS)


def _memory(kind: MemoryKind) -> Basis:
    return Basis(per=Per.GPU, memory=kind)


def _flops(name: GpuProperty, basis: Basis, high: float) -> NumberField:
    return NumberField(name, Unit.FLOP_PER_S, TERA, basis, 0.005, high)


P = GpuProperty
GPU_NUMBERS = {
    # GPU memory is sold in binary gigabytes: "80 GB" are 80 × 2^30 bytes, of which a driver shows a little less.
    "memory_gb": NumberField(P.MEMORY_BYTES, Unit.BYTE, GIB, _memory(MemoryKind.NOMINAL), 0.5, 2000),
    "memory_reported_mib": NumberField(
        P.MEMORY_REPORTED_BYTES, Unit.BYTE, MIB, _memory(MemoryKind.REPORTED), 400, 2_000_000
    ),
    "memory_usable_mib": NumberField(P.MEMORY_USABLE_BYTES, Unit.BYTE, MIB, _memory(MemoryKind.USABLE), 400, 2_000_000),
    "memory_bandwidth_gb_per_s": NumberField(P.HBM_BYTES_PER_S, Unit.BYTE_PER_S, GB, _GPU, 20, 40_000),
    "fp64_tflops": _flops(P.FP64_FLOP_PER_S, _VECTOR, 1_000),
    "fp64_tensor_tflops": _flops(P.FP64_TENSOR_FLOP_PER_S, _TENSOR, 1_000),
    "fp32_tflops": _flops(P.FP32_FLOP_PER_S, _VECTOR, 2_000),
    "tf32_tflops": _flops(P.TF32_FLOP_PER_S, _TENSOR_32, 10_000),
    "bf16_tflops": _flops(P.BF16_FLOP_PER_S, _TENSOR_32, 20_000),
    "fp16_tflops": _flops(P.FP16_FLOP_PER_S, _TENSOR_32, 20_000),
    "fp16_acc16_tflops": _flops(P.FP16_ACC16_FLOP_PER_S, _TENSOR_16, 20_000),
    "fp8_tflops": _flops(P.FP8_FLOP_PER_S, _TENSOR_32, 40_000),
    "fp4_tflops": _flops(P.FP4_FLOP_PER_S, _TENSOR_32, 80_000),
    "int8_tops": NumberField(P.INT8_FLOP_PER_S, Unit.OP_PER_S, TERA, _TENSOR, 0.005, 40_000),
    "sms": NumberField(P.SMS, Unit.COUNT, 1, _GPU, 1, 2_000),
    "l2_mb": NumberField(P.L2_BYTES, Unit.BYTE, MIB, _GPU, 0.1, 2_000),
    "power_w": NumberField(P.POWER_W, Unit.WATT, 1, _GPU, 3, 5_000),
    "pcie_generation": NumberField(P.PCIE_GENERATION, Unit.COUNT, 1, _GPU, 1, 8),
    "pcie_lanes": NumberField(P.PCIE_LANES, Unit.COUNT, 1, _GPU, 1, 32),
    "pcie_gb_per_s": NumberField(P.PCIE_BYTES_PER_S, Unit.BYTE_PER_S, GB, _ONE_WAY, 0.2, 300),
    "link_gb_per_s": NumberField(P.LINK_BYTES_PER_S, Unit.BYTE_PER_S, GB, _ONE_WAY, 5, 5_000),
    "link_both_ways_gb_per_s": NumberField(P.LINK_BYTES_PER_S, Unit.BYTE_PER_S, GB, _BOTH_WAYS, 10, 10_000),
    "mig_slices": NumberField(P.MIG_SLICES, Unit.COUNT, 1, _GPU, 0, 16),
    "nvenc": NumberField(P.NVENC, Unit.COUNT, 1, _GPU, 0, 20),
    "nvdec": NumberField(P.NVDEC, Unit.COUNT, 1, _GPU, 0, 20),
}
"""Numbers by field. `_tflops` and `_tops` are dense, for one GPU, on tensor cores, with FP32 accumulation."""

GPU_TEXTS = {
    "architecture": "architecture",
    "chip": "chip",
    "compute_capability": "compute_capability",
    "released": "release_date",
    "form_factor": "form_factor",
    "memory_type": "memory_type",
    "ecc": "ecc",
    "link": "link_kind",
    "vgpu": "vgpu",
}
"""Words by field, and the attribute of `Gpu` that each is."""

PCIE_X16_BYTES_PER_S = {1: 4.0e9, 2: 8.0e9, 3: 15.75e9, 4: 31.5e9, 5: 63.0e9, 6: 121.0e9}
"""One way over 16 lanes after line coding, by generation (PCI Express base specifications)."""

_WORDS: dict[str, tuple[str, StrEnum | None]] = {
    **{word.value.casefold(): ("density", word) for word in Density},
    **{word.value.casefold(): ("accumulate", word) for word in Accumulate},
    **{word.value.casefold(): ("pipe", word) for word in Pipe},
    **{word.value.casefold(): ("direction", word) for word in Direction},
    **{word.value.casefold(): ("per", word) for word in Per},
    **{word.value.casefold(): ("memory", word) for word in MemoryKind},
}
BASIS_WORDS = tuple(_WORDS)
"""The words that `basis` of a statement may hold: "sparse", "fp16", "vector", "both ways", "board", …"""


def with_words(basis: Basis, words: Iterable[str]) -> Basis:
    """A basis with what these words say instead. Raises KeyError for a word that is none of `BASIS_WORDS`.

    Vector units add up in the format that they multiply, so that FP32 accumulation never goes without saying there.
    """
    changes = dict(_WORDS[word.casefold()] for word in words)
    if changes.get("pipe") is Pipe.VECTOR:
        changes.setdefault("accumulate", None)
    return replace(basis, **changes) if changes else basis  # type: ignore[arg-type]  # each value is of its field, which mypy cannot see


def is_plain(basis: Basis, field: NumberField) -> bool:
    """Whether a fact on this basis may stand as the plain figure of its property.

    Sparse, doubled, per board, per die and per pair figures never may; a rate without tensor cores may, where the GPU
    has none.
    """
    plain = field.basis
    if plain.direction is Direction.BOTH_WAYS:
        return False
    vector = basis.pipe is Pipe.VECTOR
    return replace(basis, pipe=plain.pipe, accumulate=plain.accumulate if vector else basis.accumulate) == plain
