"""What to run: making images or clips with a diffusion model. A type and its defaults; nothing is computed."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.said import Said
from gpuplanner.workload.training import AttentionKernel
from gpuplanner.workload.wizard import ask


class DiffusionPrecision(StrEnum):
    """How the denoiser is stored and multiplied. NF4 is stored in 4 bits and multiplied in 16."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    NF4 = "nf4"


class DiffusionRuntime(StrEnum):
    """What runs the network: PyTorch as written, compiled by it, or an engine with fused kernels."""

    EAGER = "eager"
    COMPILED = "compiled"
    TENSORRT = "tensorrt"


class PipelineOffload(StrEnum):
    """What waits in host memory: nothing, the components that do not run, or all layers but the one that runs."""

    NONE = "none"
    MODEL = "model"
    SEQUENTIAL = "sequential"


class Diffusion(Said):
    """Images (`frames` = 1) or clips made from text, `at_once` together on each GPU.

    Sizes and steps that are None are those that the model's card recommends. `guidance`: each step runs with and
    without the prompt; None: as the model needs it.
    """

    kind: Literal["diffusion"] = "diffusion"
    model: ModelChoice = Field(
        ModelChoice(catalog_id="FLUX.1-dev"), json_schema_extra=ask("model", control="diffusion-model")
    )
    precision: DiffusionPrecision = Field(DiffusionPrecision.BF16, json_schema_extra=ask("model"))

    width: int | None = Field(None, ge=64, le=16384, json_schema_extra=ask("use", Unit.COUNT))
    height: int | None = Field(None, ge=64, le=16384, json_schema_extra=ask("use", Unit.COUNT))
    frames: int | None = Field(None, ge=1, le=10_000, json_schema_extra=ask("use", Unit.COUNT))
    steps: int | None = Field(None, ge=1, le=10_000, json_schema_extra=ask("use", Unit.COUNT))
    at_once: int = Field(1, ge=1, le=100_000, json_schema_extra=ask("use", Unit.COUNT))
    guidance: bool | None = Field(None, json_schema_extra=ask("use", advanced=True))

    items: float | None = Field(None, ge=1, le=1e15, json_schema_extra=ask("goals", Unit.COUNT))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))
    rate_goal: float | None = Field(None, ge=1e-9, le=1e12, json_schema_extra=ask("goals", Unit.PER_S))
    latency_goal_s: float | None = Field(None, ge=1e-6, le=1e9, json_schema_extra=ask("goals", Unit.SECOND))

    runtime: DiffusionRuntime = Field(DiffusionRuntime.EAGER, json_schema_extra=ask("way"))
    attention: AttentionKernel = Field(AttentionKernel.FLASH, json_schema_extra=ask("way", advanced=True))
    offload: PipelineOffload = Field(PipelineOffload.NONE, json_schema_extra=ask("way"))
    text_precision: DiffusionPrecision | None = Field(None, json_schema_extra=ask("way", advanced=True))
    vae_tiling: bool = Field(False, json_schema_extra=ask("way"))
    vae_slicing: bool = Field(False, json_schema_extra=ask("way"))
