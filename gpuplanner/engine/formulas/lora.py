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
    "quantised_parameters · quantised_bytes_per_parameter + plain_parameters · plain_bytes_per_parameter",
    DETTMERS,
)
def frozen_base_bytes(
    quantised_parameters: Number,
    quantised_bytes_per_parameter: Number,
    plain_parameters: Number,
    plain_bytes_per_parameter: Number,
) -> Number:
    """The frozen weights: matrices of the layers as quantised, embeddings, output projection and norms as they are."""
    return quantised_parameters * quantised_bytes_per_parameter + plain_parameters * plain_bytes_per_parameter


@formula(Unit.BYTE, "largest_matrix_parameters · 2 · (quantised_bytes_per_parameter < 2)", DETTMERS)
def dequantised_bytes(largest_matrix_parameters: Number, quantised_bytes_per_parameter: Number) -> Number:
    """The 16-bit copy of one quantised matrix while it is multiplied with."""
    return largest_matrix_parameters * 2.0 * (quantised_bytes_per_parameter < 2.0)
