"""What was traced of a program while it ran: when its GPUs computed, what it did while they waited, its threads."""

from typing import Literal

from gpuplanner.probe.evidence.record import Record

WaitingFor = Literal[
    "synchronization",
    "memory_allocation",
    "memory_copy",
    "launch",
    "module_loading",
    "other_cuda_call",
    "operating_system",
    "no_cuda_call",
]
"""What the program's threads did while a GPU was idle: inside which of CUDA's calls they were, waiting in the operating
system, or in none of both, which is its own work (Python, reading and preparing data)."""


class ThreadStack(Record):
    """A thread of a Python program at one moment. `frames`: as printed, the innermost first, which `innermost` is."""

    pid: int | None = None
    command: str | None = None
    name: str | None = None
    state: Literal["active", "idle"] | None = None
    holds_gil: bool | None = None
    innermost: str | None = None
    frames: tuple[str, ...] = ()


class IdleCause(Record):
    """What was done while a GPU was idle. `seconds`: of that time; `name`: the call that most of it is in, as the trace
    names it.
    """

    waiting_for: WaitingFor | None = None
    seconds: float | None = None
    name: str | None = None


class GpuTrace(Record):
    """One GPU in a trace. Seconds of the time from its first kernel to its last.

    `busy_seconds`: in which a kernel or a copy ran, streams taken together; `kernel_seconds`: in which a kernel did;
    `idle_seconds`: in which nothing did. `gaps`: how many times it was idle; `gap_…_us`: for how long.
    `causes`: what the program did then, the longest first; their seconds add up to `idle_seconds` where none was left
    out. `ranges`: seconds of idle time by the NVTX range that was open, the innermost.
    """

    gpu_index: int | None = None
    gpu_name: str | None = None
    span_seconds: float | None = None
    busy_seconds: float | None = None
    kernel_seconds: float | None = None
    copy_seconds: float | None = None
    idle_seconds: float | None = None
    kernels: int | None = None
    kernel_median_us: float | None = None
    copies: int | None = None
    gaps: int | None = None
    gap_median_us: float | None = None
    gap_longest_us: float | None = None
    causes: tuple[IdleCause, ...] = ()
    ranges: dict[str, float] | None = None
