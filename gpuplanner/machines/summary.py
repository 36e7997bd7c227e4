"""A machine in a few lines: what it has, a line a section. Judges nothing."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuplanner.machines.field_words import as_printed, field_value
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Record
from gpuplanner.units import Display

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("model", "sockets", "cpus", "allowed_cpus", "quota_cpus", "numa_nodes"),
    "memory": ("total_bytes", "available_bytes", "swap_total_bytes", "cgroup_limit_bytes"),
    "limits": ("locked_bytes", "open_files", "processes", "shm_bytes"),
    "system": ("hostname", "product", "os", "kernel", "virtualization", "container", "cloud", "uptime_s"),
    "software": (
        "driver_version",
        "cuda_driver_version",
        "cuda_toolkit_version",
        "torch_version",
        "torch_cuda_version",
        "nccl_version",
        "fabric_manager_version",
    ),
}
"""What is said of the sections that are one record; of the others it is how many there are."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A section: its name, and what there is, each with its name and value, or a count or a name alone."""

    section: Message
    said: tuple[tuple[Message | None, MessageValue], ...]


def summary(evidence: Evidence, display: Display | None = None) -> Iterator[Summary]:
    """The sections that something was read of. Bytes are shown as `display` says."""
    for name in Evidence.model_fields:
        section = getattr(evidence, name)
        if not section or name == "looked_for":
            continue
        title = msg(f"probe.section.{name}")
        if name == "gpus":
            yield Summary(title, tuple(_gpus(evidence.gpus, display)))
        elif isinstance(section, tuple):
            # A tool that is not there is no fault of it.
            count = len([each for each in section if not (isinstance(each, ToolFault) and each.kind == "absent")])
            if count:
                yield Summary(title, ((None, str(count)),))
        elif said := tuple(_said(name, section, display)):
            yield Summary(title, said)


def _gpus(gpus: tuple[Gpu, ...], display: Display | None) -> Iterator[tuple[Message | None, MessageValue]]:
    kinds = Counter((gpu.name or gpu.pci_device_id or gpu.uuid or "?", gpu.memory_total_mib) for gpu in gpus)
    for (name, memory_mib), count in kinds.items():
        said = f"{count} × {as_printed(name)}"
        if memory_mib is not None:
            said += f", {field_value('memory_total_mib', memory_mib, display)}"
        yield None, said


def _said(name: str, record: Record, display: Display | None) -> Iterator[tuple[Message | None, MessageValue]]:
    for field in _FIELDS[name]:
        value = getattr(record, field)
        if value is not None:
            yield msg(f"runs.field.{field}"), field_value(field, value, display)
