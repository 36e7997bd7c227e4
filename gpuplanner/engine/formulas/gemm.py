"""Time of matrix multiplications: reading the weights, multiplying, and how far the two overlap. No shapes of models.

Utilisation by shape has a closed form, so that it runs on arrays: a multiplication of few rows costs as much as one of
`padding_tokens` more rows, and every kernel has a floor. Both parts grow with N · K alone, so a layer's matrices, or
all layers', may be added up first.
"""

from gpuplanner.engine.formulas.elementwise import Number, added, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

ROOFLINE = "Williams, Waterman, Patterson, Roofline, CACM 52 (2009) 65"


@formula(Unit.SECOND, "passes · read_bytes / (hbm_bytes_per_s · hbm_share)", ROOFLINE)
def read_seconds(read_bytes: Number, hbm_bytes_per_s: Number, hbm_share: Number, passes: Number = 1.0) -> Number:
    """Time to read `read_bytes` from the GPU's memory at the share of the nominal rate that kernels reach."""
    return read_bytes * (passes / (hbm_bytes_per_s * hbm_share))


@formula(
    Unit.FLOP,
    "2 · parameters · (tokens + min(padding_tokens, 4 · tokens)) / ranks",
    "2 FLOP per weight and token; rows are padded to tiles, and a few rows leave the tensor cores unused",
)
def matrix_flops(parameters: Number, tokens: Number, padding_tokens: Number, ranks: Number) -> Number:
    """FLOP of one GPU for `tokens` rows through matrices of `parameters` weights.

    `ranks`: over how many GPUs the matrices are split.
    """
    return (tokens + minimum(padding_tokens, 4.0 * tokens)) * (2.0 * parameters / ranks)


@formula(
    Unit.COUNT,
    "padding_columns + wave_elements / (tokens + padding_tokens)",
    "NVIDIA, Matrix Multiplication Background User's Guide, 2023: wave quantization",
)
def narrow_columns(padding_columns: Number, wave_elements: Number, tokens: Number, padding_tokens: Number) -> Number:
    """By how many columns matrices behave wider in a product with so many rows.

    A wave is as many tiles of the result as a GPU computes at once. The last one is half empty on average, which costs
    `wave_elements` of the result, the fewer rows and columns there are the more.
    """
    return padding_columns + wave_elements / (tokens + padding_tokens)


@formula(
    Unit.PARAMETER,
    "parameters + padding_columns · (parameters / hidden + matrices · hidden · ranks)",
    "narrow matrices leave tensor cores unused as few rows do",
)
def padded_parameters(
    parameters: Number, padding_columns: Number, hidden: Number, matrices: Number, ranks: Number
) -> Number:
    """Weights as matrices that are wider by `padding_columns` on both sides would have them.

    One side of each of the `matrices` is the hidden size, which stays whole; the other is split over `ranks`, whose
    parts are padded each.
    """
    return parameters + padding_columns * (parameters / hidden + matrices * hidden * ranks)


@formula(Unit.FLOP, "mlp_flops + attention_matrix_flops + head_flops + expert_flops", "")
def all_matrix_flops(
    mlp_flops: Number, attention_matrix_flops: Number, head_flops: Number, expert_flops: Number
) -> Number:
    """FLOP of one GPU for all matrices of a pass."""
    return added(mlp_flops, attention_matrix_flops, head_flops, expert_flops)


@formula(Unit.SECOND, "passes · flops / (flop_per_s · utilisation)", ROOFLINE)
def multiply_seconds(flops: Number, flop_per_s: Number, utilisation: Number, passes: Number = 1.0) -> Number:
    """Time to multiply at the share of the peak that large matrices reach."""
    return flops * (passes / (flop_per_s * utilisation))


@formula(Unit.SECOND, "max(memory_s, compute_s) + overlap_loss · min(memory_s, compute_s)", ROOFLINE)
def overlapped_seconds(memory_s: Number, compute_s: Number, overlap_loss: Number) -> Number:
    """Time of work that reads and computes at once: no less than the larger part, no more than both together."""
    return maximum(memory_s, compute_s) + overlap_loss * minimum(memory_s, compute_s)


@formula(
    Unit.FLOP_PER_S,
    "2 · rows · columns · depth / (floor_s + overlapped(columns · depth · bits_per_weight / 8 / (hbm_bytes_per_s ·"
    " hbm_share), padded(rows, padding_tokens) / (flop_per_s · utilisation), overlap_loss))",
    ROOFLINE,
)
def matrix_flop_per_s(
    rows: Number,
    columns: Number,
    depth: Number,
    bits_per_weight: Number,
    flop_per_s: Number,
    utilisation: Number,
    padding_tokens: Number,
    hbm_bytes_per_s: Number,
    hbm_share: Number,
    overlap_loss: Number,
    floor_s: Number,
) -> Number:
    """Rate that one multiplication of (rows × depth) with (depth × columns) reaches."""
    weights = columns * depth
    memory_s = read_seconds(weights * bits_per_weight / 8.0, hbm_bytes_per_s, hbm_share)
    compute_s = multiply_seconds(matrix_flops(weights, rows, padding_tokens, 1.0), flop_per_s, utilisation)
    return 2.0 * rows * weights / (floor_s + overlapped_seconds(memory_s, compute_s, overlap_loss))
