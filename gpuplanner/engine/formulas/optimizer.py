"""The optimizer step: bytes it touches, time on the GPU, and time through the host when its states are kept there."""

from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

OFFLOAD = "Ren et al., ZeRO-Offload, USENIX ATC 2021"


@formula(
    Unit.SECOND,
    "stepped_parameters · step_bytes_per_parameter / (hbm_bytes_per_s · hbm_efficiency)",
    "each state is read and written once",
)
def optimizer_seconds(
    stepped_parameters: Number, step_bytes_per_parameter: Number, hbm_bytes_per_s: Number, hbm_efficiency: Number
) -> Number:
    """Time of the optimizer step on the GPU; `stepped_parameters` are those that this rank updates."""
    return stepped_parameters * step_bytes_per_parameter / (hbm_bytes_per_s * hbm_efficiency)


@formula(
    Unit.SECOND,
    "max(stepped_parameters / host_parameters_per_s,"
    " stepped_parameters · 2 · bytes_over_pcie / (pcie_bytes_per_s · pcie_efficiency))",
    OFFLOAD,
)
def offloaded_step_seconds(
    stepped_parameters: Number,
    host_parameters_per_s: Number,
    bytes_over_pcie: Number,
    pcie_bytes_per_s: Number,
    pcie_efficiency: Number,
) -> Number:
    """Time of an optimizer step whose states are in host memory: the CPU's update or the way there and back.

    `bytes_over_pcie`: of one parameter's gradient on the way down, and of its weight on the way up.
    """
    transfer_s = stepped_parameters * 2.0 * bytes_over_pcie / (pcie_bytes_per_s * pcie_efficiency)
    return maximum(stepped_parameters / host_parameters_per_s, transfer_s)
