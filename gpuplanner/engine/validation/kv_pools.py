"""The family of logged KV pools: bytes per token, tokens in a pool, the longest request, what one request needs. Pure.

Where a row states the pool that its log printed, what it holds is exact but for the log's rounding; where it states
only the GPU and the share of the memory, the pool itself is predicted.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.formulas import kv_cache
from gpuplanner.engine.formulas.weights import layers_of_fullest_stage
from gpuplanner.engine.machines import bare
from gpuplanner.engine.serving_figures import pool_figure, spreads_of
from gpuplanner.engine.serving_inputs import CacheLayers, LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_memory import (
    MemoryNumbers,
    longest_request_tokens,
    memory_numbers,
    reserved_sequence_bytes,
    sequence_bytes,
)
from gpuplanner.engine.serving_model import FORMATS, model_numbers
from gpuplanner.engine.validation.cells import count, needed, positive
from gpuplanner.engine.validation.kv_shapes import CacheShape, cache_of_text, format_of_text
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, outcome_of, refusal
from gpuplanner.figures import Certainty, Figure, Rung
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GIB, Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.serving import Server, Serving

NEED, AVAILABLE, TOKENS, LONGEST, PER_TOKEN = (
    "need_gib",
    "avail_gib",
    "tokens",
    "est_max_len",
    "kv_bytes_per_token_per_gpu",
)
SHAPE = "arch(memory)"
WEIGHT_FORMATS = ((r"awq", "awq"), (r"gptq|int4", "gptq"), (r"nvfp4", "nvfp4"), (r"fp8", "fp8"))
BASE_CHUNK = 2048.0
"""vLLM's own number of batched tokens where a row does not tell the GPU, on which its default depends."""
DEFAULT_LENGTH = 4096
SUFFIXES = ("", " SXM", " PCIe")


@dataclass(frozen=True, slots=True)
class _Log:
    """A row with what is known of it. `model` and `gpu` are None where the row does not name them."""

    numbers: ModelNumbers
    server: ServerNumbers
    way: WayNumbers
    model: ModelArchitecture | None
    gpu: Gpu | None
    length: float


@dataclass(frozen=True, slots=True)
class KvPools:
    """Rows of logged KV pools."""

    name: str = "kv_cache"
    columns: frozenset[str] = frozenset({NEED, AVAILABLE, TOKENS, LONGEST, PER_TOKEN})
    metrics: tuple[str, ...] = (PER_TOKEN, TOKENS, LONGEST, NEED, AVAILABLE)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """An outcome for each logged number; see `rows.Family`."""
        log = _placed(row, context)
        stage = layers_of_fullest_stage(log.numbers.layers, 1.0)
        per_token = float(sequence_bytes(log.numbers, log.way, stage, 1.0, with_state=False))
        pool = positive(row, AVAILABLE)
        if row.text(PER_TOKEN):
            yield outcome_of(row, self.name, PER_TOKEN, per_token)
        if row.text(NEED):
            need = reserved_sequence_bytes(log.numbers, log.server, log.way, stage, needed(row, "max_len", positive))
            yield outcome_of(row, self.name, NEED, _printed(row, NEED, float(need), GIB), scale=1.0 / GIB)
        if row.text(TOKENS) and pool is not None:
            tokens = float(kv_cache.pool_tokens(pool * GIB, per_token))
            yield outcome_of(row, self.name, TOKENS, _printed(row, AVAILABLE, tokens, tokens / pool))
        elif row.text(TOKENS):
            yield outcome_of(row, self.name, TOKENS, _predicted(row, log, context, per_token))
        if row.text(LONGEST) and pool is not None:
            longest = float(longest_request_tokens(log.numbers, log.server, log.way, stage, pool * GIB))
            figure = _printed(row, AVAILABLE, longest, longest / pool, float(log.server.block_tokens))
            yield outcome_of(row, self.name, LONGEST, figure)
        if pool is not None and log.model is not None and log.gpu is not None and row.text("util"):
            yield from self._available(row, log, context)

    def _available(self, row: Row, log: _Log, context: ValidationContext) -> Iterator[Outcome]:
        """The pool itself; the row's other numbers stand where the format of the weights that left it is not told."""
        try:
            figure = _predicted(row, log, context, 1.0)
        except InputError as error:
            yield refusal(row, self.name, AVAILABLE, error.message)
            return
        yield outcome_of(row, self.name, AVAILABLE, figure, scale=1.0 / GIB)


def _placed(row: Row, context: ValidationContext) -> _Log:
    text = row.text(SHAPE)
    kv_format = format_of_text(text) or "bf16"
    bits = context.efficiencies.constants(FORMATS, f"kv {kv_format}")["bits"]
    shape = cache_of_text(text, bits)
    model = _model(row, context)
    if model is None and shape is None:
        raise InputError(msg("serving.no_shape", model=row.text("model")[:40], column=SHAPE))
    gpu = _gpu(row, context)
    serving = Serving(
        model=ModelChoice(catalog_id=row.text("model") or "row"),
        server=Server.VLLM,
        input_tokens=max(int(positive(row, "max_len") or DEFAULT_LENGTH) - 1, 1),
        output_tokens=1,
        memory_utilisation=_share(row),
    )
    some_gpu = gpu or next(iter(context.gpus.values()))
    server = server_numbers(serving, some_gpu, context.efficiencies)
    chunk = float(shape.chunk) if shape and shape.chunk else (server.max_batched_tokens if gpu else BASE_CHUNK)
    server = replace(server, max_batched_tokens=chunk)
    if model is not None:
        numbers = model_numbers(model, _weight_format(row, model), kv_format, context.efficiencies)
    else:
        numbers = _only_cache(shape)
    ranks = shape.ranks if shape and shape.ranks else (1 if shape else count(row, "n_gpu") or 1)
    return _Log(
        numbers, server, WayNumbers(float(ranks), 1.0, 1.0), model, gpu, positive(row, "max_len") or DEFAULT_LENGTH
    )


def _printed(row: Row, column: str, value: float, slope: float, block: float = 0.0) -> Figure:
    """A number that follows from a printed one, with the range that its last digit (times `slope`) leaves open.

    `block`: pools hold whole blocks, which may move what is held by one of them.
    """
    digits = len(row.text(column).partition(".")[2])
    open_by = 0.5 * 10.0**-digits * slope + block
    return Figure(value, Unit.TOKEN, Certainty.CALIBRATED, max(value - open_by, 0.0), value + open_by)


def _predicted(row: Row, log: _Log, context: ValidationContext, per_bytes: float) -> Figure:
    """What the pool holds, `per_bytes` for one, where the log does not print it."""
    if log.model is None or log.gpu is None:
        raise InputError(msg("serving.pool_not_placed", model=row.text("model")[:40], gpu=row.text("gpu")[:40]))
    gpus = int(log.way.tensor_parallel)
    precision = _weight_format(row, log.model) or log.model.weight_quantisation
    found = gpu_numbers(bare(log.gpu, gpus), precision, Server.VLLM.value, False, context.efficiencies)
    load = LoadNumbers(log.length - 1.0, 1.0, 0.0, log.length, 1.0, None)
    memory: MemoryNumbers = memory_numbers(log.numbers, found.numbers, log.server, load, log.way)
    if memory.pool_bytes <= 0:
        raise InputError(msg("serving.pool_none_left", model=row.text("model")[:40], gpu=row.text("gpu")[:40]))
    spread = spreads_of(context.efficiencies, Rung.SAME_ARCHITECTURE).beside_weights
    return pool_figure(memory, per_bytes, max(float(memory.pool_bytes), 0.0) / per_bytes, Unit.BYTE, spread)


def _only_cache(shape: CacheShape | None) -> ModelNumbers:
    """A model of which nothing but the cache is known."""
    cache: tuple[CacheLayers, ...] = shape.cache if shape else ()
    layers = sum(kind.layers for kind in cache)
    return ModelNumbers(
        layers=layers, moe_layers=0.0, hidden=1.0, vocabulary=1.0, attention_bytes=0.0, mlp_bytes=0.0, expert_bytes=0.0,
        copied_bytes=0.0, head_bytes=0.0, embedding_bytes=0.0, beside_bytes=0.0, attention_parameters=0.0,
        mlp_parameters=0.0, head_parameters=0.0, active_expert_parameters=0.0, experts=1.0, experts_per_token=1.0,
        cache=cache, state_bytes=0.0, state_shards=1.0, split_activation_bytes=0.0, whole_activation_bytes=0.0,
        attention_split_bytes=0.0, attention_whole_bytes=0.0, mlp_pass_tokens=1.0, split_traffic_bytes=0.0,
        whole_traffic_bytes=0.0, profile_bytes=0.0, activation_bytes=2.0,
    )  # fmt: skip


def _model(row: Row, context: ValidationContext) -> ModelArchitecture | None:
    name = re.sub(r"\s*\(.*?\)|\s+class$|\s+FP8$|-(AWQ|GPTQ-Int4)$", "", row.text("model"))
    with suppress(InputError):
        return context.names.model(name).architecture
    return None


def _gpu(row: Row, context: ValidationContext) -> Gpu | None:
    """The GPU of a row, None where it names none; of forms that differ in nothing that matters here, the first."""
    printed = re.sub(r"\s*\(.*?\)|\s*x\d+$|\s*[\d.]+\s?(GiB|MiB)$", "", row.text("gpu"))
    for suffix in SUFFIXES:
        with suppress(InputError):
            return context.names.gpu(printed + suffix)
    return None


def _weight_format(row: Row, model: ModelArchitecture) -> str | None:
    lowered = row.text("model").lower()
    found = next((name for pattern, name in WEIGHT_FORMATS if re.search(pattern, lowered)), None)
    return found or model.weight_quantisation


def _share(row: Row) -> float | None:
    """The server's share of the memory; None, its default, where the row says "default" or nothing."""
    with suppress(InputError):
        return row.number("util")
    return None
