"""What estimates need to know of models that are no language models: a type for each kind, read from `network:`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from gpuplanner.catalog.architecture import Frozen
from gpuplanner.catalog.diffusion_parts import DiffusionTransformer, LatentCodec, TextEncoder, UNet
from gpuplanner.messages import InputError, msg, shortened


class Network(Frozen):
    """What is known of one network. `parameters`: weights of everything that a run keeps in memory."""

    name: str
    parameters: float


class DiffusionNetwork(Network):
    """A pipeline that makes images or clips from text.

    `text_tokens`: to which every prompt is padded; `guided`: each step runs the network with and without the prompt, as
    a batch twice as large, or one after the other (`guided_apart`); models with guidance distilled into them run once.
    `width`, `height`, `frames`, `steps`: what its card recommends.
    """

    denoiser: Annotated[UNet | DiffusionTransformer, Field(discriminator="kind")]
    text_encoders: tuple[TextEncoder, ...]
    codec: LatentCodec
    text_tokens: int = Field(ge=1, le=100_000)
    guided: bool = True
    guided_apart: bool = False
    width: int = Field(1024, ge=8, le=65536)
    height: int = Field(1024, ge=8, le=65536)
    frames: int = Field(1, ge=1, le=100_000)
    steps: int = Field(30, ge=1, le=10_000)


class Operators(StrEnum):
    """What a vision network mostly computes with; decides how much memory traffic stands beside its multiplications.

    `convolution`: dense ones; `grouped`: of groups of channels; `depthwise`: of one channel each; `attention`: between
    all patches of an image; `windowed`: between those of a window or of a coarser grid; `mixed`: several of these.
    """

    CONVOLUTION = "convolution"
    GROUPED = "grouped"
    DEPTHWISE = "depthwise"
    ATTENTION = "attention"
    WINDOWED = "windowed"
    MIXED = "mixed"


class VisionNetwork(Network):
    """A network that classifies images, or finds or outlines things in them.

    `macs`: multiply-adds for an image of `image_px` × `image_px` pixels; `activations`: numbers that its convolutions
    and matrices write for it, 0 where nobody counted them. `relatives`: those whose measurements speak for it, "" where
    it has none. `layers`: those with weights, 0 where nobody counted them.
    """

    macs: float = Field(ge=1, le=1e18)
    activations: float = Field(0, ge=0, le=1e15)
    image_px: int = Field(ge=8, le=65536)
    operators: Operators
    relatives: str = Field("", max_length=40)
    layers: int = Field(0, ge=0, le=100_000)


NETWORKS: Final[Mapping[str, type[Network]]] = {
    "diffusion": DiffusionNetwork,
    "vision": VisionNetwork,
    "detector": VisionNetwork,
    "segmentation": VisionNetwork,
}
"""The type of each kind of the catalog's models that has one."""


def network_from_entry(kind: str, name: str, entry: Mapping[str, Any]) -> Network:
    """The network of a model's entry. Raises InputError that names the field that cannot be used."""
    wanted = NETWORKS.get(kind)
    if wanted is None:
        raise InputError(msg("model.entry.no_network", kind=kind))
    try:
        return wanted.model_validate({"name": name, **entry})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(msg("model.entry.network", field=field, value=shortened(str(first["input"]), 40))) from None
