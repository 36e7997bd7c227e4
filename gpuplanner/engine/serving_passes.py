"""The passes of serving in numbers: one decode step, and the prefill of one prompt, by what their time goes to.

Pure arithmetic on floats or arrays; the formulas stand in `formulas/`.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from gpuplanner.engine.formulas import attention, gemm, kv_cache, moe, serving_time, weights
from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.engine.serving_exchange import GroupReach, busiest_tokens, dispatch_in_pass, exchange_in_pass
from gpuplanner.engine.serving_inputs import GpuNumbers, ModelNumbers, ServerNumbers, WayNumbers


@dataclass(frozen=True, slots=True)
class PassNumbers:
    """Seconds of one decode step, or of the prefill of one prompt, by what it goes to.

    `weights_s` and `compute_s`: reading and multiplying the matrices, which overlap in `matrices_s`; `cache_s`: reading
    the cache, part of `attention_s`; `between_s`: norms, residuals and activations; `dispatch_s`: tokens to the ranks
    of their experts and back; `fetch_s`: weights from the host; `host_layers_s`: layers that the CPU works on.
    `drafting_s`: what drafts tokens. Where a step gives each request several tokens, all are seconds for one of them,
    and `whole_s` is the whole step.
    """

    weights_s: Number
    compute_s: Number
    matrices_s: Number
    cache_s: Number
    attention_s: Number
    between_s: Number
    exchange_s: Number
    dispatch_s: Number
    fetch_s: Number
    host_layers_s: Number
    launch_s: Number
    host_s: Number
    total_s: Number
    whole_s: Number = 0.0
    drafting_s: Number = 0.0


PASS_PARTS = tuple(field.name for field in fields(PassNumbers))[:12]
"""What the time of a pass goes to, in the order of the fields: all but its sums and what drafts."""


@dataclass(frozen=True, slots=True)
class _Matrices:
    """Reading and multiplying all matrices on one GPU, both at once, and the FLOP in all and of the experts."""

    read_bytes: Number
    weights_s: Number
    compute_s: Number
    total_s: Number
    flops: Number
    expert_flops: Number


def decode_pass(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    group: GroupReach,
    rows: Number,
    requests: Number,
    sequences: Number,
    context: Number,
) -> PassNumbers:
    """A pass of `rows` tokens for `requests` requests that have `context` tokens behind them on average.

    `sequences`: the requests at work, of which a pipeline stage sees a part at once.
    """
    ranks = way.tensor_parallel / way.attention_ranks
    own = rows if way.plain else maximum(rows / way.attention_ranks, 1.0)
    reading = own if requests is rows else maximum(requests / way.attention_ranks, 1.0)
    matrices = _matrices(model, gpu, server, way, group, rows, own, 1.0, decoding=True)
    read: Number = 0.0
    flops: Number = 0.0
    for kind in model.cache:
        per_token = kv_cache.cache_bytes_per_token(kind.elements, kind.bits, kind.shards, ranks)
        seen = kv_cache.tokens_in_window(context, kind.attended)
        read = attention.cache_read_bytes(read, reading, seen, per_token)
        flops = attention.attention_flops(flops, own, seen, kind.flops_per_pair, ranks)
    if model.state_bytes:
        state = kv_cache.state_bytes_per_sequence(model.state_bytes, model.state_shards, ranks)
        read = attention.state_traffic_bytes(read, own, state)
    cache_s = gemm.read_seconds(read, gpu.hbm_bytes_per_s, gpu.cache_share)
    multiply = gemm.multiply_seconds(flops, gpu.attention_flop_per_s, gpu.attention_utilisation)
    attend = attention.decode_attention_seconds(cache_s, multiply)
    between = _between(model, gpu, way, own)
    exchange = exchange_in_pass(model, gpu, server, way, group, rows, own, 1.0)
    dispatch = dispatch_in_pass(model, gpu, way, group, rows, 1.0)
    launch = serving_time.launch_seconds(model.layers, gpu.layer_s, model.moe_layers, gpu.moe_layer_s)
    host = serving_time.host_seconds(server.step_s, server.sequence_s, sequences)
    fetch = _fetch(server, way, 1.0)
    parts = (
        matrices.weights_s, matrices.compute_s, matrices.total_s, cache_s, attend, between, exchange, dispatch, fetch,
        0.0, launch, host,
    )  # fmt: skip
    if not_offloaded(server):
        return _summed(*parts)
    hosted = _with_the_host(PassNumbers(*parts, total_s=0.0), model, server, way, rows, matrices, read)
    return _summed(*(getattr(hosted, name) for name in PASS_PARTS))


def _summed(
    weights_s: Number,
    compute_s: Number,
    matrices_s: Number,
    cache_s: Number,
    attention_s: Number,
    between_s: Number,
    exchange_s: Number,
    dispatch_s: Number,
    fetch_s: Number,
    host_layers_s: Number,
    launch_s: Number,
    host_s: Number,
) -> PassNumbers:
    total = serving_time.step_seconds(
        matrices_s, attention_s, between_s, exchange_s, dispatch_s, fetch_s, host_layers_s, launch_s, host_s
    )
    return PassNumbers(
        weights_s, compute_s, matrices_s, cache_s, attention_s, between_s, exchange_s, dispatch_s, fetch_s,
        host_layers_s, launch_s, host_s, total, total,
    )  # fmt: skip


def _with_the_host(
    done: PassNumbers,
    model: ModelNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    rows: Number,
    matrices: _Matrices,
    cache_bytes: Number,
) -> PassNumbers:
    """The same step where the CPU works on the layers that are left in host memory, the cache of which it keeps."""
    ranks = way.tensor_parallel
    small = server.computes_on_host * (rows < server.host_batch_rows)
    share = host_share(model, server, way, small)
    active = model.attention_parameters + model.mlp_parameters + model.active_expert_parameters
    host_s = serving_time.host_layers_seconds(
        share, matrices.read_bytes * ranks, cache_bytes * ranks, active, rows,
        server.host_memory_bytes_per_s, server.host_memory_share, server.host_flop_per_s,
    )  # fmt: skip
    kept = {
        name: serving_time.gpu_share_seconds(getattr(done, name), share)
        for name in ("weights_s", "compute_s", "matrices_s", "cache_s", "attention_s", "between_s", "launch_s")
    }
    return replace(done, **kept, fetch_s=done.fetch_s * (1.0 - small), host_layers_s=host_s)


def host_share(model: ModelNumbers, server: ServerNumbers, way: WayNumbers, computes: Number) -> Number:
    """Share of the layers that the CPU works on, of the GPU that has most layers; `computes`: 1 where it does."""
    stage = weights.layers_of_fullest_stage(model.layers, way.pipeline_parallel)
    layer_bytes = weights.layer_matrix_bytes(
        model.attention_bytes, way.attention_ranks, model.mlp_bytes, dense_copies(server, way), model.expert_bytes
    )
    return weights.host_layer_share(
        server.offload_bytes,
        layer_bytes,
        model.copied_bytes,
        model.layers,
        stage,
        way.tensor_parallel,
        computes,
    )


def not_offloaded(server: ServerNumbers) -> bool:
    """Whether no weights are left in host memory, in any configuration."""
    return isinstance(server.offload_bytes, float) and not server.offload_bytes


def prefill_pass(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    group: GroupReach,
    prompt: Number,
    prefix: Number,
    sequences: Number,
    output_tokens: Number,
) -> tuple[PassNumbers, Number, Number]:
    """The prefill of one prompt of `prompt` tokens after `prefix` cached ones, the passes that it takes, and its time
    where no other group of ranks has a prompt to compute.
    """
    rows = serving_time.prefill_rows(
        server.max_batched_tokens, prompt, sequences, output_tokens, server.static_batches, way.attention_ranks
    )
    passes = serving_time.prefill_passes(prompt, rows)
    own = rows if way.plain else maximum(rows / way.attention_ranks, 1.0)
    matrices = _matrices(model, gpu, server, way, group, rows, own, passes, decoding=False)
    flops: Number = 0.0
    scores: Number = 0.0
    for kind in model.cache:
        seen = attention.mean_attended_tokens(prompt, prefix, kind.attended)
        flops = attention.attention_flops(flops, prompt, seen, kind.prefill_flops_per_pair, way.tensor_parallel)
        scores = attention.attention_score_bytes(scores, prompt, seen, kind.heads, gpu.pair_bytes, way.tensor_parallel)
    attend = attention.prefill_attention_seconds(
        gemm.multiply_seconds(flops, gpu.attention_flop_per_s, gpu.attention_utilisation),
        gemm.read_seconds(scores, gpu.hbm_bytes_per_s, gpu.hbm_share),
    )
    between = _between(model, gpu, way, prompt)
    exchange = exchange_in_pass(model, gpu, server, way, group, rows, own, passes)
    dispatch = dispatch_in_pass(model, gpu, way, group, rows, passes)
    launch = serving_time.launch_seconds(model.layers, gpu.layer_s, model.moe_layers, gpu.moe_layer_s)
    own_pass = serving_time.own_pass_seconds(launch, server.step_s, passes, server.shares_step)
    fetch = _fetch(server, way, passes)
    work_s = serving_time.step_seconds(matrices.total_s, attend, between, exchange, dispatch, fetch, 0.0, 0.0, 0.0)
    started = serving_time.prompt_launch_seconds(own_pass, passes, model.layers, gpu.prompt_layer_s, work_s)
    numbers = _summed(
        matrices.weights_s, matrices.compute_s, matrices.total_s, 0.0, attend, between, exchange, dispatch, fetch,
        0.0, started, 0.0,
    )  # fmt: skip
    total = numbers.total_s
    if way.plain:
        return numbers, passes, total
    own_s = serving_time.own_group_seconds(attend, between, matrices.total_s, matrices.flops, matrices.expert_flops)
    return numbers, passes, serving_time.lone_prefill_seconds(total, way.attention_ranks, own_s)


def _matrices(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    group: GroupReach,
    rows: Number,
    own_rows: Number,
    passes: Number,
    decoding: bool,
) -> _Matrices:
    """All matrices in `passes` passes of `rows` rows, of which a group that attends for itself has `own_rows`.

    The output projection sees every row while decoding, and only the last one of a prompt, which is left out.
    """
    tensor = way.tensor_parallel
    loaded: Number = 1.0
    busy = rows
    if model.expert_bytes:
        loaded = moe.experts_loaded(model.experts, model.experts_per_token, rows)
        if not way.plain:
            busy = busiest_tokens(model, way, group, rows)
            loaded = moe.busiest_rank_loaded(loaded, model.experts, way.expert_parallel, group.deviations)
    copies = dense_copies(server, way)
    read = moe.read_weight_bytes(
        model.attention_bytes, way.attention_ranks, model.mlp_bytes, model.head_bytes if decoding else 0.0,
        model.expert_bytes, loaded, model.experts, tensor, model.copied_bytes,
        copies,
    )  # fmt: skip
    weights_s = gemm.read_seconds(read, gpu.hbm_bytes_per_s, gpu.hbm_share, passes)
    dense = _dense_flops(model, gpu, way, rows, own_rows, copies, decoding)
    experts: Number = 0.0
    if model.active_expert_parameters:
        own_pad = gpu.expert_padding_tokens
        if not decoding:
            own_pad = maximum(own_pad, model.expert_tile_padding)
        chosen = moe.expert_rows(busy, own_pad, loaded, model.experts_per_token)
        experts = gemm.matrix_flops(model.active_expert_parameters, chosen, 0.0, tensor)
    flops = gemm.all_matrix_flops(*dense, experts)
    compute_s = gemm.multiply_seconds(flops, gpu.flop_per_s, gpu.utilisation, passes)
    together = gemm.overlapped_seconds(weights_s, compute_s, gpu.overlap_loss)
    return _Matrices(read, weights_s, compute_s, together, flops, experts)


def _dense_flops(
    model: ModelNumbers,
    gpu: GpuNumbers,
    way: WayNumbers,
    rows: Number,
    own_rows: Number,
    copies: Number,
    decoding: bool,
) -> tuple[Number, Number, Number]:
    """FLOP of the MLPs, of attention's matrices and of the output projection.

    Where many ways are tried at once whose matrices all see the same rows, they are one matrix with the weights of all
    three: the sum is the same; that of a single way is explained matrix by matrix.
    """
    tensor, pad = way.tensor_parallel, gpu.padding_tokens
    head = model.head_parameters if decoding else 0.0
    if own_rows is rows and isinstance(rows, np.ndarray):
        every = model.mlp_parameters + model.attention_parameters + head
        return gemm.matrix_flops(every, rows, pad, tensor), 0.0, 0.0
    dense_rows, dense_ranks = (rows, tensor) if way.plain else (maximum(rows / copies, 1.0), tensor / copies)
    mlp = gemm.matrix_flops(model.mlp_parameters, dense_rows, pad, dense_ranks)
    attention_flops = gemm.matrix_flops(model.attention_parameters, own_rows, pad, tensor / way.attention_ranks)
    return mlp, attention_flops, gemm.matrix_flops(head, dense_rows, pad, dense_ranks) if decoding else 0.0


def dense_copies(server: ServerNumbers, way: WayNumbers) -> Number:
    """How many groups of ranks each hold the dense MLPs and the output projection."""
    return 1.0 if way.plain else 1.0 + server.copies_dense * (way.attention_ranks - 1.0)


def _between(model: ModelNumbers, gpu: GpuNumbers, way: WayNumbers, tokens: Number) -> Number:
    moved = serving_time.traffic_bytes(
        tokens,
        model.split_traffic_bytes,
        model.whole_traffic_bytes,
        model.routed_traffic_bytes,
        way.tensor_parallel / way.attention_ranks,
        way.expert_parallel,
    )
    return gemm.read_seconds(moved, gpu.hbm_bytes_per_s, gpu.hbm_share)


def _fetch(server: ServerNumbers, way: WayNumbers, passes: Number) -> Number:
    if not_offloaded(server):
        return 0.0  # nothing to explain
    return serving_time.fetch_seconds(
        passes, way.pipeline_parallel, server.offload_bytes, server.pcie_bytes_per_s, server.pcie_efficiency
    )
