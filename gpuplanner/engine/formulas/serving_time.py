"""Time of serving: a decode step and the passes of a prompt, by what they go to. No flags, and nothing of clients.

What clients make of both stands in `serving_requests.py`.
"""

from gpuplanner.engine.formulas.elementwise import Number, added, ceil, maximum, minimum, where
from gpuplanner.figures import formula
from gpuplanner.units import Unit


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


@formula(Unit.SECOND, "own_s where own_s ≥ other_s, else overlap_loss · own_s", "what shows of the smaller of two")
def exposed_seconds(own_s: Number, other_s: Number, overlap_loss: Number) -> Number:
    """The part of reading or multiplying that a step shows while the other goes on."""
    return own_s * where(own_s >= other_s, 1.0, overlap_loss)


@formula(Unit.SECOND, "token_s - step_s", "prompts of other requests between two tokens")
def between_tokens_seconds(token_s: Number, step_s: Number) -> Number:
    """Time between two tokens of a request in which other requests' prompts are computed."""
    return maximum(token_s - step_s, 0.0)
