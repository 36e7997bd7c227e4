"""The memory of a serving GPU: what runs beside the weights, the pool that is left for the cache, and what fits in it.

Servers differ in numbers, not in formulas: which share of the memory they take, whether the pool is cut after the
activations were measured, and whether it is taken whole. No server is named here.
"""

from gpuplanner.engine.formulas.elementwise import Number, floor, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

ROUNDING = 1e-9
"""What a whole number may lose when it is computed."""
VLLM = "vLLM, v1/worker/gpu_worker.py, determine_available_memory"


@formula(
    Unit.BYTE,
    "batched_tokens · (split_bytes / tensor_parallel + whole_bytes)",
    "largest intermediates that live at once; reproduces vLLM's profile of an 8B model at 20,000 and 29,000 tokens",
)
def activation_bytes(
    batched_tokens: Number, split_bytes: Number, whole_bytes: Number, tensor_parallel: Number
) -> Number:
    """Activations of one forward pass of `batched_tokens` tokens on one GPU.

    `split_bytes`: bytes a token of what tensor parallelism splits (the MLP's); `whole_bytes`: of what every rank has.
    """
    return batched_tokens * (split_bytes / tensor_parallel + whole_bytes)


@formula(Unit.BYTE, "sequences · vocabulary · logit_bytes", "logits in FP32 with the copies that sampling makes")
def sampling_bytes(sequences: Number, vocabulary: Number, logit_bytes: Number) -> Number:
    """Memory to choose the next token of each of `sequences` sequences."""
    return sequences * vocabulary * logit_bytes


@formula(
    Unit.BYTE,
    "min(batched_tokens, length) · length · heads · bytes_per_score / tensor_parallel",
    "without flash attention a layer's scores are a buffer: tokens of a pass times tokens before them, for each head",
)
def score_buffer_bytes(
    batched_tokens: Number, length: Number, heads: Number, bytes_per_score: Number, tensor_parallel: Number
) -> Number:
    """Memory of the scores of one layer. `bytes_per_score`: 0 where flash attention keeps none of them."""
    return minimum(batched_tokens, length) * length * heads * bytes_per_score / tensor_parallel


@formula(Unit.BYTE, "attention_activation_bytes + scores_bytes", "queries, keys and values live beside the scores")
def attention_buffer_bytes(attention_activation_bytes: Number, scores_bytes: Number) -> Number:
    """What lives during attention."""
    return attention_activation_bytes + scores_bytes


@formula(Unit.BYTE, "max(mlp_activation_bytes, attention_activation_bytes, sampling_bytes) + tower_bytes", VLLM)
def activation_peak_bytes(
    mlp_activation_bytes: Number, attention_activation_bytes: Number, sampling_bytes: Number, tower_bytes: Number
) -> Number:
    """Peak of what lives only during a step: the MLP's, the attention's and sampling's memory are not held together.

    `tower_bytes`: what a server sets aside to encode pictures or sound.
    """
    return maximum(maximum(mlp_activation_bytes, attention_activation_bytes), sampling_bytes) + tower_bytes


@formula(Unit.BYTE, "context_bytes + peer_bytes where tensor_parallel · pipeline_parallel > 1", VLLM)
def runtime_bytes(
    context_bytes: Number, peer_bytes: Number, tensor_parallel: Number, pipeline_parallel: Number
) -> Number:
    """What CUDA, its libraries and communication buffers take beside PyTorch."""
    return context_bytes + peer_bytes * (tensor_parallel * pipeline_parallel > 1)


@formula(Unit.BYTE, "graph_layer_bytes · stage_layers", VLLM)
def graph_bytes(graph_layer_bytes: Number, stage_layers: Number) -> Number:
    """Memory of captured CUDA graphs."""
    return graph_layer_bytes * stage_layers


@formula(Unit.BYTE, "weight_bytes + runtime_bytes + activation_bytes + graph_bytes", VLLM)
def fixed_bytes(weight_bytes: Number, runtime_bytes: Number, activation_bytes: Number, graph_bytes: Number) -> Number:
    """What a serving GPU needs whatever is in its cache."""
    return weight_bytes + runtime_bytes + activation_bytes + graph_bytes


@formula(
    Unit.BYTE,
    "free_share · max(memory_share · usable_bytes - weight_bytes - runtime_bytes"
    " - counts_activations · (activation_bytes + graph_bytes), 0)",
    VLLM,
)
def pool_bytes(
    usable_bytes: Number,
    memory_share: Number,
    free_share: Number,
    weight_bytes: Number,
    runtime_bytes: Number,
    activation_bytes: Number,
    graph_bytes: Number,
    counts_activations: Number,
) -> Number:
    """Memory that a server cuts out for its KV cache; none where not even the weights fit into its share.

    `memory_share`: of the whole memory (vLLM's gpu-memory-utilization, SGLang's mem-fraction-static); `free_share`: of
    what is left after the rest (TensorRT-LLM's kv_cache_free_gpu_memory_fraction).
    """
    counted = counts_activations * (activation_bytes + graph_bytes)
    return free_share * maximum(memory_share * usable_bytes - weight_bytes - runtime_bytes - counted, 0.0)


@formula(
    Unit.BYTE,
    "max(weight_bytes + runtime_bytes + counts_activations · (activation_bytes + graph_bytes)"
    " - memory_share · usable_bytes, 0)",
    VLLM,
)
def pool_shortfall_bytes(
    usable_bytes: Number,
    memory_share: Number,
    weight_bytes: Number,
    runtime_bytes: Number,
    activation_bytes: Number,
    graph_bytes: Number,
    counts_activations: Number,
) -> Number:
    """What is missing in a server's share of the memory before there is any pool; none where there is one."""
    counted = counts_activations * (activation_bytes + graph_bytes)
    return maximum(weight_bytes + runtime_bytes + counted - memory_share * usable_bytes, 0.0)


@formula(
    Unit.RATIO,
    "(weight_bytes + runtime_bytes + counts_activations · (activation_bytes + graph_bytes) + sequence_bytes)"
    " / usable_bytes",
    VLLM,
)
def least_memory_share(
    weight_bytes: Number,
    runtime_bytes: Number,
    activation_bytes: Number,
    graph_bytes: Number,
    counts_activations: Number,
    sequence_bytes: Number,
    usable_bytes: Number,
) -> Number:
    """The smallest share of the memory with which the server starts and holds one request of full length."""
    counted = counts_activations * (activation_bytes + graph_bytes)
    return (weight_bytes + runtime_bytes + counted + sequence_bytes) / usable_bytes


@formula(Unit.BYTE, "cache_bytes + tokens · bytes_per_token", "layers of one kind after the other")
def with_cache_bytes(cache_bytes: Number, tokens: Number, bytes_per_token: Number) -> Number:
    """Cache of one sequence on one GPU, the layers of one kind added to those counted before."""
    return cache_bytes + tokens * bytes_per_token


@formula(
    Unit.BYTE,
    "cache_bytes · cache_copies · stage_layers / layers",
    "each pipeline stage keeps the cache of its own layers",
)
def stage_cache_bytes(cache_bytes: Number, cache_copies: Number, stage_layers: Number, layers: Number) -> Number:
    """Cache of one sequence on the GPU of the pipeline stage that has most layers.

    `cache_copies`: 2 where the cache grows by making a longer one beside the old one.
    """
    return cache_bytes * cache_copies * stage_layers / layers


@formula(Unit.COUNT, "attention_ranks · max(pool_bytes, 0) / sequence_bytes", "")
def sequences_in_pool(pool_bytes: Number, sequence_bytes: Number, attention_ranks: Number = 1.0) -> Number:
    """Sequences that the pools of one replica hold at once; what keeps no cache (an encoder) counts one byte."""
    return attention_ranks * maximum(pool_bytes, 0.0) / maximum(sequence_bytes, 1.0)


@formula(
    Unit.COUNT, "max_sequences · dense_copies", "a group of ranks that is a server of its own has a limit of its own"
)
def replica_sequences(max_sequences: Number, dense_copies: Number) -> Number:
    """Requests that all groups of ranks of a replica let in together."""
    return max_sequences * dense_copies


@formula(Unit.COUNT, "min(concurrency, max_sequences, sequences_in_pool)", "client concurrency is not resident batch")
def resident_sequences(concurrency: Number, max_sequences: Number, sequences_in_pool: Number) -> Number:
    """Requests that are in the pool at once on one replica; at least one where any request is served at all."""
    return maximum(minimum(minimum(concurrency, max_sequences), sequences_in_pool), 1.0)


@formula(Unit.COUNT, "min(sequences · replicas, concurrency)", "a replica without a client does nothing")
def sequences_at_work(sequences: Number, replicas: Number, concurrency: Number) -> Number:
    """Requests that are at work at once on all replicas."""
    return minimum(sequences * replicas, concurrency)


@formula(Unit.COUNT, "floor(sequences)", "a request that fits in part waits")
def whole_sequences(sequences: Number) -> Number:
    """The requests of a number of them that are at work whole; never none, since one is always let in."""
    return maximum(floor(sequences + ROUNDING), 1.0)


@formula(
    Unit.BYTE,
    "min(sequences · sequence_bytes / attention_ranks, max(pool_bytes, sequence_bytes))",
    "requests are let in before all have their last token, so the pool bounds them, but never below one",
)
def live_cache_bytes(sequences: Number, sequence_bytes: Number, attention_ranks: Number, pool_bytes: Number) -> Number:
    """Cache of `sequences` requests at their last tokens on one GPU, as far as the pool holds them."""
    return minimum(sequences * sequence_bytes / attention_ranks, maximum(pool_bytes, sequence_bytes))


@formula(Unit.BYTE, "fixed_bytes + cache_bytes", "needed, not what the server reserves")
def needed_bytes(fixed_bytes: Number, cache_bytes: Number) -> Number:
    """Memory that the work itself needs on one GPU."""
    return fixed_bytes + cache_bytes


@formula(Unit.BYTE, "fixed_bytes + takes_whole_pool · max(pool_bytes, 0) + (1 - takes_whole_pool) · cache_bytes", VLLM)
def reserved_bytes(fixed_bytes: Number, pool_bytes: Number, cache_bytes: Number, takes_whole_pool: Number) -> Number:
    """Memory that the server takes on one GPU; `cache_bytes` where it allocates only what its slots need."""
    return fixed_bytes + takes_whole_pool * maximum(pool_bytes, 0.0) + (1.0 - takes_whole_pool) * cache_bytes


@formula(
    Unit.TOKEN,
    "max(pool_bytes - held_bytes, 0) / bytes_per_token",
    "the length at which the layers without a full window have used up the pool",
)
def longest_tokens(pool_bytes: Number, held_bytes: Number, bytes_per_token: Number) -> Number:
    """Longest request that fits when `held_bytes` of it do not grow with its length."""
    return maximum(pool_bytes - held_bytes, 0.0) / bytes_per_token


@formula(Unit.COUNT, "max(pool_bytes, 0) / reserved_bytes · replicas", VLLM)
def concurrent_requests(pool_bytes: Number, reserved_bytes: Number, replicas: Number) -> Number:
    """Requests of the longest length that the pools of all replicas hold at once."""
    return maximum(pool_bytes, 0.0) / maximum(reserved_bytes, 1.0) * replicas
