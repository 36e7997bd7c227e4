"""Estimates LLM serving on one machine: memory by phase, the KV pool, times, throughput, what would still fit.

Host, cost and power come later (`estimating.py`). Two memory numbers are told apart: what the work needs (weights,
runtime, activations, graphs, the cache of the requests at work) and what the server reserves (its pool besides).
"""

from dataclasses import replace
from math import inf

from gpuplanner.catalog.architecture import ModelArchitecture, Role
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.estimate import Estimate, Fit, Memory, Part, Phase, Way
from gpuplanner.engine.formulas import kv_cache, serving_pool, serving_requests
from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.engine.formulas.gpu_memory import phase_bytes
from gpuplanner.engine.limit_shares import limit_shares
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, bounded
from gpuplanner.engine.serving_apart import SERVED, prompts_bytes, reader_bytes
from gpuplanner.engine.serving_apart_remarks import apart_remarks, apart_spreads
from gpuplanner.engine.serving_choice import chosen_way
from gpuplanner.engine.serving_drafting import drafting_spreads, served_numbers
from gpuplanner.engine.serving_drafting_remarks import drafting_remarks, idle_layers
from gpuplanner.engine.serving_figures import (
    Spreads,
    beside_weights,
    certain,
    count_figure,
    pool_figure,
    rate_figure,
    rungs_of,
    spreads_of,
    sum_figure,
    time_figure,
    with_certain_part,
)
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_idle import idle_settings
from gpuplanner.engine.serving_inputs import GpuNumbers, LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_machine import Found, gpu_numbers, server_numbers
from gpuplanner.engine.serving_memory import MemoryNumbers, longest_request_tokens
from gpuplanner.engine.serving_model import cache_precision_of, precision_of
from gpuplanner.engine.serving_numbers import (
    ServingNumbers,
    load_numbers,
    most_sequences,
    requests_at_work,
    serving_numbers,
)
from gpuplanner.engine.serving_parts import step_parts
from gpuplanner.engine.serving_pool_fit import PoolLack, fit_with, pool_lack
from gpuplanner.engine.serving_remarks import borrowed_remarks, memory_reason, remarks, time_goals, unmet
from gpuplanner.engine.serving_trials import tried_numbers
from gpuplanner.engine.verdict import usable_figure, verdict
from gpuplanner.figures import Certainty, Figure, Rung
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving

STEP = "decode_step"


def estimate_serving(
    plan: Plan,
    model: ModelArchitecture,
    machine: Machine,
    efficiencies: Efficiencies,
    way: WayNumbers | None = None,
    profile: str = "",
) -> Estimate:
    """The estimate of a serving plan on a machine.

    `way`: parallel degrees to take as they are; without it, what the plan leaves open is chosen. `profile`: an entry of
    the table of servers other than the plan's server. Raises InputError when the plan cannot be laid out on the machine
    or a number format is not known, MissingFactError when the GPU's memory, bandwidth or peak is not known.
    """
    workload = plan.workload
    if not isinstance(workload, Serving):
        raise TypeError("estimate_serving takes plans of serving only")
    precision = precision_of(model, workload.weight_precision)
    found = gpu_numbers(machine, precision, profile or workload.server, heeded(workload).eager, efficiencies)
    numbers = served_numbers(model, workload, efficiencies)
    server = server_numbers(workload, machine.gpu, efficiencies, profile, machine.parts)
    load = load_numbers(workload)
    if way is None:
        way = chosen_way(machine, model, workload, numbers, found.numbers, server, load)
    result = serving_numbers(numbers, found.numbers, server, load, way)
    alone = load.request_per_s is None and load.concurrency <= way.answering
    name = profile or workload.server.value
    rung, first_rung = rungs_of(efficiencies, name, found.rung, bool(alone))
    if server.offload_bytes:
        rung = first_rung = Rung.ROOFLINE
    spreads = spreads_of(efficiencies, rung, bool(alone), found.rung, name, first_rung)
    said = tuple(borrowed_remarks(workload, efficiencies, bool(alone)))
    if result.apart is not None:
        spreads = apart_spreads(spreads, efficiencies)
        said += tuple(apart_remarks(workload, machine, result, result.apart))
    if numbers.draft is not None:

        def accepting(changed: ModelNumbers) -> ServingNumbers:
            return tried_numbers(changed, found.numbers, server, load, way, result.memory)

        spreads = drafting_spreads(spreads, workload, numbers, result, efficiencies, accepting)
        plain = tried_numbers(replace(numbers, draft=None), found.numbers, server, load, way)
        said += tuple(drafting_remarks(workload, model, numbers.draft, efficiencies, result, plain))
    memory = _memory(result, machine.gpu, found.numbers, server, way, spreads)
    fit, reason = _fit(numbers, result, memory, load, server, way, workload, spreads)
    metrics = _room(numbers, result, server, way, model, spreads)
    runs = fit is not Fit.DOES_NOT_FIT and model.role is not Role.ENCODER
    parts: tuple[Part, ...] = ()
    if runs and not result.saturated:
        parts = step_parts(result, found.numbers, way, spreads)
        let_in = inf if result.apart is not None else float(most_sequences(server, way) * way.replicas)
        metrics |= _rates(result, load, spreads, let_in)
    return Estimate(
        plan=plan,
        machine=machine,
        way=_way(way, workload, model, precision, found),
        fit=fit,
        reason=reason,
        memory=memory,
        step_name=STEP,
        time=parts,
        limits=limit_shares(parts),
        metrics=metrics,
        host=(),
        remarks=(
            *said,
            *remarks(workload, model, machine, way, found, server, result),
            *idle_layers(workload, model, efficiencies),
            *(() if profile else idle_settings(workload, model, machine, efficiencies, numbers, load, way, result)),
        ),
        unmet=unmet(workload, model, result, metrics, runs),
        goals=time_goals(workload),
    )


def _memory(
    result: ServingNumbers, gpu: Gpu, rates: GpuNumbers, server: ServerNumbers, way: WayNumbers, spreads: Spreads
) -> Memory:
    numbers = result.memory
    cache = serving_pool.live_cache_bytes(
        result.resident, numbers.sequence_bytes, way.attention_ranks, numbers.pool_bytes
    )
    slots = serving_pool.live_cache_bytes(
        result.resident, numbers.reserved_sequence_bytes, way.attention_ranks, numbers.pool_bytes
    )
    needed = serving_pool.needed_bytes(numbers.fixed_bytes, cache)
    reserved = serving_pool.reserved_bytes(numbers.fixed_bytes, numbers.pool_bytes, slots, server.whole)
    spread = spreads.beside_weights

    def parts(of: MemoryNumbers, held: Number) -> dict[str, Part]:
        amounts = {
            "weights": of.own_weight_bytes, "drafter": of.drafter_bytes, "runtime": of.runtime_bytes,
            "graphs": of.graph_bytes, "cache": held, "activations": of.activation_bytes,
        }  # fmt: skip
        return {
            name: Part(
                name,
                certain(amount, Unit.BYTE)
                if name in {"weights", "drafter", "cache"}
                else with_certain_part(amount, amount, Unit.BYTE, spread),
            )
            for name, amount in amounts.items()
        }

    answering = parts(numbers, cache)
    reading, peak, fullest = answering, "prefill", answering
    decoding = [name for name in answering if name != "activations"]
    if result.apart is not None:
        # On GPUs of their own, each of which is started with the same flags.
        own = result.apart.reader_memory or numbers
        reading = parts(own, prompts_bytes(result.apart, own, way))
        reads = reader_bytes(result.apart, numbers, way)
        peak, fullest = ("prefill", reading) if float(reads) > float(needed) else ("decode", answering)
        needed, decoding = maximum(needed, reads), list(answering)
    phases = (
        _phase("load", tuple(fullest[name] for name in ("weights", "drafter", "runtime")), spread),
        _phase("prefill", tuple(reading.values()), spread),
        _phase("decode", tuple(answering[name] for name in decoding), spread),
    )
    other = beside_weights(numbers)
    return Memory(
        usable=usable_figure(float(rates.usable_bytes), gpu),
        needed=with_certain_part(needed, other, Unit.BYTE, spread),
        reserved=with_certain_part(reserved, other * (1 - server.whole), Unit.BYTE, spread),
        phases=phases,
        peak_phase=peak,
    )


def _phase(name: str, parts: tuple[Part, ...], spread: Spread) -> Phase:
    present = tuple(p for p in parts if p.figure.value)
    low, high = (sum(getattr(p.figure, end) for p in present) for end in ("low", "high"))
    value = float(phase_bytes(tuple(p.figure.value for p in present)))
    return Phase(name, present, Figure(value, Unit.BYTE, Certainty.CALIBRATED, low, high, spread.rung, spread.why))


def _fit(
    model: ModelNumbers,
    result: ServingNumbers,
    memory: Memory,
    load: LoadNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    workload: Serving,
    spreads: Spreads,
) -> tuple[Fit, Message]:
    """The verdict on memory: the server must start with one request of full length, then hold those that come."""
    fit, reason = verdict(memory.usable, memory.needed)
    if fit is Fit.DOES_NOT_FIT:
        return fit, reason
    numbers, share = result.memory, float(server.memory_share)
    offered = None if load.request_per_s is not None else load.concurrency / way.answering
    if result.apart is not None and float(result.resident) < float(result.places) * SERVED:
        offered = None  # those that wait for their prompt to be read have a place
    if result.apart is not None and result.apart.reader_memory is not None and not result.apart.reader_memory.starts:
        result = replace(result, memory=result.apart.reader_memory)
        numbers, way = result.memory, way.reading
    lack = pool_lack(numbers, result.resident, result.places, offered, spreads.beside_weights)
    if lack is PoolLack.ONE_REQUEST:
        held = longest_request_tokens(model, server, way, numbers.cache_layers, numbers.pool_bytes)
        reason = memory_reason(result, memory, workload, share, float(held))
        room = beside_weights(numbers) * (1 - spreads.beside_weights.low)
        if numbers.pool_bytes > 0 and numbers.pool_bytes + room >= numbers.reserved_sequence_bytes:
            reason = msg("serving.may_start", reason=reason)
        return fit_with(fit, lack), reason
    if fit_with(fit, lack) is not fit or lack is PoolLack.PLACES:
        return Fit.TIGHT, memory_reason(result, memory, workload, share, waiting=lack is PoolLack.PLACES)
    return fit, reason


def _room(
    model: ModelNumbers,
    result: ServingNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    architecture: ModelArchitecture,
    spreads: Spreads,
) -> dict[str, Figure]:
    """What would fit: requests at once, the longest one, tokens in the pool."""
    numbers, spread = result.memory, spreads.beside_weights
    per_token = numbers.bytes_per_token
    metrics: dict[str, Figure] = {}
    if not model.cache:
        return metrics
    metrics["kv_bytes_per_token"] = certain(per_token, Unit.BYTE_PER_TOKEN)
    tokens = kv_cache.pool_tokens(numbers.pool_bytes, per_token)
    metrics["kv_pool_tokens"] = pool_figure(numbers, per_token, tokens, Unit.TOKEN, spread)
    answering = way.replicas if result.apart is None else result.apart.decode_workers
    at_once = serving_pool.concurrent_requests(numbers.pool_bytes, numbers.reserved_sequence_bytes, answering)
    per_request = numbers.reserved_sequence_bytes / answering
    metrics["max_concurrency"] = pool_figure(numbers, per_request, at_once, Unit.COUNT, spread)
    longest = longest_request_tokens(model, server, way, numbers.cache_layers, numbers.pool_bytes)
    most = float(architecture.max_positions or longest)
    if longest >= most:
        metrics["max_length"] = certain(most, Unit.TOKEN)
    else:
        metrics["max_length"] = bounded(pool_figure(numbers, per_token, longest, Unit.TOKEN, spread), most)
    return metrics


def _rates(result: ServingNumbers, load: LoadNumbers, spreads: Spreads, let_in: float) -> dict[str, Figure]:
    """Times and throughput of a server that runs and keeps up."""
    first, token = time_figure(result.ttft_s, spreads.first_token), time_figure(result.tpot_s, spreads.token)
    answered = serving_requests.request_seconds(result.ttft_s, result.tpot_s, load.output_tokens)
    return {
        "ttft_s": first,
        "tpot_s": token,
        "request_s": sum_figure(answered, ((token, float(load.output_tokens) - 1.0), (first, 1.0))),
        "output_tokens_per_s": rate_figure(result.output_tokens_per_s, Unit.TOKEN_PER_S, spreads.rate),
        "request_per_s": _request_rate(result, load, spreads),
        "prefill_tokens_per_s": rate_figure(result.prefill_tokens_per_s, Unit.TOKEN_PER_S, spreads.prompt),
        "resident_sequences": _at_work(result, load, spreads.rate, let_in),
    }


def _request_rate(result: ServingNumbers, load: LoadNumbers, spreads: Spreads) -> Figure:
    """A rate that comes in and is served is what the person said; one that clients' waiting leads to is estimated."""
    if load.request_per_s is not None:
        return certain(result.request_per_s, Unit.REQUEST_PER_S)
    return rate_figure(result.request_per_s, Unit.REQUEST_PER_S, spreads.rate)


def _at_work(result: ServingNumbers, load: LoadNumbers, spread: Spread, let_in: float) -> Figure:
    """All clients, where nobody waits for a place, is a number that is known; the pool or a rate makes it an estimate.

    `let_in`: requests that the server lets in, on all replicas, however large its pool is.
    """
    shown, clients = requests_at_work(result.at_work, load, result.apart is not None), float(load.concurrency)
    if load.request_per_s is not None:
        return bounded(count_figure(shown, spread), let_in)
    if float(shown) >= clients:
        return certain(shown, Unit.COUNT)
    return bounded(count_figure(shown, spread), min(clients, let_in), 1.0)


def _way(way: WayNumbers, workload: Serving, model: ModelArchitecture, precision: str, found: Found) -> Way:
    return Way(
        tensor_parallel=int(way.tensor_parallel),
        pipeline_parallel=int(way.pipeline_parallel),
        expert_parallel=int(way.expert_parallel),
        data_parallel=int(way.attention_ranks),
        replicas=int(way.replicas),
        prefill_workers=int(way.prefill_workers),
        prefill_tensor_parallel=int(way.prefill_tensor_parallel),
        choices={
            "server": workload.server.value,
            "weights": precision,
            "kv": cache_precision_of(model, workload.kv_precision),
            "arithmetic": found.arithmetic.variant,
        },
    )
