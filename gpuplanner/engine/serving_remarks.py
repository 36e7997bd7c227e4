"""What has to be said about a serving estimate: why it does not fit, what was assumed, which goals it misses."""

from collections.abc import Iterator, Mapping
from math import ceil

from gpuplanner.catalog.architecture import ModelArchitecture, Role
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Goal, Memory
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.moe import busiest_rank_tokens, largest_deviation
from gpuplanner.engine.formulas.serving_pool import whole_sequences
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.serving_choice import LAYERS_ONLY
from gpuplanner.engine.serving_flags import FLAGS, layout_flags
from gpuplanner.engine.serving_inputs import ServerNumbers, WayNumbers
from gpuplanner.engine.serving_machine import SERVERS, SIXTEEN_BITS, Found
from gpuplanner.engine.serving_model import precision_of
from gpuplanner.engine.serving_numbers import ServingNumbers
from gpuplanner.figures import Figure
from gpuplanner.messages import Message, msg
from gpuplanner.units import Display, Unit, percent, show, show_bytes, show_duration
from gpuplanner.workload.serving import Server, Serving

BF16, BF16_RATE = "bf16", GpuProperty.BF16_FLOP_PER_S


def memory_reason(
    result: ServingNumbers,
    memory: Memory,
    workload: Serving,
    memory_share: float,
    held_tokens: float = 0.0,
    waiting: bool = False,
) -> Message:
    """Why the memory that is there does not do: the server's share, the longest request, or requests that wait.

    `memory_share`: what the server may use of the usable memory, by the plan or by its own default; `held_tokens`: the
    longest request that the pool holds.
    """
    numbers = result.memory
    if waiting:
        return msg(
            "serving.waiting",
            resident=int(whole_sequences(result.at_work)),
            concurrency=workload.concurrency or 1,
            pool=_bytes(max(numbers.pool_bytes, 0.0)),
        )
    if numbers.starts:
        return msg(
            "serving.pool_uncertain", pool=_bytes(numbers.pool_bytes), needed=_bytes(numbers.reserved_sequence_bytes)
        )
    length = workload.max_length or workload.input_tokens + workload.output_tokens
    least = ceil(float(numbers.least_memory_share) * 100) / 100
    budget: dict[str, str] = {
        "share": percent(memory_share),
        "budget": _bytes(memory_share * memory.usable.value),
        "least": percent(least),
    }
    limited = memory_share < 1 and least <= 1
    shown = {"pool": _bytes(max(numbers.pool_bytes, 0.0)), "needed": _bytes(numbers.reserved_sequence_bytes)}
    if numbers.pool_bytes <= 0:
        weights = _bytes(numbers.weight_bytes)
        if limited:
            return msg("serving.share_below_weights", weights=weights, length=length, **budget)
        return msg("serving.no_pool", weights=weights, length=length, usable=_bytes(memory.usable.value))
    held = int(min(held_tokens, length - 1))
    if limited:
        return msg("serving.share_too_small", length=length, held=held, **budget, **shown)
    return msg("serving.one_request_too_long", length=length, held=held, **shown)


def remarks(
    workload: Serving,
    model: ModelArchitecture,
    machine: Machine,
    way: WayNumbers,
    found: Found,
    server: ServerNumbers,
    result: ServingNumbers,
) -> tuple[Message, ...]:
    """What was assumed and what a reader would not expect."""
    return tuple(_remarks(workload, model, machine, way, found, server, result))


def _remarks(
    workload: Serving,
    model: ModelArchitecture,
    machine: Machine,
    way: WayNumbers,
    found: Found,
    server: ServerNumbers,
    result: ServingNumbers,
) -> Iterator[Message]:
    precision = precision_of(model, workload.weight_precision)
    if not found.arithmetic.native and precision not in SIXTEEN_BITS:
        yield msg("serving.converted", precision=precision.upper(), gpu=machine.gpu.name)
    if precision == BF16 and workload.server is not Server.LLAMA_CPP and not machine.gpu.known(BF16_RATE):
        yield msg("serving.no_bf16", gpu=machine.gpu.name)
    if model.role is Role.ENCODER:
        yield msg("serving.no_cache")
    gpus = int(way.gpus)
    if gpus < machine.gpus:
        yield msg("serving.gpus_unused", unused=machine.gpus - gpus, gpus=machine.gpus)
    if workload.server in LAYERS_ONLY and way.pipeline_parallel > 1:
        yield msg("serving.layer_split", gpus=int(way.pipeline_parallel))
    shards = [g.attention.cache_shards for g in model.groups if g.attention.cache_elements_per_token]
    ranks = int(way.tensor_parallel / way.attention_ranks)
    if shards and min(shards) < ranks:
        yield msg("serving.cache_copied", copies=ranks // min(shards), ranks=ranks)
    if model.is_moe:
        yield msg(
            "serving.experts_resident", loaded=int(result.resident), experts=max(g.mlp.experts for g in model.groups)
        )
        yield from _experts(model, way, float(result.resident))
    elif workload.expert_parallel and "expert_parallel" in FLAGS[workload.server]:
        yield msg("serving.no_experts")
    if way.attention_ranks > 1:
        yield msg("serving.attention_groups", groups=int(way.attention_ranks))
    if way.attention_ranks > 1 or way.expert_parallel > 1:
        yield msg("serving.start_with", flags=layout_flags(workload.server, way))
    yield from _offloaded(workload, server, result)
    if model.tower_parameters:
        yield msg("serving.tower_memory")
    if any(g.attention.window for g in model.groups):
        yield msg("serving.windows")
    yield from (msg(note) for note in model.notes)


def borrowed_remarks(workload: Serving, efficiencies: Efficiencies, alone: bool) -> Iterator[Message]:
    """What of a server was never measured, and is taken from others; `alone`: with one request at work."""
    told = efficiencies.constants(SERVERS, workload.server.value).values
    for name in ("measured_alone", "first_token_borrowed"):
        if told.get(name) and not alone:
            yield msg(f"serving.{name}", server=msg(f"limits.software.{workload.server}"))


def _offloaded(workload: Serving, server: ServerNumbers, result: ServingNumbers) -> Iterator[Message]:
    """What becomes of weights that are left in host memory."""
    if not server.offload_bytes:
        return
    if not server.computes_on_host:
        yield msg("serving.streamed", size=_bytes(workload.cpu_offload_bytes))
        return
    rate = str(show(float(server.host_memory_bytes_per_s), Unit.BYTE_PER_S, Display()))
    share = 1.0 - float(result.memory.cache_layers / result.memory.stage_layers)
    yield msg("serving.host_layers", percent=percent(round(share, 2)), rate=rate)
    if workload.host_memory_bytes_per_s is None:
        yield msg("serving.host_memory_assumed", rate=rate)


def _experts(model: ModelArchitecture, way: WayNumbers, requests: float) -> Iterator[Message]:
    """How much the busiest GPU has more than the mean, where GPUs hold whole experts."""
    if way.expert_parallel <= 1:
        return
    experts = max(g.mlp.experts for g in model.groups)
    chosen = max(g.mlp.experts_per_token for g in model.groups)
    away = largest_deviation(way.expert_parallel)
    more = float(busiest_rank_tokens(requests, chosen, experts, way.expert_parallel, away)) / requests - 1.0
    shown = str(show(more, Unit.RATIO, Display()))
    yield msg("serving.whole_experts", gpus=int(way.expert_parallel), requests=int(requests), percent=shown)


def unmet(
    workload: Serving,
    model: ModelArchitecture,
    result: ServingNumbers,
    metrics: Mapping[str, Figure],
    runs: bool,
) -> tuple[Message, ...]:
    """Goals that are missed, and lengths that the model was not made for."""
    return (*missed_goals(workload, metrics), *_unmet(workload, model, result, runs))


def time_goals(workload: Serving) -> tuple[Goal, ...]:
    """The goals that are set for the first token and for each further one."""
    asked = (("ttft", workload.ttft_goal_s), ("tpot", workload.tpot_goal_s))
    return tuple(Goal(name, f"{name}_s", goal_s, Unit.SECOND) for name, goal_s in asked if goal_s is not None)


def missed_goals(workload: Serving, metrics: Mapping[str, Figure]) -> Iterator[Message]:
    """A sentence for each time that is longer than its goal."""
    for goal in time_goals(workload):
        found = metrics.get(goal.metric)
        if found is not None and not goal.met(found.value):
            values = {"value": str(show_duration(found.value)), "goal": str(show_duration(goal.limit))}
            yield msg(f"serving.missed.{goal.metric}", **values)


def _unmet(
    workload: Serving,
    model: ModelArchitecture,
    result: ServingNumbers,
    runs: bool,
) -> Iterator[Message]:
    if model.role is Role.ENCODER:
        yield from (msg("items.goal_unknown", metric=msg(f"metric.{goal.metric}")) for goal in time_goals(workload))
    if runs and result.saturated:
        most = str(show(float(result.request_per_s), Unit.REQUEST_PER_S, Display()))
        asked = show(workload.request_rate or 0.0, Unit.REQUEST_PER_S, Display()).number
        yield msg("serving.saturated", rate=asked, most=most)
    yield from lengths_unmet(workload, model)


def lengths_unmet(workload: Serving, model: ModelArchitecture) -> Iterator[Message]:
    """Lengths that no machine can serve: beyond the plan's own limit, or what the model was made for."""
    asked = workload.input_tokens + workload.output_tokens
    length = workload.max_length or asked
    if asked > length:
        yield msg("serving.longer_than_limit", length=asked, limit=length)
    if model.max_positions is not None and length > model.max_positions:
        yield msg("serving.beyond_positions", length=length, most=model.max_positions)


def _bytes(value: Number) -> str:
    return str(show_bytes(float(value), Display()))
