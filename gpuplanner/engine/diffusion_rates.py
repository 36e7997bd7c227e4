"""What a GPU reaches in the kernels of a diffusion network, by arithmetic and runtime. Looked up once a machine."""

from dataclasses import dataclass

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.diffusion_work import Pass, passed_bytes
from gpuplanner.engine.estimate import Limit
from gpuplanner.engine.formulas import diffusion as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gemm import multiply_seconds, read_seconds
from gpuplanner.engine.powered import powered
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.workload.diffusion import DiffusionPrecision, DiffusionRuntime

TABLE = "diffusion"
POWERED = frozenset({"sixteen", "tf32", "eight", "attention"})
"""Shares of a peak that a board with less power than its chip can use does not reach."""
EIGHT_BITS = {
    DiffusionPrecision.FP8: GpuProperty.FP8_FLOP_PER_S,
    DiffusionPrecision.INT8: GpuProperty.INT8_FLOP_PER_S,
}
BITS = {
    DiffusionPrecision.FP32: 32.0,
    DiffusionPrecision.BF16: 16.0,
    DiffusionPrecision.FP16: 16.0,
    DiffusionPrecision.FP8: 8.0,
    DiffusionPrecision.INT8: 8.0,
    DiffusionPrecision.NF4: 4.5,
}
"""Of one stored weight. NF4: blocks of 64 share a scale of 8 bits and one of 32 bits a second block, and norms stay."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Reached rates of one GPU for one component of a pipeline, and the bytes of an activation."""

    flop_per_s: Number
    attention_flop_per_s: Number
    hbm_bytes_per_s: Number
    hbm_share: float
    pass_share: float
    pair_bytes: float
    kernel_s: float
    overlap_loss: float
    element_bytes: float
    rung: Rung


def is_native(precision: DiffusionPrecision, runtime: DiffusionRuntime, gpu: Gpu) -> bool:
    """Whether weights of 8 bits are multiplied as such: by compiled code and engines where the GPU has units."""
    if precision not in EIGHT_BITS or runtime is DiffusionRuntime.EAGER:
        return False
    return gpu.known(EIGHT_BITS[precision]) is not None


def sixteen_bit_peaks(gpu: Gpu, precision: DiffusionPrecision) -> tuple[float, float]:
    """The dense rates of 16 bits with FP32 accumulation and with FP16 accumulation.

    Raises MissingFactError when the first is not known. A GPU without BF16 runs FP16.
    """
    names = (GpuProperty.BF16_FLOP_PER_S, GpuProperty.FP16_FLOP_PER_S)
    if precision is DiffusionPrecision.FP16:
        names = (GpuProperty.FP16_FLOP_PER_S, GpuProperty.BF16_FLOP_PER_S)
    known = next((k.value for k in map(gpu.known, names) if k is not None), None)
    if known is None:
        raise MissingFactError(gpu.name, names[0].value)
    fast = gpu.known(GpuProperty.FP16_ACC16_FLOP_PER_S)
    return known, fast.value if fast is not None else known


def rates_of(
    gpu: Gpu,
    gpu_fraction: float,
    precision: DiffusionPrecision,
    runtime: DiffusionRuntime,
    efficiencies: Efficiencies,
    *,
    flash: bool = True,
) -> Rates:
    """The rates of a component. Raises MissingFactError when the GPU's peak or its bandwidth is not known."""
    shares = efficiencies.constants(TABLE, "arithmetic")
    found = efficiencies.find(TABLE, gpu, "utilisation")
    reached = powered(found.values, gpu, shares["power_exponent"], POWERED)
    software = efficiencies.constants(TABLE, f"runtime {runtime.value}")
    full = precision is DiffusionPrecision.FP32
    if full:
        rate = attention = _thirty_two_bits(gpu, reached["tf32"], shares["full_share"], shares["fp32"])
        if flash and runtime is not DiffusionRuntime.TENSORRT:
            vector = gpu.value(GpuProperty.FP32_FLOP_PER_S)
            attention = formulas.reached_flop_per_s(vector, 1.0, vector, shares["fp32_attention"])
    else:
        peak, fast = sixteen_bit_peaks(gpu, precision)
        used = fast if runtime is DiffusionRuntime.TENSORRT else peak
        rate = formulas.reached_flop_per_s(used, shares["full_share"], fast, reached["sixteen"])
        attention = formulas.reached_flop_per_s(peak, shares["full_share"], fast, reached["attention"])
        if is_native(precision, runtime, gpu):
            eight = gpu.value(EIGHT_BITS[precision])
            rate = formulas.reached_flop_per_s(eight, shares["full_share"], eight, reached["eight"])
    return Rates(
        flop_per_s=rate * gpu_fraction,
        attention_flop_per_s=attention * gpu_fraction,
        hbm_bytes_per_s=gpu.value(GpuProperty.HBM_BYTES_PER_S) * gpu_fraction,
        hbm_share=shares["hbm_share"],
        pass_share=software["pass_share"],
        pair_bytes=0.0 if flash else shares["pair_bytes"],
        kernel_s=software["kernel_s"],
        overlap_loss=shares["overlap_loss"],
        element_bytes=4.0 if full else 2.0,
        rung=found.rung,
    )


def _thirty_two_bits(gpu: Gpu, tf32_share: Number, full_share: float, fp32_share: float) -> Number:
    """PyTorch's FP32: TF32 where there are tensor cores for it (convolutions by default, matrices when allowed)."""
    tensor = gpu.known(GpuProperty.TF32_FLOP_PER_S)
    if tensor is not None:
        return formulas.reached_flop_per_s(tensor.value, full_share, tensor.value, tf32_share)
    peak = gpu.value(GpuProperty.FP32_FLOP_PER_S)
    return formulas.reached_flop_per_s(peak, fp32_share, peak, fp32_share)


def pass_seconds(work: Pass, rates: Rates) -> dict[str, tuple[Number, Limit]]:
    """The parts of one pass: matrices and convolutions, attention, elementwise traffic, waiting for launches."""
    matrices = multiply_seconds(work.flops, rates.flop_per_s, 1.0)
    attention = multiply_seconds(work.attention_flops, rates.attention_flop_per_s, 1.0)
    moved = passed_bytes(work, rates.element_bytes, rates.pass_share, rates.pair_bytes)
    elementwise = read_seconds(moved, rates.hbm_bytes_per_s, rates.hbm_share)
    launch = formulas.exposed_launch_seconds(
        work.kernels, rates.kernel_s, matrices + attention + elementwise, rates.overlap_loss
    )
    return {
        "matrices": (matrices, Limit.COMPUTE),
        "attention": (attention, Limit.COMPUTE),
        "elementwise": (elementwise, Limit.HBM),
        "launch": (launch, Limit.CPU),
    }
