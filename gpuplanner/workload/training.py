"""What to run: training a language model, from pre-training to QLoRA. A type and its defaults; nothing is computed."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.reads_data import PreparesData
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


class TrainingObjective(StrEnum):
    """What the weights are trained towards: the next token, preferred answers (DPO), rewarded answers (GRPO)."""

    NEXT_TOKEN = "next-token"
    DPO = "dpo"
    GRPO = "grpo"


class Rollout(StrEnum):
    """Where the answers of GRPO are generated: on the GPUs that train, or on some that do nothing else."""

    SAME_GPUS = "same-gpus"
    OTHER_GPUS = "other-gpus"


class TrainingData(StrEnum):
    """What is read: tokens that were made beforehand, or text that the CPU turns into tokens while training."""

    TOKENS = "tokens"
    TEXT = "text"


ADAPTERS = frozenset({Method.LORA, Method.QLORA})
"""Methods that train adapters beside a frozen base."""
ASSUMED_SAMPLE_SHARE = 0.5
"""A mean sample over the longest one, where samples are not packed and nobody says how long they are: an assumption."""


class Training(PreparesData):
    """LLM training. A parallel degree that is None is chosen by the search; the data-parallel degree is what remains.

    `global_batch`: sequences in one optimizer step; `micro_batch`: sequences in one forward pass of one rank.
    `tokens`: tokens to process in all, or `samples`: sequences to process in all, which counts where no tokens are
    given; `deadline_s`: the time in which that has to be done.
    `mean_tokens`: of a mean sample, where it is shorter than the sequence. A sample of DPO is a pair of sequences.
    `completion_tokens`: the part of a sequence of GRPO that is generated, half of it when None; its global batch counts
    completions. `rollout_memory_share`: of each GPU's memory, what the server takes that generates on the same GPUs;
    `rollout_gpus`: how many of the machine's GPUs generate, where others train.
    """

    kind: Literal["training"] = "training"
    model: ModelChoice = Field(json_schema_extra=ask("model", control="model"))
    method: Method = Field(Method.FULL, json_schema_extra=ask("model"))
    objective: TrainingObjective = Field(TrainingObjective.NEXT_TOKEN, json_schema_extra=ask("model", advanced=True))
    reference_model: bool = Field(True, json_schema_extra=ask("model", advanced=True))
    lora_rank: int = Field(16, ge=1, le=4096, json_schema_extra=ask("model", Unit.COUNT))
    lora_targets: LoraTargets = Field(LoraTargets.ALL_LINEAR, json_schema_extra=ask("model", advanced=True))
    base_precision: WeightPrecision | None = Field(None, json_schema_extra=ask("model", advanced=True))

    sequence_length: int = Field(4096, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.TOKEN))
    global_batch: int = Field(64, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.COUNT))
    micro_batch: int | None = Field(None, ge=1, le=1_000_000, json_schema_extra=ask("use", Unit.COUNT))
    packed: bool = Field(True, json_schema_extra=ask("use", advanced=True))
    mean_tokens: int | None = Field(None, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.TOKEN, True))
    completion_tokens: int | None = Field(None, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.TOKEN, True))
    tokens: float | None = Field(None, ge=1, le=1e18, json_schema_extra=ask("use", Unit.TOKEN))
    samples: float | None = Field(None, ge=1, le=1e15, json_schema_extra=ask("use", Unit.COUNT, True))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))

    framework: Framework = Field(Framework.FSDP, json_schema_extra=ask("way"))
    precision: ComputePrecision = Field(ComputePrecision.BF16, json_schema_extra=ask("way"))
    optimizer: Optimizer = Field(Optimizer.ADAMW, json_schema_extra=ask("way"))
    sharding: Sharding | None = Field(None, json_schema_extra=ask("way"))
    recomputation: Recomputation | None = Field(None, json_schema_extra=ask("way"))
    attention: AttentionKernel = Field(AttentionKernel.FLASH, json_schema_extra=ask("way", advanced=True))
    offload: Offload = Field(Offload.NONE, json_schema_extra=ask("way", advanced=True))
    fused_loss: bool = Field(False, json_schema_extra=ask("way", advanced=True))
    compiled: bool = Field(False, json_schema_extra=ask("way", advanced=True))
    overlapped: bool = Field(True, json_schema_extra=ask("way", advanced=True))
    data: TrainingData = Field(TrainingData.TOKENS, json_schema_extra=ask("way", advanced=True))
    tensor_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    sequence_parallel: bool = Field(True, json_schema_extra=ask("way", advanced=True))
    pipeline_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    virtual_pipeline: int = Field(1, ge=1, le=128, json_schema_extra=ask("way", Unit.COUNT, True))
    context_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    expert_parallel: int | None = Field(None, ge=1, le=4096, json_schema_extra=ask("way", Unit.COUNT, True))
    rollout: Rollout = Field(Rollout.SAME_GPUS, json_schema_extra=ask("way", advanced=True))
    rollout_memory_share: float = Field(0.3, ge=0.01, le=0.99, json_schema_extra=ask("way", Unit.RATIO, True))
    rollout_gpus: int = Field(1, ge=1, le=1_000_000, json_schema_extra=ask("way", Unit.COUNT, True))

    @property
    def prepares(self) -> bool:
        return self.data is TrainingData.TEXT

    @property
    def tokens_in_all(self) -> float | None:
        """Tokens that the job trains on, padding not counted. None where nobody says how many."""
        if self.tokens is None and self.samples is not None:
            length = self.sample_share * self.sequence_length
            return self.samples * self.sequences_per_sample * length
        return self.tokens

    @property
    def generated_tokens(self) -> int:
        """Of a sequence, the tokens that GRPO generates before it trains on them; 0 when nothing is generated."""
        if self.objective is not TrainingObjective.GRPO:
            return 0
        return min(self.completion_tokens or max(self.sequence_length // 2, 1), self.sequence_length)

    @property
    def sample_share(self) -> float:
        """Tokens of a mean sample, in full sequences; assumed where samples are not packed and it is not said."""
        if self.mean_tokens is not None:
            return min(self.mean_tokens / self.sequence_length, 1.0)
        return 1.0 if self.packed else ASSUMED_SAMPLE_SHARE

    @property
    def sequences_per_sample(self) -> int:
        """Sequences of one sample: the better and the worse answer of DPO, else one."""
        return 2 if self.objective is TrainingObjective.DPO else 1

    @property
    def has_reference(self) -> bool:
        """Whether the model is compared with what it was before: another forward pass, and its weights."""
        return self.reference_model and self.objective is not TrainingObjective.NEXT_TOKEN
