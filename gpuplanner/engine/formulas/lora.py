"""Adapters and frozen bases: how many parameters, how many bytes when the base is quantised. No activations here."""

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit

HU = "Hu et al., LoRA, 2021 (arXiv:2106.09685)"
DETTMERS = "Dettmers et al., QLoRA, 2023 (arXiv:2305.14314)"


@formula(Unit.PARAMETER, "lora_rank · adapted_widths", HU)
def adapter_parameters(lora_rank: Number, adapted_widths: Number) -> Number:
    """Weights of the adapters; `adapted_widths` is the sum of inputs and outputs of all matrices that carry one."""
    return lora_rank * adapted_widths


@formula(
    Unit.BYTE,
    "on_gpu · (quantised_parameters · bytes_per_quantised + plain_parameters · bytes_per_end) / base_shards",
    DETTMERS,
)
def frozen_base_bytes(
    on_gpu: Number,
    quantised_parameters: Number,
    bytes_per_quantised: Number,
    plain_parameters: Number,
    bytes_per_end: Number,
    base_shards: Number,
) -> Number:
    """The frozen weights: matrices of the layers as they are kept, embedding, output projection and norms unquantised.

    `base_shards` is 1 where the ranks keep copies: under DDP always, and under ZeRO-3 when the base is quantised.
    """
    return on_gpu * (quantised_parameters * bytes_per_quantised + plain_parameters * bytes_per_end) / base_shards


@formula(Unit.BYTE, "largest_matrix_parameters · 2 · (bytes_per_quantised < 2)", DETTMERS)
def dequantised_bytes(largest_matrix_parameters: Number, bytes_per_quantised: Number) -> Number:
    """The 16-bit copy of one quantised matrix while it is multiplied with."""
    return largest_matrix_parameters * 2.0 * (bytes_per_quantised < 2.0)
