"""Time of serving: a decode step, the prefill of a prompt, and what continuous batching makes of both. No flags here.

A replica that is never idle spends its time on prompts and on decode steps, so while `sequences` requests are in it,
one of them takes `cycle = sequences · prefill + output tokens · step` from its admission to its last token, whatever
the order of work. The order decides how much of that is waiting for the first token.
"""

from gpuplanner.engine.formulas.elementwise import Number, added, ceil, maximum, minimum, where
from gpuplanner.figures import formula
from gpuplanner.units import Unit

WORK = "work conservation in a closed loop of clients"


@formula(
    Unit.SECOND,
    "layers · layer_s + moe_layers · moe_layer_s",
    "kernels that are too small to fill the GPU, one after the other",
)
def launch_seconds(layers: Number, layer_s: Number, moe_layers: Number, moe_layer_s: Number) -> Number:
    """Time that the kernels of all layers take however little they do; a layer of experts has some more."""
    return layers * layer_s + moe_layers * moe_layer_s


@formula(Unit.SECOND, "(1 - shares_step) · passes · (launch_s + scheduler_s)", "a pass of its own, or none")
def own_pass_seconds(launch_s: Number, scheduler_s: Number, passes: Number, shares_step: Number) -> Number:
    """What the passes of a prompt cost beside its work; nothing where it is computed in passes that decode anyway."""
    return (1.0 - shares_step) * passes * (launch_s + scheduler_s)


@formula(
    Unit.SECOND,
    "max(own_pass_s, passes · layers · prompt_layer_s - work_s)",
    "kernels of a prompt are launched one by one: graphs are captured for decode steps alone",
)
def prompt_launch_seconds(
    own_pass_s: Number, passes: Number, layers: Number, prompt_layer_s: Number, work_s: Number
) -> Number:
    """What starting the kernels of a prompt adds to its work: nothing where the GPU is the slower of the two."""
    return maximum(own_pass_s, passes * layers * prompt_layer_s - work_s)


@formula(
    Unit.COUNT,
    "max(sequences / (1 + (pipeline_parallel - 1) · stages_overlap), 1)",
    "each pipeline stage works on a part of the batch",
)
def decode_rows(sequences: Number, pipeline_parallel: Number, stages_overlap: Number) -> Number:
    """Requests in one pass; stages that do not work at once see the whole batch one after the other."""
    return maximum(sequences / (1.0 + (pipeline_parallel - 1.0) * stages_overlap), 1.0)


@formula(
    Unit.SECOND, "scheduler_s + sequence_s · sequences", "scheduling, sampling and detokenising beside the GPU's work"
)
def host_seconds(scheduler_s: Number, sequence_s: Number, sequences: Number) -> Number:
    """Time of one step that the server spends beside the model's kernels."""
    return scheduler_s + sequence_s * sequences


@formula(Unit.BYTE, "tokens · hidden · element_bytes", "one vector of the hidden size for each token")
def hidden_bytes(tokens: Number, hidden: Number, element_bytes: Number) -> Number:
    """Bytes of the hidden state of `tokens` tokens, which tensor parallelism sums twice a layer."""
    return tokens * (hidden * element_bytes)


@formula(
    Unit.SECOND,
    "passes · (reduces · all_reduce_s + group_reduces · group_reduce_s + hand_over_s)",
    "two sums a layer (Megatron-LM)",
)
def exchange_seconds(
    passes: Number,
    reduces: Number,
    all_reduce_s: Number,
    group_reduces: Number,
    group_reduce_s: Number,
    hand_over_s: Number,
) -> Number:
    """Time in which the GPUs of a replica exchange hidden states; `hand_over_s` between all pipeline stages.

    `reduces`: sums over all tensor-parallel ranks; `group_reduces`: over those of one group that attends for itself.
    """
    return passes * added(reduces * all_reduce_s, group_reduces * group_reduce_s, hand_over_s)


@formula(
    Unit.COUNT,
    "min(ceil(tensor_parallel · pipeline_parallel / gpus_per_node) - 1, pipeline_parallel - 1)",
    "stages are laid out one after the other, node by node",
)
def node_crossings(tensor_parallel: Number, pipeline_parallel: Number, gpus_per_node: Number) -> Number:
    """How many of the hand-overs between pipeline stages leave a node; 0 where one node holds all stages."""
    nodes = ceil(tensor_parallel * pipeline_parallel / gpus_per_node)
    return minimum(nodes - 1.0, pipeline_parallel - 1.0)


@formula(Unit.SECOND, "(pipeline_parallel - 1 - network_sends) · send_s + network_sends · network_send_s", "")
def hand_over_seconds(
    pipeline_parallel: Number, network_sends: Number, send_s: Number, network_send_s: Number
) -> Number:
    """Time of all hand-overs between pipeline stages: those inside nodes, and those that cross the network."""
    return (pipeline_parallel - 1.0 - network_sends) * send_s + network_sends * network_send_s


@formula(Unit.BYTE, "payload_bytes / tensor_parallel", "vllm/distributed/parallel_state.py, send_tensor_dict")
def handed_over_bytes(payload_bytes: Number, tensor_parallel: Number) -> Number:
    """Bytes that each rank of a stage sends over the network; the ranks of the next stage gather them in their node."""
    return payload_bytes / tensor_parallel


@formula(
    Unit.SECOND,
    "prefill_s + (attention_ranks - 1) · own_group_s",
    "one prompt is computed by one group, except for its experts, which all groups share",
)
def lone_prefill_seconds(prefill_s: Number, attention_ranks: Number, own_group_s: Number) -> Number:
    """Time of a prompt while the other groups that attend for themselves have none.

    `prefill_s`: its share of a pass in which every group has one; `own_group_s`: of that, what its group does alone.
    """
    return prefill_s + (attention_ranks - 1.0) * own_group_s


@formula(
    Unit.SECOND,
    "attention_s + between_s + matrices_s · (flops - expert_flops) / flops",
    "all but the experts' matrices, by their share of the multiplications",
)
def own_group_seconds(
    attention_s: Number, between_s: Number, matrices_s: Number, flops: Number, expert_flops: Number
) -> Number:
    """The part of a prompt's time that only the group works which attends to it."""
    return attention_s + between_s + matrices_s * (flops - expert_flops) / flops


@formula(
    Unit.BYTE,
    "tokens · (split_traffic_bytes / tensor_parallel + whole_traffic_bytes + routed_traffic_bytes / expert_parallel)",
    "norms, residuals, rotation and activation read and write each token's vectors, experts a copy for each of theirs",
)
def traffic_bytes(
    tokens: Number,
    split_traffic_bytes: Number,
    whole_traffic_bytes: Number,
    routed_traffic_bytes: Number,
    tensor_parallel: Number,
    expert_parallel: Number,
) -> Number:
    """Bytes that the operators between the matrices move; tensor parallelism splits those of the MLP and the heads.

    `routed_traffic_bytes`: of the copies of a token that its experts read and write, on the ranks that have these.
    """
    split = split_traffic_bytes / tensor_parallel
    return tokens * (split + whole_traffic_bytes + routed_traffic_bytes / expert_parallel)


@formula(
    Unit.SECOND,
    "passes · pipeline_parallel · offload_bytes / (pcie_bytes_per_s · pcie_efficiency)",
    "weights left in host memory are read in every pass (vLLM, --cpu-offload-gb), those of one stage after the other",
)
def fetch_seconds(
    passes: Number, pipeline_parallel: Number, offload_bytes: Number, pcie_bytes_per_s: Number, pcie_efficiency: Number
) -> Number:
    """Time in which the GPUs of a replica read what each has left in host memory."""
    return passes * pipeline_parallel * offload_bytes / (pcie_bytes_per_s * pcie_efficiency)


@formula(
    Unit.SECOND,
    "host_share · max((read_bytes + cache_bytes) / (host_memory_bytes_per_s · host_memory_share),"
    " 2 · active_parameters · tokens / host_flop_per_s)",
    "llama.cpp, --n-gpu-layers: the CPU works on its layers from host memory, the GPU waits",
)
def host_layers_seconds(
    host_share: Number,
    read_bytes: Number,
    cache_bytes: Number,
    active_parameters: Number,
    tokens: Number,
    host_memory_bytes_per_s: Number,
    host_memory_share: Number,
    host_flop_per_s: Number,
) -> Number:
    """Time of a pass on the CPU. `read_bytes`, `cache_bytes`, `active_parameters`: of the whole model."""
    read_s = (read_bytes + cache_bytes) / (host_memory_bytes_per_s * host_memory_share)
    return host_share * maximum(read_s, 2.0 * active_parameters * tokens / host_flop_per_s)


@formula(Unit.SECOND, "whole_s · (1 - host_share)", "the CPU does the rest")
def gpu_share_seconds(whole_s: Number, host_share: Number) -> Number:
    """What is left for the GPU of an operator over all layers."""
    return whole_s * (1.0 - host_share)


@formula(
    Unit.SECOND,
    "matrices_s + attention_s + between_s + exchange_s + dispatch_s + fetch_s + host_layers_s + launch_s + host_s",
    "operators of one step in a row",
)
def step_seconds(
    matrices_s: Number,
    attention_s: Number,
    between_s: Number,
    exchange_s: Number,
    dispatch_s: Number,
    fetch_s: Number,
    host_layers_s: Number,
    launch_s: Number,
    host_s: Number,
) -> Number:
    """Time of one pass over the model."""
    return added(matrices_s, attention_s, between_s, exchange_s, dispatch_s, fetch_s, host_layers_s, launch_s, host_s)


@formula(
    Unit.TOKEN,
    "min(max_batched_tokens · attention_ranks, prompt_tokens · max(sequences / output_tokens, 1 +"
    " static_batches · max(sequences - 1, 0)))",
    "prompts that wait together share a pass",
)
def prefill_rows(
    max_batched_tokens: Number,
    prompt_tokens: Number,
    sequences: Number,
    output_tokens: Number,
    static_batches: Number,
    attention_ranks: Number = 1.0,
) -> Number:
    """Prompt tokens in one pass: in each decode step `sequences / output_tokens` requests end and as many begin.

    `static_batches`: 1 where all requests of a batch begin together; `max_batched_tokens`: of each group of ranks that
    attends for itself.
    """
    together = maximum(sequences / output_tokens, 1.0 + static_batches * maximum(sequences - 1.0, 0.0))
    return minimum(max_batched_tokens * attention_ranks, prompt_tokens * together)


@formula(Unit.COUNT, "prompt_tokens / rows", "")
def prefill_passes(prompt_tokens: Number, rows: Number) -> Number:
    """Passes that one prompt takes; less than one where several prompts share a pass."""
    return prompt_tokens / rows


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


@formula(Unit.SECOND, "own_s where own_s ≥ other_s, else overlap_loss · own_s", "what shows of the smaller of two")
def exposed_seconds(own_s: Number, other_s: Number, overlap_loss: Number) -> Number:
    """The part of reading or multiplying that a step shows while the other goes on."""
    return own_s * where(own_s >= other_s, 1.0, overlap_loss)


@formula(Unit.SECOND, "token_s - step_s", "prompts of other requests between two tokens")
def between_tokens_seconds(token_s: Number, step_s: Number) -> Number:
    """Time between two tokens of a request in which other requests' prompts are computed."""
    return maximum(token_s - step_s, 0.0)
