"""The passes of serving in numbers: one decode step, and the prefill of one prompt, by what their time goes to.

Pure arithmetic on floats or arrays; the formulas stand in `formulas/`.
"""

from dataclasses import dataclass

from gpuplanner.engine.formulas import attention, gemm, kv_cache, moe, serving_time
from gpuplanner.engine.formulas.collectives import (
    group_efficiency,
    group_latency_seconds,
    send_seconds,
    spanning_seconds,
)
from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.engine.serving_inputs import GpuNumbers, ModelNumbers, ServerNumbers, WayNumbers


@dataclass(frozen=True, slots=True)
class PassNumbers:
    """Seconds of one decode step, or of the prefill of one prompt, by what it goes to.

    `weights_s` and `compute_s`: reading and multiplying the matrices, which overlap in `matrices_s`; `cache_s`: reading
    the cache, part of `attention_s`; `between_s`: norms, residuals and activations; `fetch_s`: weights from the host.
    """

    weights_s: Number
    compute_s: Number
    matrices_s: Number
    cache_s: Number
    attention_s: Number
    between_s: Number
    exchange_s: Number
    fetch_s: Number
    launch_s: Number
    host_s: Number
    total_s: Number


@dataclass(frozen=True, slots=True)
class GroupReach:
    """What the tensor-parallel group reaches on its links, and over how many nodes it spans."""

    nodes: Number
    efficiency: Number
    latency_s: Number


def decode_step(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    group: GroupReach,
    sequences: Number,
    context: Number,
) -> PassNumbers:
    """One token for each of `sequences` requests that have `context` tokens behind them on average."""
    ranks = way.tensor_parallel / way.attention_ranks
    rows = serving_time.decode_rows(sequences, way.pipeline_parallel, server.stages_overlap)
    own = maximum(rows / way.attention_ranks, 1.0)
    weights_s, compute_s, matrices = _matrices(model, gpu, way, rows, own, 1.0, decoding=True)
    read: Number = 0.0
    flops: Number = 0.0
    for kind in model.cache:
        per_token = kv_cache.cache_bytes_per_token(kind.elements, kind.bits, kind.shards, ranks)
        seen = kv_cache.tokens_in_window(context, kind.attended)
        read = attention.cache_read_bytes(read, own, seen, per_token)
        flops = attention.attention_flops(flops, own, seen, kind.flops_per_pair, ranks)
    if model.state_bytes:
        state = kv_cache.state_bytes_per_sequence(model.state_bytes, model.state_shards, ranks)
        read = attention.state_traffic_bytes(read, own, state)
    cache_s = gemm.read_seconds(read, gpu.hbm_bytes_per_s, gpu.cache_share)
    multiply = gemm.multiply_seconds(flops, gpu.attention_flop_per_s, gpu.attention_utilisation)
    attend = attention.decode_attention_seconds(cache_s, multiply)
    between = _between(model, gpu, way, own)
    exchange = _exchange(model, gpu, way, group, rows, 1.0)
    launch = serving_time.launch_seconds(model.layers, gpu.layer_s, model.moe_layers, gpu.moe_layer_s)
    host = serving_time.host_seconds(server.step_s, server.sequence_s, sequences)
    fetch = _fetch(server, way, 1.0)
    total = serving_time.step_seconds(matrices, attend, between, exchange, fetch, launch, host)
    return PassNumbers(weights_s, compute_s, matrices, cache_s, attend, between, exchange, fetch, launch, host, total)


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
) -> tuple[PassNumbers, Number]:
    """The prefill of one prompt of `prompt` tokens after `prefix` cached ones, and the passes that it takes."""
    rows = serving_time.prefill_rows(server.max_batched_tokens, prompt, sequences, output_tokens)
    passes = serving_time.prefill_passes(prompt, rows)
    own = maximum(rows / way.attention_ranks, 1.0)
    weights_s, compute_s, matrices = _matrices(model, gpu, way, rows, own, passes, decoding=False)
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
    exchange = _exchange(model, gpu, way, group, rows, passes)
    launch = serving_time.launch_seconds(model.layers, gpu.layer_s, model.moe_layers, gpu.moe_layer_s)
    own_pass = serving_time.own_pass_seconds(launch, server.step_s, passes, server.shares_step)
    fetch = _fetch(server, way, passes)
    total = serving_time.step_seconds(matrices, attend, between, exchange, fetch, own_pass, 0.0)
    numbers = PassNumbers(weights_s, compute_s, matrices, 0.0, attend, between, exchange, fetch, own_pass, 0.0, total)
    return numbers, passes


def _matrices(
    model: ModelNumbers,
    gpu: GpuNumbers,
    way: WayNumbers,
    rows: Number,
    own_rows: Number,
    passes: Number,
    decoding: bool,
) -> tuple[Number, Number, Number]:
    """Reading and multiplying all matrices in `passes` passes of `rows` rows, and both at once.

    The output projection sees every row while decoding, and only the last one of a prompt, which is left out.
    """
    tensor = way.tensor_parallel
    loaded: Number = 1.0
    if model.expert_bytes:
        loaded = moe.experts_loaded(model.experts, model.experts_per_token, rows)
    read = moe.read_weight_bytes(
        model.attention_bytes, way.attention_ranks, model.mlp_bytes, model.head_bytes if decoding else 0.0,
        model.expert_bytes, loaded, model.experts, tensor, model.copied_bytes,
    )  # fmt: skip
    weights_s = gemm.read_seconds(read, gpu.hbm_bytes_per_s, gpu.hbm_share, passes)
    pad = gpu.padding_tokens
    mlp = gemm.matrix_flops(model.mlp_parameters, rows, pad, tensor)
    attention_flops = gemm.matrix_flops(model.attention_parameters, own_rows, pad, tensor / way.attention_ranks)
    head: Number = 0.0
    experts: Number = 0.0
    if decoding:
        head = gemm.matrix_flops(model.head_parameters, rows, pad, tensor)
    if model.active_expert_parameters:
        chosen = moe.expert_rows(rows, gpu.expert_padding_tokens, loaded, model.experts_per_token)
        experts = gemm.matrix_flops(model.active_expert_parameters, chosen, 0.0, tensor)
    flops = gemm.all_matrix_flops(mlp, attention_flops, head, experts)
    compute_s = gemm.multiply_seconds(flops, gpu.flop_per_s, gpu.utilisation, passes)
    return weights_s, compute_s, gemm.overlapped_seconds(weights_s, compute_s, gpu.overlap_loss)


def _between(model: ModelNumbers, gpu: GpuNumbers, way: WayNumbers, tokens: Number) -> Number:
    moved = serving_time.traffic_bytes(
        tokens, model.split_traffic_bytes, model.whole_traffic_bytes, way.tensor_parallel / way.attention_ranks
    )
    return gemm.read_seconds(moved, gpu.hbm_bytes_per_s, gpu.hbm_share)


def _fetch(server: ServerNumbers, way: WayNumbers, passes: Number) -> Number:
    if isinstance(server.offload_bytes, float) and not server.offload_bytes:
        return 0.0  # nothing to explain
    return serving_time.fetch_seconds(
        passes, way.pipeline_parallel, server.offload_bytes, server.pcie_bytes_per_s, server.pcie_efficiency
    )


def group_reach(gpu: GpuNumbers, way: WayNumbers) -> GroupReach:
    """What the tensor-parallel group of a way reaches; the same in every pass."""
    inside = minimum(way.tensor_parallel, gpu.gpus_per_node)
    return GroupReach(
        nodes=maximum(way.tensor_parallel / gpu.gpus_per_node, 1.0),
        efficiency=group_efficiency(gpu.link_efficiency, gpu.link_efficiency_growth, inside),
        latency_s=group_latency_seconds(gpu.link_latency_s, gpu.link_latency_growth, inside),
    )


def _exchange(
    model: ModelNumbers, gpu: GpuNumbers, way: WayNumbers, group: GroupReach, rows: Number, passes: Number
) -> Number:
    tensor, stages = way.tensor_parallel, way.pipeline_parallel
    payload = serving_time.hidden_bytes(rows, model.hidden, model.activation_bytes)
    reduce_s = spanning_seconds(
        payload,
        2.0,
        tensor,
        group.nodes,
        gpu.link_bytes_per_s,
        group.efficiency,
        group.latency_s,
        gpu.network_bytes_per_s,
        gpu.network_efficiency,
        gpu.network_latency_s,
    )
    send_s = send_seconds(payload, gpu.send_bytes_per_s, 1.0, gpu.send_latency_s)
    return serving_time.exchange_seconds(passes, model.layers, reduce_s, stages - 1.0, send_s)
