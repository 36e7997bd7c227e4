"""What is read of the computer around the GPUs. Bytes unless the name says otherwise."""

from typing import Literal

from gpuplanner.probe.evidence.record import Record


class Cpu(Record):
    """The processors. `allowed_cpus`: what this process may use by its affinity; `quota_cpus`: by its cgroup."""

    model: str | None = None
    vendor: str | None = None
    architecture: str | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    cpus: int | None = None
    online: str | None = None
    numa_nodes: int | None = None
    numa_cpus: dict[int, str] | None = None
    max_mhz: float | None = None
    l3_bytes: float | None = None
    flags: tuple[str, ...] = ()
    hypervisor_vendor: str | None = None
    virtualization_type: str | None = None
    hypervisor_flag: bool | None = None
    allowed_cpus: int | None = None
    quota_cpus: float | None = None
    quota_unlimited: bool | None = None
    governors: dict[str, int] | None = None
    steal_share: float | None = None
    busy_share: float | None = None
    vulnerabilities: dict[str, str] | None = None


class HostMemory(Record):
    """Main memory and its limits. `cgroup_unlimited`: that the cgroup sets none."""

    total_bytes: float | None = None
    available_bytes: float | None = None
    swap_total_bytes: float | None = None
    swap_free_bytes: float | None = None
    huge_page_bytes: float | None = None
    locked_bytes: float | None = None
    cgroup_limit_bytes: float | None = None
    cgroup_unlimited: bool | None = None
    node_bytes: dict[int, float] | None = None
    node_distances: dict[int, tuple[int, ...]] | None = None
    modules: tuple[str, ...] = ()


class Limits(Record):
    """What a process may use here. -1 is "unlimited"."""

    locked_bytes: float | None = None
    open_files: float | None = None
    processes: float | None = None
    stack_bytes: float | None = None
    shm_bytes: float | None = None


class Disk(Record):
    """A block device. `transport`: "nvme", "sata", "virtio"; `rotational`: that its platters turn.

    `spare_threshold_percent`: of spare blocks, below which the disk itself calls it critical.
    """

    name: str | None = None
    kind: str | None = None
    model: str | None = None
    serial: str | None = None
    size_bytes: float | None = None
    transport: str | None = None
    rotational: bool | None = None
    parent: str | None = None
    mounts: tuple[str, ...] = ()
    healthy: bool | None = None
    used_percent: float | None = None
    media_errors: int | None = None
    spare_percent: float | None = None
    spare_threshold_percent: float | None = None
    temperature_c: float | None = None
    power_on_hours: float | None = None
    critical_warning: int | None = None


class Mount(Record):
    """A mounted file system."""

    target: str | None = None
    source: str | None = None
    kind: str | None = None
    size_bytes: float | None = None
    used_bytes: float | None = None
    free_bytes: float | None = None
    used_percent: float | None = None
    options: str | None = None


class System(Record):
    """The system itself. `container`: "docker", "podman", "lxc" and so on; "none" where it was looked for in vain.

    `iommu_mode`: how the kernel's log says that devices reach memory; "enabled" where it does not say which way.
    """

    hostname: str | None = None
    os: str | None = None
    kernel: str | None = None
    kernel_command_line: str | None = None
    iommu_mode: Literal["enabled", "translated", "passthrough"] | None = None
    vendor: str | None = None
    product: str | None = None
    board: str | None = None
    bios: str | None = None
    virtualization: str | None = None
    container: str | None = None
    uptime_s: float | None = None
    reboot_required: bool | None = None
    secure_boot: bool | None = None
    clock_offset_s: float | None = None
    time_zone: str | None = None
    cloud: str | None = None


class Service(Record):
    """A service of the system. `state`: "active", "inactive", "failed", "absent"."""

    name: str
    state: Literal["active", "inactive", "failed", "activating", "absent", "other"] | None = None
    version: str | None = None


class KernelModule(Record):
    """A loaded module of the kernel."""

    name: str
    size_bytes: float | None = None
    used_by: int | None = None
    version: str | None = None
    licence: str | None = None
    holders: tuple[str, ...] = ()
