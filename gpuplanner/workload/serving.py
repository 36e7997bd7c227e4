"""What to run: serving a language model to users. A type and its defaults; nothing is computed here."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.precision import KvPrecision, WeightPrecision
from gpuplanner.workload.said import Amount, Said
from gpuplanner.workload.wizard import ask


class Server(StrEnum):
    """The software that serves. Each has its own flags, defaults and way of dividing memory."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TENSORRT_LLM = "tensorrt-llm"
    LLAMA_CPP = "llama.cpp"
    LMDEPLOY = "lmdeploy"
    EXLLAMA = "exllama"
    TRANSFORMERS = "transformers"


class Speculation(StrEnum):
    """What drafts tokens that the model then verifies several of in one pass (speculative decoding).

    A look-up in the text so far, a smaller model, a layer on the model's last hidden state (EAGLE-3), heads on it
    (Medusa), or the prediction layers that the model brings (MTP).
    """

    NONE = "none"
    NGRAM = "n-gram"
    MODEL = "draft-model"
    EAGLE = "eagle"
    MEDUSA = "medusa"
    MTP = "mtp"


class Serving(Said):
    """LLM serving. A flag that is None has the server's own default (see `catalogs/efficiency/servers.yaml`).

    `concurrency`: requests that clients keep open at once; `request_rate`: new requests a second, used when concurrency
    is None. `max_length`: the longest prompt plus answer that one request may have; None is input + output.
    `tensor_parallel`: all GPUs that share each layer; `attention_ranks`: groups of them that attend to requests of
    their own (data-parallel attention); `expert_parallel`: whole experts on each GPU instead of a slice of each.
    `cpu_offload_bytes`: weights that each GPU leaves in host memory; `host_memory_bytes_per_s`: what that memory gives,
    where the server computes such layers on the CPU.
    `disaggregated`: some replicas read prompts and others answer, `prefill_workers` of them the first,
    each over `prefill_tensor_parallel` GPUs (as many as the others when None).
    `draft_tokens`: tokens that are drafted for one pass that verifies them; `acceptance_rate`: with which probability
    one of them is accepted when those before it were; None: a rule of thumb (`catalogs/efficiency/speculation.yaml`);
    `draft_model`: the model of the catalog that drafts, by its id.
    """

    kind: Literal["serving"] = "serving"
    model: ModelChoice = Field(json_schema_extra=ask("model", control="model"))
    weight_precision: WeightPrecision | None = Field(None, json_schema_extra=ask("model"))
    kv_precision: KvPrecision | None = Field(None, json_schema_extra=ask("model"))

    input_tokens: int = Field(2000, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.TOKEN))
    output_tokens: int = Field(500, ge=1, le=10_000_000, json_schema_extra=ask("use", Unit.TOKEN))
    concurrency: int | None = Field(32, ge=1, le=1_000_000, json_schema_extra=ask("use", Unit.COUNT))
    request_rate: float | None = Field(None, ge=1e-6, le=1e6, json_schema_extra=ask("use", Unit.REQUEST_PER_S))
    max_length: int | None = Field(None, ge=1, le=20_000_000, json_schema_extra=ask("use", Unit.TOKEN, advanced=True))
    shared_prefix_tokens: int = Field(0, ge=0, le=10_000_000, json_schema_extra=ask("use", Unit.TOKEN, advanced=True))

    ttft_goal_s: float | None = Field(None, ge=1e-6, le=1e9, json_schema_extra=ask("goals", Unit.SECOND))
    tpot_goal_s: float | None = Field(None, ge=1e-6, le=1e9, json_schema_extra=ask("goals", Unit.SECOND, control="ms"))

    server: Server = Field(Server.VLLM, json_schema_extra=ask("way"))
    tensor_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT))
    pipeline_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    expert_parallel: bool | None = Field(None, json_schema_extra=ask("way", advanced=True))
    attention_ranks: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    memory_utilisation: float | None = Field(None, ge=0.01, le=1, json_schema_extra=ask("way", Unit.RATIO, True))
    max_batched_tokens: int | None = Field(None, ge=1, le=20_000_000, json_schema_extra=ask("way", Unit.TOKEN, True))
    max_sequences: int | None = Field(None, ge=1, le=1_000_000, json_schema_extra=ask("way", Unit.COUNT, True))
    chunked_prefill: bool | None = Field(None, json_schema_extra=ask("way", advanced=True))
    eager: bool = Field(False, json_schema_extra=ask("way", advanced=True))
    disaggregated: bool = Field(False, json_schema_extra=ask("way", advanced=True))
    prefill_workers: int | None = Field(None, ge=1, le=100_000, json_schema_extra=ask("way", Unit.COUNT, True))
    prefill_tensor_parallel: int | None = Field(None, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT, True))
    speculation: Speculation = Field(Speculation.NONE, json_schema_extra=ask("way", advanced=True))
    draft_model: str | None = Field(None, max_length=300, json_schema_extra=ask("way", advanced=True, control="draft"))
    draft_tokens: int | None = Field(None, ge=1, le=64, json_schema_extra=ask("way", Unit.TOKEN, True))
    acceptance_rate: float | None = Field(None, ge=0, le=1, json_schema_extra=ask("way", Unit.RATIO, True, "percent"))
    cpu_offload_bytes: Amount = Field(0, ge=0, le=1e15, json_schema_extra=ask("way", Unit.BYTE, True, "bytes"))
    host_memory_bytes_per_s: float | None = Field(
        None, ge=1e6, le=1e13, json_schema_extra=ask("way", Unit.BYTE_PER_S, True)
    )

    @property
    def drafting_model(self) -> str | None:
        """The catalog's id of the model that drafts, None where none does."""
        return self.draft_model if self.speculation is Speculation.MODEL else None
