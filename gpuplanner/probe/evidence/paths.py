"""What connects: the PCI tree, the matrix of paths between GPUs, network adapters and ports."""

from typing import Literal

from pydantic import Field

from gpuplanner.probe.evidence.record import Record


class PathMatrix(Record):
    """`nvidia-smi topo`: rows and columns are "GPU0", "NIC1" and so on; `kind`: which matrix it is.

    `paths`: by row, then column: "NV12", "PIX", "SYS" and the like for paths; "OK", "GNS", "CNS" for peer-to-peer.
    `seen` has the header as `paths`, and each row by its name.
    """

    kind: Literal["path", "p2p read", "p2p write", "p2p nvlink", "p2p atomics", "p2p prop", "p2p"] = "path"
    devices: tuple[str, ...] = ()
    paths: dict[str, dict[str, str]] = Field(default_factory=dict)
    cpu_affinity: dict[str, str] = Field(default_factory=dict)
    numa_affinity: dict[str, str] = Field(default_factory=dict)
    nics: dict[str, str] = Field(default_factory=dict)


class PciDevice(Record):
    """A device on the PCI bus. `bus_id`: "0000:10:1C.0" as printed, domain added; `device_id` "0xDDDDVVVV".

    `class_code`: "0302". Speeds in GT/s; `revision` "ff" says that the device no longer answers. `parent`: the bus
    identifier of the bridge above, where a path of the tree tells it.
    """

    bus_id: str | None = None
    class_code: str | None = None
    kind: str | None = None
    name: str | None = None
    device_id: str | None = None
    subsystem: str | None = None
    subsystem_id: str | None = None
    revision: str | None = None
    kernel_driver: str | None = None
    kernel_modules: tuple[str, ...] = ()
    numa_node: int | None = None
    parent: str | None = None
    link_gt_per_s_max: float | None = None
    link_width_max: int | None = None
    link_gt_per_s: float | None = None
    link_width: int | None = None
    acs_flags: str | None = None
    acs_source_validation: bool | None = None
    resizable_bar_mib: float | None = None
    largest_bar_mib: float | None = None


class NetworkLink(Record):
    """A network interface. `bit_per_s`: what it is linked at."""

    name: str | None = None
    state: str | None = None
    bit_per_s: float | None = None
    duplex: str | None = None
    driver: str | None = None
    driver_version: str | None = None
    firmware: str | None = None
    pci_bus_id: str | None = None
    mtu: int | None = None
    errors: dict[str, int] | None = None


class FabricNode(Record):
    """A switch, adapter or router of an InfiniBand fabric. `ports`: how many it has; `name`: what it calls itself."""

    guid: str | None = None
    kind: Literal["switch", "adapter", "router"] | None = None
    name: str | None = None
    ports: int | None = None


class FabricLink(Record):
    """A cable between two ports, by the identifiers of their nodes. `speed`: "4xHDR" and the like, in `bit_per_s`."""

    source_guid: str | None = None
    source_port: int | None = None
    target_guid: str | None = None
    target_port: int | None = None
    speed: str | None = None
    bit_per_s: float | None = None


class IbPort(Record):
    """A port of an InfiniBand or RoCE adapter. `bit_per_s`: its rate as configured."""

    adapter: str | None = None
    adapter_type: str | None = None
    firmware: str | None = None
    port: int | None = None
    state: str | None = None
    physical_state: str | None = None
    bit_per_s: float | None = None
    link_layer: str | None = None
    counters: dict[str, int] | None = None
    guid: str | None = None
