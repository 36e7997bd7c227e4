"""What to run: networks that classify images, or find or outline things in them. A type and its defaults only."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.catalog.networks import Operators
from gpuplanner.units import Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.reads_data import PreparesData
from gpuplanner.workload.said import Amount
from gpuplanner.workload.wizard import ask


class VisionJob(StrEnum):
    """What is done with the network."""

    INFERENCE = "inference"
    TRAINING = "training"


class VisionPrecision(StrEnum):
    """What convolutions and matrices are computed in. The mixed ones keep the weights in FP32, as autocast does."""

    FP16 = "fp16"
    BF16 = "bf16"
    TF32 = "tf32"
    FP32 = "fp32"


class VisionRuntime(StrEnum):
    """How the kernels come about: one after the other as the network says, or fused by a compiler."""

    EAGER = "eager"
    COMPILED = "compiled"


class VisionOptimizer(StrEnum):
    """What is kept and moved for each weight in an update."""

    SGD = "sgd"
    ADAMW = "adamw"


class VisionData(StrEnum):
    """Where images come from: decoded and varied by the CPU, decoded by the GPU, or ready in memory."""

    CPU = "cpu"
    GPU = "gpu"
    READY = "ready"


class Vision(PreparesData):
    """Images through a network, GPUs sharing out the images.

    `image_px`: side of the square that the network sees, None as the network is meant for; `batch`: images of one GPU
    at once; `images`: of the job, or of one of `epochs` passes of a training; `parameters`, `macs`, `activations` (of
    an image of `image_px`) and `operators`: instead of what the catalog says of the model.
    """

    kind: Literal["vision"] = "vision"
    model: ModelChoice = Field(
        ModelChoice(catalog_id="torchvision/resnet50"), json_schema_extra=ask("model", control="vision-model")
    )
    parameters: float | None = Field(None, ge=1, le=1e15, json_schema_extra=ask("model", Unit.PARAMETER, advanced=True))
    macs: float | None = Field(None, ge=1, le=1e18, json_schema_extra=ask("model", Unit.COUNT, advanced=True))
    activations: float | None = Field(None, ge=1, le=1e15, json_schema_extra=ask("model", Unit.COUNT, advanced=True))
    operators: Operators | None = Field(None, json_schema_extra=ask("model", advanced=True))

    job: VisionJob = Field(VisionJob.INFERENCE, json_schema_extra=ask("use"))
    image_px: int | None = Field(None, ge=8, le=65536, json_schema_extra=ask("use", Unit.COUNT))
    batch: int = Field(32, ge=1, le=1_000_000, json_schema_extra=ask("use", Unit.COUNT))
    images: float | None = Field(None, ge=1, le=1e15, json_schema_extra=ask("use", Unit.COUNT))
    epochs: int = Field(1, ge=1, le=100_000, json_schema_extra=ask("use", Unit.COUNT))

    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))
    rate_goal: float | None = Field(None, ge=1e-9, le=1e15, json_schema_extra=ask("goals", Unit.PER_S))
    latency_goal_s: float | None = Field(
        None, ge=1e-6, le=1e6, json_schema_extra=ask("goals", Unit.SECOND, control="ms")
    )

    precision: VisionPrecision = Field(VisionPrecision.FP16, json_schema_extra=ask("way"))
    runtime: VisionRuntime = Field(VisionRuntime.EAGER, json_schema_extra=ask("way"))
    recompute: bool = Field(False, json_schema_extra=ask("way"))
    optimizer: VisionOptimizer = Field(VisionOptimizer.SGD, json_schema_extra=ask("way", advanced=True))
    fused_attention: bool = Field(True, json_schema_extra=ask("way", advanced=True))
    data: VisionData = Field(VisionData.CPU, json_schema_extra=ask("way", advanced=True))
    image_bytes: Amount = Field(
        110e3, ge=0, le=1e12, json_schema_extra=ask("way", Unit.BYTE, advanced=True, control="file")
    )

    @property
    def reads(self) -> bool:
        return self.data is not VisionData.READY
