"""The family of measured bandwidths: collectives, GPU to GPU, host to GPU. What else it holds is refused."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

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
NETWORK_PER_GPU = re.compile(r"8x ?(\d+) ?GB/s", re.IGNORECASE)
EFA_GPU_BYTES_PER_S = 50 * GB
"""p5en and P6: eight ports of 400 Gb/s."""


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """Rates by message size."""

    name: str = "achievable_bandwidth"
    columns: frozenset[str] = frozenset({"what", "gpu_or_system", "message_size", MEASURED})
    metrics: tuple[str, ...] = (MEASURED,)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """The bus bandwidth of a collective, or the rate of one link; other rows are refused by what they measure."""
        what = row.text("what").lower()
        printed = re.sub(r"^\d+ nodes? ", "", re.sub(r"\(.*", "", row.text("gpu_or_system"))).strip()
        printed = re.sub(r"^\d+ ?x ?", "", printed).removesuffix(" node").strip()
        operation = COLLECTIVES.get(what.split()[0])
        if operation is None and not what.startswith("nvlink p2p unidir"):
            raise InputError(msg("validation.unknown_value", column="what", text=row.text("what")[:40]))
        gpu = _gpu(printed, context)
        if operation is None:
            yield self._outcome(row, *_one_link(gpu, context), context)
        else:
            yield self._outcome(row, *_bus_bandwidth(row, gpu, operation, context), context)

    def _outcome(self, row: Row, value: float, rung: Rung, context: ValidationContext) -> Outcome:
        spread = spread_of(context.efficiencies, "collectives", rung)
        return Outcome(
            row.file, row.id, self.name, row.source, MEASURED, row.required(MEASURED),
            value / GB, value * spread.low / GB, value * spread.high / GB, spread.rung,
        )  # fmt: skip


def _gpu(printed: str, context: ValidationContext) -> Gpu:
    """The GPU of a system. Its memory size is often not printed; the links are the same for all sizes."""
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


def _bus_bandwidth(row: Row, gpu: Gpu, operation: Collective, context: ValidationContext) -> tuple[float, Rung]:
    """Bytes over time as nccl-tests counts them: what each rank sends, whatever their number."""
    members, nodes = row.required("n_gpus"), row.number("n_nodes") or 1.0
    size = _size(row.text("message_size"))
    own = gpu.known(GpuProperty.LINK_BYTES_PER_S)
    switched = own is not None and not gpu.link_is_bridge
    link = own.value if own is not None and switched else pcie_bytes_per_s(gpu)
    found = reach(context.efficiencies, gpu, operation, Topology.SWITCHED if switched else Topology.PCIE)
    passes = 2.0 if operation is Collective.ALL_REDUCE else 1.0
    seconds = _seconds(row, size, members, nodes, link, found, passes, gpu, context)
    return size * passes * (1 - 1 / members) / seconds, found.rung


def _seconds(
    row: Row,
    size: float,
    members: float,
    nodes: float,
    link: float,
    found: Reach,
    passes: float,
    gpu: Gpu,
    context: ValidationContext,
) -> float:
    inside = members / nodes
    if nodes == 1:
        seconds = all_reduce_seconds if passes == 2 else all_gather_seconds
        return float(seconds(size, members, link, found.share(inside), found.latency(inside)))
    printed = row.text("gpu_or_system")
    ports = NETWORK_PER_GPU.search(printed)
    if ports is None and "EFA" not in printed:
        raise InputError(msg("validation.empty_cell", column="network"))
    wide = reach(context.efficiencies, gpu, Collective.ALL_REDUCE if passes == 2 else Collective.ALL_GATHER, NETWORK)
    network = float(ports.group(1)) * GB if ports else EFA_GPU_BYTES_PER_S
    return float(
        spanning_seconds(
            size, passes, members, nodes, link, found.share(inside), found.latency(inside),
            network, wide.share(nodes), wide.latency(nodes),
        )
    )  # fmt: skip


def _size(printed: str) -> float:
    """Bytes of a message size as printed. Raises InputError for one that cannot be read."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(KiB|MiB|GiB)", printed, re.IGNORECASE)
    if found:
        return float(found.group(1)) * SIZES[found.group(2).lower()]
    if printed.lower() == "large":
        return LARGE_BYTES
    raise InputError(msg("validation.unknown_value", column="message_size", text=printed[:40]))


BANDWIDTHS = Bandwidths()
