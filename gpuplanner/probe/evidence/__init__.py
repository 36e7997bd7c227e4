"""What was read of a machine, typed; each value with the line it stands in. Computes and judges nothing."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from gpuplanner.probe.evidence.events import KernelEvent, ToolFault
from gpuplanner.probe.evidence.gpu import Gpu, MigDevice, MigProfile, NvLink, Process, VirtualGpu
from gpuplanner.probe.evidence.host import Cpu, Disk, HostMemory, KernelModule, Limits, Mount, Service, System
from gpuplanner.probe.evidence.measured import (
    Bandwidth,
    CollectiveRun,
    Diagnostic,
    DiskRate,
    MatrixRate,
    Sample,
)
from gpuplanner.probe.evidence.paths import FabricLink, FabricNode, IbPort, NetworkLink, PathMatrix, PciDevice
from gpuplanner.probe.evidence.record import Record
from gpuplanner.probe.evidence.serving_log import NcclLog, OutOfMemory, ServerStart
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.evidence.traces import GpuTrace, ThreadStack


class Evidence(BaseModel):
    """Everything that one output, or all outputs of one machine together, say. A section without content says nothing.

    `looked_for`: what was looked for and answered, even with "none" (a log without an Xid is `"kernel_log"`): only what
    stands there may be judged by the emptiness of its section.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    gpus: tuple[Gpu, ...] = ()
    mig_devices: tuple[MigDevice, ...] = ()
    mig_profiles: tuple[MigProfile, ...] = ()
    vgpus: tuple[VirtualGpu, ...] = ()
    processes: tuple[Process, ...] = ()
    nvlinks: tuple[NvLink, ...] = ()
    matrices: tuple[PathMatrix, ...] = ()
    pci: tuple[PciDevice, ...] = ()
    network: tuple[NetworkLink, ...] = ()
    ib_ports: tuple[IbPort, ...] = ()
    fabric_nodes: tuple[FabricNode, ...] = ()
    fabric_links: tuple[FabricLink, ...] = ()
    cpu: Cpu | None = None
    memory: HostMemory | None = None
    limits: Limits | None = None
    disks: tuple[Disk, ...] = ()
    mounts: tuple[Mount, ...] = ()
    system: System | None = None
    services: tuple[Service, ...] = ()
    modules: tuple[KernelModule, ...] = ()
    software: Software | None = None
    events: tuple[KernelEvent, ...] = ()
    faults: tuple[ToolFault, ...] = ()
    bandwidths: tuple[Bandwidth, ...] = ()
    collectives: tuple[CollectiveRun, ...] = ()
    matrix_rates: tuple[MatrixRate, ...] = ()
    disk_rates: tuple[DiskRate, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    samples: tuple[Sample, ...] = ()
    servers: tuple[ServerStart, ...] = ()
    out_of_memory: tuple[OutOfMemory, ...] = ()
    nccl_logs: tuple[NcclLog, ...] = ()
    traces: tuple[GpuTrace, ...] = ()
    threads: tuple[ThreadStack, ...] = ()
    looked_for: frozenset[str] = frozenset()

    def as_data(self) -> dict[str, Any]:
        """For JSON: the sections that have something."""
        data: dict[str, Any] = {}
        for name in type(self).model_fields:
            section = getattr(self, name)
            if isinstance(section, Record):
                data[name] = section.as_data()
            elif section:
                data[name] = sorted(section) if name == "looked_for" else [record.as_data() for record in section]
        return data

    @property
    def empty(self) -> bool:
        """Whether nothing at all was read."""
        return self == Evidence()
