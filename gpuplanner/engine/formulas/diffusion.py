"""Work and memory of diffusion networks: grids of positions, what each does, and the time of one pass. No models here.

A network is a tuple of grids; terms that are tuples have one number for each of them.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

Numbers = tuple[Number, ...]
CHECKPOINTS = "Chen et al., Training deep nets with sublinear memory cost, 2016"
ZERO = "Rajbhandari et al., ZeRO, SC 2020 (arXiv:1910.02054)"
LATENT = "Rombach et al., High-resolution image synthesis with latent diffusion models, CVPR 2022"
GUIDANCE = "Ho, Salimans, Classifier-free diffusion guidance, 2022: each step runs with and without the prompt"
FLASH = "Dao et al., FlashAttention-2, 2023: 4 · heads · head_dim FLOP for each pair of tokens"


@formula(Unit.COUNT, "width_pixels / latent_scale · height_pixels / latent_scale", LATENT)
def latent_positions(width_pixels: Number, height_pixels: Number, latent_scale: Number) -> Number:
    """Positions of one latent frame."""
    return width_pixels / latent_scale * height_pixels / latent_scale


@formula(
    Unit.COUNT, "1 + (frames − 1) / frames_per_latent", "the first frame stands alone in causal video autoencoders"
)
def latent_frame_count(frames: Number, frames_per_latent: Number) -> Number:
    """Latent frames of a clip; 1 for an image."""
    return 1.0 + (frames - 1.0) / frames_per_latent


@formula(Unit.COUNT, "latent_pixels · grid_density · (1 + (latent_frames − 1) · frame_spread)", "")
def grid_positions(latent_pixels: Number, grid_density: Number, latent_frames: Number, frame_spread: Number) -> Number:
    """Positions of one grid of a network."""
    return latent_pixels * grid_density * (1.0 + (latent_frames - 1.0) * frame_spread)


@formula(
    Unit.FLOP,
    "2 · Σ position_weights · (samples · positions + padding_positions) + 2 · samples · text_weights · text_tokens",
    "2 FLOP per weight and position; positions are padded to tiles, and few of them leave the tensor cores unused",
)
def grid_flops(
    position_weights: Numbers,
    positions: Numbers,
    samples: Number,
    padding_positions: Number,
    text_weights: Number,
    text_tokens: Number,
) -> Number:
    """Multiplications of one pass with weights."""
    grids = (w * (samples * p + padding_positions) for w, p in zip(position_weights, positions, strict=True))
    return 2.0 * sum(grids, start=0.0) + 2.0 * samples * text_weights * text_tokens


@formula(
    Unit.FLOP,
    "4 · samples · Σ (attention_widths · attending_positions² + cross_widths · positions · text_tokens)",
    FLASH,
)
def grid_attention_flops(
    samples: Number,
    attention_widths: Numbers,
    attending_positions: Numbers,
    cross_widths: Numbers,
    positions: Numbers,
    text_tokens: Number,
) -> Number:
    """Attention of one pass: each position to all of its grid (and the text where it joins them), and to the text."""
    pairs = (
        width * attending * attending + cross * own * text_tokens
        for width, attending, cross, own in zip(
            attention_widths, attending_positions, cross_widths, positions, strict=True
        )
    )
    return 4.0 * samples * sum(pairs, start=0.0)


@formula(Unit.BYTE, "samples · element_bytes · pass_share · Σ passed_elements · positions", "")
def elementwise_bytes(
    samples: Number, element_bytes: Number, pass_share: Number, passed_elements: Numbers, positions: Numbers
) -> Number:
    """What norms, activations and sums of one pass read and write; `pass_share` of it is left after fusing kernels."""
    grids = sum((e * p for e, p in zip(passed_elements, positions, strict=True)), start=0.0)
    return samples * element_bytes * pass_share * grids


@formula(
    Unit.BYTE, "samples · pair_bytes · Σ attention_heads · attending_positions²", "scores are written and read again"
)
def score_traffic_bytes(
    samples: Number, pair_bytes: Number, attention_heads: Numbers, attending_positions: Numbers
) -> Number:
    """What attention moves that writes its matrix of scores to memory; 0 with flash attention (`pair_bytes` = 0)."""
    pairs = (h * p * p for h, p in zip(attention_heads, attending_positions, strict=True))
    return samples * pair_bytes * sum(pairs, start=0.0)


@formula(
    Unit.FLOP_PER_S,
    "min(full_share · flop_per_s, utilisation · feeding_flop_per_s)",
    "GeForce halves the rate with FP32 accumulation: there the units are busy before memory is",
)
def reached_flop_per_s(
    flop_per_s: Number, full_share: Number, feeding_flop_per_s: Number, utilisation: Number
) -> Number:
    """The rate that matrices and convolutions reach.

    `feeding_flop_per_s`: with FP16 accumulation, which tells what caches and registers can feed; the same where the GPU
    has no second rate.
    """
    return minimum(full_share * flop_per_s, utilisation * feeding_flop_per_s)


@formula(
    Unit.SECOND,
    "max(busy_s, kernels · kernel_s) + overlap_loss · min(busy_s, kernels · kernel_s) − busy_s",
    "kernels are launched while earlier ones run, not all of them in time",
)
def exposed_launch_seconds(kernels: Number, kernel_s: Number, busy_s: Number, overlap_loss: Number) -> Number:
    """Time that the GPU waits for the CPU to launch kernels, in a pass that keeps it busy for `busy_s`."""
    launched = kernels * kernel_s
    return maximum(busy_s, launched) + overlap_loss * minimum(busy_s, launched) - busy_s


@formula(Unit.SECOND, "passes · pass_s", "")
def repeated_seconds(passes: Number, pass_s: Number) -> Number:
    """Time of equal passes one after the other."""
    return passes * pass_s


@formula(Unit.COUNT, "items_per_step · (1 + guided)", GUIDANCE)
def guided_samples(items_per_step: Number, guided: Number) -> Number:
    """Samples in one pass of the network."""
    return items_per_step * (1.0 + guided)


@formula(
    Unit.RATIO,
    "tiled_width_pixels · tiled_height_pixels / (width_pixels · height_pixels)",
    "tiles overlap by a quarter",
)
def tiled_share(
    tiled_width_pixels: Number, tiled_height_pixels: Number, width_pixels: Number, height_pixels: Number
) -> Number:
    """How much more a codec does in tiles: pixels of all tiles over pixels of the image."""
    return tiled_width_pixels * tiled_height_pixels / (width_pixels * height_pixels)


@formula(Unit.BYTE, "denoiser_parameters · bits_per_weight / 8", "")
def denoiser_weight_bytes(denoiser_parameters: Number, bits_per_weight: Number) -> Number:
    """Weights of the network that denoises."""
    return denoiser_parameters * bits_per_weight / 8.0


@formula(Unit.BYTE, "text_encoder_parameters · bits_per_weight / 8", "")
def text_encoder_weight_bytes(text_encoder_parameters: Number, bits_per_weight: Number) -> Number:
    """Weights of all text encoders."""
    return text_encoder_parameters * bits_per_weight / 8.0


@formula(Unit.BYTE, "codec_parameters · bits_per_weight / 8", "")
def codec_weight_bytes(codec_parameters: Number, bits_per_weight: Number) -> Number:
    """Weights of the autoencoder."""
    return codec_parameters * bits_per_weight / 8.0


@formula(
    Unit.BYTE,
    "samples · element_bytes · live_share · (Σ kept_elements · positions + max(live_elements · positions))",
    "",
)
def denoising_bytes(
    samples: Number,
    element_bytes: Number,
    live_share: Number,
    kept_elements: Numbers,
    live_elements: Numbers,
    positions: Numbers,
) -> Number:
    """Activations of one pass at their peak: what the second half of a UNet needs of the first, and the widest layer.

    `live_share`: what allocators and libraries hold, over what the layers name.
    """
    kept = sum((e * p for e, p in zip(kept_elements, positions, strict=True)), start=0.0)
    widest = _widest(live_elements, positions)
    return samples * element_bytes * live_share * (kept + widest)


@formula(Unit.BYTE, "samples · element_bytes · score_copies · max(layer_heads · attending_positions²)", "")
def score_bytes(
    samples: Number,
    element_bytes: Number,
    score_copies: Number,
    layer_heads: Numbers,
    attending_positions: Numbers,
) -> Number:
    """The matrices of scores of the widest layer; 0 with flash attention (`score_copies` = 0)."""
    lengths = tuple(p * p for p in attending_positions)
    return samples * element_bytes * score_copies * _widest(layer_heads, lengths)


@formula(Unit.BYTE, "samples · element_bytes · live_tensors · max(channels · positions)", "")
def codec_bytes(
    samples: Number, element_bytes: Number, live_tensors: Number, channels: Numbers, positions: Numbers
) -> Number:
    """Activations of an autoencoder at their peak: so many tensors of its widest grid, libraries' copies included."""
    return samples * element_bytes * live_tensors * _widest(channels, positions)


@formula(Unit.BYTE, "weight_bytes · layer_share", "")
def fetched_layer_bytes(weight_bytes: Number, layer_share: Number) -> Number:
    """What is on the GPU of a component whose layers are fetched one at a time, the next one on its way."""
    return weight_bytes * layer_share


@formula(Unit.SECOND, "fetches · fetched_bytes / (pcie_bytes_per_s · pcie_efficiency)", "over PCIe from host memory")
def host_fetch_seconds(
    fetches: Number, fetched_bytes: Number, pcie_bytes_per_s: Number, pcie_efficiency: Number
) -> Number:
    """Time that fetching weights from host memory takes."""
    return fetches * fetched_bytes / (pcie_bytes_per_s * pcie_efficiency)


@formula(Unit.BYTE, "samples · element_bytes · saved_share · Σ saved_elements · positions", "")
def saved_activation_bytes(
    samples: Number, element_bytes: Number, saved_share: Number, saved_elements: Numbers, positions: Numbers
) -> Number:
    """Activations that a forward pass keeps for the backward pass."""
    grids = sum((e * p for e, p in zip(saved_elements, positions, strict=True)), start=0.0)
    return samples * element_bytes * saved_share * grids


@formula(
    Unit.BYTE,
    "samples · element_bytes · saved_share · (Σ block_elements · positions + 2 · max(live_elements · positions))",
    CHECKPOINTS,
)
def checkpointed_bytes(
    samples: Number,
    element_bytes: Number,
    saved_share: Number,
    block_elements: Numbers,
    live_elements: Numbers,
    positions: Numbers,
) -> Number:
    """What is kept where blocks are computed again: their inputs, and the widest block with its gradients."""
    inputs = sum((e * p for e, p in zip(block_elements, positions, strict=True)), start=0.0)
    return samples * element_bytes * saved_share * (inputs + 2.0 * _widest(live_elements, positions))


@formula(Unit.PARAMETER, "lora_rank · adapted_width", "Hu et al., LoRA, ICLR 2022 (arXiv:2106.09685)")
def attention_adapter_parameters(lora_rank: Number, adapted_width: Number) -> Number:
    """Parameters of adapters; `adapted_width`: inputs and outputs of all matrices that have one."""
    return lora_rank * adapted_width


@formula(Unit.BYTE, "trained_parameters · bytes_per_trained / state_shards", ZERO)
def trained_bytes(trained_parameters: Number, bytes_per_trained: Number, state_shards: Number) -> Number:
    """Gradients, optimizer states or copies of what is trained, on one rank."""
    return trained_parameters * bytes_per_trained / state_shards


@formula(
    Unit.SECOND,
    "pass_s · (1 + backward_cost · backward_passes + recomputed_passes)",
    "the backward pass of a matrix is two of it",
)
def trained_pass_seconds(
    pass_s: Number, backward_cost: Number, backward_passes: Number, recomputed_passes: Number
) -> Number:
    """Time of forward and backward from that of forward: two more with gradients of weights, one without them."""
    return pass_s * (1.0 + backward_cost * backward_passes + recomputed_passes)


@formula(Unit.BYTE, "samples · adapter_element_bytes · max(layer_adapted · positions)", "adapters compute in FP32")
def adapter_live_bytes(
    samples: Number, adapter_element_bytes: Number, layer_adapted: Numbers, positions: Numbers
) -> Number:
    """What the adapters of one layer have alive: inputs and outputs, cast to what adapters are kept in."""
    return samples * adapter_element_bytes * _widest(layer_adapted, positions)


@formula(
    Unit.BYTE, "samples · adapter_bytes · adapted_widths · positions · (1 + backward_passes + recomputed_passes)", ""
)
def adapter_traffic_bytes(
    samples: Number,
    adapter_bytes: Number,
    adapted_widths: Numbers,
    positions: Numbers,
    backward_passes: Number,
    recomputed_passes: Number,
) -> Number:
    """What adapters read and write beside the matrices they stand by, casts to FP32 and back included."""
    grids = sum((w * p for w, p in zip(adapted_widths, positions, strict=True)), start=0.0)
    return samples * adapter_bytes * grids * (1.0 + backward_passes + recomputed_passes)


@formula(Unit.SECOND, "max(exchange_s − hidden_share · backward_s, 0)", "gradients are summed while earlier layers run")
def exposed_exchange_seconds(exchange_s: Number, hidden_share: Number, backward_s: Number) -> Number:
    """Time of summing gradients that the last backward pass of a step does not hide."""
    return maximum(exchange_s - hidden_share * backward_s, 0.0)


def _widest(elements: Numbers, positions: Numbers) -> Number:
    widest: Number = 0.0
    for each, count in zip(elements, positions, strict=True):
        widest = maximum(widest, each * count)
    return widest
