"""The family of logged KV pools: bytes per token, tokens in a pool, the longest request, what one request needs. Pure.

Where a row states the pool that its log printed, what it holds is exact but for the log's rounding; where it states
only the GPU and the share of the memory, the pool itself is predicted.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.formulas import kv_cache
from gpuplanner.engine.machines import bare
from gpuplanner.engine.serving_figures import pool_figure, spreads_of
from gpuplanner.engine.serving_inputs import CacheLayers, LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_memory import MemoryNumbers, memory_numbers
from gpuplanner.engine.serving_model import FORMATS, model_numbers
from gpuplanner.engine.validation.cells import count, needed, positive
from gpuplanner.engine.validation.kv_layouts import Kept, Layout, kept_by, possible_layouts
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
CHUNKS = (512.0, 16384.0)
"""The smallest and the largest number of batched tokens that a version of vLLM took by itself (0.5 to 0.11)."""
DEFAULT_LENGTH = 4096
SUFFIXES = ("", " SXM", " PCIe")


@dataclass(frozen=True, slots=True)
class _Log:
    """A row with what is known of it. `model` and `gpu` are None where the row does not name them.

    `layouts`: in which the model keeps just the cache that the row prints, where the row tells none itself;
    `read_from`: the column from which the size of the cache was read, where not even the model is named.
    """

    kept: Kept
    model: ModelArchitecture | None
    gpu: Gpu | None
    length: float
    chunk_told: bool
    layouts: Mapping[Layout, Kept] = field(default_factory=dict)
    read_from: str = ""

    @property
    def bytes_per_token(self) -> tuple[float, float]:
        """The least and the most of what one token takes."""
        every = [kept.bytes_per_token for kept in self.layouts.values()] or [self.kept.bytes_per_token]
        return min(every), max(every)


@dataclass(frozen=True, slots=True)
class KvPools:
    """Rows of logged KV pools."""

    name: str = "kv_cache"
    columns: frozenset[str] = frozenset({NEED, AVAILABLE, TOKENS, LONGEST, PER_TOKEN})
    metrics: tuple[str, ...] = (PER_TOKEN, TOKENS, LONGEST, NEED, AVAILABLE)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """An outcome for each logged number; see `rows.Family`."""
        log = _placed(row, context)
        per_token = log.kept.bytes_per_token
        pool = positive(row, AVAILABLE)
        if row.text(PER_TOKEN):
            yield outcome_of(row, self.name, PER_TOKEN, _per_token(row, log))
        yield from self._found_by(row, log)
        if row.text(NEED) and not log.layouts and not log.read_from:
            yield outcome_of(row, self.name, NEED, _need(row, log), scale=1.0 / GIB)
        if row.text(TOKENS) and pool is not None and not log.layouts:
            tokens = float(kv_cache.pool_tokens(pool * GIB, per_token))
            yield outcome_of(row, self.name, TOKENS, _printed(row, AVAILABLE, tokens, tokens / pool))
        elif row.text(TOKENS) and pool is None:
            yield outcome_of(row, self.name, TOKENS, _predicted(row, log, context, per_token))
        if row.text(LONGEST) and pool is not None and not log.layouts:
            longest = log.kept.longest_tokens(pool * GIB)
            figure = _printed(row, AVAILABLE, longest, longest / pool, float(log.kept.server.block_tokens))
            yield outcome_of(row, self.name, LONGEST, figure)
        if pool is not None and log.model is not None and log.gpu is not None and row.text("util"):
            yield from self._available(row, log, context)

    def _found_by(self, row: Row, log: _Log) -> Iterator[Outcome]:
        """What the row's layout or its cache was found by is nothing that was predicted."""
        if log.read_from:
            yield refusal(row, self.name, log.read_from, msg("validation.kv.read_from", model=row.text("model")[:40]))
        for layout in list(log.layouts)[:1]:
            why = msg(
                "validation.kv.found_by",
                tensor=layout.tensor_parallel,
                stages=layout.stages,
                drafts=layout.draft_layers,
            )
            by = (NEED, LONGEST, TOKENS) if row.text(AVAILABLE) else (NEED,)
            yield from (refusal(row, self.name, metric, why) for metric in by if row.text(metric))

    def _available(self, row: Row, log: _Log, context: ValidationContext) -> Iterator[Outcome]:
        """The pool itself; the row's other numbers stand where the format of the weights that left it is not told."""
        try:
            figure = _predicted(row, log, context, 1.0)
        except InputError as error:
            yield refusal(row, self.name, AVAILABLE, error.message)
            return
        yield outcome_of(row, self.name, AVAILABLE, figure, scale=1.0 / GIB)


def _placed(row: Row, context: ValidationContext) -> _Log:
    text = _shape_text(row)
    kv_format = format_of_text(text) or "bf16"
    bits = context.efficiencies.constants(FORMATS, f"kv {kv_format}")["bits"]
    shape = cache_of_text(text, bits)
    model = _model(row, context)
    read_from = ""
    if model is None and shape is None:
        shape, read_from = _even_cache(row, bits), NEED
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
    length = positive(row, "max_len") or DEFAULT_LENGTH
    told = bool(shape and shape.chunk)
    if model is None or shape is not None:
        numbers = _only_cache(shape)
        if model is not None:
            numbers = model_numbers(model, _weight_format(row, model), kv_format, context.efficiencies)
        ranks = shape.ranks if shape and shape.ranks else 1
        kept = Kept(numbers, WayNumbers(float(ranks), 1.0, 1.0), server)
        return _Log(kept, model, gpu, length, told, read_from=read_from)
    formats = (_weight_format(row, model), kv_format)
    kept, layouts = _laid_out(row, model, formats, server, context)
    return _Log(kept, model, gpu, length, told, layouts)


def _laid_out(
    row: Row,
    model: ModelArchitecture,
    formats: tuple[str | None, str],
    server: ServerNumbers,
    context: ValidationContext,
) -> tuple[Kept, Mapping[Layout, Kept]]:
    """A model in the layout that its row tells, or in those in which it reserves what the row prints.

    Raises InputError where the row tells no layout and prints nothing that one could be found by.
    """
    gpus = count(row, "n_gpu")
    told = kept_by(model, Layout(gpus or 1), formats, server, context.efficiencies)
    shown = row.text(NEED) or (gpus is None and row.text(AVAILABLE) and row.text(TOKENS))
    if gpus is not None and (not shown or _agrees(row, told)):
        return told, {}
    layouts: dict[Layout, Kept] = {}
    if shown:
        for layout in possible_layouts(model):
            if gpus is None or gpus == layout.gpus:
                kept = kept_by(model, layout, formats, server, context.efficiencies)
                if _agrees(row, kept):
                    layouts[layout] = kept
    if layouts:
        return next(iter(layouts.values())), layouts
    if gpus is None:
        raise InputError(msg("validation.kv.layout_unknown", model=row.text("model")[:40]))
    return told, {}


def _agrees(row: Row, kept: Kept) -> bool:
    """Whether all that the log prints of the cache is so: a longest request's bytes, and what its pool holds."""
    if row.text(NEED):
        need, open_by = row.required(NEED), _half_digit(row, NEED)
        reserved = kept.request_bytes(needed(row, "max_len", positive)) / GIB
        if not need - open_by <= reserved <= need + open_by:
            return False
    pool = positive(row, AVAILABLE)
    if pool is None:
        return True
    block, open_by = float(kept.server.block_tokens), _half_digit(row, AVAILABLE)
    ends = [max(pool + side, 0.0) * GIB for side in (-open_by, open_by)]
    longest, tokens = positive(row, LONGEST), positive(row, TOKENS)
    if longest is not None:
        low, high = map(kept.longest_tokens, ends)
        if not low - block <= longest <= high + block:
            return False
    if tokens is not None and not kept.numbers.recurrent_layers:
        low, high = (float(kv_cache.pool_tokens(end, kept.bytes_per_token)) for end in ends)
        return low - block <= tokens <= high + block
    return True


def _even_cache(row: Row, bits: float) -> CacheShape:
    """A cache of which nothing is known but what one request of the longest length reserves, taken as full attention.

    Raises InputError where the row does not print that either.
    """
    need, length = positive(row, NEED), positive(row, "max_len")
    if need is None or length is None:
        raise InputError(msg("serving.no_shape", model=row.text("model")[:40], column=SHAPE))
    elements = need * GIB * 8.0 / bits / length
    return CacheShape((CacheLayers(1.0, elements, bits, 1.0, inf, inf, 0.0, 0.0, 0.0),), None, None)


def _shape_text(row: Row) -> str:
    """The row's own shape, or that of another row of the same run: the same model on the same GPU."""
    if row.text(SHAPE):
        return row.text(SHAPE)
    same = (other for other in row.siblings if all(other.text(n) == row.text(n) for n in ("model", "gpu", "n_gpu")))
    return next((other.text(SHAPE) for other in same if other.text(SHAPE)), "")


def _per_token(row: Row, log: _Log) -> Figure:
    """What one token takes, exact where the row tells the cache.

    Else as open as the number that it was read from is rounded, or as the layouts that are possible leave it; where it
    is what one request reserves for a token, the state of recurrent layers and half-filled pages are counted in.
    """
    low, high = log.bytes_per_token
    value = log.kept.bytes_per_token
    length = positive(row, "max_len") or DEFAULT_LENGTH
    high = max([high, *(kept.request_bytes(length) / length for kept in log.layouts.values())])
    open_by = value * _half_digit(row, NEED) / row.required(NEED) if log.read_from else 0.0
    return Figure(value, Unit.BYTE_PER_TOKEN, Certainty.CALIBRATED, low - open_by, high + open_by)


def _need(row: Row, log: _Log) -> Figure:
    """What one request of the longest length reserves; wider where a window's chunk is not told."""
    length = needed(row, "max_len", positive)
    figure = _printed(row, NEED, log.kept.request_bytes(length), GIB)
    if log.chunk_told or all(kind.window == inf for kind in log.kept.numbers.cache):
        return figure
    least, most = (
        replace(log.kept, server=replace(log.kept.server, max_batched_tokens=chunk)).request_bytes(length)
        for chunk in CHUNKS
    )
    return replace(figure, low=min(figure.low, least), high=max(figure.high, most))


def _half_digit(row: Row, column: str) -> float:
    """Half of the last digit that a number is printed with."""
    return float(0.5 * 10.0 ** -len(row.text(column).partition(".")[2]))


def _printed(row: Row, column: str, value: float, slope: float, block: float = 0.0) -> Figure:
    """A number that follows from a printed one, with the range that its last digit (times `slope`) leaves open.

    `block`: pools hold whole blocks, which may move what is held by one of them.
    """
    open_by = _half_digit(row, column) * slope + block
    return Figure(value, Unit.TOKEN, Certainty.CALIBRATED, max(value - open_by, 0.0), value + open_by)


def _predicted(row: Row, log: _Log, context: ValidationContext, per_bytes: float) -> Figure:
    """What the pool holds, `per_bytes` for one, where the log does not print it."""
    if log.model is None or log.gpu is None:
        raise InputError(msg("serving.pool_not_placed", model=row.text("model")[:40], gpu=row.text("gpu")[:40]))
    gpus = int(log.kept.way.tensor_parallel)
    precision = _weight_format(row, log.model) or log.model.weight_quantisation
    found = gpu_numbers(bare(log.gpu, gpus), precision, Server.VLLM.value, False, context.efficiencies)
    load = LoadNumbers(log.length - 1.0, 1.0, 0.0, log.length, 1.0, None)
    memory: MemoryNumbers = memory_numbers(log.kept.numbers, found.numbers, log.kept.server, load, log.kept.way)
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
