"""Places a row of serving measurements: model, machine, server, precision, way and load, as numbers. Pure.

What a row leaves open is taken as the published setup of its kind says (below, each with its reason); a row that names
software or a number format that is not known is refused.
"""

import re
from dataclasses import dataclass, replace
from math import ceil, inf, log2

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.links import pcie_bytes_per_s
from gpuplanner.engine.machine import Machine, Topology
from gpuplanner.engine.machines import bare
from gpuplanner.engine.serving_choice import best_way, ways_on
from gpuplanner.engine.serving_drafting import with_drafter
from gpuplanner.engine.serving_inputs import LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_machine import SERVERS, Found, gpu_numbers, server_numbers
from gpuplanner.engine.serving_model import model_numbers
from gpuplanner.engine.serving_numbers import ServingNumbers, serving_numbers
from gpuplanner.engine.validation.cells import count, positive
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.serving_models import architecture_of_row
from gpuplanner.engine.validation.serving_options import drafting_of, workers_of
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB
from gpuplanner.workload.drafted import drafted
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.serving import Server, Serving

EXLLAMA, LMDEPLOY = "exllama measured", "lmdeploy measured"
"""Profiles of the batches that were measured: of one request, and of requests that all begin together."""
PROFILES = (
    (r"tensorrt-?llm|tensorrt llm|\bnim\b|trt", Server.TENSORRT_LLM.value),
    (r"vllm", Server.VLLM.value),
    (r"sglang", Server.SGLANG.value),
    (r"llama\.?cpp|llama-?bench|ollama|lm ?studio|koboldcpp", Server.LLAMA_CPP.value),
    (r"exllama|mlc|tabbyapi", EXLLAMA),
    (r"awq", "autoawq"),
    (r"lmdeploy|turbomind", LMDEPLOY),
    (r"\btgi\b|text-generation-inference", Server.VLLM.value),
    (r"transformers|hugging ?face|\bhf\b", Server.TRANSFORMERS.value),
    (r"^cuda ", Server.TENSORRT_LLM.value),
)
"""The first pattern that the software's printed name matches decides; MLPerf rows name CUDA where TensorRT-LLM ran."""
OLD_TENSORRT_LLM = re.compile(r"^0\.")
LAYER_SPLIT = frozenset({Server.LLAMA_CPP.value, Server.TRANSFORMERS.value, EXLLAMA, "autoawq"})
STATIC = re.compile(r"static|genai-perf c1|single-stream")
MLPERF = "MLPerf"
FORMATS = (
    (r"^exl2 ([1-9](?:\.\d{1,3})?)(?![\d.])", "exl2 {}"),
    (r"^(awq|autoawq)", "awq"),
    (r"^(gptq|w4a16|int4|4-?bit|u4)", "gptq"),
    (r"^(fp4|nvfp4)", "nvfp4"),
    (r"^mxfp4", "mxfp4"),
    (r"^(fp8|e4m3|w8a8-?fp8)", "fp8"),
    (r"^(int8|w8a8|sq|smoothquant)", "int8"),
    (r"^(f16|fp16|half)", "fp16"),
    (r"^(bf16|bfloat16)", "bf16"),
    (r"^(fp32|f32)", "fp32"),
    (r"^(nf4|bnb)", "nf4"),
    (r"^(i?q\d_[a-z0-9]+(?:_[a-z])?)", "{}"),
)
"""Weight formats as rows print them."""
KV_FORMATS = {"f16": "fp16", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "auto": ""}
FP8_CACHE = frozenset({"fp8", "nvfp4"})
"""Checkpoints in these formats are published with scales for an FP8 cache, which TensorRT-LLM and vLLM then use."""
FP8_CACHE_SERVERS = frozenset({Server.TENSORRT_LLM.value, "tensorrt-llm 0", Server.VLLM.value})
SHORT_PROMPT, SHORT_ANSWER = 16.0, 128.0
"""A decode speed without lengths is that of a short prompt."""
MLPERF_PROMPT = 294.0
"""Mean tokens of a prompt in MLPerf's OpenOrca and mixed data sets: about as many as in an answer (from memory)."""
SHAREGPT = re.compile(r"sharegpt", re.IGNORECASE)
SHAREGPT_PROMPT, SHAREGPT_ANSWER = 217.0, 202.0
"""Mean tokens of the first thousand conversations, as vLLM's benchmark prints them (from memory). Requests join a
running batch there: TurboMind's too, whose other rows are of fixed batches.
"""
STEADY = re.compile(r"genai-perf", re.IGNORECASE)
"""Times of windows in which they have settled: the start at once of all clients is not in them."""
EQUAL_LENGTHS = re.compile(r"aiperf|\bid=(?!\d)", re.IGNORECASE)
"""Load of AIPerf as aiconfigurator's own runs ask for it, all prompts and all answers of one length (from memory). Runs
with a day in their names are InferenceMAX's, whose lengths are drawn from 80 to 100 % of the stated ones."""
IN_STEP = 0.5
"""`burst_share` where all clients ask again at once."""
MLPERF_FORMATS = {"Hopper": "fp8", "Ada Lovelace": "fp8", "CDNA3": "fp8", "Blackwell": "nvfp4", "Ampere": "int8"}
"""What submitters of MLPerf Inference v4.1 ran llama2-70b and mixtral in."""
GPUS_OF_A_NODE = 8
MEMORY_ONLY = "nvidia-a100-sxm4-80gb"
LENGTH = re.compile(r"seq_len (\d{1,9})(?!\d)")
"""Rows of the least memory for a length, of a time when vLLM did not cut prompts into chunks."""


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row as numbers. `finite`: a list of requests that is worked off, as offline benchmarks do."""

    model: ModelArchitecture
    machine: Machine
    precision: str
    profile: str
    found: Found
    numbers: ModelNumbers
    server: ServerNumbers
    load: LoadNumbers
    way: WayNumbers
    finite: bool

    def result(self) -> ServingNumbers:
        """What the engine says for the row."""
        return serving_numbers(self.numbers, self.found.numbers, self.server, self.load, self.way)


def placed(row: Row, context: ValidationContext) -> PlacedRow:
    """The row placed. Raises InputError that says what the row lacks or names that is not known."""
    profile = profile_of(row)
    model = model_of(row, context)
    gpu = _gpu(row, context)
    precision = precision_of_row(row, model, gpu)
    cache = cache_precision(row, precision, profile)
    stated = count(row, "n_gpus") or (count(row, "tp") or 1) * (count(row, "pp") or 1)
    gpus = stated if row.text("gpu") else _enough(model, precision, gpu, context)
    machine = machine_of_row(row, gpu, gpus)
    found = gpu_numbers(machine, precision, profile, False, context.efficiencies)
    numbers = model_numbers(model, precision, cache, context.efficiencies)
    load, finite = _load(row)
    serving = _serving(row, profile, load)
    numbers = with_drafter(numbers, _drafted(model, serving, context), precision, serving, context.efficiencies)
    server = server_numbers(serving, gpu, context.efficiencies, profile)
    if STATIC.search(row.text("notes")) or profile in {LMDEPLOY, "autoawq", EXLLAMA, Server.TRANSFORMERS.value}:
        server = replace(server, max_sequences=max(float(server.max_sequences), _finite(load.concurrency)))
    if profile == LMDEPLOY and SHAREGPT.search(row.text("notes")):
        joined = context.efficiencies.constants(SERVERS, Server.VLLM.value)
        server = replace(server, static_batches=0.0, burst_share=joined["burst_share"])
    server = _in_step(row, server, profile, context)
    way = _way(row, gpus, profile) or best_way(
        ways_on(machine, model, serving), serving, numbers, found.numbers, server, load
    )
    workers = workers_of(row)
    if workers is not None:
        tensor = float(workers.tensor_parallel or way.tensor_parallel)
        own = float(workers.reader_tensor or 0)
        way = WayNumbers(
            tensor,
            float(way.pipeline_parallel),
            float(workers.readers + workers.answering),
            prefill_workers=float(workers.readers),
            prefill_tensor_parallel=0.0 if own == tensor else own,
        )
    return PlacedRow(model, machine, precision, profile, found, numbers, server, load, way, finite)


def _in_step(row: Row, server: ServerNumbers, profile: str, context: ValidationContext) -> ServerNumbers:
    """The server with how its clients come, by the program that measured: see `prompts_ahead`.

    Equal lengths keep clients in step. A server that computes prompts before all else then has all of them at once;
    one that computes them in the passes of the others has one after the other.
    """
    notes = row.text("notes")
    if server.static_batches:
        return server
    if STEADY.search(notes):
        return replace(server, burst_share=0.0)
    if not EQUAL_LENGTHS.search(notes):
        return server
    if not server.shares_step:
        return replace(server, burst_share=IN_STEP)
    found = context.efficiencies.constants(SERVERS, profile).values
    return replace(server, convoy_prompts=found.get("passes_under_way", 0.0))


def profile_of(row: Row) -> str:
    """The profile in the table of servers. Raises InputError when the software is not one of them."""
    printed = row.text("engine")
    for pattern, name in PROFILES:
        if re.search(pattern, printed.lower()):
            old = name == Server.TENSORRT_LLM.value and OLD_TENSORRT_LLM.match(row.text("engine_version"))
            return f"{name} 0" if old else name
    raise InputError(msg("validation.unknown_value", column="engine", text=printed[:40]))


def model_of(row: Row, context: ValidationContext) -> ModelArchitecture:
    """The catalog's model where the name resolves and the sizes agree, else the one that the row's sizes describe."""
    try:
        known = context.names.model(row.text("model")).architecture
    except InputError:
        known = None
    if known is None:
        return architecture_of_row(row)
    layers, hidden = row.number("n_layers"), row.number("hidden")
    if (layers and layers != known.layers) or (hidden and hidden != known.hidden):
        return architecture_of_row(row)
    return known


def precision_of_row(row: Row, model: ModelArchitecture, gpu: Gpu) -> str:
    """The weight format of a row: as printed, else as its notes say, else as the model is published."""
    printed = row.text("weight_precision")
    noted = re.search(r"gemm=(\w+)", row.text("notes"))
    if not printed and noted:
        printed = noted.group(1).removeprefix("nan")
    if not printed:
        return MLPERF_FORMATS.get(gpu.architecture, "bf16") if MLPERF in row.text("notes") else "bf16"
    lowered = printed.lower().strip()
    if lowered in {"fp4", "mxfp4", "nvfp4"} and model.weight_quantisation == "mxfp4":
        return "mxfp4"
    for pattern, name in FORMATS:
        match = re.match(pattern, lowered)
        if match:
            return name.format(match.group(1)) if match.groups() else name
    raise InputError(msg("validation.unknown_value", column="weight_precision", text=printed[:40]))


def cache_precision(row: Row, precision: str, profile: str) -> str | None:
    """The KV format of a row; where it says nothing, the one that checkpoints of this weight format bring."""
    printed = row.text("kv_precision").lower()
    printed = KV_FORMATS.get(printed, printed)
    if printed:
        return printed
    return "fp8" if precision in FP8_CACHE and profile in FP8_CACHE_SERVERS else None


def machine_of_row(row: Row, gpu: Gpu, gpus: int) -> Machine:
    """The machine of a row: nodes of up to eight GPUs, with the link that the row prints."""
    per_node = min(gpus, GPUS_OF_A_NODE)
    machine = bare(gpu, per_node, max(gpus // per_node, 1))
    if row.text("link").lower().startswith("pcie") and gpus > 1:
        return replace(machine, topology=Topology.PCIE, link_bytes_per_s=pcie_bytes_per_s(gpu))
    return machine


def _gpu(row: Row, context: ValidationContext) -> Gpu:
    """The GPU of a row; a row of memory alone that names none gets one with much memory, which changes nothing."""
    if not row.text("gpu") and row.text("peak_mem_gb") and MEMORY_ONLY in context.gpus:
        return context.gpus[MEMORY_ONLY]
    return context.names.gpu(row.text("gpu"), _memory(row))


def _enough(model: ModelArchitecture, precision: str, gpu: Gpu, context: ValidationContext) -> int:
    """The fewest GPUs, in powers of two, that hold the weights and an eighth more."""
    numbers = model_numbers(model, precision, None, context.efficiencies)
    weights = numbers.attention_bytes + numbers.mlp_bytes + numbers.expert_bytes + numbers.head_bytes
    return 1 << max(ceil(log2(weights * 1.125 / gpu.value(GpuProperty.MEMORY_BYTES))), 0)


def _memory(row: Row) -> float | None:
    size = positive(row, "gpu_mem_gb")
    return size * GB if size else None


def _load(row: Row) -> tuple[LoadNumbers, bool]:
    """Lengths and concurrency, and whether it is a list of requests that is worked off."""
    notes, mode = row.text("notes"), row.text("mode")
    prompt, answer = row.number("isl"), row.number("osl")
    served = LENGTH.search(notes)
    if prompt is None and answer is None and served:
        prompt, answer = float(served.group(1)) - 1.0, 1.0
    if prompt is None and answer is None and SHAREGPT.search(notes):
        prompt, answer = SHAREGPT_PROMPT, SHAREGPT_ANSWER
    if prompt is None:
        prompt = MLPERF_PROMPT if MLPERF in notes else SHORT_PROMPT
    if answer is None:
        answer = SHORT_ANSWER
    listed = mode == "offline_throughput" or (mode == "online" and MLPERF in notes)
    concurrency = positive(row, "concurrency_or_batch")
    if mode in {"decode", "prefill", "single_stream"} and concurrency is None:
        concurrency = 1.0
    if concurrency is None and not listed:
        raise InputError(msg("validation.empty_cell", column="concurrency_or_batch"))
    finite = listed and concurrency is None
    prompt, answer = max(prompt, 1.0), max(answer, 1.0)
    return LoadNumbers(prompt, answer, 0.0, prompt + answer, inf if finite else concurrency or 1.0, None), finite


def _serving(row: Row, profile: str, load: LoadNumbers) -> Serving:
    server = next((s for s in Server if profile.startswith(s.value)), Server.VLLM)
    return Serving(
        model=ModelChoice(catalog_id=row.text("model") or "row"),
        server=server,
        input_tokens=int(load.input_tokens),
        output_tokens=int(load.output_tokens),
        concurrency=None if load.concurrency == inf else max(int(load.concurrency), 1),
        request_rate=1.0 if load.concurrency == inf else None,
        expert_parallel=False,
        chunked_prefill=False if LENGTH.search(row.text("notes")) else None,
        **drafting_of(row),
    )


def _drafted(model: ModelArchitecture, serving: Serving, context: ValidationContext) -> ModelArchitecture:
    """The model with the one that drafts for it, where one does. Raises InputError when its name is not known."""
    if serving.drafting_model is None:
        return model
    draft = context.names.model(serving.drafting_model).architecture
    if draft is None:
        raise InputError(msg("validation.drafting_not_told"))
    return drafted(model, draft)


def _finite(concurrency: object) -> float:
    return float(concurrency) if isinstance(concurrency, float) and concurrency < inf else 1.0


def _way(row: Row, gpus: int, profile: str) -> WayNumbers | None:
    """The parallel degrees of a row, None where it states none and the software leaves a choice.

    With attention split by requests ("attention_dp", or expert parallelism over more GPUs than tensor parallelism) the
    tensor-parallel group is all GPUs, in groups that attend to requests of their own.
    """
    tensor, pipeline = count(row, "tp"), count(row, "pp")
    if profile in LAYER_SPLIT and (tensor or 1) * (pipeline or 1) < gpus:
        return WayNumbers(1.0, float(gpus), 1.0)
    if tensor is None and pipeline is None and gpus > 1:
        return WayNumbers(float(gpus), 1.0, 1.0) if not row.text("gpu") else None
    stages = pipeline or 1.0
    stated = re.search(r"attention_dp=(\d{1,6})(?!\d)", row.text("notes"))
    shared = min(float(stated.group(1)), gpus / stages) if stated else 1.0
    experts = max(row.number("ep") or 1.0, 1.0)
    experts = min(experts, gpus / stages)
    if tensor is None:
        return WayNumbers(gpus / stages, stages, 1.0, shared, experts)
    if shared > 1 or experts > tensor:
        return WayNumbers(gpus / stages, stages, 1.0, max(shared, gpus / stages / tensor), experts)
    return WayNumbers(tensor, stages, max(gpus // (tensor * stages), 1.0), 1.0, experts)
