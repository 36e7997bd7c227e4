"""Memory of one GPU that a program can allocate: of what is published, and of a slice. Looks nothing up."""

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(Unit.BYTE, "memory_bytes · usable_share", "CUDA total global memory beside what nvidia-smi reports")
def usable_memory_bytes(memory_bytes: Number, usable_share: Number) -> Number:
    """What CUDA offers of the reported or the nominal memory; the driver and ECC keep the rest."""
    return memory_bytes * usable_share


@formula(Unit.BYTE, "Σ part_bytes", "what is in the memory of one GPU at the same time")
def phase_bytes(part_bytes: tuple[Number, ...]) -> Number:
    """All parts of a phase together."""
    return sum(part_bytes, start=0.0)


@formula(Unit.COUNT, "tried where needed_bytes ≤ usable_bytes, else 0", "found by trying")
def largest_that_fitted(tried: Number, needed_bytes: Number, usable_bytes: Number) -> Number:
    """The largest number that was tried and fits, from what it needs and what there is; 0 where it does not."""
    return tried * (needed_bytes <= usable_bytes)


@formula(Unit.BYTE, "usable_bytes · gpu_fraction", "MIG and vGPU profiles")
def slice_memory_bytes(usable_bytes: Number, gpu_fraction: Number) -> Number:
    """What a slice of a GPU has of its usable memory; all of it for a whole GPU."""
    return usable_bytes * gpu_fraction
