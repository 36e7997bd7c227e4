"""What one step of classical scientific work computes, moves, holds and exchanges. Looks nothing up.

Most kinds are linear in their elements: so much for each element, and so much for each value of an element.
"""

import numpy as np

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit

LU = "Golub and Van Loan, Matrix Computations, 2013: 2/3 · n³ for LU"
RADIX2 = "Cooley and Tukey, 1965: 5 · n · log2 n for a complex transform"
HALO = "surface of a cube, exchanged with its six neighbours"
BLOCKS = "Hong and Kung, I/O complexity, STOC 1981"


@formula(Unit.FLOP, "elements · (flops_per_element + values_each · flops_per_value)", "")
def step_flops(elements: Number, flops_per_element: Number, values_each: Number, flops_per_value: Number) -> Number:
    """Operations of one step of the whole problem."""
    return elements * (flops_per_element + values_each * flops_per_value)


@formula(Unit.FLOP, "transforms · 5 · elements · log2(elements) · values_each", RADIX2)
def transform_flops(transforms: Number, elements: Number, values_each: Number) -> Number:
    """Operations of the complex transforms of one step: there and back."""
    return transforms * 5.0 * elements * np.log2(elements) * values_each


@formula(Unit.FLOP, "2 / 3 · elements³", LU)
def factor_flops(elements: Number) -> Number:
    """Operations of factorising a dense matrix of this order."""
    return 2.0 / 3.0 * elements**3


@formula(
    Unit.BYTE,
    "elements · (moves_per_element · element_bytes + values_each · (moves_per_value · element_bytes + index_bytes))",
    "",
)
def step_moved_bytes(
    elements: Number,
    moves_per_element: Number,
    element_bytes: Number,
    values_each: Number,
    moves_per_value: Number,
    index_bytes: Number,
) -> Number:
    """What one step of the whole problem reads and writes in GPU memory."""
    each = moves_per_element * element_bytes + values_each * (moves_per_value * element_bytes + index_bytes)
    return elements * each


@formula(Unit.BYTE, "flops · element_bytes / block_rows", BLOCKS)
def blocked_moved_bytes(flops: Number, element_bytes: Number, block_rows: Number) -> Number:
    """What a blocked factorisation reads and writes: each number once for so many operations."""
    return flops * element_bytes / block_rows


@formula(
    Unit.BYTE,
    "elements · (held_per_element · element_bytes + values_each · (held_per_value · element_bytes + index_bytes))",
    "",
)
def problem_bytes(
    elements: Number,
    held_per_element: Number,
    element_bytes: Number,
    values_each: Number,
    held_per_value: Number,
    index_bytes: Number,
) -> Number:
    """What the whole problem keeps in memory."""
    each = held_per_element * element_bytes + values_each * (held_per_value * element_bytes + index_bytes)
    return elements * each


@formula(Unit.BYTE, "elements² · element_bytes", "")
def matrix_bytes(elements: Number, element_bytes: Number) -> Number:
    """A dense matrix of this order."""
    return elements * elements * element_bytes


@formula(Unit.RATIO, "hbm_share · of_stream", "STREAM, McCalpin, 1995: the most that kernels reach")
def kernel_hbm_share(hbm_share: Number, of_stream: Number) -> Number:
    """Share of the nominal memory rate that such kernels reach."""
    return hbm_share * of_stream


@formula(Unit.FLOP, "flops / shares", "")
def shared_flops(flops: Number, shares: Number) -> Number:
    """Operations of one GPU."""
    return flops / shares


@formula(Unit.BYTE, "problem_bytes / shares", "")
def shared_bytes(problem_bytes: Number, shares: Number) -> Number:
    """What one GPU has of something that all GPUs share."""
    return problem_bytes / shares


@formula(Unit.BYTE, "6 · (elements / shares)^(2 / 3) · face_bytes", HALO)
def halo_bytes(elements: Number, shares: Number, face_bytes: Number) -> Number:
    """What one GPU sends to its neighbours in a step; `face_bytes` for each element of a face."""
    return 6.0 * (elements / shares) ** (2.0 / 3.0) * face_bytes


@formula(Unit.BYTE, "problem_bytes / shares · (1 - 1 / shares)", "all but one's own block")
def transposed_bytes(problem_bytes: Number, shares: Number) -> Number:
    """What one GPU sends when all of the data changes its place among the GPUs."""
    return problem_bytes / shares * (1.0 - 1.0 / shares)


@formula(
    Unit.BYTE, "problem_bytes / shares^(1 / 2)", "HPL, 1999: panels go along rows and columns of a square of ranks"
)
def panel_bytes(problem_bytes: Number, shares: Number) -> Number:
    """What one GPU receives of the panels of a factorisation."""
    return problem_bytes / shares**0.5


@formula(Unit.SECOND, "messages · latency_s + payload_bytes / (link_bytes_per_s · efficiency)", "")
def exchanged_seconds(
    messages: Number, latency_s: Number, payload_bytes: Number, link_bytes_per_s: Number, efficiency: Number
) -> Number:
    """Time in which one GPU sends what it has for others."""
    return messages * latency_s + payload_bytes / (link_bytes_per_s * efficiency)


@formula(Unit.SECOND, "exposed_share · exchange_s", "the inside is computed meanwhile")
def shown_exchange_seconds(exposed_share: Number, exchange_s: Number) -> Number:
    """The part of an exchange that computing does not hide."""
    return exposed_share * exchange_s


@formula(Unit.FLOP_PER_S, "flops / step_time_s", "")
def step_flop_per_s(flops: Number, step_time_s: Number) -> Number:
    """The rate at which one GPU computes."""
    return flops / step_time_s


@formula(Unit.BYTE_PER_S, "moved_bytes / step_time_s", "")
def step_bytes_per_s(moved_bytes: Number, step_time_s: Number) -> Number:
    """The rate at which one GPU reads and writes its memory."""
    return moved_bytes / step_time_s
