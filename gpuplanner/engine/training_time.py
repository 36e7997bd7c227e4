"""Time of one training step by operator, and the communication that stays exposed. Numbers only."""

from dataclasses import dataclass

from gpuplanner.engine.formulas.attention import attention_flops, mean_attended_tokens
from gpuplanner.engine.formulas.collectives import send_seconds, spanning_all_to_all_seconds, spanning_seconds
from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum, where
from gpuplanner.engine.formulas.gemm import matrix_flops, multiply_seconds
from gpuplanner.engine.formulas.optimizer import offloaded_step_seconds, optimizer_seconds
from gpuplanner.engine.formulas.pipeline import bubble_seconds, pipelined_step_seconds
from gpuplanner.engine.formulas.training_time import (
    attention_training_seconds,
    compute_seconds,
    dequantise_seconds,
    elementwise_seconds,
    exposed_seconds,
    launch_seconds,
    launch_wait_seconds,
    matrix_seconds,
    micro_batch_seconds,
    offloaded_weights_seconds,
    over_micro_batches,
    sharded_seconds,
    slowest_stage_seconds,
    step_seconds,
    tensor_parallel_seconds,
)
from gpuplanner.engine.links import Reach
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_memory import ActivationNumbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_split import Split

WIRE_BYTES = 2.0
"""Activations and weights cross the links in 16 bits."""
LOSS_TRAFFIC_BYTES = 8.0
"""Moved for each logit when the loss is fused: written, read, its gradient written and read, in 16 bits."""


@dataclass(frozen=True, slots=True)
class TimeNumbers:
    """Seconds of one optimizer step on the GPU that the others wait for; parts add up to `step`."""

    matrices: Number
    attention: Number
    elementwise: Number
    launch: Number
    dequantise: Number
    tensor: Number
    context: Number
    experts: Number
    gather: Number
    send: Number
    fetch: Number
    bubble: Number
    reduce: Number
    optimizer: Number
    offload: Number
    overhead: Number
    step: Number


def time_numbers(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    part: Split,
    kept: ActivationNumbers,
) -> TimeNumbers:
    """Time of one step; see `training_numbers`."""
    tp, pp = layout.tensor_parallel, layout.pipeline_parallel
    full, selective = layout.full_recomputation, layout.selective_recomputation
    again = maximum(full, selective * software.selective_matrices)
    attention_again = maximum(full, selective * software.selective_attention)
    trained = 1.0 - model.frozen
    tokens = part.tokens
    share = part.stage_layers / model.layers

    padding = software.padding_tokens
    dense = matrix_flops(0.0, model.matrix_parameters * share, tokens, padding, tp)
    expert_padding = padding * model.experts / maximum(model.experts_per_token, 1.0) / layout.expert_parallel
    routed = matrix_flops(0.0, model.active_expert_parameters * share, tokens, expert_padding, tp)
    head = matrix_flops(0.0, model.head_matrix, tokens, padding, tp)
    dense_s = multiply_seconds(dense, software.flop_per_s, software.matrix_utilisation)
    experts_s = multiply_seconds(routed, software.flop_per_s, software.expert_utilisation)
    head_s = multiply_seconds(head, software.wide_flop_per_s, software.wide_utilisation)
    layers_s = dense_s + experts_s
    forward_s = slowest_stage_seconds(layers_s, head_s, part.spare_layers, part.stage_layers)
    matrices = matrix_seconds(forward_s, trained, again * layers_s / forward_s)

    unmasked = maximum(layout.math_attention, 1.0 - model.causal)
    span = layout.sequence_length * (1.0 + unmasked)
    seen = mean_attended_tokens(span, 0.0, span)
    flops = attention_flops(0.0, tokens, seen, model.pair_flops * share, tp)
    windowed = mean_attended_tokens(span, 0.0, where(unmasked > 0, span, model.window))
    flops = attention_flops(flops, tokens, windowed, model.windowed_pair_flops * share, tp)
    attention_once = multiply_seconds(flops, software.wide_flop_per_s, software.attention_utilisation)
    attention = attention_training_seconds(attention_once, attention_again)

    moved = kept.layer * part.stage_layers
    logits = where(tokens > software.loss_chunk_tokens, LOSS_TRAFFIC_BYTES, software.bytes_per_logit)
    moved = moved + tokens * model.vocabulary * logits / tp
    elementwise = elementwise_seconds(moved, software.passes, again, hardware.hbm_bytes_per_s, software.hbm_efficiency)
    launch = launch_seconds(part.stage_layers, software.launch_s, again)
    dequantise: Number = 0.0
    if model.frozen:
        quantised = (part.dense_parameters - part.plain_parameters) * (software.frozen_weight_bytes < 2)
        dequantise = dequantise_seconds(
            quantised, software.dequantised_traffic, again, hardware.hbm_bytes_per_s, software.hbm_efficiency
        )
    computing = compute_seconds(matrices, attention, elementwise, launch)
    waiting = launch_wait_seconds(computing, matrices, attention, elementwise)
    busy = computing + dequantise

    tensor = exposed_seconds(_tensor_s(model, hardware, layout, part), software.tensor_hidden, busy)
    context = exposed_seconds(_context_s(model, hardware, layout, part), 1.0, attention)
    expert = exposed_seconds(_expert_s(model, hardware, layout, part), software.expert_hidden, busy)
    sharded = maximum(layout.shard_base * model.frozen, layout.shard_weights * trained)
    gather_once, reduce_once = _gather_s(model, software, hardware, part)
    gather_all = sharded_seconds(gather_once, 2.0, reduce_once) * sharded
    gather = exposed_seconds(gather_all, software.gather_hidden, busy)
    send = exposed_seconds(_send_s(model, hardware, layout, part), software.data_hidden, busy)
    fetch = offloaded_weights_seconds(
        (part.dense_parameters + part.expert_parameters) * WIRE_BYTES * layout.offload_weights / part.shard_members,
        again,
        hardware.pcie_bytes_per_s,
        software.pcie_efficiency,
    )
    one = micro_batch_seconds(computing, dequantise, tensor, context, expert, gather, send, fetch)
    pipelined = pipelined_step_seconds(one, part.micro_batches, pp, layout.virtual_pipeline)
    bubble = bubble_seconds(one, pp, layout.virtual_pipeline)

    reduce_all = _reduce_s(software, hardware, layout, part) * (1.0 - layout.shard_weights)
    often = where(layout.shard_gradients > 0, part.micro_batches, 1.0)
    reduce = over_micro_batches(exposed_seconds(reduce_all, software.data_hidden, busy), often)
    shards = part.shards(layout.shard_optimizer)
    stepped = part.trained_dense / shards[0] + part.trained_experts / shards[1]
    touched = 2.0 * (software.state_bytes + software.weight_bytes) + software.gradient_bytes
    optimizer = optimizer_seconds(
        stepped * (1.0 - layout.offload_optimizer), touched, hardware.hbm_bytes_per_s, software.hbm_efficiency
    )
    offload = offloaded_step_seconds(
        stepped * layout.offload_optimizer,
        software.host_parameters_per_s,
        WIRE_BYTES,
        hardware.pcie_bytes_per_s,
        software.pcie_efficiency,
    )
    step = step_seconds(pipelined, reduce, optimizer, offload, software.overhead_s)
    times = part.micro_batches
    return TimeNumbers(
        matrices=over_micro_batches(matrices, times),
        attention=over_micro_batches(attention, times),
        elementwise=over_micro_batches(elementwise, times),
        launch=over_micro_batches(waiting, times),
        dequantise=over_micro_batches(dequantise, times),
        tensor=over_micro_batches(tensor, times),
        context=over_micro_batches(context, times),
        experts=over_micro_batches(expert, times),
        gather=over_micro_batches(gather, times),
        send=over_micro_batches(send, times),
        fetch=over_micro_batches(fetch, times),
        bubble=bubble,
        reduce=reduce,
        optimizer=optimizer,
        offload=offload,
        overhead=software.overhead_s,
        step=step,
    )


def _spanning(
    payload: Number,
    passes: float,
    members: Number,
    in_node: Number,
    reach: Reach,
    wide: Reach,
    hardware: HardwareNumbers,
) -> Number:
    nodes = members / in_node
    return spanning_seconds(
        payload,
        passes,
        members,
        nodes,
        hardware.link_bytes_per_s,
        reach.share(in_node),
        reach.latency(in_node),
        hardware.network_bytes_per_s,
        wide.share(nodes),
        wide.latency(maximum(nodes, 1.0)),
    )


def _tensor_s(model: ModelNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Collectives of tensor parallelism of one micro-batch: four a layer, two more where all is computed again."""
    payload = part.tokens * model.hidden * WIRE_BYTES
    one = _spanning(
        payload,
        2.0,
        layout.tensor_parallel,
        part.tensor_in_node,
        hardware.all_reduce,
        hardware.network_all_reduce,
        hardware,
    )
    return tensor_parallel_seconds(one, 4.0 + 2.0 * layout.full_recomputation, part.stage_layers)


def _context_s(model: ModelNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Keys and values that pass around the ring: forward once, backward with their gradients."""
    cp = layout.context_parallel
    hop = part.tokens * model.kv_width * WIRE_BYTES / layout.tensor_parallel
    inside = part.context_in_node >= cp
    rate = where(inside, hardware.link_bytes_per_s, minimum(hardware.link_bytes_per_s, hardware.network_bytes_per_s))
    reach = hardware.send
    one = send_seconds(hop, rate, reach.efficiency, reach.latency_s)
    return one * (cp - 1.0) * (3.0 + layout.full_recomputation) * part.stage_layers


def _expert_s(model: ModelNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Sending tokens to their experts and back, forward and backward, in each layer."""
    ep = layout.expert_parallel
    payload = part.tokens * model.dispatch_width * 0.5 * WIRE_BYTES / part.residual_shards
    nodes = ep / part.expert_in_node
    reach, wide = hardware.all_to_all, hardware.network_all_to_all
    one = spanning_all_to_all_seconds(
        payload,
        ep,
        nodes,
        hardware.link_bytes_per_s,
        reach.share(part.expert_in_node),
        reach.latency(part.expert_in_node),
        hardware.network_bytes_per_s,
        wide.share(nodes),
        wide.latency(maximum(nodes, 1.0)),
    )
    return one * (4.0 + 2.0 * layout.full_recomputation) * part.stage_layers


def _gather_s(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, part: Split
) -> tuple[Number, Number]:
    """Gathering the weights once, and reducing the gradients once, over the ranks that share them."""
    members = part.shard_members
    in_node = minimum(part.data_in_node, members)
    rank = part.dense_parameters + part.expert_parameters
    frozen_bytes = minimum(software.frozen_weight_bytes, WIRE_BYTES)
    bytes_each = frozen_bytes if model.frozen else WIRE_BYTES
    gather = _spanning(
        rank * bytes_each, 1.0, members, in_node, hardware.all_gather, hardware.network_all_gather, hardware
    )
    trained = part.trained_dense + part.trained_experts
    reduce = _spanning(
        trained * software.reduced_bytes,
        1.0,
        members,
        in_node,
        hardware.reduce_scatter,
        hardware.network_all_gather,
        hardware,
    )
    return gather / software.gather_share, reduce / software.gather_share


def _reduce_s(software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Gradients reduced over data-parallel ranks once, and updated weights gathered where each rank updates a share."""
    trained = part.trained_dense + part.trained_experts
    bytes_each = where(layout.shard_optimizer > 0, software.reduced_bytes + WIRE_BYTES, 2.0 * software.reduced_bytes)
    return _spanning(
        trained * bytes_each,
        1.0,
        part.data_members,
        part.data_in_node,
        hardware.reduce_scatter,
        hardware.network_all_gather,
        hardware,
    )


def _send_s(model: ModelNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Activations to the next stage and gradients back, once for each chunk of the stage."""
    in_node = layout.tensor_parallel * part.data_members < hardware.gpus_per_node
    rate = where(in_node, hardware.link_bytes_per_s, minimum(hardware.link_bytes_per_s, hardware.network_bytes_per_s))
    payload = part.tokens * model.hidden * WIRE_BYTES / part.residual_shards
    reach = hardware.send
    one = send_seconds(payload, rate, reach.efficiency, reach.latency_s)
    return one * 2.0 * layout.virtual_pipeline * (layout.pipeline_parallel > 1)
