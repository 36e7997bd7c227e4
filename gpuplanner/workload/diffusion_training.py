"""What to run: training a diffusion model, whole or by LoRA. A type and its defaults; nothing is computed."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.diffusion import DiffusionPrecision, DiffusionRuntime
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.reads_data import PreparesData
from gpuplanner.workload.said import Amount
from gpuplanner.workload.training import AttentionKernel, Optimizer
from gpuplanner.workload.wizard import ask


class DiffusionMethod(StrEnum):
    """What is trained: the whole denoiser, or adapters beside it."""

    FULL = "full"
    LORA = "lora"


class StateSharding(StrEnum):
    """Which model states the GPUs share out: none, optimizer and gradients, or the weights too."""

    DDP = "ddp"
    ZERO2 = "zero2"
    ZERO3 = "zero3"


class DiffusionTraining(PreparesData):
    """Training of the denoiser on images or clips; text encoders and autoencoder are frozen.

    `micro_batch`: samples of one GPU in one pass; `global_batch`: samples in one optimizer step (None: one pass of all
    GPUs). `weight_precision`: what the denoiser is kept in beside passes in `precision` (None: FP32 where all of it is
    trained, as it is computed under LoRA). `cached`: latents and text embeddings are computed beforehand, so that only
    the denoiser is on the GPU. `sample_bytes`: of one sample as it lies on disk.
    """

    kind: Literal["diffusion-training"] = "diffusion-training"
    model: ModelChoice = Field(
        ModelChoice(catalog_id="stable-diffusion-xl-base-1.0 UNet"),
        json_schema_extra=ask("model", control="diffusion-model"),
    )
    method: DiffusionMethod = Field(DiffusionMethod.LORA, json_schema_extra=ask("model"))
    lora_rank: int = Field(16, ge=1, le=4096, json_schema_extra=ask("model", Unit.COUNT))
    weight_precision: DiffusionPrecision | None = Field(None, json_schema_extra=ask("model", advanced=True))

    width: int | None = Field(None, ge=64, le=16384, json_schema_extra=ask("use", Unit.COUNT))
    height: int | None = Field(None, ge=64, le=16384, json_schema_extra=ask("use", Unit.COUNT))
    frames: int | None = Field(None, ge=1, le=10_000, json_schema_extra=ask("use", Unit.COUNT))
    micro_batch: int = Field(1, ge=1, le=100_000, json_schema_extra=ask("use", Unit.COUNT))
    global_batch: int | None = Field(None, ge=1, le=100_000_000, json_schema_extra=ask("use", Unit.COUNT))
    cached: bool = Field(False, json_schema_extra=ask("use"))

    items: float | None = Field(None, ge=1, le=1e15, json_schema_extra=ask("goals", Unit.COUNT))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))
    rate_goal: float | None = Field(None, ge=1e-9, le=1e12, json_schema_extra=ask("goals", Unit.PER_S))

    precision: DiffusionPrecision = Field(DiffusionPrecision.BF16, json_schema_extra=ask("way"))
    optimizer: Optimizer = Field(Optimizer.ADAMW, json_schema_extra=ask("way"))
    checkpointing: bool = Field(True, json_schema_extra=ask("way"))
    sharding: StateSharding = Field(StateSharding.DDP, json_schema_extra=ask("way"))
    ema: bool = Field(False, json_schema_extra=ask("way", advanced=True))
    runtime: DiffusionRuntime = Field(DiffusionRuntime.EAGER, json_schema_extra=ask("way", advanced=True))
    attention: AttentionKernel = Field(AttentionKernel.FLASH, json_schema_extra=ask("way", advanced=True))
    sample_bytes: Amount = Field(
        3e5, ge=0, le=1e12, json_schema_extra=ask("way", Unit.BYTE, advanced=True, control="file")
    )

    @property
    def prepares(self) -> bool:
        return not self.cached
