"""What to run: training a language model, from pre-training to QLoRA. A type and its defaults; nothing is computed."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gpuplanner.units import Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.wizard import ask


class Method(StrEnum):
    """What is trained."""

    PRETRAINING = "pretraining"
    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"


class Framework(StrEnum):
    """The software that trains; each has its own overheads, buffers and kernels."""

    MEGATRON = "megatron"
    FSDP = "fsdp"
    DEEPSPEED = "deepspeed"
    HUGGING_FACE = "hugging-face"


class Optimizer(StrEnum):
    """What the optimizer keeps for each trained parameter."""

    ADAMW = "adamw"
    ADAMW_BF16 = "adamw-bf16"
    ADAMW_8BIT = "adamw-8bit"
    PAGED_ADAMW_8BIT = "paged-adamw-8bit"
    ADAFACTOR = "adafactor"
    LION = "lion"
    SGD_MOMENTUM = "sgd-momentum"
    SGD = "sgd"


class Sharding(StrEnum):
    """Who keeps which part of the model states across data-parallel ranks."""

    DDP = "ddp"
    ZERO1 = "zero1"
    ZERO2 = "zero2"
    ZERO3 = "zero3"
    FSDP = "fsdp"
    HSDP = "hsdp"


class Recomputation(StrEnum):
    """Which activations are computed again in the backward pass instead of kept."""

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


class AttentionKernel(StrEnum):
    """Whether the attention matrix is written to memory."""

    FLASH = "flash"
    MATH = "math"


class Offload(StrEnum):
    """What is kept in host memory."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    ALL = "parameters-and-optimizer"


class LoraTargets(StrEnum):
    """Which projections carry adapters."""

    QV = "q-v"
    ATTENTION = "attention"
    ALL_LINEAR = "all-linear"


class Training(BaseModel):
    """LLM training. A parallel degree that is None is chosen by the search; the data-parallel degree is what remains.

    `global_batch`: sequences in one optimizer step; `micro_batch`: sequences in one forward pass of one rank.
    `tokens`: tokens to process in all, or `samples`: sequences to process in all, which counts where no tokens are
    given; `deadline_s`: the time in which that has to be done.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kind: Literal["training"] = "training"
    model: ModelChoice = Field(json_schema_extra=ask("model", control="model"))
    method: Method = Field(Method.FULL, json_schema_extra=ask("model"))
    lora_rank: int = Field(16, ge=1, le=4096, json_schema_extra=ask("model", Unit.COUNT))
    lora_targets: LoraTargets = Field(LoraTargets.ALL_LINEAR, json_schema_extra=ask("model", advanced=True))
    base_precision: WeightPrecision | None = Field(None, json_schema_extra=ask("model", advanced=True))

    sequence_length: int = Field(4096, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.TOKEN))
    global_batch: int = Field(64, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.COUNT))
    micro_batch: int | None = Field(None, ge=1, le=1_000_000, json_schema_extra=ask("use", Unit.COUNT))
    packed: bool = Field(True, json_schema_extra=ask("use", advanced=True))
    tokens: float | None = Field(None, gt=0, le=1e18, json_schema_extra=ask("use", Unit.TOKEN))
    samples: float | None = Field(None, gt=0, le=1e15, json_schema_extra=ask("use", Unit.COUNT, True))
    deadline_s: float | None = Field(None, gt=0, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))

    framework: Framework = Field(Framework.FSDP, json_schema_extra=ask("way"))
    precision: ComputePrecision = Field(ComputePrecision.BF16, json_schema_extra=ask("way"))
    optimizer: Optimizer = Field(Optimizer.ADAMW, json_schema_extra=ask("way"))
    sharding: Sharding | None = Field(None, json_schema_extra=ask("way"))
    recomputation: Recomputation | None = Field(None, json_schema_extra=ask("way"))
    attention: AttentionKernel = Field(AttentionKernel.FLASH, json_schema_extra=ask("way", advanced=True))
    offload: Offload = Field(Offload.NONE, json_schema_extra=ask("way", advanced=True))
    fused_loss: bool = Field(False, json_schema_extra=ask("way", advanced=True))
    compiled: bool = Field(False, json_schema_extra=ask("way", advanced=True))
    tensor_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    sequence_parallel: bool = Field(True, json_schema_extra=ask("way", advanced=True))
    pipeline_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    virtual_pipeline: int = Field(1, ge=1, le=128, json_schema_extra=ask("way", Unit.COUNT, True))
    context_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    expert_parallel: int | None = Field(None, ge=1, le=4096, json_schema_extra=ask("way", Unit.COUNT, True))

    @property
    def tokens_in_all(self) -> float | None:
        """Tokens that the job processes; a sample takes a whole sequence. None where nobody says how many."""
        if self.tokens is None and self.samples is not None:
            return self.samples * self.sequence_length
        return self.tokens
