"""The dense peak of a GPU in an arithmetic, from the catalog; what cannot be done in it falls back where units do."""

from collections.abc import Mapping

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.facts import MissingFactError
from gpuplanner.workload.arithmetic import Arithmetic

PEAKS: Mapping[Arithmetic, tuple[GpuProperty, ...]] = {
    Arithmetic.FP64: (GpuProperty.FP64_FLOP_PER_S,),
    Arithmetic.FP64_TENSOR: (GpuProperty.FP64_TENSOR_FLOP_PER_S, GpuProperty.FP64_FLOP_PER_S),
    Arithmetic.FP32: (GpuProperty.FP32_FLOP_PER_S,),
    Arithmetic.TF32: (GpuProperty.TF32_FLOP_PER_S, GpuProperty.FP32_FLOP_PER_S),
    Arithmetic.BF16: (GpuProperty.BF16_FLOP_PER_S,),
    Arithmetic.FP16: (GpuProperty.FP16_FLOP_PER_S, GpuProperty.BF16_FLOP_PER_S, GpuProperty.FP32_FLOP_PER_S),
    Arithmetic.FP8: (GpuProperty.FP8_FLOP_PER_S,),
    Arithmetic.INT8: (GpuProperty.INT8_FLOP_PER_S,),
    Arithmetic.FP4: (GpuProperty.FP4_FLOP_PER_S,),
}
"""A GPU without FP64 or TF32 tensor cores does the same on its vector units; one without FP8 does not do it at all.

Tensor cores that multiply BF16 multiply FP16 as quickly; of some GPUs only one of both is known.
"""


def peak_flop_per_s(gpu: Gpu, arithmetic: Arithmetic) -> tuple[float, GpuProperty]:
    """The dense rate and which fact it is. Raises MissingFactError when the catalog has none."""
    for name in PEAKS[arithmetic]:
        known = gpu.known(name)
        if known is not None:
            return known.value, name
    raise MissingFactError(gpu.name, PEAKS[arithmetic][0].value)
