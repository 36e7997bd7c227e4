"""What pipelines that make images and clips consist of: what denoises, encodes text and decodes latents. Types only."""

from typing import Literal

from pydantic import Field, model_validator

from gpuplanner.catalog.architecture import Frozen


class UNet(Frozen):
    """A UNet that denoises latents: per level its channels, residual blocks, and depth of transformers.

    `heads`: of each attention, 0 where heads are `head_width` wide instead; `context_width`: of the text tokens that it
    attends to; `embedding_width`: of the time embedding; `added_width`: of what else is embedded with it (SDXL: pooled
    text and sizes; 0: nothing).
    """

    kind: Literal["unet"]
    parameters: float = Field(ge=1, le=1e13)
    channels: tuple[int, ...] = Field(min_length=2, max_length=8)
    depths: tuple[int, ...] = Field(min_length=2, max_length=8)
    mid_depth: int = Field(1, ge=0, le=64)
    blocks_per_level: int = Field(2, ge=1, le=16)
    heads: int = Field(0, ge=0, le=1024)
    head_width: int = Field(64, ge=1, le=1024)
    context_width: int = Field(ge=1, le=65536)
    embedding_width: int = Field(1280, ge=1, le=65536)
    added_width: int = Field(0, ge=0, le=65536)
    latent_channels: int = Field(4, ge=1, le=1024)

    @model_validator(mode="after")
    def _a_depth_for_each_level(self) -> "UNet":
        if len(self.channels) != len(self.depths):
            raise ValueError("channels and depths differ in number")
        return self


class TransformerBlocks(Frozen):
    """Equal blocks of a diffusion transformer.

    `attends`: "joint": image and text tokens have weights of their own and attend to each other (SD 3, Flux); "single":
    both run through the same weights (Flux, CogVideoX); "cross": image tokens attend to each other and then to the text
    (PixArt, Wan). `gated`: the MLP has a gate beside what it multiplies.
    """

    attends: Literal["joint", "single", "cross"]
    layers: int = Field(ge=1, le=1000)
    mlp_width: int = Field(ge=1, le=1_000_000)
    gated: bool = False


class DiffusionTransformer(Frozen):
    """A transformer that denoises latents in patches (time, height and width of one patch in latent pixels)."""

    kind: Literal["transformer"]
    parameters: float = Field(ge=1, le=1e13)
    width: int = Field(ge=1, le=65536)
    head_width: int = Field(64, ge=1, le=1024)
    blocks: tuple[TransformerBlocks, ...] = Field(min_length=1, max_length=8)
    patch: tuple[int, int, int] = (1, 2, 2)
    latent_channels: int = Field(16, ge=1, le=1024)


class TextEncoder(Frozen):
    """A frozen text encoder, run once for a prompt (and once for the empty one where there is guidance)."""

    name: str
    parameters: float = Field(ge=1, le=1e13)
    layers: int = Field(ge=1, le=1000)


class LatentCodec(Frozen):
    """The autoencoder between pixels and latents. `channels`: of its levels, from full resolution downwards.

    `times`: frames that one latent frame stands for (1: images). `upcast`: it computes in FP32 whatever the rest does.
    `volume`: its convolutions reach over time too, three frames deep. `at_once`: latent frames that it decodes at a
    time (0: all). `tile`: side in pixels of a tile where it works in tiles, which overlap by a quarter.
    """

    parameters: float = Field(ge=1, le=1e12)
    channels: tuple[int, ...] = Field(min_length=2, max_length=8)
    scale: int = Field(8, ge=1, le=256)
    times: int = Field(1, ge=1, le=64)
    upcast: bool = False
    volume: bool = False
    at_once: int = Field(0, ge=0, le=10_000)
    tile: int = Field(512, ge=64, le=65536)
    latent_channels: int = Field(4, ge=1, le=1024)
