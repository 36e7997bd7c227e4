"""The family of measured bandwidths: collectives, GPU to GPU, host to GPU, a GPU's own memory. Others are refused."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.formulas.collectives import (
    all_gather_seconds,
    all_reduce_seconds,
    send_seconds,
    spanning_seconds,
)
from gpuplanner.engine.links import NETWORK, Collective, Reach, pcie_bytes_per_s, reach
from gpuplanner.engine.machine import Topology
from gpuplanner.engine.training_ranges import spread_of
from gpuplanner.engine.validation.cells import count, needed
from gpuplanner.engine.validation.memory_rates import memory_rate
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB, GIB, KIB, MIB

MEASURED = "measured_GBps"
SIZES = {"kib": KIB, "mib": MIB, "gib": GIB}
COMMON_SIZES = (80, 141, 32, 192)
LARGE_BYTES = 16 * GIB
"""What "large" stands for: beyond it the rate does not grow."""
COLLECTIVES = {
    "allreduce": Collective.ALL_REDUCE,
    "allgather": Collective.ALL_GATHER,
    "reducescatter": Collective.REDUCE_SCATTER,
    "alltoall": Collective.ALL_TO_ALL,
}
ONE_LINK, BOTH_WAYS = "nvlink p2p unidir", "nvlink p2p bidir total"
NETWORK_PER_GPU = re.compile(r"8x ?(\d{1,5}) ?GB/s", re.IGNORECASE)
EFA_GPU_BYTES_PER_S = 50 * GB
"""p5en and P6: eight ports of 400 Gb/s."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A measured collective: `size_bytes` over `members` on `nodes`, of links and networks one way for one GPU."""

    gpu: Gpu
    operation: Collective
    topology: Topology
    size_bytes: float
    members: float
    nodes: float
    link_bytes_per_s: float
    network_bytes_per_s: float

    @property
    def passes(self) -> float:
        """How often the bytes cross a link."""
        return 2.0 if self.operation is Collective.ALL_REDUCE else 1.0

    @property
    def counted_bytes(self) -> float:
        """What nccl-tests divides by the time: what each rank sends, wherever to."""
        return self.size_bytes * self.passes * (1 - 1 / self.members)

    def reaches(self, efficiencies: Efficiencies) -> tuple[Reach, Reach]:
        """What is reached inside a node and between nodes."""
        return (
            reach(efficiencies, self.gpu, self.operation, self.topology),
            reach(efficiencies, self.gpu, self.operation, NETWORK),
        )

    def seconds(self, inside: Reach, between: Reach) -> float:
        """How long it takes with these."""
        local = self.members / self.nodes
        if self.nodes == 1:
            seconds = all_reduce_seconds if self.passes == 2 else all_gather_seconds
            return float(
                seconds(self.size_bytes, local, self.link_bytes_per_s, inside.share(local), inside.latency(local))
            )
        return float(
            spanning_seconds(
                self.size_bytes, self.passes, self.members, self.nodes,
                self.link_bytes_per_s, inside.share(local), inside.latency(local),
                self.network_bytes_per_s, between.share(self.nodes), between.latency(self.nodes),
            )
        )  # fmt: skip


def exchange_of(row: Row, context: ValidationContext) -> Exchange:
    """The collective that a row measured. Raises InputError when it is none or a cell of it cannot be read."""
    what, printed = row.text("what"), row.text("gpu_or_system")
    operation = COLLECTIVES.get(what.lower().partition(" ")[0])
    if operation is None:
        raise InputError(msg("validation.unknown_value", column="what", text=what[:40]))
    gpu = _gpu(row, context)
    members, nodes = needed(row, "n_gpus", count), count(row, "n_nodes") or 1
    if members < 2 or members % nodes:
        raise InputError(msg("validation.nodes_do_not_divide", gpus=members, nodes=nodes))
    ports = NETWORK_PER_GPU.search(printed)
    if nodes > 1 and ports is None and "EFA" not in printed:
        raise InputError(msg("validation.empty_cell", column="network"))
    own = gpu.known(GpuProperty.LINK_BYTES_PER_S)
    switched = own is not None and not gpu.link_is_bridge
    return Exchange(
        gpu, operation, Topology.SWITCHED if switched else Topology.PCIE, _size(row.text("message_size")),
        members, nodes, own.value if own is not None and switched else pcie_bytes_per_s(gpu),
        float(ports.group(1)) * GB if ports else EFA_GPU_BYTES_PER_S,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """Rates by message size."""

    name: str = "achievable_bandwidth"
    columns: frozenset[str] = frozenset({"what", "gpu_or_system", "message_size", MEASURED})
    metrics: tuple[str, ...] = (MEASURED,)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """The bus bandwidth of a collective, or the rate of a link or of a memory; other rows are refused by name."""
        what = row.text("what").lower()
        memory = None if "busbw" in what else memory_rate(row, _gpu(row, context), context.efficiencies)
        if memory is not None:
            value, spread = memory
        elif what.startswith((ONE_LINK, BOTH_WAYS)):
            value, rung = _one_link(_gpu(row, context), context)
            value *= 2 if what.startswith(BOTH_WAYS) else 1
            spread = spread_of(context.efficiencies, "collectives", rung)
        else:
            exchange = exchange_of(row, context)
            inside, between = exchange.reaches(context.efficiencies)
            value = exchange.counted_bytes / exchange.seconds(inside, between)
            rung = inside.rung if exchange.nodes == 1 else between.rung
            spread = spread_of(context.efficiencies, "collectives", rung)
        yield Outcome(
            row.file, row.id, self.name, row.source, MEASURED, row.required(MEASURED),
            value / GB, value * spread.low / GB, value * spread.high / GB, spread.rung,
        )  # fmt: skip


def _gpu(row: Row, context: ValidationContext) -> Gpu:
    """The GPU of a system. Its memory size is often not printed; the links are the same for all sizes."""
    printed = re.sub(r"^\d+ nodes? ", "", re.sub(r"\(.*", "", row.text("gpu_or_system"))).strip()
    printed = re.sub(r"^\d+ ?x ?", "", printed).removesuffix(" node").replace(" PCIe/SXM", "").strip()
    try:
        return context.names.gpu(printed)
    except InputError:
        for form in ("", " SXM"):
            for size in COMMON_SIZES:
                with suppress(InputError):
                    return context.names.gpu(f"{printed}{form} {size}GB")
        raise


def _one_link(gpu: Gpu, context: ValidationContext) -> tuple[float, Rung]:
    """Rate from one GPU to another, one way, for a large transfer."""
    found = reach(context.efficiencies, gpu, Collective.SEND, Topology.SWITCHED)
    link = gpu.value(GpuProperty.LINK_BYTES_PER_S)
    return LARGE_BYTES / float(send_seconds(LARGE_BYTES, link, found.efficiency, found.latency_s)), found.rung


def _size(printed: str) -> float:
    """Bytes of a message size as printed. Raises InputError for one that cannot be read."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?(KiB|MiB|GiB)", printed, re.IGNORECASE)
    if found:
        size = float(found.group(1)) * SIZES[found.group(2).lower()]
        if size > 0:
            return size
    if printed.lower() == "large":
        return LARGE_BYTES
    raise InputError(msg("validation.unknown_value", column="message_size", text=printed[:40]))


BANDWIDTHS = Bandwidths()
