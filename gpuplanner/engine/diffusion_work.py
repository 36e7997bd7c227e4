"""The work of one pass of a diffusion network at a resolution: operations, traffic, kernels. Nothing of GPUs.

Counts follow from the grids of `diffusion_stages.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.engine.diffusion_stages import Stage
from gpuplanner.engine.formulas import diffusion as formulas
from gpuplanner.engine.formulas.elementwise import Number


@dataclass(frozen=True, slots=True)
class Latents:
    """The latents of one sample: positions of a latent frame, latent frames, and the tokens of its prompt."""

    pixels: Number
    frames: Number
    text_tokens: float = 0.0


@dataclass(frozen=True, slots=True)
class Grids:
    """The grids of a network at a resolution: positions of each, and with the text where it joins them."""

    stages: tuple[Stage, ...]
    positions: tuple[Number, ...]
    attending: tuple[Number, ...]
    text_tokens: float


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass: operations of weights and of attention, elements that elementwise kernels pass, pairs, launches."""

    flops: Number
    attention_flops: Number
    grids: Grids
    samples: Number
    kernels: float


def grids_of(stages: Sequence[Stage], latents: Latents) -> Grids:
    """The positions of each grid of a network."""
    positions = tuple(
        formulas.grid_positions(latents.pixels, stage.density, latents.frames, stage.spread) for stage in stages
    )
    attending = tuple(
        own + latents.text_tokens if stage.joined else own for stage, own in zip(stages, positions, strict=True)
    )
    return Grids(tuple(stages), positions, attending, latents.text_tokens)


def pass_of(grids: Grids, samples: Number, padding_positions: float, more_kernels: float = 0.0) -> Pass:
    """One pass of `samples` together."""
    stages = grids.stages
    flops = formulas.grid_flops(
        tuple(s.linear_weights + s.conv_weights for s in stages),
        grids.positions,
        samples,
        padding_positions,
        sum(s.text_weights for s in stages),
        grids.text_tokens,
    )
    attention = formulas.grid_attention_flops(
        samples,
        tuple(s.attention_width for s in stages),
        grids.attending,
        tuple(s.cross_width for s in stages),
        grids.positions,
        grids.text_tokens,
    )
    return Pass(flops, attention, grids, samples, sum(s.kernels for s in stages) + more_kernels)


def passed_bytes(work: Pass, element_bytes: float, pass_share: float, pair_bytes: float) -> Number:
    """What elementwise kernels, and attention that writes its scores, read and write."""
    stages = work.grids.stages
    elements = formulas.elementwise_bytes(
        work.samples, element_bytes, pass_share, tuple(s.passed_elements for s in stages), work.grids.attending
    )
    if not pair_bytes:
        return elements
    heads = tuple(s.heads for s in stages)
    return elements + formulas.score_traffic_bytes(
        work.samples, pair_bytes * element_bytes / 2.0, heads, work.grids.attending
    )


def denoising_peak(
    grids: Grids, samples: Number, element_bytes: float, live_share: float, score_copies: float
) -> Number:
    """Activations of one pass at their peak, with the scores of the widest attention where they are written."""
    stages = grids.stages
    live = formulas.denoising_bytes(
        samples,
        element_bytes,
        live_share,
        tuple(s.kept_elements for s in stages),
        tuple(s.live_elements for s in stages),
        grids.attending,
    )
    if not score_copies:
        return live
    heads = tuple(s.layer_heads for s in stages)
    return live + formulas.score_bytes(samples, element_bytes, score_copies, heads, grids.attending)
