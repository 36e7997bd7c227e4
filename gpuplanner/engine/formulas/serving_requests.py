"""What continuous batching makes of steps and prompts: what each client waits for, and what all of them get. No flags.

A replica that is never idle spends its time on prompts and on decode steps, so while `sequences` requests are in it,
one of them takes `cycle = sequences · prefill + output tokens · step` from its admission to its last token, whatever
the order of work. The order decides how much of that is waiting for the first token.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

WORK = "work conservation in a closed loop of clients"


@formula(
    Unit.SECOND,
    "prefill_s / min(passes, 1) · (chunks + pipeline_parallel - 1) / (chunks · pipeline_parallel), chunks = max(passes,"
    " 1)",
    "GPipe: stages wait for the first and the last chunk; a prompt that shares a pass waits for all of it",
)
def pipelined_prefill_seconds(prefill_s: Number, passes: Number, pipeline_parallel: Number) -> Number:
    """Time of a prompt alone on a replica whose pipeline stages work on its chunks one after the other."""
    chunks = maximum(passes, 1.0)
    return prefill_s / minimum(passes, 1.0) * (chunks + pipeline_parallel - 1.0) / (chunks * pipeline_parallel)


@formula(Unit.SECOND, "prefill_s / min(pipeline_parallel, max(sequences · passes, 1))", "stages work on other prompts")
def prefill_share_seconds(prefill_s: Number, passes: Number, sequences: Number, pipeline_parallel: Number) -> Number:
    """Time that one prompt takes away from a replica on which `sequences` requests are at work."""
    return prefill_s / minimum(pipeline_parallel, maximum(sequences * passes, 1.0))


@formula(Unit.SECOND, "sequences · prefill_share_s + output_tokens · step_s", WORK)
def cycle_seconds(sequences: Number, prefill_share_s: Number, output_tokens: Number, step_s: Number) -> Number:
    """Time from the admission of a request to its last token while `sequences` of them share the replica."""
    return sequences * prefill_share_s + output_tokens * step_s


@formula(Unit.REQUEST_PER_S, "sequences / cycle_s", "Little's law")
def requests_per_second(sequences: Number, cycle_s: Number) -> Number:
    """Requests that one replica finishes in a second."""
    return sequences / cycle_s


@formula(
    Unit.SECOND,
    "prefill_s + min(others, 1) · step_s + request_s + max(ahead + 1 - 1 / min(passes, 1), 0) · prefill_share_s, others"
    " = max(sequences - 1, 0)",
    "the pass of its own prompt, the step in progress, and the prompts of others in passes before",
)
def first_token_seconds(
    prefill_s: Number,
    step_s: Number,
    request_s: Number,
    ahead: Number,
    sequences: Number,
    prefill_share_s: Number,
    passes: Number,
) -> Number:
    """Time from the admission of a request to its first token. Of the prompts `ahead`, those that share its pass do not
    go before it.
    """
    others = maximum(sequences - 1.0, 0.0)
    before = maximum(ahead + 1.0 - 1.0 / minimum(passes, 1.0), 0.0)
    return prefill_s + minimum(others, 1.0) * step_s + request_s + before * prefill_share_s


@formula(
    Unit.SECOND,
    "step_s + max(others - min(2 · burst_share, 1) · sequences · (1 - full_pass_cost) - ahead, 0) · prefill_share_s /"
    " output_tokens, others = max(sequences - 1, 0)",
    WORK + "; the first token is left out",
)
def token_seconds(
    step_s: Number,
    ahead: Number,
    sequences: Number,
    prefill_share_s: Number,
    output_tokens: Number,
    burst_share: Number,
    full_pass_cost: Number,
) -> Number:
    """Mean time between two tokens of one request after the first: its steps, and others' prompts in between.

    Prompts `ahead` go before the first token, or with it, and so do not come after it. Of requests that arrive at once
    all prompts take less, since they share passes.
    """
    others = maximum(sequences - 1.0, 0.0)
    spared = minimum(2.0 * burst_share, 1.0) * sequences * (1.0 - full_pass_cost)
    return step_s + maximum(others - spared - ahead, 0.0) * prefill_share_s / output_tokens


@formula(Unit.SECOND, "max(concurrency - sequences, 0) / request_per_s", "Little's law for those outside the pool")
def waiting_seconds(concurrency: Number, sequences: Number, request_per_s: Number) -> Number:
    """Time that a request waits for a place in the pool when more clients ask than fit."""
    return maximum(concurrency - sequences, 0.0) / request_per_s


@formula(Unit.COUNT, "request_per_s · (sequences · prefill_share_s + output_tokens · step_s)", "Little's law")
def sequences_of_rate(
    request_per_s: Number, sequences: Number, prefill_share_s: Number, output_tokens: Number, step_s: Number
) -> Number:
    """Requests at work at once when `request_per_s` come in and each stays as long as with `sequences` of them."""
    return request_per_s * (sequences * prefill_share_s + output_tokens * step_s)


@formula(
    Unit.SECOND, "step_s / (1 - request_per_s · prefill_share_s)", "the time that prompts leave is for decode steps"
)
def token_seconds_at_rate(step_s: Number, request_per_s: Number, prefill_share_s: Number) -> Number:
    """Mean time between two tokens of one request when requests come in at a rate."""
    return step_s / (1.0 - request_per_s * prefill_share_s)


@formula(
    Unit.SECOND,
    "prefill_s + min(sequences, 1) · step_s + request_s"
    " + request_per_s · prefill_share_s^2 / (2 · (1 - request_per_s · prefill_share_s))",
    "Pollaczek and Khinchine: arrivals at random, prompts of one length",
)
def first_token_seconds_at_rate(
    prefill_s: Number,
    step_s: Number,
    request_s: Number,
    sequences: Number,
    request_per_s: Number,
    prefill_share_s: Number,
) -> Number:
    """Time to the first token when requests come in at a rate: own prefill, the step in progress, prompts before it."""
    load = request_per_s * prefill_share_s
    queue = load * prefill_share_s / (2.0 * (1.0 - load))
    return prefill_s + minimum(sequences, 1.0) * step_s + request_s + queue


@formula(Unit.TOKEN_PER_S, "request_per_s · output_tokens", "")
def output_tokens_per_second(request_per_s: Number, output_tokens: Number) -> Number:
    """Tokens that all replicas give in a second."""
    return request_per_s * output_tokens


@formula(Unit.REQUEST_PER_S, "request_per_s · min(replicas, concurrency)", "a replica without a client does nothing")
def all_requests_per_second(request_per_s: Number, replicas: Number, concurrency: Number) -> Number:
    """Requests that all replicas finish in a second, from what one does that has clients."""
    return request_per_s * minimum(replicas, concurrency)


@formula(Unit.TOKEN_PER_S, "prompt_tokens / prefill_s", "")
def prefill_tokens_per_second(prompt_tokens: Number, prefill_s: Number) -> Number:
    """Prompt tokens that one replica computes in a second while it does nothing else."""
    return prompt_tokens / prefill_s


@formula(Unit.SECOND, "first_token_s + waiting_s", "")
def answered_seconds(first_token_s: Number, waiting_s: Number) -> Number:
    """Time from sending a request to its first token."""
    return first_token_s + waiting_s


@formula(Unit.TOKEN, "input_tokens + output_tokens / 2", "halfway through the answer")
def mean_context_tokens(input_tokens: Number, output_tokens: Number) -> Number:
    """Tokens that a request has in the cache on average while it is answered."""
    return input_tokens + 0.5 * output_tokens


@formula(Unit.SECOND, "first_token_s + (output_tokens - 1) · token_s", "")
def request_seconds(first_token_s: Number, token_s: Number, output_tokens: Number) -> Number:
    """Time from sending a request to its last token."""
    return first_token_s + (output_tokens - 1.0) * token_s
