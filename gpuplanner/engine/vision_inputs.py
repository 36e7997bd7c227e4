"""The numbers of a vision network on a GPU: sizes at the image's size, efficiencies of its relatives and of the GPU.

A network that has measured relatives takes their bytes an activation, another one those usual for its operators.
"""

from dataclasses import dataclass
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.networks import Operators, VisionNetwork
from gpuplanner.engine.arithmetic import peak_flop_per_s
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.vision import (
    activations_at,
    activations_of,
    fused_trained_bytes,
    inferred_activation_bytes,
    layers_of,
    live_activation_bytes,
    macs_at,
    trained_activation_bytes,
    trained_held_bytes,
    unfused_activation_bytes,
)
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.serving_machine import worst
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.vision import Vision, VisionJob, VisionPrecision, VisionRuntime

TABLE, RELATIVES = "vision", "vision_relatives"
ARITHMETIC = {
    VisionPrecision.FP16: Arithmetic.FP16,
    VisionPrecision.BF16: Arithmetic.BF16,
    VisionPrecision.TF32: Arithmetic.TF32,
    VisionPrecision.FP32: Arithmetic.FP32,
}
SIXTEEN_BITS = frozenset({VisionPrecision.FP16, VisionPrecision.BF16})
ATTENDS = frozenset({Operators.ATTENTION})
"""Operators that fused kernels spare the scores of attention."""


@dataclass(frozen=True, slots=True)
class NetworkNumbers:
    """A network at one size of image. `trained`: whether a step has gradients."""

    image_macs: Number
    image_activations: Number
    parameters: Number
    image_px: Number
    layers: Number
    passes: Number
    compute_factor: Number
    bytes_per_activation: Number
    width_factor: Number
    repeated: Number
    held_bytes_per_activation: Number
    held_width: Number
    bytes_per_pixel: Number
    kernels_per_layer: Number
    host_s: Number
    step_bytes_per_parameter: Number
    bytes_per_weight: Number
    bytes_per_gradient: Number
    bytes_per_state: Number
    trained: bool
    rung: Rung


@dataclass(frozen=True, slots=True)
class GpuNumbers:
    """One GPU, or one slice of one, and what such networks reach on it."""

    flop_per_s: Number
    utilisation: Number
    hbm_bytes_per_s: Number
    hbm_share: Number
    kernel_s: Number
    hidden_share: Number
    rung: Rung


def sized(network: Any, work: Vision) -> VisionNetwork:
    """The network with what the person says of it instead: sizes are those of an image of the plan's size.

    Activations that are not said follow from the multiply-adds.

    Raises InputError when the model is none that sees images.
    """
    if not isinstance(network, VisionNetwork):
        raise InputError(msg("vision.no_network"))
    said: dict[str, Any] = {
        name: value for name in ("parameters", "macs", "activations") if (value := getattr(work, name)) is not None
    }
    if work.image_px is not None and said.keys() & {"macs", "activations"}:
        area = (work.image_px / network.image_px) ** 2
        said = {"macs": network.macs * area, **said, "image_px": work.image_px}
    if "macs" in said:
        said = {"activations": 0.0, **said}
    if work.operators is not None and work.operators is not network.operators:
        said |= {"operators": work.operators, "relatives": ""}
    return network.model_copy(update=said) if said else network


def network_numbers(network: VisionNetwork, work: Vision, efficiencies: Efficiencies) -> NetworkNumbers:
    """What the estimate needs of a network."""
    own, rung = relatives(network, efficiencies)
    usual = efficiencies.constants(TABLE, f"operators {network.operators}")
    trained = work.job is VisionJob.TRAINING
    narrow = work.precision in SIXTEEN_BITS
    widths = efficiencies.constants(TABLE, "16 bits" if narrow else "32 bits")
    kernels = _kernels(work, efficiencies)
    update = efficiencies.constants(TABLE, f"optimizer {work.optimizer}")
    px = float(work.image_px or network.image_px)
    image_macs = macs_at(network.macs, px, float(network.image_px), usual["macs_growth"])
    mode = efficiencies.constants(TABLE, _mode(work))
    return NetworkNumbers(
        image_macs=image_macs,
        image_activations=activations_at(
            network.activations or _counted(network, own), px, float(network.image_px), usual["activations_growth"]
        ),
        parameters=network.parameters,
        image_px=px,
        layers=float(network.layers) or layers_of(usual["layers_at_gmac"], image_macs, usual["layer_growth"]),
        passes=mode["passes"],
        compute_factor=own["compute_factor"],
        bytes_per_activation=_moved(network, work, own, usual),
        repeated=mode["repeated"],
        width_factor=widths["width_factor"],
        held_bytes_per_activation=_held(network, work, own, usual, efficiencies),
        held_width=widths["held_width"],
        bytes_per_pixel=widths["bytes_per_pixel"],
        kernels_per_layer=kernels["kernels_per_layer"],
        host_s=0.0,
        step_bytes_per_parameter=update["step_bytes_per_parameter"] if trained else widths["step_bytes_per_parameter"],
        bytes_per_weight=widths["bytes_per_weight"],
        bytes_per_gradient=4.0 if trained else 0.0,
        bytes_per_state=update["bytes_per_state"] if trained else 0.0,
        trained=trained,
        rung=rung,
    )


def _mode(work: Vision) -> str:
    if work.job is VisionJob.INFERENCE:
        return "inference"
    return "training recomputed" if work.recompute else "training"


def relatives(network: VisionNetwork, efficiencies: Efficiencies) -> tuple[Efficiency, Rung]:
    """The efficiencies of a network's relatives, or those usual for its operators, and how near they are."""
    try:
        if network.relatives:
            return efficiencies.constants(RELATIVES, network.relatives), Rung.SAME_GPU
    except MissingFactError:
        pass
    return efficiencies.constants(TABLE, f"operators {network.operators}"), Rung.OTHER_ARCHITECTURE


def _counted(network: VisionNetwork, own: Efficiency) -> Number:
    return activations_of(network.macs, float(network.image_px), own["macs_per_activation"], own["activation_power"])


def _kernels(work: Vision, efficiencies: Efficiencies) -> Efficiency:
    return efficiencies.constants(TABLE, f"kernels {work.runtime} {work.job}")


def _moved(network: VisionNetwork, work: Vision, own: Efficiency, usual: Efficiency) -> Number:
    """Bytes an activation. Trainings were measured with attention that writes its scores, the rest with fused one."""
    compiled = float(work.runtime is VisionRuntime.COMPILED)
    attends = network.operators in ATTENDS
    eager = own["eager_bytes"]
    trained: Number = own["trained_bytes"]
    if work.job is VisionJob.TRAINING:
        if attends and work.fused_attention:
            trained = fused_trained_bytes(trained, eager, usual["trained_to_eager"])
        return trained_activation_bytes(trained, eager, own["compiled_bytes"], compiled)
    if attends and not work.fused_attention:
        return unfused_activation_bytes(eager, trained, usual["trained_to_eager"])
    return inferred_activation_bytes(eager, own["compiled_bytes"], compiled)


def _held(
    network: VisionNetwork, work: Vision, own: Efficiency, usual: Efficiency, efficiencies: Efficiencies
) -> Number:
    if work.job is VisionJob.INFERENCE:
        return live_activation_bytes(own["live_bytes"])
    fused = network.operators in ATTENDS and work.fused_attention
    spared = usual if fused else efficiencies.constants(TABLE, "written scores")
    return trained_held_bytes(
        own["kept_bytes"], efficiencies.constants(TABLE, _mode(work))["held_share"], spared["spared_share"]
    )


def gpu_numbers(machine: Machine, work: Vision, efficiencies: Efficiencies) -> GpuNumbers:
    """What the estimate needs of a GPU of a machine, or of a slice of one.

    Raises MissingFactError when its peak in this arithmetic or its bandwidth is not known.
    """
    gpu, fraction = machine.gpu, float(machine.gpu_fraction)
    peak, used = peak_flop_per_s(gpu, ARITHMETIC[work.precision])
    units = "vector" if used is GpuProperty.FP32_FLOP_PER_S else "16 bits" if work.precision in SIXTEEN_BITS else "tf32"
    compute = efficiencies.find(TABLE, gpu, f"compute {units}")
    memory = efficiencies.find(TABLE, gpu, "memory")
    kernels = _kernels(work, efficiencies)
    return GpuNumbers(
        flop_per_s=peak * fraction,
        utilisation=compute["utilisation"],
        hbm_bytes_per_s=gpu.value(GpuProperty.HBM_BYTES_PER_S) * fraction,
        hbm_share=memory["hbm_share"],
        kernel_s=kernels["kernel_s"],
        hidden_share=efficiencies.constants(TABLE, "exchange network" if machine.nodes > 1 else "exchange")[
            "hidden_share"
        ],
        rung=worst(compute.rung, memory.rung),
    )
