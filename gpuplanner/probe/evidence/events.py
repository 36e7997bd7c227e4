"""What happened: lines of the kernel's log, and what tools said instead of an answer."""

from typing import Literal

from gpuplanner.probe.evidence.record import Record

FaultKind = Literal[
    "no_driver",
    "no_library",
    "mismatch",
    "no_devices",
    "gpu_lost",
    "needs_reset",
    "device_error",
    "no_permission",
    "absent",
    "unknown_option",
    "driver_too_old",
    "not_supported",
    "out_of_memory",
    "other",
]
"""What a fault means, whatever tool says it."""


class KernelEvent(Record):
    """A line of the kernel's log that bears on a GPU, a switch or a link.

    `code`: of an Xid or SXid. `when`: the time as printed, the first of `count` lines that differ in it alone. `fatal`:
    where an SXid, an Xid of NVLink or an error of PCIe says so. `pid`, `process`: of an Xid's program, or of what was
    killed, where the line names one.
    """

    kind: Literal["xid", "sxid", "aer", "oom", "off_bus", "nvrm", "link", "thermal", "mce", "io_error", "flap", "crash"]
    code: int | None = None
    pci_bus_id: str | None = None
    when: str | None = None
    pid: int | None = None
    process: str | None = None
    fatal: bool | None = None
    said: str | None = None
    count: int = 1


class ToolFault(Record):
    """What a tool said instead of an answer. `kind`: what that means; `code`: its return code where one is printed."""

    kind: FaultKind
    code: int | None = None
    gpu_index: int | None = None
    pci_bus_id: str | None = None
    said: str | None = None
    library_version: str | None = None
    wanted: str | None = None
