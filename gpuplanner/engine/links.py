"""The links of one machine with what collectives reach on them. Looked up once a machine; only numbers, no units shown.

A pair joined by a bridge reaches on its link what a switch does; more than two of them meet over PCIe.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.gpu_fields import PCIE_X16_BYTES_PER_S
from gpuplanner.engine.formulas.collectives import group_efficiency, group_latency_seconds, spanning_seconds
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.machine import Machine, Topology
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung

TABLE = "collectives"
NETWORK = "network"


class Collective(StrEnum):
    """What a group of GPUs does together."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND = "send"


@dataclass(frozen=True, slots=True)
class Reach:
    """What one collective reaches on one kind of link: of two ranks the latency, of eight the share of the rate."""

    latency_s: float
    latency_growth: float
    efficiency: float
    efficiency_growth: float
    rung: Rung

    def latency(self, members: Number) -> Number:
        """Latency in seconds for a group of this size."""
        return group_latency_seconds(self.latency_s, self.latency_growth, members)

    def share(self, members: Number) -> Number:
        """Share of the link's rate for a group of this size."""
        return group_efficiency(self.efficiency, self.efficiency_growth, members)


def reach(efficiencies: Efficiencies, gpu: Gpu, operation: Collective, topology: Topology | str) -> Reach:
    """The entry of the table of collectives. Raises MissingFactError when there is none for this kind of link."""
    kind = Topology.SWITCHED if topology in {Topology.BRIDGED_PAIRS, Topology.SINGLE} else topology
    found = efficiencies.find(TABLE, gpu, f"{operation} {kind}")
    return Reach(
        found["latency_s"],
        found["latency_growth"],
        found["efficiency"],
        found["efficiency_growth"],
        found.rung,
    )


def pcie_bytes_per_s(gpu: Gpu) -> float:
    """One way between the GPU and its host. Raises MissingFactError when the catalog does not know it."""
    return gpu.value(GpuProperty.PCIE_BYTES_PER_S)


def assumed_pcie_generation(gpu: Gpu) -> int | None:
    """The PCIe generation that a rate to the host is assumed from, where it is known and the lanes are not."""
    generation = gpu.known(GpuProperty.PCIE_GENERATION)
    if gpu.known(GpuProperty.PCIE_BYTES_PER_S) is not None or generation is None:
        return None
    return int(generation.value) if int(generation.value) in PCIE_X16_BYTES_PER_S else None


def host_link_bytes_per_s(gpu: Gpu) -> float:
    """One way between a GPU and its host: its PCIe rate, else 16 lanes of its PCIe generation.

    Raises MissingFactError when neither is known: a GPU's link to other GPUs does not lead to the host.
    """
    generation = assumed_pcie_generation(gpu)
    return pcie_bytes_per_s(gpu) if generation is None else PCIE_X16_BYTES_PER_S[generation]


def network_bytes_per_s_per_gpu(machine: Machine) -> float:
    """One GPU's share of its node's network, one way. Raises MissingFactError when the network is not known."""
    network = machine.host.network_bytes_per_s
    if network is None:
        raise MissingFactError(machine.instance.name if machine.instance else machine.gpu.name, "network_bytes_per_s")
    return network / machine.gpus_per_node


def all_reduce_seconds_on(machine: Machine, payload_bytes: Number, efficiencies: Efficiencies) -> Number:
    """Time until all GPUs of a machine have the sum of `payload_bytes` of each; 0 for a single GPU.

    Raises MissingFactError when the link or the network that it crosses is not known.
    """
    if machine.gpus == 1:
        return 0.0
    inside = reach(efficiencies, machine.gpu, Collective.ALL_REDUCE, machine.topology)
    if machine.gpus_per_node > 1 and machine.link_bytes_per_s is None:
        raise MissingFactError(machine.gpu.name, GpuProperty.LINK_BYTES_PER_S.value)
    wide = reach(efficiencies, machine.gpu, Collective.ALL_REDUCE, NETWORK)
    members, nodes = float(machine.gpus), float(machine.nodes)
    return spanning_seconds(
        payload_bytes,
        2.0,
        members,
        nodes,
        machine.link_bytes_per_s or inf,
        inside.share(float(machine.gpus_per_node)),
        inside.latency(float(machine.gpus_per_node)),
        network_bytes_per_s_per_gpu(machine) if machine.nodes > 1 else inf,
        wide.share(nodes),
        wide.latency(nodes),
    )
