"""A pipeline that makes images or clips, worked out on one GPU: memory by phase and time by part. No texts, no ranges.

Phases: the prompt is encoded, latents are denoised in steps, and decoded. What waits in host memory meanwhile is the
person's choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuplanner.catalog.diffusion_parts import DiffusionTransformer, LatentCodec, UNet
from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.networks import DiffusionNetwork
from gpuplanner.engine.diffusion_rates import BITS, TABLE, Rates, pass_seconds, rates_of
from gpuplanner.engine.diffusion_stages import Stage, decoder_stages, denoiser_stages, encoder_stages
from gpuplanner.engine.diffusion_work import Grids, Latents, Pass, denoising_peak, grids_of, pass_of
from gpuplanner.engine.estimate import Limit
from gpuplanner.engine.formulas import diffusion as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.links import host_link_bytes_per_s
from gpuplanner.engine.machine import Machine
from gpuplanner.workload.diffusion import Diffusion, DiffusionPrecision, PipelineOffload
from gpuplanner.workload.training import AttentionKernel

OVERLAP = 0.75
"""Tiles of an autoencoder start so far apart, in their own side (diffusers: a quarter overlaps)."""
Seconds = Mapping[str, tuple[Number, Limit]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is made, with the model's own sizes where the person said none."""

    width: int
    height: int
    frames: int
    steps: int
    guided: bool

    @property
    def samples_each(self) -> float:
        """Passes of the network for each step and item."""
        return 2.0 if self.guided else 1.0


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of each component."""

    denoiser: Number
    text: Number
    codec: Number

    @property
    def largest(self) -> Number:
        return max(self.denoiser, self.text, self.codec)


def sizes_of(work: Diffusion, network: DiffusionNetwork) -> Sizes:
    """The sizes of a plan."""
    return Sizes(
        work.width or network.width,
        work.height or network.height,
        work.frames or network.frames,
        work.steps or network.steps,
        network.guided if work.guidance is None else work.guidance,
    )


def latents_of(sizes: Sizes, network: DiffusionNetwork) -> Latents:
    """The latents of one item."""
    codec = network.codec
    pixels = formulas.latent_positions(float(sizes.width), float(sizes.height), float(codec.scale))
    frames = formulas.latent_frame_count(float(sizes.frames), float(codec.times))
    return Latents(pixels, frames, float(network.text_tokens))


def codec_precision(codec: LatentCodec, precision: DiffusionPrecision) -> DiffusionPrecision:
    """What the autoencoder computes in: FP32 where its weights ask for it, else 16 bits beside a smaller denoiser."""
    if codec.upcast or precision is DiffusionPrecision.FP32:
        return DiffusionPrecision.FP32
    return precision if BITS[precision] == BITS[DiffusionPrecision.BF16] else DiffusionPrecision.BF16


def text_precision(work: Diffusion) -> DiffusionPrecision:
    """What text encoders are stored in."""
    if work.text_precision is not None:
        return work.text_precision
    return work.precision if BITS[work.precision] >= BITS[DiffusionPrecision.BF16] else DiffusionPrecision.BF16


def weights_of(work: Diffusion, network: DiffusionNetwork) -> Weights:
    """Bytes of the components as they are stored."""
    codec = codec_precision(network.codec, work.precision)
    return Weights(
        formulas.denoiser_weight_bytes(network.denoiser.parameters, BITS[work.precision]),
        formulas.text_encoder_weight_bytes(
            sum(e.parameters for e in network.text_encoders), BITS[text_precision(work)]
        ),
        formulas.codec_weight_bytes(network.codec.parameters, BITS[codec]),
    )


def layers_of(network: DiffusionNetwork) -> int:
    """Layers that offloading fetches one at a time."""
    denoiser = network.denoiser
    if isinstance(denoiser, DiffusionTransformer):
        return sum(blocks.layers for blocks in denoiser.blocks)
    return _unet_layers(denoiser)


def _unet_layers(unet: UNet) -> int:
    blocks = len(unet.channels) * (2 * unet.blocks_per_level + 1) + 2
    return blocks + sum(depth * (2 * unet.blocks_per_level + 1) for depth in unet.depths) + unet.mid_depth


def memory_phases(
    work: Diffusion, network: DiffusionNetwork, sizes: Sizes, efficiencies: Efficiencies
) -> dict[str, dict[str, Number]]:
    """Bytes by phase and part. Resident weights are in every phase; offloaded ones in their own."""
    weights, latents = weights_of(work, network), latents_of(sizes, network)
    items = float(work.at_once)
    process = efficiencies.constants(TABLE, "process")["context_bytes"]
    wide = work.precision is DiffusionPrecision.FP32
    held = efficiencies.constants(TABLE, "memory 32" if wide else "memory 16")
    copies = 0.0 if work.attention is AttentionKernel.FLASH else held["score_copies"]
    grids = grids_of(denoiser_stages(network.denoiser), latents)
    together = sizes.guided and not network.guided_apart
    samples = formulas.guided_samples(items, float(together))
    denoising = denoising_peak(grids, samples, 4.0 if wide else 2.0, held["live_share"], copies)
    decoding = decoding_peak(work, network, sizes, efficiencies)
    phases: dict[str, dict[str, Number]] = {}
    for phase, own in (("encode_prompt", "text_encoder"), ("denoise", "denoiser"), ("decode_latents", "codec")):
        parts = dict(_resident(work, weights, own, layers_of(network)))
        parts["activations"] = {"encode_prompt": 0.0, "denoise": denoising, "decode_latents": decoding}[phase]
        parts["overhead"] = process
        phases[phase] = parts
    return phases


def _resident(work: Diffusion, weights: Weights, own: str, layers: int) -> dict[str, Number]:
    known = {"text_encoder": weights.text, "denoiser": weights.denoiser, "codec": weights.codec}
    if work.offload is PipelineOffload.NONE:
        return known
    if work.offload is PipelineOffload.MODEL:
        return {own: known[own]}
    return {own: formulas.fetched_layer_bytes(known[own], 2.0 / layers) if own != "codec" else known[own]}


def decoding_peak(work: Diffusion, network: DiffusionNetwork, sizes: Sizes, efficiencies: Efficiencies) -> Number:
    """Activations of the decoder at their peak, of a slice or a tile where it works in those."""
    grids, samples = _codec_grids(decoder_stages(network.codec), work, network, sizes)
    held, element_bytes = _codec_memory(work, network, efficiencies)
    return formulas.codec_bytes(
        samples, element_bytes, held["decoder_tensors"], _entering(network.codec), grids.positions
    )


def encoding_peak(work: Diffusion, network: DiffusionNetwork, sizes: Sizes, efficiencies: Efficiencies) -> Number:
    """Activations of the encoder at their peak, which editing and training need."""
    grids, samples = _codec_grids(encoder_stages(network.codec), work, network, sizes)
    held, element_bytes = _codec_memory(work, network, efficiencies)
    channels = tuple(float(width) for width in network.codec.channels)
    return formulas.codec_bytes(samples, element_bytes, held["encoder_tensors"], channels, grids.positions)


def _codec_grids(
    stages: tuple[Stage, ...], work: Diffusion, network: DiffusionNetwork, sizes: Sizes
) -> tuple[Grids, float]:
    """The grids that an autoencoder has in memory at once, and for how many items."""
    codec, latents = network.codec, latents_of(sizes, network)
    pixels = latents.pixels
    if work.vae_tiling:
        side = min(sizes.width, codec.tile), min(sizes.height, codec.tile)
        pixels = formulas.latent_positions(float(side[0]), float(side[1]), float(codec.scale))
    frames = min(float(latents.frames), codec.at_once + 1.0) if codec.at_once else latents.frames
    return grids_of(stages, Latents(pixels, frames)), 1.0 if work.vae_slicing else float(work.at_once)


def _codec_memory(work: Diffusion, network: DiffusionNetwork, efficiencies: Efficiencies) -> tuple[Efficiency, float]:
    wide = codec_precision(network.codec, work.precision) is DiffusionPrecision.FP32
    return efficiencies.constants(TABLE, "memory 32" if wide else "memory 16"), 4.0 if wide else 2.0


def _entering(codec: LatentCodec) -> tuple[float, ...]:
    """Channels of the widest tensor at each level of the decoder: what is scaled up into it."""
    channels = codec.channels
    return tuple(float(channels[min(level + 1, len(channels) - 1)]) for level in range(len(channels)))


def step_pass(work: Diffusion, network: DiffusionNetwork, sizes: Sizes, efficiencies: Efficiencies) -> Pass:
    """One step of the denoiser, for all items of a batch with and without their prompts."""
    grids = grids_of(denoiser_stages(network.denoiser), latents_of(sizes, network))
    samples = formulas.guided_samples(float(work.at_once), float(sizes.guided))
    padding = efficiencies.constants(TABLE, "arithmetic")["padding_positions"]
    return pass_of(grids, samples, padding, efficiencies.constants(TABLE, "kernels")["step_kernels"])


def denoiser_rates(work: Diffusion, machine: Machine, efficiencies: Efficiencies) -> Rates:
    """Rates of the denoiser."""
    flash = work.attention is AttentionKernel.FLASH
    fraction = float(machine.gpu_fraction)
    return rates_of(machine.gpu, fraction, work.precision, work.runtime, efficiencies, flash=flash)


def step_seconds(
    work: Diffusion, network: DiffusionNetwork, sizes: Sizes, machine: Machine, efficiencies: Efficiencies
) -> Seconds:
    """The parts of one step."""
    return pass_seconds(step_pass(work, network, sizes, efficiencies), denoiser_rates(work, machine, efficiencies))


def pipeline_seconds(
    work: Diffusion, network: DiffusionNetwork, sizes: Sizes, machine: Machine, efficiencies: Efficiencies
) -> dict[str, tuple[Number, Limit]]:
    """The parts of making one batch, from prompt to pixels."""
    steps = float(sizes.steps)
    step = step_seconds(work, network, sizes, machine, efficiencies)
    seconds: dict[str, tuple[Number, Limit]] = {
        name: (formulas.repeated_seconds(steps, each), limit) for name, (each, limit) in step.items()
    }
    seconds["text_encoder"] = (prompt_seconds(work, network, sizes, machine, efficiencies), Limit.COMPUTE)
    seconds["codec"] = (decoding_seconds(work, network, sizes, machine, efficiencies), Limit.COMPUTE)
    if work.offload is not PipelineOffload.NONE:
        seconds["fetch"] = (_fetching_seconds(work, network, steps, machine, efficiencies), Limit.LINK)
    return seconds


def prompt_seconds(
    work: Diffusion, network: DiffusionNetwork, sizes: Sizes, machine: Machine, efficiencies: Efficiencies
) -> Number:
    """Time to encode the prompts of a batch, and the empty one where there is guidance."""
    precision = text_precision(work)
    stored = precision if precision is DiffusionPrecision.FP32 else DiffusionPrecision.BF16
    rates = rates_of(machine.gpu, float(machine.gpu_fraction), stored, work.runtime, efficiencies)
    weights = sum(encoder.parameters for encoder in network.text_encoders)
    layers = sum(encoder.layers for encoder in network.text_encoders)
    grids = Grids((Stage(1.0, linear_weights=weights),), (float(network.text_tokens),), (0.0,), 0.0)
    padding = efficiencies.constants(TABLE, "arithmetic")["padding_positions"]
    samples = formulas.guided_samples(float(work.at_once), float(sizes.guided))
    kernels = efficiencies.constants(TABLE, "kernels")["encoder_layer_kernels"] * layers
    parts = pass_seconds(pass_of(grids, samples, padding, kernels), rates)
    return sum((value for value, _ in parts.values()), start=0.0)


def decoding_seconds(
    work: Diffusion, network: DiffusionNetwork, sizes: Sizes, machine: Machine, efficiencies: Efficiencies
) -> Number:
    """Time to decode a batch, tiles that overlap included."""
    return stages_seconds(decoder_stages(network.codec), work, network, sizes, machine, efficiencies)


def stages_seconds(
    stages: tuple[Stage, ...],
    work: Diffusion,
    network: DiffusionNetwork,
    sizes: Sizes,
    machine: Machine,
    efficiencies: Efficiencies,
) -> Number:
    """Time of the encoder or the decoder of the autoencoder, whose grids `stages` are."""
    codec, latents = network.codec, latents_of(sizes, network)
    rates = rates_of(
        machine.gpu, float(machine.gpu_fraction), codec_precision(codec, work.precision), work.runtime, efficiencies
    )
    passes = pass_of(grids_of(stages, Latents(latents.pixels, latents.frames)), float(work.at_once), 0.0)
    seconds = sum((value for value, _ in pass_seconds(passes, rates).values()), start=0.0)
    if not work.vae_tiling:
        return seconds
    share = formulas.tiled_share(
        tiled(sizes.width, codec.tile), tiled(sizes.height, codec.tile), float(sizes.width), float(sizes.height)
    )
    return formulas.repeated_seconds(share, seconds)


def tiled(side: int, tile: int) -> float:
    """Pixels of all tiles along one side, the parts that overlap twice."""
    if side <= tile:
        return float(side)
    stride = int(tile * OVERLAP)
    return float(sum(min(tile, side - start) for start in range(0, side, stride)))


def _fetching_seconds(
    work: Diffusion, network: DiffusionNetwork, steps: float, machine: Machine, efficiencies: Efficiencies
) -> Number:
    weights = weights_of(work, network)
    link = host_link_bytes_per_s(machine.gpu)
    share = efficiencies.constants("servers", "host link")["pcie_efficiency"]
    once = weights.text + weights.codec
    passes = steps if work.offload is PipelineOffload.SEQUENTIAL else 1.0
    return formulas.host_fetch_seconds(1.0, once, link, share) + formulas.host_fetch_seconds(
        passes, weights.denoiser, link, share
    )
