"""The machine that an estimate is for: GPUs, the links between them, the host and its price. Types only."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from gpuplanner.catalog.catalog import Rate
from gpuplanner.catalog.entries import Gpu, Instance, Price
from gpuplanner.messages import Message
from gpuplanner.workload.plan import GpuSlice


class Topology(StrEnum):
    """How the GPUs of a node reach each other."""

    SINGLE = "single"
    SWITCHED = "switched"
    BRIDGED_PAIRS = "bridged pairs"
    PCIE = "pcie"


@dataclass(frozen=True, slots=True)
class Host:
    """What surrounds the GPUs of one node; None is not known.

    `local_bytes_per_s`: what its own drives read; `storage_bytes_per_s`: what a run reads on all its nodes together,
    as the plan says where its data lie.
    """

    vcpus: float | None = None
    ram_bytes: float | None = None
    local_storage_bytes: float | None = None
    network_bytes_per_s: float | None = None
    local_bytes_per_s: float | None = None
    storage_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class MeasuredParts:
    """By how many times the parts of a machine reach what the engine takes such parts to reach; None: not measured.

    `memory`: of a GPU; `products`: large matrix products in 16 bits; `host_link`: copies to a GPU. `file`, `date`: of
    the person's measurement that says so.
    """

    memory: float | None
    products: float | None
    host_link: float | None
    file: str
    date: str


@dataclass(frozen=True, slots=True)
class Machine:
    """`nodes` nodes of `gpus_per_node` equal GPUs. `link_bytes_per_s`: one way, for one GPU, inside a node; None where
    it is not known, which only a node of one GPU may be without.

    `gpu_fraction` below 1: each "GPU" is a slice of one. `price` is for one node and hour, in its own currency;
    `usd_per_hour` for all nodes, None when no price is known or its currency has no rate. `rate`: the dated
    rate that turned the price into dollars. `remarks`: what was assumed where the source leaves it open.
    `network_bits_per_s`: the network of a node as the plan states it for this machine, None where it does not.
    `slice`: the MIG slice that `gpu` then describes, each in a node of its own since they cannot reach each other.
    `parts`: what a person measured of its parts.
    """

    gpu: Gpu
    gpus_per_node: int
    nodes: int
    topology: Topology
    link_bytes_per_s: float | None
    host: Host
    gpu_fraction: Fraction = Fraction(1)
    instance: Instance | None = None
    price: Price | None = None
    usd_per_hour: float | None = None
    rate: Rate | None = None
    remarks: tuple[Message, ...] = ()
    slice: GpuSlice | None = None
    network_bits_per_s: float | None = None
    parts: MeasuredParts | None = None

    def __hash__(self) -> int:
        return hash((self.gpu, self.gpus_per_node, self.nodes, self.link_bytes_per_s, self.host))

    @property
    def gpus(self) -> int:
        """All GPUs of all nodes."""
        return self.gpus_per_node * self.nodes
