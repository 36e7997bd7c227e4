"""Counts what a diffusion network does at each position of its grids: weights, attention, elements. Nothing of GPUs.

A stage is a grid (a level of a UNet or of an autoencoder, the tokens of a transformer) with what all of its layers
together do at one of its positions, so that operations and memory follow for every resolution.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil

from gpuplanner.catalog.diffusion_parts import DiffusionTransformer, LatentCodec, TransformerBlocks, UNet

HEAD_TILE = 64
"""Flash attention works on heads of multiples of this width; narrower ones are filled up."""
CONV = 9.0
"""Weights of a 3 × 3 convolution for each pair of channels."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One grid. Numbers are for one position of it, all layers together, unless said.

    `density`: positions for each latent pixel, `spread`: frames of the grid for each latent frame after the first;
    `linear_weights` and `conv_weights`: parameters that are multiplied there; `text_weights`: multiplied for each text
    token; `attention_width`: heads filled up to tiles, summed over the layers whose positions attend to each other
    (`joined`: and to the text), `cross_width` over those that attend to the text alone; `heads`: summed over the
    former, `layer_heads` of one; `passed_elements`: read and written by elementwise kernels; `live_elements`: alive at
    once in the widest layer; `kept_elements`: kept through a UNet for its second half; `saved_elements`: kept for a
    backward pass, `block_elements` where only the inputs of blocks are; `kernels`: launched for the whole grid;
    `adapted_width`: inputs and outputs of the matrices of attention, which have adapters; `layer_adapted`: of one.
    """

    density: float
    spread: float = 1.0
    linear_weights: float = 0.0
    conv_weights: float = 0.0
    text_weights: float = 0.0
    attention_width: float = 0.0
    cross_width: float = 0.0
    heads: float = 0.0
    layer_heads: float = 0.0
    joined: bool = False
    passed_elements: float = 0.0
    live_elements: float = 0.0
    kept_elements: float = 0.0
    saved_elements: float = 0.0
    block_elements: float = 0.0
    kernels: float = 0.0
    adapted_width: float = 0.0
    layer_adapted: float = 0.0


def _tiled(head_width: float) -> float:
    """Width of a head as tensor cores multiply it."""
    return ceil(head_width / HEAD_TILE) * HEAD_TILE


class _Counter:
    """Adds up the layers of one grid."""

    def __init__(self, density: float, spread: float = 1.0) -> None:
        self.density, self.spread = density, spread
        self.linear = self.conv = self.text = self.attention = self.cross = 0.0
        self.heads = self.layer_heads = self.adapted = self.layer_adapted = 0.0
        self.passed = self.live = self.kept = self.saved = self.blocks = self.kernels = 0.0

    def convolution(self, inputs: float, outputs: float, weights: float = CONV) -> None:
        self.conv += weights * inputs * outputs
        self.kernels += 1

    def residual(self, inputs: float, outputs: float, weights: float, appended: bool = False) -> None:
        """A residual block: norm, activation and convolution, twice; `appended`: its input is put together first."""
        self.conv += weights * (inputs * outputs + outputs * outputs)
        self.linear += inputs * outputs if inputs != outputs else 0.0
        self.passed += 5 * inputs + 10 * outputs + (2 * inputs if appended else 0)
        self.live = max(self.live, 2 * inputs + 2 * outputs)
        self.saved += 3 * inputs + 3 * outputs
        self.blocks += inputs
        self.kernels += 12

    def transformer(self, width: float, depth: int, context: float, heads: float) -> None:
        """A transformer of a UNet: each block attends to the grid, then to the text, then a gated MLP of 4 widths."""
        self.linear += 2 * width * width + depth * (6 + 12) * width * width
        self.text += depth * 2 * context * width
        self.attention += depth * heads * _tiled(width / heads)
        self.cross += depth * heads * _tiled(width / heads)
        self.adapted += depth * (14 * width + 2 * context)
        self.layer_adapted = max(self.layer_adapted, 14.0 * width)
        self.heads += depth * heads
        self.layer_heads = max(self.layer_heads, heads)
        self.passed += (10 + 43 * depth) * width
        self.live = max(self.live, 19 * width)
        self.saved += (4 + 28 * depth) * width
        self.blocks += (1 + depth) * width
        self.kernels += 8 + 30 * depth

    def stage(self) -> Stage:
        return Stage(
            self.density, self.spread, self.linear, self.conv, self.text, self.attention, self.cross, self.heads,
            self.layer_heads, False, self.passed, self.live, self.kept, self.saved, self.blocks, self.kernels,
            self.adapted, self.layer_adapted,
        )  # fmt: skip


@cache
def denoiser_stages(network: UNet | DiffusionTransformer) -> tuple[Stage, ...]:
    """The grids of what denoises."""
    return _unet(network) if isinstance(network, UNet) else tuple(_transformer(network))


def _unet(network: UNet) -> tuple[Stage, ...]:
    levels = [_Counter(0.25**level) for level in range(len(network.channels))]
    channels, last = network.channels, len(network.channels) - 1
    levels[0].convolution(network.latent_channels, channels[0])
    skips = [(0, channels[0])]
    width = channels[0]
    for level, counter in enumerate(levels):
        for _ in range(network.blocks_per_level):
            counter.residual(width, channels[level], CONV)
            width = channels[level]
            _attend(counter, network, width, network.depths[level])
            skips.append((level, width))
        if level < last:
            levels[level + 1].convolution(width, width)
            skips.append((level + 1, width))
    for level, kept in skips:
        levels[level].kept += kept
    levels[last].residual(width, width, CONV)
    _attend(levels[last], network, width, network.mid_depth)
    levels[last].residual(width, width, CONV)
    for level in range(last, -1, -1):
        for _ in range(network.blocks_per_level + 1):
            levels[level].residual(width + skips.pop()[1], channels[level], CONV, appended=True)
            width = channels[level]
            _attend(levels[level], network, width, network.depths[level])
        if level:
            levels[level - 1].convolution(width, width)
    levels[0].convolution(channels[0], network.latent_channels)
    return tuple(counter.stage() for counter in levels)


def _attend(counter: _Counter, network: UNet, width: int, depth: int) -> None:
    if depth:
        heads = network.heads or width / network.head_width
        counter.transformer(width, depth, network.context_width, heads)


def _transformer(network: DiffusionTransformer) -> Iterator[Stage]:
    density = 1.0 / (network.patch[1] * network.patch[2])
    for blocks in network.blocks:
        yield _blocks(network, blocks, density)


def _blocks(network: DiffusionTransformer, blocks: TransformerBlocks, density: float) -> Stage:
    width, mlp, layers = float(network.width), float(blocks.mlp_width), float(blocks.layers)
    gated = 3.0 if blocks.gated else 2.0
    weights = 4 * width * width + gated * width * mlp
    joint, cross = blocks.attends == "joint", blocks.attends == "cross"
    attention = width / network.head_width * _tiled(network.head_width)
    adapted = 16 * width if joint or cross else 6 * width + 3 * mlp * blocks.gated
    passed, live, saved, kernels = (
        (42 * width + gated * mlp, max(2 * width + gated * mlp, 10 * width), 17 * width + gated * mlp, 60.0)
        if joint
        else (25 * width + (2 + gated) * mlp, 6 * width + (1 + gated) * mlp, 12 * width + gated * mlp, 32.0)
        if not cross
        else (50 * width + gated * mlp, 4 * width + gated * mlp, 22 * width + gated * mlp, 48.0)
    )
    return Stage(
        density,
        1.0 / network.patch[0],
        linear_weights=layers * (weights + (2 * width * width if cross else 0.0)),
        text_weights=layers * (2 * width * width if cross else weights),
        attention_width=layers * attention,
        cross_width=layers * attention if cross else 0.0,
        heads=layers * width / network.head_width,
        layer_heads=width / network.head_width,
        joined=not cross,
        passed_elements=layers * passed,
        live_elements=live,
        saved_elements=layers * saved,
        block_elements=layers * width,
        kernels=layers * kernels,
        adapted_width=layers * adapted,
        layer_adapted=adapted,
    )


@cache
def decoder_stages(codec: LatentCodec) -> tuple[Stage, ...]:
    """The grids of the decoder, full resolution first: three residual blocks a level, from the latents up."""
    levels = _codec_levels(codec)
    weights = CONV * (3.0 if codec.volume else 1.0)
    width = float(codec.channels[-1])
    levels[-1].convolution(codec.latent_channels, width, weights)
    _middle(levels[-1], width, weights, codec)
    for level in range(len(codec.channels) - 1, -1, -1):
        for _ in range(3):
            levels[level].residual(width, codec.channels[level], weights)
            width = codec.channels[level]
        if level:
            levels[level - 1].convolution(width, width)
            levels[level - 1].live = max(levels[level - 1].live, 2 * width)
    levels[0].convolution(width, 3, weights)
    return tuple(counter.stage() for counter in levels)


@cache
def encoder_stages(codec: LatentCodec) -> tuple[Stage, ...]:
    """The grids of the encoder, full resolution first: two residual blocks a level, down to the latents."""
    levels = _codec_levels(codec)
    weights = CONV * (3.0 if codec.volume else 1.0)
    width = float(codec.channels[0])
    levels[0].convolution(3, width, weights)
    for level, counter in enumerate(levels):
        for _ in range(2):
            counter.residual(width, codec.channels[level], weights)
            width = codec.channels[level]
        if level < len(levels) - 1:
            levels[level + 1].convolution(width, width)
    _middle(levels[-1], width, weights, codec)
    levels[-1].convolution(width, 2 * codec.latent_channels, weights)
    return tuple(counter.stage() for counter in levels)


def _codec_levels(codec: LatentCodec) -> list[_Counter]:
    """Grids from full resolution down; time is spread out with the first doublings of the image."""
    lowest = len(codec.channels) - 1
    found = []
    for level in range(lowest + 1):
        doublings = lowest - level
        found.append(_Counter(4.0**doublings, float(min(codec.times, 2**doublings))))
    return found


def _middle(counter: _Counter, width: float, weights: float, codec: LatentCodec) -> None:
    counter.residual(width, width, weights)
    if not codec.volume:
        counter.linear += 4 * width * width
        counter.attention += width
        counter.heads += 1
        counter.layer_heads = 1
        counter.passed += 12 * width
        counter.kernels += 10
    counter.residual(width, width, weights)
