"""Time and memory of networks that see images, from multiply-adds, activations and weights. No networks, no GPUs here.

An activation is a number that a convolution or a matrix writes. What is around them (normalisation, non-linearities,
changes of layout) reads and writes it again, so that the traffic of a network is so many bytes an activation.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

AREA = "convolutions grow with the area of the image, attention between patches faster"
DDP = "PyTorch distributed data parallel exchanges the gradients of late layers while early ones are worked out"


@formula(Unit.COUNT, "macs · (image_px / network_px)^(2 · macs_growth)", AREA)
def macs_at(macs: Number, image_px: Number, network_px: Number, macs_growth: Number) -> Number:
    """Multiply-adds for an image of another size than `network_px`."""
    return macs * (image_px / network_px) ** (2.0 * macs_growth)


@formula(Unit.COUNT, "activations · (image_px / network_px)^(2 · activations_growth)", AREA)
def activations_at(activations: Number, image_px: Number, network_px: Number, activations_growth: Number) -> Number:
    """Activations of an image of another size than `network_px`."""
    return activations * (image_px / network_px) ** (2.0 * activations_growth)


@formula(
    Unit.COUNT,
    "macs / macs_per_activation · (macs / image_px² / 20,000)^(activation_power - 1)",
    "as relatives do; wider networks multiply more for each activation; 20,000 a pixel are 1 GMAC at 224 × 224",
)
def activations_of(macs: Number, image_px: Number, macs_per_activation: Number, activation_power: Number) -> Number:
    """Activations where nobody counted them."""
    return macs / macs_per_activation * (macs / (image_px * image_px) / 20_000.0) ** (activation_power - 1.0)


@formula(
    Unit.FLOP,
    "2 · image_macs · passes · compute_factor",
    "2 FLOP a multiply-add; forward, and gradients by inputs and by weights",
)
def image_flops(image_macs: Number, passes: Number, compute_factor: Number) -> Number:
    """Operations for one image. `compute_factor`: more than they are where matrices are narrow or in groups."""
    return 2.0 * image_macs * passes * compute_factor


@formula(Unit.BYTE, "image_activations · bytes_per_activation · width_factor · repeated", "")
def image_traffic_bytes(
    image_activations: Number, bytes_per_activation: Number, width_factor: Number, repeated: Number
) -> Number:
    """What one image moves in GPU memory.

    `width_factor`: of wider numbers than 16 bits; `repeated`: by passes that compute activations again.
    """
    return image_activations * bytes_per_activation * width_factor * repeated


@formula(
    Unit.BYTE,
    "trained_bytes · (compiled_bytes / eager_bytes)^compiled",
    "a compiler fuses the same kernels backward as forward",
)
def trained_activation_bytes(
    trained_bytes: Number, eager_bytes: Number, compiled_bytes: Number, compiled: Number
) -> Number:
    """Bytes an activation of a training step, forward and backward; `compiled`: 1 or 0."""
    return trained_bytes * (compiled_bytes / eager_bytes) ** compiled


@formula(Unit.BYTE, "parameters · step_bytes_per_parameter", "")
def weight_traffic_bytes(parameters: Number, step_bytes_per_parameter: Number) -> Number:
    """What a step moves for the weights, however many images it has: casts, passes, gradients, the optimizer."""
    return parameters * step_bytes_per_parameter


@formula(Unit.BYTE, "eager_bytes · (compiled_bytes / eager_bytes)^compiled", "")
def inferred_activation_bytes(eager_bytes: Number, compiled_bytes: Number, compiled: Number) -> Number:
    """Bytes an activation of one forward pass; `compiled`: 1 or 0."""
    return eager_bytes * (compiled_bytes / eager_bytes) ** compiled


@formula(
    Unit.BYTE, "max(eager_bytes, trained_bytes / trained_to_eager)", "trainings were measured with attention in parts"
)
def unfused_activation_bytes(eager_bytes: Number, trained_bytes: Number, trained_to_eager: Number) -> Number:
    """Bytes an activation of a forward pass whose attention writes its scores."""
    return maximum(eager_bytes, trained_bytes / trained_to_eager)


@formula(Unit.BYTE, "min(trained_bytes, eager_bytes · trained_to_eager)", "inference was measured with fused attention")
def fused_trained_bytes(trained_bytes: Number, eager_bytes: Number, trained_to_eager: Number) -> Number:
    """Bytes an activation of a training step whose attention does not write its scores."""
    return minimum(trained_bytes, eager_bytes * trained_to_eager)


@formula(Unit.COUNT, "layers_at_gmac · (image_macs / 1e9)^layer_growth", "larger networks are deeper as well as wider")
def layers_of(layers_at_gmac: Number, image_macs: Number, layer_growth: Number) -> Number:
    """Layers of a network where nobody counted them."""
    return layers_at_gmac * (image_macs / 1e9) ** layer_growth


@formula(Unit.COUNT, "layers · kernels_per_layer", "")
def network_kernels(layers: Number, kernels_per_layer: Number) -> Number:
    """Kernels of one step."""
    return layers * kernels_per_layer


@formula(Unit.SECOND, "max(kernels · kernel_s - busy_s, 0)", "launches run ahead of the GPU while it is busy")
def waited_launch_seconds(kernels: Number, kernel_s: Number, busy_s: Number) -> Number:
    """Time in which the GPU waits for the CPU to launch kernels."""
    return maximum(kernels * kernel_s - busy_s, 0.0)


@formula(Unit.SECOND, "exchange_s - hidden_share · min(exchange_s, item_step_s)", DDP)
def waited_exchange_seconds(exchange_s: Number, hidden_share: Number, item_step_s: Number) -> Number:
    """Time in which all GPUs wait for the sum of their gradients. `item_step_s`: of the step without it."""
    return exchange_s - hidden_share * minimum(exchange_s, item_step_s)


@formula(Unit.BYTE, "parameters · (bytes_per_weight + bytes_per_gradient + bytes_per_state)", "")
def network_state_bytes(
    parameters: Number, bytes_per_weight: Number, bytes_per_gradient: Number, bytes_per_state: Number
) -> Number:
    """Weights, gradients and optimizer states."""
    return parameters * (bytes_per_weight + bytes_per_gradient + bytes_per_state)


@formula(Unit.BYTE, "image_activations · held_bytes_per_activation · held_width", "")
def image_held_bytes(image_activations: Number, held_bytes_per_activation: Number, held_width: Number) -> Number:
    """What is alive of one image at the peak. `held_width`: of wider numbers than 16 bits."""
    return image_activations * held_bytes_per_activation * held_width


@formula(Unit.BYTE, "kept_bytes · held_share · spared_share", "")
def trained_held_bytes(kept_bytes: Number, held_share: Number, spared_share: Number) -> Number:
    """Bytes that a training keeps of an activation.

    `held_share`: where it computes some again; `spared_share`: where attention does not write its scores.
    """
    return kept_bytes * held_share * spared_share


@formula(Unit.BYTE, "live_bytes", "")
def live_activation_bytes(live_bytes: Number) -> Number:
    """Bytes that inference has alive at its widest layer, over all activations of an image."""
    return live_bytes


@formula(Unit.BYTE, "3 · image_px² · bytes_per_pixel", "three colours")
def pixel_bytes(image_px: Number, bytes_per_pixel: Number) -> Number:
    """One image as the network takes it in."""
    return 3.0 * image_px * image_px * bytes_per_pixel


@formula(Unit.BYTE, "parameters · bytes_per_gradient", "")
def gradient_sum_bytes(parameters: Number, bytes_per_gradient: Number) -> Number:
    """What GPUs sum up after each step."""
    return parameters * bytes_per_gradient


@formula(Unit.COUNT, "images · epochs", "")
def images_in_all(images: Number, epochs: Number) -> Number:
    """Images of the whole job."""
    return images * epochs
