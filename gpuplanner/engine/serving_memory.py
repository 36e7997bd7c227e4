"""The memory of a serving GPU in numbers: weights, what runs beside them, the pool, and what one request takes of it.

Pure arithmetic on floats or arrays; the formulas stand in `formulas/`.
"""

from dataclasses import dataclass, replace
from math import inf

from gpuplanner.engine.formulas import kv_cache, moe, serving_pool, serving_requests, speculation, weights
from gpuplanner.engine.formulas.elementwise import Condition, Number, always, maximum, minimum, where
from gpuplanner.engine.serving_inputs import (
    CacheLayers,
    GpuNumbers,
    LoadNumbers,
    ModelNumbers,
    ServerNumbers,
    WayNumbers,
)
from gpuplanner.engine.serving_pages import Pages, pages_of
from gpuplanner.engine.serving_passes import dense_copies, host_share, not_offloaded


@dataclass(frozen=True, slots=True)
class MemoryNumbers:
    """Memory of the fullest GPU in bytes, and what one request takes of its pool.

    `weight_bytes`: `own_weight_bytes` of the model and `drafter_bytes` of what drafts for it.
    `fixed_bytes`: all but the cache; `cache_layers`: those of the stage's layers that keep their cache there.
    `shortfall_bytes`: what is missing before there is any pool.
    `sequence_bytes`: cache of one request at its last token, `mean_sequence_bytes` halfway through its answer;
    `reserved_sequence_bytes`: what one request of the longest length may take.
    `least_memory_share`: with which share of the memory the server starts; `starts`: whether it does.
    """

    weight_bytes: Number
    own_weight_bytes: Number
    drafter_bytes: Number
    runtime_bytes: Number
    activation_bytes: Number
    graph_bytes: Number
    fixed_bytes: Number
    pool_bytes: Number
    shortfall_bytes: Number
    stage_layers: Number
    cache_layers: Number
    bytes_per_token: Number
    sequence_bytes: Number
    mean_sequence_bytes: Number
    reserved_sequence_bytes: Number
    least_memory_share: Number
    starts: Condition


def memory_numbers(
    model: ModelNumbers, gpu: GpuNumbers, server: ServerNumbers, load: LoadNumbers, way: WayNumbers
) -> MemoryNumbers:
    """Memory of the fullest GPU, and the pool that the server is left with."""
    tensor, stages = way.tensor_parallel, way.pipeline_parallel
    stage = weights.layers_of_fullest_stage(model.layers, stages)
    copies = dense_copies(server, way)
    own = _weights(model, server, way, stage, copies, server.offload_bytes)
    weight, graph_layers = own, stage
    drafter: Number = 0.0
    held = None if model.draft is None else model.draft.holds
    if held is not None:
        drafter = _weights(held, server, last_stage(way), held.layers, copies, 0.0)
        weight = speculation.weights_with_drafter_bytes(own, drafter)
        graph_layers = speculation.layers_with_drafter(stage, held.layers)
    runtime = serving_pool.runtime_bytes(server.context_bytes, server.peer_bytes, tensor, stages)
    activations = _activations(model, server, load, tensor / way.attention_ranks)
    graphs = serving_pool.graph_bytes(server.graph_layer_bytes, graph_layers)
    fixed = serving_pool.fixed_bytes(weight, runtime, activations, graphs)
    pool = serving_pool.pool_bytes(
        gpu.usable_bytes,
        server.memory_share,
        server.free_share,
        weight,
        runtime,
        activations,
        graphs,
        server.counts_activations,
    )
    kept = stage
    if not not_offloaded(server):
        kept = weights.gpu_layers(stage, host_share(model, server, way, server.computes_on_host))
    context = serving_requests.mean_context_tokens(load.input_tokens, load.output_tokens)
    reserved = reserved_sequence_bytes(model, server, way, kept, load.max_length)
    return MemoryNumbers(
        weight_bytes=weight,
        own_weight_bytes=own,
        drafter_bytes=drafter,
        runtime_bytes=runtime,
        activation_bytes=activations,
        graph_bytes=graphs,
        fixed_bytes=fixed,
        pool_bytes=pool,
        shortfall_bytes=serving_pool.pool_shortfall_bytes(
            gpu.usable_bytes, server.memory_share, weight, runtime, activations, graphs, server.counts_activations
        ),
        stage_layers=stage,
        cache_layers=kept,
        bytes_per_token=sequence_bytes(model, way, kept, 1.0, with_state=False),
        sequence_bytes=held_sequence_bytes(model, server, way, kept, load.input_tokens + load.output_tokens),
        mean_sequence_bytes=held_sequence_bytes(model, server, way, kept, context),
        reserved_sequence_bytes=reserved,
        least_memory_share=serving_pool.least_memory_share(
            weight, runtime, activations, graphs, server.counts_activations, reserved, gpu.usable_bytes
        ),
        starts=(pool >= reserved) & (pool > 0),
    )


def _weights(
    model: ModelNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    stage_layers: Number,
    copies: Number,
    offload_bytes: Number,
) -> Number:
    experts: Number = model.expert_bytes
    if not way.plain:
        experts = moe.spread_expert_bytes(experts, model.experts, way.expert_parallel)
    embedding = model.embedding_bytes * server.embedding_on_gpu
    return weights.weight_bytes_per_gpu(
        weights.layer_matrix_bytes(model.attention_bytes, way.attention_ranks, model.mlp_bytes, copies, experts),
        model.copied_bytes,
        weights.edge_bytes(model.head_bytes, embedding, model.beside_bytes, way.pipeline_parallel, copies),
        model.layers,
        stage_layers,
        way.tensor_parallel,
        offload_bytes,
    )


def last_stage(way: WayNumbers) -> WayNumbers:
    """The ranks of one pipeline stage, which what drafts is split over."""
    return way if always(way.pipeline_parallel, 1.0) else replace(way, pipeline_parallel=1.0)


def sequence_bytes(
    model: ModelNumbers,
    way: WayNumbers,
    stage_layers: Number,
    tokens: Number,
    copies: Number = 1.0,
    with_state: bool = True,
) -> Number:
    """Cache of one request of `tokens` tokens on the fullest GPU."""
    ranks = way.tensor_parallel / way.attention_ranks
    held: Number = 0.0
    if with_state and model.state_bytes:
        held = _state_bytes(model, ranks)
    for kind in model.cache:
        per_token = kv_cache.cache_bytes_per_token(kind.elements, kind.bits, kind.shards, ranks)
        held = serving_pool.with_cache_bytes(held, kv_cache.tokens_in_window(tokens, kind.window), per_token)
    kept = serving_pool.stage_cache_bytes(held, copies, stage_layers, model.layers)
    if model.draft is None or model.draft.holds is None:
        return kept
    drafter = model.draft.holds
    own = sequence_bytes(drafter, last_stage(way), drafter.layers, tokens, copies, with_state)
    return speculation.cache_with_drafter_bytes(kept, own)


def held_sequence_bytes(
    model: ModelNumbers, server: ServerNumbers, way: WayNumbers, stage_layers: Number, tokens: Number
) -> Number:
    """What one request of `tokens` tokens takes of the pool: its cache, or whole pages where layers share them."""
    plain = sequence_bytes(model, way, stage_layers, tokens, server.cache_copies)
    pages = pages_of(model, server, way.tensor_parallel / way.attention_ranks)
    if pages is None:
        return plain
    paged = _in_pages(model, server, pages, stage_layers, tokens)
    if model.draft is not None and model.draft.holds is not None:
        drafter = model.draft.holds
        own = sequence_bytes(drafter, last_stage(way), drafter.layers, tokens, server.cache_copies)
        paged = speculation.cache_with_drafter_bytes(paged, own)
    return where(server.shared_pages > 0, paged, plain)


def _in_pages(model: ModelNumbers, server: ServerNumbers, pages: Pages, stage_layers: Number, tokens: Number) -> Number:
    return serving_pool.stage_cache_bytes(pages.request_bytes(tokens), server.cache_copies, stage_layers, model.layers)


def _state_bytes(model: ModelNumbers, ranks: Number) -> Number:
    """States of one request on one GPU: where tokens are drafted, one for each, so that rejected ones can be undone."""
    state = kv_cache.state_bytes_per_sequence(model.state_bytes, model.state_shards, ranks)
    if model.draft is None:
        return state
    return speculation.kept_states_bytes(state, model.draft.draft_tokens)


def reserved_sequence_bytes(
    model: ModelNumbers, server: ServerNumbers, way: WayNumbers, stage_layers: Number, length: Number
) -> Number:
    """What a server sets aside for one request of the longest length: whole blocks, and windows with their chunk."""
    ranks = way.tensor_parallel / way.attention_ranks
    held: Number = 0.0
    if model.state_bytes:
        held = _state_bytes(model, ranks)
    for kind in model.cache:
        per_token = kv_cache.cache_bytes_per_token(kind.elements, kind.bits, kind.shards, ranks)
        extra = server.window_blocks * (kind.window < inf)
        tokens = kv_cache.reserved_tokens(kind.window, server.max_batched_tokens, length, server.block_tokens, extra)
        held = serving_pool.with_cache_bytes(held, tokens, per_token)
    kept = serving_pool.stage_cache_bytes(held, server.cache_copies, stage_layers, model.layers)
    pages = pages_of(model, server, ranks)
    if pages is not None:
        kept = where(server.shared_pages > 0, _in_pages(model, server, pages, stage_layers, length), kept)
    if model.draft is None or model.draft.holds is None:
        return kept
    drafter = model.draft.holds
    own = reserved_sequence_bytes(drafter, server, last_stage(way), drafter.layers, length)
    return speculation.cache_with_drafter_bytes(kept, own)


def longest_request_tokens(
    model: ModelNumbers, server: ServerNumbers, way: WayNumbers, stage_layers: Number, pool: Number
) -> Number:
    """The longest request that the pool holds; infinite where no layer's cache grows with it."""
    plain = _longest_by_tokens(model, server, way, stage_layers, pool)
    pages = pages_of(model, server, way.tensor_parallel / way.attention_ranks)
    if pages is None or (model.draft is not None and model.draft.holds is not None):
        return plain
    share = server.cache_copies * stage_layers / model.layers
    return where(server.shared_pages > 0, pages.longest_tokens(pool / share), plain)


def _longest_by_tokens(
    model: ModelNumbers, server: ServerNumbers, way: WayNumbers, stage_layers: Number, pool: Number
) -> Number:
    """The longest request where each kind of layers takes of the pool what it needs.

    What a request reserves is a sum of lines that turn flat at their window, so it fits as long as one of these holds:
    the layers with the k smallest windows at their full window, the others at the length.
    """
    ranks = way.tensor_parallel / way.attention_ranks
    held: Number = 0.0
    if model.state_bytes:
        held = _state_bytes(model, ranks)
    share = server.cache_copies * stage_layers / model.layers
    layers: list[tuple[CacheLayers, Number]] = [(kind, 1.0) for kind in model.cache]
    drafter = None if model.draft is None else model.draft.holds
    if drafter is not None:
        layers += [(kind, server.cache_copies / share) for kind in drafter.cache]
    layers.sort(key=lambda pair: pair[0].window)
    kinds = [kind for kind, _ in layers]
    slopes = [kv_cache.cache_bytes_per_token(k.elements, k.bits, k.shards, ranks) * times for k, times in layers]
    extras = [server.window_blocks * server.block_tokens * (k.window < inf) for k in kinds]
    held = held + sum(slope * extra for slope, extra in zip(slopes, extras, strict=True))
    windows = [
        kv_cache.reserved_tokens(k.window, server.max_batched_tokens, inf, server.block_tokens, 0.0) for k in kinds
    ]
    longest: Number = 0.0
    full = held
    for flat, (slope, window) in enumerate(zip(slopes, windows, strict=True)):
        longest = maximum(longest, serving_pool.longest_tokens(pool / share, full, sum(slopes[flat:])))
        if kinds[flat].window == inf:
            return kv_cache.whole_block_tokens(longest, server.block_tokens)
        full = full + slope * window
    return where(pool / share >= full, inf, kv_cache.whole_block_tokens(longest, server.block_tokens))


def _activations(model: ModelNumbers, server: ServerNumbers, load: LoadNumbers, tensor: Number) -> Number:
    batched = server.max_batched_tokens
    attention = serving_pool.activation_bytes(batched, model.attention_split_bytes, model.attention_whole_bytes, tensor)
    if model.encoder_heads:
        scores = serving_pool.score_buffer_bytes(
            batched, load.max_length, model.encoder_heads, server.score_bytes, tensor
        )
        attention = serving_pool.attention_buffer_bytes(attention, scores)
    return serving_pool.activation_peak_bytes(
        serving_pool.activation_bytes(
            minimum(batched, model.mlp_pass_tokens), model.split_activation_bytes, model.whole_activation_bytes, tensor
        ),
        attention,
        serving_pool.sampling_bytes(server.max_sequences, model.vocabulary, server.logit_bytes),
        model.profile_bytes,
    )
