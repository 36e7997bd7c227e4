"""What was promised of a machine: by a catalog entry, a plan, or typed in. None is what nobody promised."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuplanner.messages import Message


@dataclass(frozen=True, slots=True)
class PromisedGpu:
    """One kind of GPU. Rates in base units, one way, dense; `nvlink_lanes`: links of one GPU.

    `device_ids`: PCI identifiers "0xDDDDVVVV" that are this GPU's; empty where the catalog has none.
    """

    id: str
    name: str
    memory_mib: float | None = None
    memory_is_reported: bool = False
    device_ids: tuple[str, ...] = ()
    compute_capability: str = ""
    architecture: str = ""
    form_factor: str = ""
    has_ecc: bool | None = None
    power_w: float | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    link_kind: str = ""
    link_is_bridge: bool = False
    nvlink_lanes: int | None = None
    link_bytes_per_s: float | None = None
    hbm_bytes_per_s: float | None = None
    pcie_bytes_per_s: float | None = None
    flop_per_s: dict[str, float] | None = None
    """By dtype ("bf16", "fp8"…), dense."""
    reached_flop_per_s: dict[str, float] | None = None
    """The same as the fastest products on such GPUs have reached it, where anybody searched for them."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a name that a machine prints means by the catalog: its entries, several where the name leaves it open.

    `part`: that it names a share of a GPU, a vGPU or a slice.
    """

    ids: tuple[str, ...] = ()
    part: bool = False


@dataclass(frozen=True, slots=True)
class Promised:
    """What the checks hold a machine against. `said_by`: who promised it, as a person reads it."""

    said_by: Message | None = None
    gpu: PromisedGpu | None = None
    gpu_count: int | None = None
    gpu_fraction: float | None = None
    cpus: float | None = None
    ram_bytes: float | None = None
    disk_bytes: float | None = None
    disk_bytes_per_s: float | None = None
    network_bit_per_s: float | None = None
    """Of the whole network together; what the adapters of a kind carry is told apart from it where the offer does."""
    network_is_ethernet: bool = False
    """Whether that network is Ethernet by the promise; else InfiniBand may carry it, too."""
    interfaces: int | None = None
    interface_bit_per_s: float | None = None
    """How many interfaces of any kind, and what each of them carries."""
    adapters: int | None = None
    adapter_kind: str = ""
    """"EFA", "InfiniBand" or "RoCE" where the offer names it."""
    adapter_bit_per_s: float | None = None
    """Of each adapter."""
    adapters_bit_per_s: float | None = None
    """Of all adapters of the kind together, however many they are."""
    nodes: int | None = None
    virtualization: Literal["bare metal", "pass-through", "vgpu", "container", "virtual machine"] | None = None
    mig: bool | None = None
    training: bool | None = None
    """Whether it is for work that loads data and talks between nodes: limits of shared memory then bear on it."""
    identities: Mapping[str, Identity] = field(default_factory=dict)
    """By the names that the machine prints for its GPUs."""

    @property
    def between_nodes_bit_per_s(self) -> float | None:
        """What joins nodes: the adapters made for it where they are promised, else the network."""
        return self.adapters_bit_per_s or self.network_bit_per_s


NOTHING = Promised()
