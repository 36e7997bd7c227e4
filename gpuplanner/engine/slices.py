"""A slice of a GPU as a GPU of its own: what of the whole it has. MIG only, which divides in hardware. Pure.

Memory, its bandwidth and the second-level cache come in eighths (quarters on some GPUs); multiprocessors, arithmetic
and power in as many parts as the GPU has compute slices. Slices have no NVLink and cannot reach each other's memory
(NVIDIA Multi-Instance GPU user guide, application considerations), so each works alone.
"""

from dataclasses import replace
from fractions import Fraction

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.facts import Known
from gpuplanner.workload.plan import GpuSlice

OF_MEMORY = frozenset(
    {
        GpuProperty.MEMORY_BYTES,
        GpuProperty.MEMORY_REPORTED_BYTES,
        GpuProperty.MEMORY_USABLE_BYTES,
        GpuProperty.HBM_BYTES_PER_S,
        GpuProperty.L2_BYTES,
    }
)
AS_THE_WHOLE = frozenset({GpuProperty.PCIE_GENERATION, GpuProperty.PCIE_LANES, GpuProperty.PCIE_BYTES_PER_S})
"""The link to the host, which the slices of a GPU share; one alone may have all of it."""
NOT_OF_A_SLICE = frozenset({GpuProperty.LINK_BYTES_PER_S, GpuProperty.MIG_SLICES, GpuProperty.NVENC, GpuProperty.NVDEC})


def sliced(gpu: Gpu, part: GpuSlice) -> Gpu:
    """The GPU as a program in the slice sees it; its facts keep their sources and say of what they are a part."""
    properties = {
        name: _part(known, _share(name, part), gpu, part)
        for name, known in gpu.properties.items()
        if name not in NOT_OF_A_SLICE
    }
    return replace(gpu, name=f"{gpu.name} MIG {part.profile}", properties=properties, link_kind="")


def slices_per_gpu(part: GpuSlice) -> int:
    """How many slices of this profile one GPU is divided into."""
    return int(min(1 / part.compute_share, 1 / part.memory_share))


def _share(name: GpuProperty, part: GpuSlice) -> Fraction:
    if name in AS_THE_WHOLE:
        return Fraction(1)
    return part.memory_share if name in OF_MEMORY else part.compute_share


def _part(known: Known, share: Fraction, gpu: Gpu, part: GpuSlice) -> Known:
    if share == 1:
        return known
    return Known(
        replace(
            known.fact,
            value=known.fact.value * share.numerator / share.denominator,
            note=f"{share} of {gpu.name}, MIG {part.profile}",
            note_zh=f"{gpu.name} 的 {share}，MIG {part.profile}",
        )
    )
