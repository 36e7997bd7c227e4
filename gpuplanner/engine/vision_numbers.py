"""One step of one GPU over its images: seconds by part, and bytes by part. Numbers only; works on arrays as well."""

from dataclasses import dataclass

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gemm import multiply_seconds, read_seconds
from gpuplanner.engine.formulas.items import batch_bytes, batch_flops, item_step_seconds
from gpuplanner.engine.formulas.vision import (
    image_flops,
    image_held_bytes,
    image_traffic_bytes,
    network_kernels,
    network_state_bytes,
    pixel_bytes,
    waited_exchange_seconds,
    waited_launch_seconds,
    weight_traffic_bytes,
)
from gpuplanner.engine.vision_inputs import GpuNumbers, NetworkNumbers


@dataclass(frozen=True, slots=True)
class StepSeconds:
    """The parts of a step, one after the other."""

    compute: Number
    activations: Number
    weights: Number
    host: Number
    launch: Number
    exchange: Number

    @property
    def whole(self) -> Number:
        """All of it."""
        return self.compute + self.activations + self.weights + self.host + self.launch + self.exchange


def step_seconds(network: NetworkNumbers, gpu: GpuNumbers, batch: Number, exchange_s: Number) -> StepSeconds:
    """The time of a step over `batch` images. `exchange_s`: of the sum of all gradients if nothing hid it."""
    flops = batch_flops(image_flops(network.image_macs, network.passes, network.compute_factor), batch)
    moved = batch_bytes(
        image_traffic_bytes(
            network.image_activations, network.bytes_per_activation, network.width_factor, network.repeated
        ),
        batch,
    )
    compute_s = multiply_seconds(flops, gpu.flop_per_s, gpu.utilisation)
    traffic_s = read_seconds(moved, gpu.hbm_bytes_per_s, gpu.hbm_share)
    weights_s = read_seconds(
        weight_traffic_bytes(network.parameters, network.step_bytes_per_parameter), gpu.hbm_bytes_per_s, gpu.hbm_share
    )
    busy_s = item_step_seconds((compute_s, traffic_s, weights_s))
    kernels = network_kernels(network.layers, network.kernels_per_layer)
    launch_s = waited_launch_seconds(kernels, gpu.kernel_s, busy_s)
    alone_s = item_step_seconds((busy_s, launch_s))
    return StepSeconds(
        compute=compute_s,
        activations=traffic_s,
        weights=weights_s,
        host=network.host_s,
        launch=launch_s,
        exchange=waited_exchange_seconds(exchange_s, gpu.hidden_share, alone_s),
    )


@dataclass(frozen=True, slots=True)
class StepBytes:
    """What is alive at the peak of a step."""

    states: Number
    activations: Number
    images: Number


def step_bytes(network: NetworkNumbers, batch: Number) -> StepBytes:
    """The memory of a step over `batch` images, without what a process takes anyway."""
    held = image_held_bytes(network.image_activations, network.held_bytes_per_activation, network.held_width)
    return StepBytes(
        states=network_state_bytes(
            network.parameters, network.bytes_per_weight, network.bytes_per_gradient, network.bytes_per_state
        ),
        activations=batch_bytes(held, batch),
        images=batch_bytes(pixel_bytes(network.image_px, network.bytes_per_pixel), batch),
    )
