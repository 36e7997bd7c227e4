"""Prefill and decode on workers of their own, in numbers: rates that balance, and the cache that goes between them.

Pure arithmetic on floats or arrays. What a prompt or a step takes is asked of the caller, who knows the passes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from gpuplanner.engine.formulas import disaggregation, serving_pool, serving_requests
from gpuplanner.engine.formulas.collectives import network_send_seconds, send_seconds
from gpuplanner.engine.formulas.elementwise import Condition, Number, maximum, minimum, where
from gpuplanner.engine.serving_inputs import GpuNumbers, WayNumbers
from gpuplanner.engine.serving_memory import MemoryNumbers
from gpuplanner.engine.serving_passes import PassNumbers

ALMOST_BUSY = 1.0 - 1e-6
"""Of workers that cannot keep up no wait is shown."""
SERVED = 1.0 - 1e-6
"""The share of clients, or of places, from which on all of them count as served, or as taken."""
ITERATIONS = 4
"""Steps of halving and of false position in turn; the error of what is at work is then below 1 %."""


@dataclass(frozen=True, slots=True)
class ApartNumbers:
    """What goes on where prompts and answers have workers of their own.

    `prompts`: on a worker that reads them; `prompt_load`: share of the time for which it does; `under_way`: requests on
    all workers, without those that wait for one; `transfer_bytes`: cache of one request that each GPU sends
    or gets; `reader_memory`: of the GPUs that read, None where it is that of the others.
    """

    prefill_workers: Number
    decode_workers: Number
    transfer_bytes: Number
    transfer_s: Number
    prompts: Number
    prompt_load: Number
    under_way: Number
    reader_memory: MemoryNumbers | None = None


@dataclass(frozen=True, slots=True)
class Balanced:
    """The state that both kinds of workers come to. `resident`: requests on each that answers; `rate`: of them all.

    `step`: of each that answers.
    """

    resident: Number
    step: PassNumbers
    rate: Number
    first_s: Number
    saturated: Condition
    apart: ApartNumbers


def prompts_bytes(apart: ApartNumbers, memory: MemoryNumbers, way: WayNumbers) -> Number:
    """Cache of the prompts on a GPU that reads; `memory`: of that GPU."""
    return serving_pool.live_cache_bytes(
        apart.prompts, apart.transfer_bytes, way.reading.attention_ranks, memory.pool_bytes
    )


def reader_bytes(apart: ApartNumbers, memory: MemoryNumbers, way: WayNumbers) -> Number:
    """Memory that reading prompts needs on one GPU. `memory`: of the GPUs that answer."""
    own = apart.reader_memory or memory
    return serving_pool.needed_bytes(own.fixed_bytes, prompts_bytes(apart, own, way))


def transfer_seconds(payload: Number, gpu: GpuNumbers, way: WayNumbers) -> Number:
    """Time in which each GPU sends its part of a request's cache to the one that goes on with it.

    All workers of one node: over its links; of several: over the network. Where that is not known no machine of
    several nodes is asked for.
    """
    inside = send_seconds(payload, gpu.send_bytes_per_s, 1.0, gpu.send_latency_s)
    if isinstance(gpu.network_bytes_per_s, float) and gpu.network_bytes_per_s == inf:
        return inside
    across = network_send_seconds(
        payload, gpu.network_bytes_per_s, gpu.network_send_efficiency, gpu.network_send_latency_s
    )
    nodes = way.gpus / gpu.gpus_per_node
    return where((nodes > 1.0) & (gpu.network_bytes_per_s < inf), across, inside)


def balanced(
    step_of: Callable[[Number], PassNumbers],
    way: WayNumbers,
    places: Number,
    output_tokens: Number,
    alone_s: Number,
    turn_s: Number,
    transfer_s: Number,
    transfer_bytes: Number,
    request_s: Number,
    clients: Number,
    asked_per_s: Number | None,
) -> Balanced:
    """What `clients` who wait for their answers lead to, or requests that come in at `asked_per_s`.

    `step_of`: a step with so many requests on a worker; `alone_s`: a prompt read while no other is; `turn_s`: after
    which a worker takes the next one.
    """
    readers = maximum(way.prefill_workers, 1.0)  # none where there are too few replicas, which no figure is shown of
    answering = disaggregation.decode_workers(maximum(way.replicas, readers + 1.0), readers)
    most_read = disaggregation.read_requests_per_second(readers, turn_s)

    def rate_in(step: PassNumbers, sequences: Number) -> Number:
        return disaggregation.answered_requests_per_second(answering, sequences, output_tokens, step.total_s)

    def rate_of(sequences: Number) -> Number:
        return rate_in(step_of(maximum(sequences, 1.0)), sequences)

    def filled(sequences: Number) -> Number:
        rate = rate_of(sequences)
        if asked_per_s is not None:
            return rate / asked_per_s
        under_way = disaggregation.requests_under_way(answering, sequences, rate, alone_s, transfer_s)
        return maximum(under_way / clients, rate / most_read)

    resident = _level(filled, places)
    busy = maximum(resident, 1.0)
    step = step_of(busy)
    rate = rate_in(step, resident)
    saturated: Condition = resident < 0
    if asked_per_s is not None:
        capacity = minimum(most_read, rate_of(places))
        saturated = asked_per_s >= capacity
        rate = minimum(asked_per_s, capacity)
    load = disaggregation.prefill_load(rate, most_read)
    under_way = disaggregation.requests_under_way(answering, resident, rate, alone_s, transfer_s)
    if asked_per_s is None:
        ahead = disaggregation.prompt_ahead_seconds(load, turn_s)
    else:
        ahead = disaggregation.queued_prompts_seconds(minimum(load, ALMOST_BUSY), turn_s)
    first = disaggregation.first_token_apart_seconds(alone_s, ahead, transfer_s, request_s)
    if asked_per_s is None:
        under_way = where(under_way >= clients * SERVED, clients, under_way)
        first = serving_requests.answered_seconds(first, serving_requests.waiting_seconds(clients, under_way, rate))
    prompts = disaggregation.prompts_on_worker(rate, alone_s, transfer_s, readers)
    apart = ApartNumbers(readers, answering, transfer_bytes, transfer_s, prompts, load, under_way)
    return Balanced(busy, step, rate, first, saturated, apart)


def _level(filled: Callable[[Number], Number], places: Number) -> Number:
    """Where a function that grows from 0 comes to 1, at most all places."""
    low, high = 0.0 * places, places
    below, above = -1.0 + low, filled(places) - 1.0
    for turn in range(ITERATIONS):
        share = 0.5 if turn % 2 else minimum(-below / maximum(above - below, 1e-12), 1.0)
        found = low + (high - low) * share
        here = filled(found) - 1.0
        less = here < 0
        low, below = where(less, found, low), where(less, here, below)
        high, above = where(less, high, found), where(less, above, here)
    last = minimum(-below / maximum(above - below, 1e-12), 1.0)
    return minimum(low + (high - low) * last, places)
