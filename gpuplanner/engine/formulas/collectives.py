"""How long collectives take: latency, wire time and what pipelining costs between them. No tables, no topology.

Every collective is `t = l + w + √(l · w)`: `l` the latency of the group, `w` the bytes that cross one GPU's link over
the rate that the link reaches. The third term is the cost of sending in chunks: with c chunks the last hop waits for
one of them, and the best c leaves a term in √(l · w) [1]. With it the same two parameters hold from 64 KiB to 16 GiB
(median error 6 % over the published all-reduces of one node, 9 % without it).

[1] Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19 (2005).
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.engine.formulas.moe import distinct_groups
from gpuplanner.figures import formula
from gpuplanner.units import Unit

RING = "Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005) 49"
MEASURED_MEMBERS = 8.0
"""Groups up to this size were measured inside one node; a larger one keeps the efficiency of this size."""


@formula(Unit.SECOND, "latency_s + wire_s + (latency_s · wire_s)^0.5", RING)
def pipelined_seconds(latency_s: Number, wire_s: Number) -> Number:
    """Time of a collective whose latency is `latency_s` and whose bytes alone take `wire_s`.

    0 where both are 0: a group of one.
    """
    return latency_s + wire_s + (latency_s * wire_s) ** 0.5


@formula(
    Unit.SECOND,
    "passes · payload_bytes · (1 - 1 / members) / (link_bytes_per_s · efficiency)",
    "each rank has its own share already",
)
def link_wire_seconds(
    passes: Number, payload_bytes: Number, members: Number, link_bytes_per_s: Number, efficiency: Number
) -> Number:
    """Time that the bytes alone take over the links of one node; 0 for one member."""
    return payload_bytes * (passes * (1.0 - 1.0 / members) / (link_bytes_per_s * efficiency))


@formula(Unit.SECOND, "passes · network_share_bytes / (network_bytes_per_s · network_efficiency)", RING)
def network_wire_seconds(
    passes: Number, network_share_bytes: Number, network_bytes_per_s: Number, network_efficiency: Number
) -> Number:
    """Time that the bytes alone take over one GPU's share of the network."""
    return network_share_bytes * (passes / (network_bytes_per_s * network_efficiency))


@formula(Unit.SECOND, "payload_bytes / (link_bytes_per_s · efficiency)", RING)
def sent_wire_seconds(payload_bytes: Number, link_bytes_per_s: Number, efficiency: Number) -> Number:
    """Time that the bytes alone take from one rank to another."""
    return payload_bytes / (link_bytes_per_s * efficiency)


@formula(Unit.SECOND, "max(link_s, network_s)", "link and network carry at once")
def slower_wire_seconds(link_s: Number, network_s: Number) -> Number:
    """Time that the bytes alone take where they cross links and the network."""
    return maximum(link_s, network_s)


@formula(Unit.SECOND, "latency_s · (members > 1) + network_latency_s · (nodes > 1)", "")
def spanning_latency_seconds(latency_s: Number, members: Number, network_latency_s: Number, nodes: Number) -> Number:
    """Latency inside a node and between nodes, where a group has ranks there; `members` in one node."""
    return latency_s * (members > 1) + network_latency_s * (nodes > 1)


@formula(Unit.SECOND, "latency_s · (members / 2)^growth where members > 1", "fit to published collectives")
def group_latency_seconds(latency_s: Number, growth: Number, members: Number) -> Number:
    """Latency of a collective over `members` ranks, from that of two ranks; 0 for one rank."""
    return latency_s * (members * 0.5) ** growth * (members > 1)


@formula(Unit.RATIO, "efficiency · (min(members, 8) / 8)^growth", "fit to published collectives")
def group_efficiency(efficiency: Number, growth: Number, members: Number) -> Number:
    """Share of the link's rate that a group of `members` reaches, from that of eight; NVLS can pass 1 on NVSwitch."""
    return efficiency * (minimum(members, MEASURED_MEMBERS) / MEASURED_MEMBERS) ** growth


@formula(
    Unit.SECOND,
    "pipelined(latency_s, 2 · payload_bytes · (1 - 1 / members) / (link_bytes_per_s · efficiency))",
    RING,
)
def all_reduce_seconds(
    payload_bytes: Number, members: Number, link_bytes_per_s: Number, efficiency: Number, latency_s: Number
) -> Number:
    """Time to sum `payload_bytes` of every rank and give all of them the sum; one node.

    `link_bytes_per_s` one way for one GPU; `efficiency` and `latency_s` for a group of this size. 0 for one member.
    """
    wire_s = link_wire_seconds(2.0, payload_bytes, members, link_bytes_per_s, efficiency)
    return pipelined_seconds(latency_s * (members > 1), wire_s)


@formula(
    Unit.SECOND,
    "pipelined(latency_s, payload_bytes · (1 - 1 / members) / (link_bytes_per_s · efficiency))",
    RING,
)
def all_gather_seconds(
    payload_bytes: Number, members: Number, link_bytes_per_s: Number, efficiency: Number, latency_s: Number
) -> Number:
    """Time until every rank has all of `payload_bytes`, of which each had a share; reduce-scatter, all-to-all alike.

    For an all-to-all `payload_bytes` is what one rank sends in all, its own share included.
    """
    wire_s = link_wire_seconds(1.0, payload_bytes, members, link_bytes_per_s, efficiency)
    return pipelined_seconds(latency_s * (members > 1), wire_s)


@formula(Unit.SECOND, "pipelined(latency_s, payload_bytes / (link_bytes_per_s · efficiency))", RING)
def send_seconds(payload_bytes: Number, link_bytes_per_s: Number, efficiency: Number, latency_s: Number) -> Number:
    """Time to send `payload_bytes` from one rank to another."""
    return pipelined_seconds(latency_s, sent_wire_seconds(payload_bytes, link_bytes_per_s, efficiency))


@formula(Unit.SECOND, "pipelined(network_latency_s, payload_bytes / (network_bytes_per_s · network_efficiency))", RING)
def network_send_seconds(
    payload_bytes: Number, network_bytes_per_s: Number, network_efficiency: Number, network_latency_s: Number
) -> Number:
    """Time to send `payload_bytes` from a rank to one in another node, over the sender's share of the network."""
    wire_s = network_wire_seconds(1.0, payload_bytes, network_bytes_per_s, network_efficiency)
    return pipelined_seconds(network_latency_s, wire_s)


@formula(
    Unit.BYTE,
    "payload_bytes · (1 - 1 / nodes) / members_per_node",
    "hierarchical ring: reduce inside a node, exchange shares between nodes",
)
def network_share_bytes(payload_bytes: Number, nodes: Number, members_per_node: Number) -> Number:
    """Bytes that one GPU's share of the network carries, one way, when a gather or a reduction spans `nodes`."""
    return payload_bytes * ((1.0 - 1.0 / nodes) / members_per_node)


@formula(
    Unit.SECOND,
    "pipelined(latency_s + network_latency_s, max(passes · payload_bytes · (1 - nodes / members) / (link_bytes_per_s ·"
    " efficiency), passes · payload_bytes · (1 - 1 / nodes) · nodes / members / (network_bytes_per_s ·"
    " network_efficiency)))",
    RING,
)
def spanning_seconds(
    payload_bytes: Number,
    passes: Number,
    members: Number,
    nodes: Number,
    link_bytes_per_s: Number,
    efficiency: Number,
    latency_s: Number,
    network_bytes_per_s: Number,
    network_efficiency: Number,
    network_latency_s: Number,
) -> Number:
    """Time of a collective over `members` ranks that lie on `nodes` nodes; the slower of link and network decides.

    `passes` 2 for an all-reduce, 1 for an all-gather or a reduce-scatter. `network_bytes_per_s`: one GPU's share of its
    node's network, one way. On one node it is the collective of that node alone.
    """
    inside = members / nodes
    link_s = link_wire_seconds(passes, payload_bytes, inside, link_bytes_per_s, efficiency)
    share_bytes = network_share_bytes(payload_bytes, nodes, inside)
    network_s = network_wire_seconds(passes, share_bytes, network_bytes_per_s, network_efficiency)
    waits_s = spanning_latency_seconds(latency_s, inside, network_latency_s, nodes)
    return pipelined_seconds(waits_s, slower_wire_seconds(link_s, network_s))


@formula(
    Unit.SECOND,
    "pipelined(latency_s + network_latency_s,"
    " max(payload_bytes · (1 - 1 / members) / (link_bytes_per_s · efficiency),"
    " payload_bytes · (1 - 1 / nodes) / (network_bytes_per_s · network_efficiency)))",
    RING,
)
def spanning_all_to_all_seconds(
    payload_bytes: Number,
    members: Number,
    nodes: Number,
    link_bytes_per_s: Number,
    efficiency: Number,
    latency_s: Number,
    network_bytes_per_s: Number,
    network_efficiency: Number,
    network_latency_s: Number,
) -> Number:
    """Time of an all-to-all over `nodes` nodes: what goes to another node crosses the network once for each GPU."""
    link_s = link_wire_seconds(1.0, payload_bytes, members, link_bytes_per_s, efficiency)
    share_bytes = network_share_bytes(payload_bytes, nodes, 1.0)
    network_s = network_wire_seconds(1.0, share_bytes, network_bytes_per_s, network_efficiency)
    waits_s = spanning_latency_seconds(latency_s, members, network_latency_s, nodes)
    return pipelined_seconds(waits_s, slower_wire_seconds(link_s, network_s))


@formula(
    Unit.RATIO,
    "distinct_groups(nodes, experts_per_token) / experts_per_token",
    "expected number of distinct nodes among a token's experts; a token crosses to each node once",
)
def distinct_nodes_share(nodes: Number, experts_per_token: Number) -> Number:
    """Share of a token's copies that have to cross the network, when those for one node travel as one."""
    return distinct_groups(nodes, experts_per_token) / experts_per_token
