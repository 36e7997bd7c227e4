"""Serving in numbers: pool, resident requests, time to first token, time per token, throughput. Pure arithmetic.

`serving_numbers(model, gpu, server, load, way)` is the one function behind a single estimate and a search. Its inputs
are the dataclasses of `serving_inputs.py`; every field of `gpu`, `server`, `load` and `way` may be a float or an array
(all arrays of one length), the fields of `model` are floats. Its result has the same form. To search

    model = model_numbers(architecture, weight_precision, kv_precision, efficiencies)          # serving_model
    found = [gpu_numbers(m, precision, server, eager, efficiencies) for m in machines]          # serving_machine
    gpus, servers = stack([f.numbers for f in found]), stack([server_numbers(...) for m in machines])
    load = load_numbers(serving)
    for block in blocks of 16,000–65,000 configurations:
        way = WayNumbers(tensor_parallel, pipeline_parallel, replicas)                         # arrays
        result = serving_numbers(model, take(gpus, machine_index), take(servers, machine_index), load, way)

`result.memory.starts` tells where the server starts at all; where it does not, the times are those with one request in
the pool and are not to be shown. `result.saturated`: requests come in faster than they are served, so that times grow
without end. Concurrency and request rate are those of all replicas together.
"""

from dataclasses import dataclass, replace
from math import inf

from gpuplanner.engine.formulas import disaggregation, serving_pool, serving_requests, serving_time, serving_waiting
from gpuplanner.engine.formulas.elementwise import Condition, Number, always, maximum, minimum, where
from gpuplanner.engine.serving_apart import ApartNumbers, balanced, transfer_seconds
from gpuplanner.engine.serving_exchange import GroupReach, group_reach, with_exchange_curve
from gpuplanner.engine.serving_inputs import GpuNumbers, LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_memory import MemoryNumbers, memory_numbers, sequence_bytes
from gpuplanner.engine.serving_passes import PassNumbers, dense_copies
from gpuplanner.engine.serving_steps import decode_step, prompt_passes
from gpuplanner.workload.serving import Serving

MOST_BUSY = 0.999
"""Share of the time that prompts may take where requests come in at a rate; above it there is none left for answers."""
RATE_ITERATIONS = 4
"""Steps of false position for the batch that a request rate leads to; its error is then below 1 %."""


@dataclass(frozen=True, slots=True)
class ServingNumbers:
    """What a way of running comes to. Times are means over requests; the time per token leaves the first token out.

    `resident`: requests at work at once on a replica that has clients, `at_work`: on all replicas; `places`: how many a
    replica could hold. `prefill`: one prompt. `apart`: where workers of their own read prompts; then replicas with
    clients are those that answer.
    """

    memory: MemoryNumbers
    places: Number
    resident: Number
    at_work: Number
    step: PassNumbers
    prefill: PassNumbers
    ttft_s: Number
    tpot_s: Number
    request_per_s: Number
    output_tokens_per_s: Number
    prefill_tokens_per_s: Number
    saturated: Condition
    apart: ApartNumbers | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    """The passes that serving consists of while `sequences` requests are at work on a replica.

    `passes`: those of one prompt; below one where several prompts share a pass.
    """

    step: PassNumbers
    prefill: PassNumbers
    alone_s: Number
    share_s: Number
    passes: Number


def load_numbers(serving: Serving) -> LoadNumbers:
    """What a plan's clients ask for; a request rate counts only where no concurrency is given."""
    closed = serving.concurrency is not None or serving.request_rate is None
    return LoadNumbers(
        input_tokens=float(serving.input_tokens),
        output_tokens=float(serving.output_tokens),
        prefix_tokens=float(min(serving.shared_prefix_tokens, serving.input_tokens - 1)),
        max_length=float(serving.max_length or serving.input_tokens + serving.output_tokens),
        concurrency=float(serving.concurrency or 1),
        request_per_s=None if closed else serving.request_rate,
    )


def serving_numbers(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    load: LoadNumbers,
    way: WayNumbers,
    memory: MemoryNumbers | None = None,
) -> ServingNumbers:
    """Everything that depends on numbers alone, for one configuration or for an array of them.

    `memory`: where it is known already.
    """
    memory = memory or memory_numbers(model, gpu, server, load, way)
    admitted = where(server.admits_whole > 0, memory.sequence_bytes, memory.mean_sequence_bytes)
    fits = serving_pool.sequences_in_pool(memory.pool_bytes, admitted, way.attention_ranks)
    places = serving_pool.resident_sequences(most_sequences(server, way), most_sequences(server, way), fits)
    parts = model, gpu, server, load, way, group_reach(gpu, way)
    if way.apart:
        return _apart(parts, memory, places)
    if load.request_per_s is None:
        return _closed(parts, memory, places, fits)
    return _open(parts, memory, places, load.request_per_s / way.replicas)


def requests_at_work(at_work: Number, load: LoadNumbers, apart: bool) -> Number:
    """Requests at work at once as they are shown: whole ones of those that a pool holds for clients.

    A rate keeps a mean number of them at work, and so do workers of which each does its part of a request.
    """
    return at_work if apart or load.request_per_s is not None else serving_pool.whole_sequences(at_work)


def most_sequences(server: ServerNumbers, way: WayNumbers) -> Number:
    """Requests that a replica lets in; where groups of ranks are servers of their own, each lets in as many."""
    if way.plain:
        return server.max_sequences
    return serving_pool.replica_sequences(server.max_sequences, dense_copies(server, way))


_Parts = tuple[ModelNumbers, GpuNumbers, ServerNumbers, LoadNumbers, WayNumbers, GroupReach]


def _closed(parts: _Parts, memory: MemoryNumbers, places: Number, fits: Number) -> ServingNumbers:
    """A fixed number of clients, each of which asks again when it has been answered."""
    _, _, server, load, way, _ = parts
    offered = maximum(load.concurrency / way.replicas, 1.0)
    resident = serving_pool.resident_sequences(offered, most_sequences(server, way), fits)
    work = _work(parts, resident)
    cycle = serving_requests.cycle_seconds(resident, work.share_s, load.output_tokens, work.step.total_s)
    rate = serving_requests.requests_per_second(resident, cycle)
    together = serving_waiting.burst_prompts(
        server.max_batched_tokens, _prompt(load), resident, server.static_batches, way.attention_ranks
    )
    prefill, line_s = work.prefill, _started(parts, work.share_s, work.passes)
    cost = serving_waiting.full_pass_cost(
        _started(parts, prefill.total_s, work.passes), _started(parts, prefill.launch_s, work.passes), together
    )
    ahead = serving_waiting.prompts_ahead(
        server.burst_share,
        resident,
        together,
        cost,
        line_s,
        load.output_tokens,
        work.step.total_s,
        server.convoy_prompts,
    )
    first = serving_requests.first_token_seconds(
        _started(parts, work.alone_s, maximum(work.passes, 1.0)),
        work.step.whole_s,
        server.request_s,
        ahead,
        resident,
        line_s,
        work.passes,
    )
    waits = serving_requests.waiting_seconds(offered, resident, rate)
    ttft = serving_requests.answered_seconds(first, waits + _balancing(server, way, work, rate))
    tpot = serving_requests.token_seconds(
        work.step.total_s, ahead, resident, work.share_s, load.output_tokens, server.burst_share, cost
    )
    never = resident < 0
    return _result(parts, memory, places, resident, work, ttft, tpot, rate, never)


def _open(parts: _Parts, memory: MemoryNumbers, places: Number, rate: Number) -> ServingNumbers:
    """Requests that come in at a rate, whether others have been answered or not."""
    server = parts[2]
    resident, capacity = _resident_at_rate(parts, places, rate)
    work = _work(parts, maximum(resident, 1.0))  # a request that is at work is one, however seldom there is any
    capacity = minimum(capacity, MOST_BUSY / work.share_s)
    saturated = rate >= capacity
    served = minimum(rate, capacity)
    first = serving_requests.first_token_seconds_at_rate(
        _started(parts, work.alone_s, maximum(work.passes, 1.0)),
        work.step.whole_s,
        server.request_s,
        resident,
        served,
        work.share_s,
    )
    first = serving_requests.answered_seconds(first, _balancing(server, parts[4], work, served))
    tpot = serving_requests.token_seconds_at_rate(work.step.total_s, served, work.share_s)
    return _result(parts, memory, places, resident, work, first, tpot, served, saturated)


def _started(parts: _Parts, work_s: Number, passes: Number) -> Number:
    """A prompt's time with what its layers of experts take longer to start; nothing to add where there are none."""
    model, gpu, *_ = parts
    if not model.moe_layers:
        return work_s  # nothing to explain
    return serving_waiting.with_start_seconds(work_s, passes, model.moe_layers, gpu.prompt_moe_layer_s)


def _balancing(server: ServerNumbers, way: WayNumbers, work: _Work, rate: Number) -> Number:
    """How long a prompt waits for those of other groups; nothing where there are none."""
    if way.plain or always(server.balance_steps, 0.0):
        return 0.0  # nothing to explain
    return serving_waiting.balance_seconds(server.balance_steps, work.step.whole_s, way.attention_ranks, rate)


def _apart(parts: _Parts, memory: MemoryNumbers, places: Number) -> ServingNumbers:
    """Prompts on workers of their own. While others wait they are read together, as many as a pass takes."""
    model, gpu, server, load, way, group = parts
    reading = replace(server, shares_step=0.0)
    prompt = maximum(load.input_tokens - load.prefix_tokens, 1.0)
    together = load.output_tokens * maximum(server.max_batched_tokens / prompt, 1.0)
    stages = 1.0 + (way.pipeline_parallel - 1.0) * server.stages_overlap
    context = serving_requests.mean_context_tokens(load.input_tokens, load.output_tokens)
    readers, own = way.reading, None
    if readers is not way:
        own = memory_numbers(model, gpu, server, load, readers)
    reach = group if own is None else group_reach(gpu, readers)
    if model.draft is None:  # what drafts exchanges less
        most = serving_time.decode_rows(places, way.pipeline_parallel, server.stages_overlap)
        group = with_exchange_curve(model, gpu, server, way, group, most)

    def step_of(sequences: Number) -> PassNumbers:
        return decode_step(model, gpu, server, way, group, sequences, context)

    prefill, passes, lone = prompt_passes(
        model, gpu, reading, readers, reach, prompt, load.prefix_tokens, 1.0, load.output_tokens
    )
    full, full_passes, _ = prompt_passes(
        model, gpu, reading, readers, reach, prompt, load.prefix_tokens, together, load.output_tokens
    )
    alone_s = serving_requests.pipelined_prefill_seconds(lone, passes, stages)
    share_s = serving_requests.prefill_share_seconds(full.total_s, full_passes, together, stages)
    sent = sequence_bytes(model, way, memory.cache_layers, load.input_tokens)
    if own is not None:
        sent = maximum(sent, sequence_bytes(model, readers, own.cache_layers, load.input_tokens))
    sending_s = transfer_seconds(sent, gpu, way)
    turn_s = disaggregation.prompt_turn_seconds(share_s, sending_s)
    beside_s = _started(parts, server.request_s, maximum(passes, 1.0))
    found = balanced(
        step_of, way, places, load.output_tokens, alone_s, turn_s, sending_s, sent, beside_s,
        load.concurrency, load.request_per_s,
    )  # fmt: skip
    return ServingNumbers(
        memory=memory,
        places=places,
        resident=found.resident,
        at_work=found.apart.under_way,
        step=found.step,
        prefill=prefill,
        ttft_s=found.first_s,
        tpot_s=found.step.total_s,
        request_per_s=found.rate,
        output_tokens_per_s=serving_requests.output_tokens_per_second(found.rate, load.output_tokens),
        prefill_tokens_per_s=serving_requests.prefill_tokens_per_second(prompt / minimum(passes, 1.0), alone_s),
        saturated=found.saturated,
        apart=replace(found.apart, reader_memory=own),
    )


def _resident_at_rate(parts: _Parts, places: Number, rate: Number) -> tuple[Number, Number]:
    """The requests at work at once that a rate leads to, and the rate that fills all places (Little's law)."""
    load = parts[3]

    def excess(sequences: Number) -> Number:
        work = _work(parts, maximum(sequences, 1.0))
        stay = serving_requests.sequences_of_rate(rate, sequences, work.share_s, load.output_tokens, work.step.total_s)
        return stay - sequences

    full = _work(parts, places)
    capacity = serving_requests.requests_per_second(
        places, serving_requests.cycle_seconds(places, full.share_s, load.output_tokens, full.step.total_s)
    )
    low: Number = 0.0 * places
    high = places
    above, below = excess(low), excess(high)
    found = high
    for _ in range(RATE_ITERATIONS):
        found = low + (high - low) * minimum(above / maximum(above - below, 1e-12), 1.0)
        here = excess(found)
        low, above = where(here > 0, found, low), where(here > 0, here, above)
        high, below = where(here > 0, high, found), where(here > 0, below, here)
    return minimum(found, places), capacity


def _work(parts: _Parts, sequences: Number) -> _Work:
    model, gpu, server, load, way, group = parts
    prompt = _prompt(load)
    prefill, passes, lone = prompt_passes(
        model, gpu, server, way, group, prompt, load.prefix_tokens, sequences, load.output_tokens
    )
    context = serving_requests.mean_context_tokens(load.input_tokens, load.output_tokens)
    step = decode_step(model, gpu, server, way, group, sequences, context)
    stages = 1.0 + (way.pipeline_parallel - 1.0) * server.stages_overlap
    alone = serving_requests.pipelined_prefill_seconds(lone, passes, stages)
    share = serving_requests.prefill_share_seconds(prefill.total_s, passes, sequences, stages)
    return _Work(step, prefill, alone, share, passes)


def _prompt(load: LoadNumbers) -> Number:
    """Tokens of a prompt that are not in the cache."""
    return maximum(load.input_tokens - load.prefix_tokens, 1.0)


def _result(
    parts: _Parts,
    memory: MemoryNumbers,
    places: Number,
    resident: Number,
    work: _Work,
    ttft: Number,
    tpot: Number,
    rate: Number,
    saturated: Condition,
) -> ServingNumbers:
    load, way = parts[3], parts[4]
    prompt = _prompt(load)
    clients = load.concurrency if load.request_per_s is None else inf
    requests = serving_requests.all_requests_per_second(rate, way.replicas, clients)
    return ServingNumbers(
        memory=memory,
        places=places,
        resident=resident,
        at_work=serving_pool.sequences_at_work(resident, way.replicas, clients),
        step=work.step,
        prefill=work.prefill,
        ttft_s=ttft,
        tpot_s=tpot,
        request_per_s=requests,
        output_tokens_per_s=serving_requests.output_tokens_per_second(requests, load.output_tokens),
        prefill_tokens_per_s=serving_requests.prefill_tokens_per_second(
            prompt / minimum(work.passes, 1.0), work.alone_s
        ),
        saturated=saturated,
    )
