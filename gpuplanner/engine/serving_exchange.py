"""What the GPUs of a replica exchange in a pass of serving: sums over ranks, hand-overs of stages, tokens to experts.

Pure arithmetic on floats or arrays; the formulas stand in `formulas/`. What the passes compute is not known here.
"""

from dataclasses import dataclass, replace

import numpy as np

from gpuplanner.engine.formulas import moe, serving_time
from gpuplanner.engine.formulas.collectives import (
    all_gather_seconds,
    all_reduce_seconds,
    group_efficiency,
    group_latency_seconds,
    network_send_seconds,
    send_seconds,
    spanning_all_to_all_seconds,
    spanning_seconds,
)
from gpuplanner.engine.formulas.elementwise import Number, always, maximum, minimum, settled
from gpuplanner.engine.serving_inputs import GpuNumbers, ModelNumbers, ServerNumbers, WayNumbers

CURVE_PLACES = np.array([[0.0], [0.25], [1.0]])
"""Shares of the largest payload at which a curve is worked out."""


@dataclass(frozen=True, slots=True)
class ExchangeCurve:
    """What one pass exchanges as it grows with the payload: `start_s + byte_s · payload + root_s · payload^0.5`.

    Every collective is such a sum (`formulas/collectives.py`), so that three payloads tell all others.
    """

    start_s: Number
    byte_s: Number
    root_s: Number


@dataclass(frozen=True, slots=True)
class GroupReach:
    """What the tensor-parallel group reaches on its links, and over how many nodes it spans; the same in every pass.

    `inner`: the ranks of it that attend to the same requests, `experts`: those over which whole experts are spread;
    None where nothing but tensor parallelism divides them. `deviations`: how far the busiest rank lies above the mean.
    `crossings`: hand-overs between pipeline stages that leave a node. `curve`: of what decode steps exchange, where
    many of them are asked for.
    """

    nodes: Number
    efficiency: Number
    latency_s: Number
    inner: "GroupReach | None" = None
    experts: "GroupReach | None" = None
    deviations: Number = 0.0
    crossings: Number = 0.0
    curve: ExchangeCurve | None = None


def group_reach(gpu: GpuNumbers, way: WayNumbers) -> GroupReach:
    """What the ranks of a way reach together; the same in every pass."""
    crossings: Number = 0.0
    if not isinstance(way.pipeline_parallel, float) or way.pipeline_parallel > 1.0:
        crossings = settled(
            serving_time.node_crossings(way.tensor_parallel, way.pipeline_parallel, gpu.gpus_per_node), 0.0
        )
    whole = replace(_reducing(gpu, way.tensor_parallel), crossings=crossings)
    if way.plain:
        return whole
    inside = minimum(way.expert_parallel, gpu.gpus_per_node)
    return GroupReach(
        whole.nodes,
        whole.efficiency,
        whole.latency_s,
        inner=_reducing(gpu, way.tensor_parallel / way.attention_ranks),
        experts=GroupReach(
            nodes=settled(maximum(way.expert_parallel / gpu.gpus_per_node, 1.0), 1.0),
            efficiency=group_efficiency(gpu.all_to_all_efficiency, gpu.all_to_all_efficiency_growth, inside),
            latency_s=group_latency_seconds(gpu.all_to_all_latency_s, gpu.all_to_all_latency_growth, inside),
        ),
        deviations=moe.largest_deviation(way.expert_parallel),
        crossings=crossings,
    )


def _reducing(gpu: GpuNumbers, ranks: Number) -> GroupReach:
    inside = minimum(ranks, gpu.gpus_per_node)
    return GroupReach(
        nodes=settled(maximum(ranks / gpu.gpus_per_node, 1.0), 1.0),
        efficiency=group_efficiency(gpu.link_efficiency, gpu.link_efficiency_growth, inside),
        latency_s=group_latency_seconds(gpu.link_latency_s, gpu.link_latency_growth, inside),
    )


def busiest_tokens(model: ModelNumbers, way: WayNumbers, group: GroupReach, rows: Number) -> Number:
    """Tokens of a pass as if every rank had as many for its experts as the busiest one."""
    return moe.busiest_rank_tokens(rows, model.experts_per_token, model.experts, way.expert_parallel, group.deviations)


def with_exchange_curve(
    model: ModelNumbers, gpu: GpuNumbers, server: ServerNumbers, way: WayNumbers, group: GroupReach, most_rows: Number
) -> GroupReach:
    """The group with what decode steps of up to `most_rows` rows exchange, each layout's worked out three times only.

    For many ways whose layouts all attend together; else, and for one way, which is explained, it is left as it is.
    """
    if group.inner is not None or not isinstance(most_rows, np.ndarray):
        return group
    rows = CURVE_PLACES * most_rows
    start, quarter, whole = np.asarray(exchange_in_pass(model, gpu, server, way, group, rows, rows, 1.0))
    payload = serving_time.hidden_bytes(most_rows, model.hidden, model.activation_bytes)
    rooted = 4.0 * (quarter - start) - (whole - start)
    curve = ExchangeCurve(start, (whole - start - rooted) / payload, rooted / payload**0.5)
    return replace(group, curve=curve)


def exchange_in_pass(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    group: GroupReach,
    rows: Number,
    own_rows: Number,
    passes: Number,
) -> Number:
    """Sums over ranks and sends between stages. Where tokens travel to their experts, nothing is summed over all ranks
    but what the server splits over them.
    """
    payload = serving_time.hidden_bytes(rows, model.hidden, model.activation_bytes)
    if group.curve is not None:
        return group.curve.start_s + group.curve.byte_s * payload + group.curve.root_s * payload**0.5
    sum_s = _sum_seconds(payload, way.tensor_parallel, gpu, group)
    hand_over_s = _hand_over(gpu, way, group, payload)
    if group.inner is None:
        return serving_time.exchange_seconds(passes, 2.0 * model.layers, sum_s, 0.0, 0.0, hand_over_s)
    own = serving_time.hidden_bytes(own_rows, model.hidden, model.activation_bytes)
    own_s = _sum_seconds(own, way.tensor_parallel / way.attention_ranks, gpu, group.inner)
    dense = model.layers - model.moe_layers
    whole = dense * (1.0 - server.copies_dense) + model.moe_layers * (1.0 - _travelling(way))
    inner = model.layers + dense * server.copies_dense
    return serving_time.exchange_seconds(passes, whole, sum_s, inner, own_s, hand_over_s)


def _hand_over(gpu: GpuNumbers, way: WayNumbers, group: GroupReach, payload: Number) -> Number:
    """Between all pipeline stages: over the links of a node, over the network where the next stage is not in it."""
    if isinstance(way.pipeline_parallel, float) and way.pipeline_parallel == 1.0:
        return 0.0  # nothing to explain
    send_s = send_seconds(payload, gpu.send_bytes_per_s, 1.0, gpu.send_latency_s)
    if isinstance(group.crossings, float) and not group.crossings:
        return serving_time.hand_over_seconds(way.pipeline_parallel, 0.0, send_s, 0.0)
    network_send_s = network_send_seconds(
        serving_time.handed_over_bytes(payload, way.tensor_parallel),
        gpu.network_bytes_per_s,
        gpu.network_send_efficiency,
        gpu.network_send_latency_s,
    )
    return serving_time.hand_over_seconds(way.pipeline_parallel, group.crossings, send_s, network_send_s)


def _travelling(way: WayNumbers) -> Number:
    """1 where tokens travel to the ranks of their experts; where all ranks have all tokens, none has to."""
    return 1.0 * ((way.attention_ranks > 1) & (way.expert_parallel > 1))


def _inside_nodes(ranks: Number, nodes: Number) -> bool:
    """Whether many ways are tried at once of which none leaves a node: then the network need not be gone through.

    The time is the same; that of a single way is explained with what it would be over the network.
    """
    return isinstance(ranks, np.ndarray) and always(nodes, 1.0)


def _sum_seconds(payload: Number, ranks: Number, gpu: GpuNumbers, group: GroupReach) -> Number:
    if _inside_nodes(ranks, group.nodes):
        return all_reduce_seconds(payload, ranks, gpu.link_bytes_per_s, group.efficiency, group.latency_s)
    return spanning_seconds(
        payload,
        2.0,
        ranks,
        group.nodes,
        gpu.link_bytes_per_s,
        group.efficiency,
        group.latency_s,
        gpu.network_bytes_per_s,
        gpu.network_efficiency,
        gpu.network_latency_s,
    )


def dispatch_in_pass(
    model: ModelNumbers, gpu: GpuNumbers, way: WayNumbers, group: GroupReach, rows: Number, passes: Number
) -> Number:
    """Tokens to the ranks of their experts and back; the rank that gets most of them decides."""
    if group.experts is None or not model.moe_layers:
        return 0.0
    spread, chosen = way.expert_parallel, model.experts_per_token
    busy = busiest_tokens(model, way, group, rows)
    payload = moe.dispatch_bytes(busy, way.tensor_parallel, spread, chosen, model.hidden, model.activation_bytes)
    nodes = group.experts.nodes
    often = model.moe_layers * _travelling(way)
    if _inside_nodes(spread, nodes):
        reach = gpu.link_bytes_per_s, group.experts.efficiency, group.experts.latency_s
        return moe.dispatch_seconds(passes, often, all_gather_seconds(payload, spread, *reach))
    crossing = moe.once_per_node_efficiency(gpu.network_all_to_all_efficiency, spread, nodes, chosen)
    all_to_all_s = spanning_all_to_all_seconds(
        payload,
        spread,
        nodes,
        gpu.link_bytes_per_s,
        group.experts.efficiency,
        group.experts.latency_s,
        gpu.network_bytes_per_s,
        crossing,
        gpu.network_all_to_all_latency_s,
    )
    return moe.dispatch_seconds(passes, often, all_to_all_s)
