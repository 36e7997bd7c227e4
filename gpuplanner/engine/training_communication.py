"""What a training step communicates, before anything is hidden: seconds for each kind, by where the groups lie."""

from dataclasses import dataclass

import numpy as np

from gpuplanner.engine.formulas.collectives import (
    all_gather_seconds,
    all_reduce_seconds,
    distinct_nodes_share,
    network_send_seconds,
    send_seconds,
    spanning_all_to_all_seconds,
    spanning_seconds,
)
from gpuplanner.engine.formulas.elementwise import Condition, Number, always, maximum, minimum, settled, where
from gpuplanner.engine.formulas.training_time import (
    context_exchange_seconds,
    expert_dispatch_seconds,
    gradient_reduce_seconds,
    ring_seconds,
    sharded_seconds,
    stage_send_seconds,
    tensor_parallel_seconds,
)
from gpuplanner.engine.links import Reach
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_split import Split

DISPATCHES = 4.0
"""Tokens go to their experts and come back, forward and backward."""
LAYER_COLLECTIVES = 4.0
"""All-reduces of tensor parallelism in a layer: two forward, two backward."""
HEAD_EXCHANGES = 8.0
"""All-to-alls of a layer whose heads are exchanged for parts of the sequence: queries, keys, values and what attention
gives, forward; their gradients backward.
"""
RING_PASSES = 3.0
"""Keys and values go around the ring once forward and, with their gradients, twice backward."""


@dataclass(frozen=True, slots=True)
class CommunicationNumbers:
    """Seconds. `tensor`, `context`, `experts`, `sharded` and `send` of one micro-batch; `reduce` of gradients, once."""

    tensor: Number
    context: Number
    experts: Number
    sharded: Number
    send: Number
    reduce: Number


def communication_numbers(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> CommunicationNumbers:
    """All communication of a layout on a machine."""
    return CommunicationNumbers(
        tensor=_tensor_s(model, software, hardware, layout, part),
        context=_context_s(model, software, hardware, layout, part),
        experts=_expert_s(model, software, hardware, layout, part),
        sharded=_sharded_s(model, software, hardware, layout, part),
        send=_send_s(model, software, hardware, layout, part),
        reduce=_reduce_s(software, hardware, layout, part),
    )


def _spanning(
    payload: Number,
    passes: float,
    members: Number,
    in_node: Number,
    reach: Reach,
    wide: Reach,
    hardware: HardwareNumbers,
    network_share: Number = 1.0,
) -> Number:
    """A collective of `members` ranks, of which `in_node` lie in one node; `passes` 2 for an all-reduce."""
    if always(members, 1.0):
        return 0.0  # nothing to explain
    if isinstance(hardware.gpus, float) and hardware.gpus <= hardware.gpus_per_node:
        return _in_node(payload, passes, members, in_node, reach, hardware)
    nodes = settled(members / in_node, 1.0)
    if isinstance(members, np.ndarray) and always(nodes, 1.0):  # of one layout it is shown what the network would be
        return _in_node(payload, passes, members, members, reach, hardware)
    return spanning_seconds(
        payload,
        passes,
        members,
        nodes,
        hardware.link_bytes_per_s,
        reach.share(in_node),
        reach.latency(in_node),
        hardware.network_bytes_per_s,
        wide.share(nodes) * network_share,
        wide.latency(maximum(nodes, 1.0)),
    )


def _in_node(
    payload: Number, passes: float, members: Number, in_node: Number, reach: Reach, hardware: HardwareNumbers
) -> Number:
    alone = all_reduce_seconds if passes > 1 else all_gather_seconds
    return alone(payload, members, hardware.link_bytes_per_s, reach.share(in_node), reach.latency(in_node))


def _tensor_s(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> Number:
    payload = part.passed_tokens * model.hidden * software.word_bytes
    one = _spanning(
        payload,
        2.0,
        layout.tensor_parallel,
        part.tensor_in_node,
        hardware.all_reduce,
        hardware.network_all_reduce,
        hardware,
    )
    collectives = LAYER_COLLECTIVES * (1.0 + 0.5 * layout.full_recomputation)
    return tensor_parallel_seconds(one, collectives, part.stage_layers)


def _sent(payload: Number, inside: Condition, hardware: HardwareNumbers) -> Number:
    """From one rank to the next, on the links of a node where both lie `inside` it, else over the network."""
    over_links = send_seconds(payload, hardware.link_bytes_per_s, hardware.send.efficiency, hardware.send.latency_s)
    wide = hardware.network_send
    over_network = network_send_seconds(payload, hardware.network_bytes_per_s, wide.efficiency, wide.latency_s)
    return where(inside, over_links, maximum(over_links, over_network))


def _context_s(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> Number:
    cp = layout.context_parallel
    if always(cp, 1.0):
        return 0.0  # nothing to explain
    if not always(software.exchanges_heads, 0.0):
        return _heads_s(model, software, hardware, layout, part)
    hop = part.passed_tokens * model.kv_width * software.word_bytes / layout.tensor_parallel
    one = _sent(hop, part.context_in_node >= cp, hardware)
    return ring_seconds(one, cp, RING_PASSES + layout.full_recomputation, part.stage_layers)


def _heads_s(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> Number:
    """Each rank exchanges its part of the sequence for its part of the heads (Ulysses), as DeepSpeed does.

    What a rank sends does not grow with their number, where keys and values go around a ring past all of them.
    """
    moved = part.passed_tokens * (2.0 * model.hidden + model.kv_width) * software.word_bytes / layout.tensor_parallel
    nodes = layout.context_parallel / part.context_in_node
    reach, wide = hardware.all_to_all, hardware.network_all_to_all
    one = spanning_all_to_all_seconds(
        moved / (HEAD_EXCHANGES / 2.0),
        layout.context_parallel,
        nodes,
        hardware.link_bytes_per_s,
        reach.share(part.context_in_node),
        reach.latency(part.context_in_node),
        hardware.network_bytes_per_s,
        wide.share(nodes),
        wide.latency(maximum(nodes, 1.0)),
    )
    return context_exchange_seconds(one, HEAD_EXCHANGES * (1.0 + 0.5 * layout.full_recomputation), part.stage_layers)


def _expert_s(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> Number:
    ep = layout.expert_parallel
    if always(ep, 1.0):
        return 0.0  # nothing to explain
    sent = part.passed_tokens * part.busiest_share
    payload = sent * model.dispatch_width * 0.5 * software.word_bytes / part.residual_shards
    nodes = ep / part.expert_in_node
    reach, wide = hardware.all_to_all, hardware.network_all_to_all
    once = distinct_nodes_share(nodes, maximum(model.experts_per_token, 1.0))
    one = spanning_all_to_all_seconds(
        payload,
        ep,
        nodes,
        hardware.link_bytes_per_s,
        reach.share(part.expert_in_node),
        reach.latency(part.expert_in_node),
        hardware.network_bytes_per_s,
        wide.share(nodes) / once,
        wide.latency(maximum(nodes, 1.0)),
    )
    return expert_dispatch_seconds(one, DISPATCHES * (1.0 + 0.5 * layout.full_recomputation), part.stage_layers)


def _sharded_s(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> Number:
    """Gathering sharded weights forward and backward, and reducing the gradients, in one micro-batch."""
    sharded = layout.shard_base if model.frozen else layout.shard_weights
    if always(sharded, 0.0):
        return 0.0  # nothing to explain
    members = part.shard_members
    in_node = minimum(part.data_in_node, members)
    gathered_each = minimum(software.frozen_weight_bytes, software.word_bytes) if model.frozen else software.word_bytes
    gather = _spanning(
        (part.dense_parameters + part.expert_parameters) * gathered_each,
        1.0,
        members,
        in_node,
        hardware.all_gather,
        hardware.network_all_gather,
        hardware,
        software.gather_share,
    )
    reduce = _spanning(
        (part.trained_dense + part.trained_experts) * software.reduced_bytes,
        1.0,
        members,
        in_node,
        hardware.reduce_scatter,
        hardware.network_all_gather,
        hardware,
        software.gather_share,
    )
    return sharded_seconds(sharded, gather, 2.0 + layout.reference_passes, reduce)


def _reduce_s(software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Gradients reduced over data-parallel ranks, and updated weights gathered where each rank updates a share.

    With hybrid sharding a node holds all shards, and each is summed over its copies on the other nodes.
    """
    trained = part.trained_dense + part.trained_experts
    bytes_each = where(
        layout.shard_optimizer > 0, software.reduced_bytes + software.word_bytes, 2.0 * software.reduced_bytes
    )
    once = _spanning(
        trained * bytes_each,
        1.0,
        part.data_members,
        part.data_in_node,
        hardware.reduce_scatter,
        hardware.network_all_gather,
        hardware,
    )
    copies: Number = 0.0
    if not always(layout.shard_in_node, 0.0):
        replicas = part.data_members / part.shard_members
        shard = trained * software.reduced_bytes / part.shard_members
        copies = _spanning(shard, 2.0, replicas, 1.0, hardware.all_reduce, hardware.network_all_reduce, hardware)
    return gradient_reduce_seconds(once, layout.shard_weights, copies)


def _send_s(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> Number:
    """Activations to the next stage and gradients back, once for each chunk of the stage.

    The slowest hand-over sets the pace: one that leaves a node, where one node does not hold all stages.
    """
    if always(layout.pipeline_parallel, 1.0):
        return 0.0  # nothing to explain
    inside = layout.tensor_parallel * part.data_members * layout.pipeline_parallel <= hardware.gpus_per_node
    payload = part.passed_tokens * model.hidden * software.word_bytes / part.residual_shards
    one = _sent(payload, inside, hardware)
    return stage_send_seconds(one, layout.virtual_pipeline, layout.pipeline_parallel)
