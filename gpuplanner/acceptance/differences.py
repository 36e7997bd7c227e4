"""What changed between two looks at one machine, GPU by GPU, and in what was measured. Judges little.

GPUs are the same by their UUID, else by their place on the bus, else by their number. A value that only one of the two
has read is no change.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuplanner.acceptance.saying import label
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Record, Seen

NOISE_SHARE = 0.05
"""Measured rates that differ by less are the same: what repeated runs on one GPU scatter by, at most (our own rule)."""

CONFIGURATION = (
    "name", "serial", "vbios", "driver_version", "cuda_version", "memory_total_mib", "bar1_total_mib", "pci_bus_id",
    "pcie_gen_max", "pcie_width_max", "pcie_width_current", "mig_mode", "ecc_mode", "persistence_mode", "compute_mode",
    "virtualization", "power_limit_w", "clock_application_graphics_mhz", "clock_max_sm_mhz", "fabric_state", "state",
    "recovery_action", "licence_status", "remap_pending", "remap_failed",
)  # fmt: skip
"""What does not change by itself."""
COUNTERS = (
    "ecc_corrected_aggregate", "ecc_uncorrected_aggregate", "ecc_uncorrected_volatile",
    "ecc_sram_uncorrected_aggregate",
    "remapped_correctable", "remapped_uncorrectable", "retired_single_bit", "retired_double_bit", "pcie_replays",
)  # fmt: skip
"""What only grows, and should not."""
_HOST: Mapping[str, tuple[str, ...]] = {
    "cpu": ("model", "sockets", "cpus", "allowed_cpus", "quota_cpus"),
    "memory": ("total_bytes", "cgroup_limit_bytes", "swap_total_bytes"),
    "system": ("hostname", "os", "kernel", "kernel_command_line", "bios", "virtualization", "container"),
    "software": (
        "driver_version", "module_version", "cuda_toolkit_version", "torch_version", "torch_cuda_version",
        "nccl_version", "fabric_manager_version",
    ),
}  # fmt: skip


class Change(StrEnum):
    """How something differs in the later look."""

    APPEARED = "appeared"
    GONE = "gone"
    CHANGED = "changed"
    GREW = "grew"
    FASTER = "faster"
    SLOWER = "slower"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs. `section`, `field`: as in the evidence; `which`: the GPU, link or size, "" for the host.

    `before`, `after`: None where it was not there; `lines`: where each was read.
    """

    section: str
    which: str
    field: str
    change: Change
    before: object = None
    after: object = None
    lines: tuple[Seen, ...] = dataclasses.field(default=(), compare=False)

    @property
    def share(self) -> float | None:
        """The later value as a share of the earlier, where both are numbers."""
        if not isinstance(self.before, int | float) or not isinstance(self.after, int | float) or not self.before:
            return None
        return self.after / self.before


def differences(before: Evidence, after: Evidence) -> tuple[Difference, ...]:
    """Everything that differs, GPUs first."""
    found = [*_of_gpus(before.gpus, after.gpus), *_of_links(before, after), *_of_host(before, after)]
    found += _of_events(before, after)
    for section in ("bandwidths", "matrix_rates", "collectives", "disk_rates"):
        found += _of_rates(section, _rates(before, section), _rates(after, section))
    return tuple(found)


def _of_gpus(before: Iterable[Gpu], after: Iterable[Gpu]) -> list[Difference]:
    left, found = list(after), []
    for gpu in before:
        same = next(
            (other for key in ("uuid", "pci_bus_id", "index") for other in left if _same(gpu, other, key)), None
        )
        if same is None:
            found.append(Difference("gpus", label(gpu), "", Change.GONE, gpu.name, None, _seen("name", gpu)))
            continue
        left.remove(same)
        found += _of_records("gpus", label(gpu), gpu, same, CONFIGURATION)
        for name in COUNTERS:
            one, other = getattr(gpu, name), getattr(same, name)
            if one is not None and other is not None and other > one:
                lines = _seen(name, gpu, same)
                found.append(Difference("gpus", label(gpu), name, Change.GREW, one, other, lines))
    found += [Difference("gpus", label(gpu), "", Change.APPEARED, None, gpu.name, _seen("name", gpu)) for gpu in left]
    return found


def _same(one: Gpu, other: Gpu, key: str) -> bool:
    """Whether two records are of one GPU by this key, and no surer key says otherwise."""
    mine, theirs = getattr(one, key), getattr(other, key)
    if mine is None or mine != theirs:
        return False
    return key == "uuid" or one.uuid is None or other.uuid is None or one.uuid == other.uuid


def _of_links(before: Evidence, after: Evidence) -> list[Difference]:
    known = {(link.gpu_uuid or link.gpu_index, link.link): link for link in before.nvlinks}
    found = []
    for link in after.nvlinks:
        earlier = known.get((link.gpu_uuid or link.gpu_index, link.link))
        if earlier is None:
            continue
        which = f"{link.gpu_index if link.gpu_index is not None else link.gpu_uuid}/{link.link}"
        found += _of_records("nvlinks", which, earlier, link, ("active", "gb_per_s"))
        for name in ("replay_errors", "recovery_errors", "crc_errors"):
            one, other = getattr(earlier, name), getattr(link, name)
            if one is not None and other is not None and other > one:
                found.append(Difference("nvlinks", which, name, Change.GREW, one, other, _seen(name, earlier, link)))
    return found


def _of_host(before: Evidence, after: Evidence) -> list[Difference]:
    found = []
    for section, names in _HOST.items():
        one, other = getattr(before, section), getattr(after, section)
        if one is not None and other is not None:
            found += _of_records(section, "", one, other, names)
    return found


def _of_events(before: Evidence, after: Evidence) -> list[Difference]:
    """Faults in the kernel's log that the earlier look did not have; only where both looked there."""
    if "kernel_log" not in before.looked_for and not before.events:
        return []
    known = {(event.kind, event.code, event.pci_bus_id, event.when) for event in before.events}
    return [
        Difference("events", event.pci_bus_id or "", event.kind, Change.APPEARED, None,
                   event.code if event.code is not None else event.said, tuple(event.seen.values())[:1])
        for event in after.events
        if (event.kind, event.code, event.pci_bus_id, event.when) not in known
    ]  # fmt: skip


def _of_records(section: str, which: str, before: Record, after: Record, names: Iterable[str]) -> list[Difference]:
    found = []
    for name in names:
        one, other = getattr(before, name), getattr(after, name)
        if one is not None and other is not None and one != other:
            lines = _seen(name, before, after)
            found.append(Difference(section, which, name, Change.CHANGED, one, other, lines))
    return found


def _rates(evidence: Evidence, section: str) -> dict[str, tuple[float, Record]]:
    """The best rate of each thing that was measured, by words that two runs share."""
    best: dict[str, tuple[float, Record]] = {}

    def keep(name: str, value: float | None, record: Record) -> None:
        if value and (name not in best or value > best[name][0]):
            best[name] = value, record

    if section == "bandwidths":
        for row in evidence.bandwidths:
            ways = "both ways" if row.both_ways else ""
            keep(f"{row.path} {_pair(row.source, row.target)} {row.method or ''} {ways}".strip(), row.gb_per_s, row)
    elif section == "matrix_rates":
        for rate in evidence.matrix_rates:
            keep(f"{_pair(rate.gpu_index)} {rate.dtype or ''} {rate.path or ''}".strip(), rate.tflop_per_s, rate)
    elif section == "collectives":
        for run in evidence.collectives:
            for line in run.rows:
                kind = line.collective or run.collective or ""
                keep(f"{kind} {run.ranks or '?'} {line.bytes or 0:.0f}", line.bus_gb_per_s, line)
    else:
        for job in evidence.disk_rates:
            keep(f"{job.operation or ''} {job.block_bytes or 0:.0f} {job.queue_depth or ''}".strip(), job.gb_per_s, job)
    return best


def _pair(*gpus: int | None) -> str:
    return "→".join("host" if gpu is None else str(gpu) for gpu in gpus)


def _of_rates(
    section: str, before: Mapping[str, tuple[float, Record]], after: Mapping[str, tuple[float, Record]]
) -> list[Difference]:
    found = []
    for name, (value, record) in after.items():
        if name not in before:
            continue
        earlier, source = before[name]
        if abs(value / earlier - 1) < NOISE_SHARE:
            continue
        change = Change.FASTER if value > earlier else Change.SLOWER
        lines = (*_seen("gb_per_s", source, record), *_seen("tflop_per_s", source, record))
        found.append(Difference(section, name, "rate", change, earlier, value, lines))
    return found


def _seen(name: str, *records: Record) -> tuple[Seen, ...]:
    return tuple(record.seen[name] for record in records if name in record.seen)
