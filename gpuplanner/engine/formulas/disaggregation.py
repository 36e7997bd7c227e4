"""Prefill and decode on workers of their own: what each kind can keep up with, and what the cache's way between costs.

Prompts wait for prompts, answers for answers, and neither for the other. No server is named here.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(Unit.COUNT, "replicas - prefill_workers", "each worker is a whole copy of the model")
def decode_workers(replicas: Number, prefill_workers: Number) -> Number:
    """Copies of the model that give answers, where others read the prompts."""
    return replicas - prefill_workers


@formula(Unit.SECOND, "max(prefill_s, transfer_s)", "a worker sends the cache of one prompt while it reads the next")
def prompt_turn_seconds(prefill_s: Number, transfer_s: Number) -> Number:
    """Time after which a worker that reads prompts can take the next one."""
    return maximum(prefill_s, transfer_s)


@formula(Unit.REQUEST_PER_S, "prefill_workers / prompt_turn_s", "")
def read_requests_per_second(prefill_workers: Number, prompt_turn_s: Number) -> Number:
    """Prompts that all workers of that kind read in a second at most."""
    return prefill_workers / prompt_turn_s


@formula(Unit.REQUEST_PER_S, "decode_workers · sequences / (output_tokens · step_s)", "Little's law")
def answered_requests_per_second(
    decode_workers: Number, sequences: Number, output_tokens: Number, step_s: Number
) -> Number:
    """Answers that all workers of that kind finish in a second, with `sequences` requests at work on each."""
    return decode_workers * sequences / (output_tokens * step_s)


@formula(Unit.COUNT, "decode_workers · sequences + request_per_s · (prefill_s + transfer_s)", "Little's law")
def requests_under_way(
    decode_workers: Number, sequences: Number, request_per_s: Number, prefill_s: Number, transfer_s: Number
) -> Number:
    """Requests that are being answered, whose prompt is being read, or whose cache is being sent."""
    return decode_workers * sequences + request_per_s * (prefill_s + transfer_s)


@formula(Unit.RATIO, "request_per_s / read_requests_per_s", "")
def prefill_load(request_per_s: Number, read_requests_per_s: Number) -> Number:
    """Share of the time for which workers that read prompts have one to read."""
    return request_per_s / read_requests_per_s


@formula(Unit.SECOND, "prefill_load · prompt_turn_s / 2", "the prompt ahead is half read on average")
def prompt_ahead_seconds(prefill_load: Number, prompt_turn_s: Number) -> Number:
    """Wait for the prompt that a worker has begun, where clients wait for their answers before they ask again."""
    return prefill_load * prompt_turn_s / 2.0


@formula(
    Unit.SECOND,
    "prefill_load · prompt_turn_s / (2 · (1 - prefill_load))",
    "Pollaczek and Khinchine: arrivals at random, prompts of one length",
)
def queued_prompts_seconds(prefill_load: Number, prompt_turn_s: Number) -> Number:
    """Wait for the prompts ahead where requests come in at a rate."""
    return prefill_load * prompt_turn_s / (2.0 * (1.0 - prefill_load))


@formula(
    Unit.SECOND,
    "prefill_s + prompt_wait_s + transfer_s + request_s",
    "the first token is given where the answer is, once the cache is there",
)
def first_token_apart_seconds(
    prefill_s: Number, prompt_wait_s: Number, transfer_s: Number, request_s: Number
) -> Number:
    """Time from the admission of a request to its first token: no answer of another one stands in its way."""
    return prefill_s + prompt_wait_s + transfer_s + request_s


@formula(Unit.COUNT, "request_per_s · (prefill_s + transfer_s) / prefill_workers", "Little's law")
def prompts_on_worker(request_per_s: Number, prefill_s: Number, transfer_s: Number, prefill_workers: Number) -> Number:
    """Prompts whose cache a worker that reads them holds at once."""
    return request_per_s * (prefill_s + transfer_s) / prefill_workers
