"""The commands of a probe's first tier: each one an argument list that only reads, shown to a person before it runs."""

import shlex
from dataclasses import dataclass
from enum import StrEnum

MIB = 1 << 20


class Topic(StrEnum):
    """What a command is asked for, as the window groups them."""

    GPUS = "gpus"
    LINKS = "links"
    HOST = "host"
    STORAGE = "storage"
    NETWORK = "network"
    SOFTWARE = "software"
    HEALTH = "health"


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `expand`: patterns among its arguments become names of files, as a shell would do it.

    `limit_s` and `limit_bytes`: when it is stopped. `root`: that it says more, or anything, only to root.
    """

    id: str
    topic: Topic
    argv: tuple[str, ...]
    limit_s: float = 20.0
    limit_bytes: int = 4 * MIB
    expand: bool = False
    root: bool = False

    @property
    def shown(self) -> str:
        """The command as a person would type it in a shell."""
        return " ".join(part if self.expand and "*" in part else shlex.quote(part) for part in self.argv)


_REMAPPED = ",".join(f"remapped_rows.{name}" for name in ("correctable", "uncorrectable", "pending", "failure"))
_PCI = "/sys/bus/pci/devices/*/"
_GPU, _LINKS, _HOST, _DISK = Topic.GPUS, Topic.LINKS, Topic.HOST, Topic.STORAGE
_NET, _SOFT, _HEALTH = Topic.NETWORK, Topic.SOFTWARE, Topic.HEALTH

READ_ONLY: tuple[Command, ...] = (
    # `nvidia-smi` first: what is asked for most, and what takes longest without persistence mode.
    Command("smi.xml", _GPU, ("nvidia-smi", "-q", "-x"), 30),
    Command("smi.table", _GPU, ("nvidia-smi",), 30),
    Command("smi.list", _GPU, ("nvidia-smi", "-L"), 30),
    Command("smi.topo", _LINKS, ("nvidia-smi", "topo", "-m"), 30),
    Command("smi.p2p_read", _LINKS, ("nvidia-smi", "topo", "-p2p", "r"), 30),
    Command("smi.p2p_nvlink", _LINKS, ("nvidia-smi", "topo", "-p2p", "n"), 30),
    Command("smi.nvlink", _LINKS, ("nvidia-smi", "nvlink", "-s"), 30),
    Command("smi.nvlink_errors", _LINKS, ("nvidia-smi", "nvlink", "-e"), 30),
    Command("smi.remap", _HEALTH, (
        "nvidia-smi", f"--query-remapped-rows=gpu_uuid,{_REMAPPED}", "--format=csv"), 30),
    Command("smi.processes", _GPU, (
        "nvidia-smi", "--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory", "--format=csv"), 30),
    Command("driver.version", _SOFT, ("cat", "/proc/driver/nvidia/version")),
    Command("driver.gpus", _GPU, ("head", "-v", "-n", "20", "/proc/driver/nvidia/gpus/*/information"), expand=True),
    Command("driver.module", _SOFT, ("modinfo", "nvidia")),
    Command("amd.smi", _GPU, ("amd-smi", "static", "--json"), 30),
    Command("amd.metric", _GPU, ("amd-smi", "metric", "--json"), 30),
    Command("amd.rocm", _GPU, ("rocm-smi", "-a", "--json"), 30),
    Command("lspci", _LINKS, ("lspci", "-Dnnk")),
    Command("lspci.full", _LINKS, ("lspci", "-Dvvvnn"), limit_bytes=16 * MIB, root=True),
    Command("pci.sysfs", _LINKS, (
        "head", "-v", "-n", "1", *(_PCI + name for name in (
            "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "revision", "numa_node",
            "current_link_speed", "current_link_width", "max_link_speed", "max_link_width")),
    ), expand=True, limit_bytes=8 * MIB),
    Command("lscpu", _HOST, ("lscpu",)),
    Command("numactl", _HOST, ("numactl", "-H")),
    Command("nproc", _HOST, ("nproc",)),
    Command("meminfo", _HOST, ("cat", "/proc/meminfo")),
    Command("swaps", _HOST, ("cat", "/proc/swaps")),
    Command("cgroup.self", _HOST, ("cat", "/proc/self/cgroup")),
    Command("cgroup", _HOST, (
        "head", "-v", "-n", "1", "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "/sys/fs/cgroup/memory/memory.limit_in_bytes")),
    Command("limits", _HOST, ("cat", "/proc/self/limits")),
    Command("governor", _HOST, (
        "head", "-v", "-n", "1", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"), expand=True),
    Command("virt", _HOST, ("systemd-detect-virt", "-v")),
    Command("container", _HOST, ("systemd-detect-virt", "-c")),
    Command("dmi", _HOST, ("head", "-v", "-n", "1", *("/sys/class/dmi/id/" + name for name in (
        "sys_vendor", "product_name", "board_vendor", "board_name", "bios_version", "chassis_asset_tag")))),
    Command("marks", _HOST, ("ls", "-d", "/.dockerenv", "/run/.containerenv", "/var/run/reboot-required")),
    Command("release", _SOFT, ("cat", "/etc/os-release")),
    Command("kernel", _SOFT, ("uname", "-a")),
    Command("cmdline", _SOFT, ("cat", "/proc/cmdline")),
    Command("uptime", _HOST, ("cat", "/proc/uptime")),
    Command("modules", _SOFT, ("lsmod",)),
    Command("secure_boot", _SOFT, ("mokutil", "--sb-state")),
    Command("services", _SOFT, ("systemctl", "show", "--property=Id,LoadState,ActiveState,SubState",
        "nvidia-fabricmanager", "nvidia-imex", "nvidia-persistenced", "nvidia-dcgm")),
    Command("fm.version", _SOFT, ("nv-fabricmanager", "--version")),
    Command("imex.channels", _SOFT, ("ls", "/dev/nvidia-caps-imex-channels")),
    Command("nvcc", _SOFT, ("nvcc", "--version")),
    Command("lsblk", _DISK, ("lsblk", "-J", "-b", "-o",
        "NAME,KNAME,PKNAME,TYPE,SIZE,ROTA,TRAN,MODEL,MOUNTPOINT,FSTYPE")),
    Command("findmnt", _DISK, ("findmnt", "-J", "-b", "--real", "-o", "TARGET,SOURCE,FSTYPE,SIZE,USED,AVAIL,OPTIONS")),
    Command("df", _DISK, ("df", "-B1", "--output=source,fstype,size,used,avail,pcent,target")),
    Command("net", _NET, (
        "head", "-v", "-n", "1", "/sys/class/net/*/operstate", "/sys/class/net/*/speed", "/sys/class/net/*/mtu"),
        expand=True),
    Command("ib", _NET, (
        "head", "-v", "-n", "1", *("/sys/class/infiniband/*/ports/*/" + name for name in (
            "state", "phys_state", "rate", "link_layer", "counters/link_downed", "counters/symbol_error",
            "counters/link_error_recovery", "counters/port_rcv_errors")),
    ), expand=True),
    Command("ibstat", _NET, ("ibstat",)),
    Command("kernel_log", _HEALTH, ("dmesg", "--time-format", "iso"), limit_bytes=32 * MIB, root=True),
    Command("journal", _HEALTH, ("journalctl", "-k", "-b", "-o", "short-iso", "--no-pager", "-n", "200000"),
        limit_bytes=32 * MIB, root=True),
    Command("stat", _HOST, ("sh", "-c", "cat /proc/stat; sleep 3; cat /proc/stat"), limit_s=10),
)  # fmt: skip
"""What reads a machine without loading it. A machine lacks most of these tools; each absence is told as such."""
