"""Keeps the samples of a machine in bounded memory for as long as one looks. Pure: no clock, no reading, no drawing.

Each series has a fixed number of bins; when the time that they span is over, two neighbours become one. So the whole
time stays, coarser and coarser, and no peak or dip is lost: each bin keeps its lowest and its highest value.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating]

BINS = 2_000
"""More than a chart has points across."""
FIRST_WIDTH_S = 0.1
MOST_MARKS = 2_000
MOST_GPUS = 64
"""GPUs of one machine that are looked at; frames that name more are somebody's attack."""
MOST_PROCESSES = 256
LARGEST = 1e15
"""No value that is sampled is larger."""

IDLE, CLOCK_SETTING, POWER_CAP = 0x1, 0x2, 0x4
"""Reasons for lower clocks that are normal: nothing to do, clocks that somebody set, full power (nvml.h)."""
DISPLAY_CLOCKS = 0x100
THROTTLED = ~(IDLE | CLOCK_SETTING | POWER_CAP | DISPLAY_CLOCKS)

REASONS = {
    0x8: "slowdown",
    0x10: "sync_boost",
    0x20: "software_thermal",
    0x40: "hardware_thermal",
    0x80: "power_brake",
    0x200: "board_limit",
    0x400: "reliability",
}
"""What the other bits are called (nvml.h, "nvmlClocksEventReasons"); one without a name is "other"."""

GPU_METRICS = (
    "utilization_percent", "memory_percent", "memory_used_mib", "clock_sm_mhz", "clock_memory_mhz", "power_w",
    "temperature_c", "pcie_gen", "pcie_width", "pcie_sent_mb_per_s", "pcie_received_mb_per_s", "nvlink_sent_mb_per_s",
    "nvlink_received_mb_per_s", "encoder_percent", "decoder_percent",
)  # fmt: skip
HOST_METRICS = (
    "cpu_percent", "cpu_wait_percent", "memory_used_mib", "memory_total_mib", "disk_read_mb_per_s",
    "disk_written_mb_per_s", "network_received_mb_per_s", "network_sent_mb_per_s",
)  # fmt: skip


class Series:
    """One value over time. `at_s` is seconds since sampling began and never goes back by more than a bin."""

    def __init__(self, bins: int = BINS, first_width_s: float = FIRST_WIDTH_S) -> None:
        """`bins`: even, at least two."""
        self.width_s = first_width_s
        self._low: Floats = np.full(bins, np.inf)
        self._high: Floats = np.full(bins, -np.inf)
        self._sum: Floats = np.zeros(bins)
        self._count: Floats = np.zeros(bins)
        self.last: float | None = None

    def add(self, at_s: float, value: float) -> None:
        """Take a sample; times before the beginning and values that are no number are left out."""
        if not (0 <= at_s < 1e9 and abs(value) <= LARGEST):
            return
        while at_s >= self.width_s * len(self._low):
            self._halve()
        at = int(at_s / self.width_s)
        self._low[at] = min(self._low[at], value)
        self._high[at] = max(self._high[at], value)
        self._sum[at] += value
        self._count[at] += 1
        self.last = value

    def bins(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Middle of each bin that has samples in seconds, lowest, mean and highest value of it."""
        filled = self._count > 0
        middle = (np.flatnonzero(filled) + 0.5) * self.width_s
        return middle, self._low[filled], self._sum[filled] / self._count[filled], self._high[filled]

    @property
    def held_bytes(self) -> int:
        """Memory of the bins; the same from the first sample to the last."""
        return sum(part.nbytes for part in (self._low, self._high, self._sum, self._count))

    def _halve(self) -> None:
        half = len(self._low) // 2
        for part, joined, empty in (
            (self._low, np.minimum(self._low[0::2], self._low[1::2]), np.inf),
            (self._high, np.maximum(self._high[0::2], self._high[1::2]), -np.inf),
            (self._sum, self._sum[0::2] + self._sum[1::2], 0.0),
            (self._count, self._count[0::2] + self._count[1::2], 0.0),
        ):
            part[:half] = joined
            part[half:] = empty
        self.width_s *= 2


@dataclass(frozen=True, slots=True)
class Mark:
    """From `at_s` on a GPU is throttled for these reasons (bits of nvml.h), or not any more where there are none."""

    at_s: float
    gpu: int
    reasons: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What one sample says of one GPU, or of the host where `gpu` is None. Only what the driver gave is there.

    `values`: by the names of `GPU_METRICS` or `HOST_METRICS`. `processes`: id and bytes of the GPU's memory; None where
    they were not asked at this moment.
    """

    at_s: float
    gpu: int | None
    values: Mapping[str, float]
    throttle_reasons: int | None = None
    lost: bool = False
    processes: tuple[tuple[int, int | None], ...] | None = None


def readings(frame: Mapping[str, Any]) -> Iterator[Reading]:
    """A sample frame of `there/sample.py`, GPUs first. What is no such value is left out: the frame is a stranger's."""
    at_s = _number(frame.get("at_s"))
    if at_s is None:
        return
    for values in _mappings(frame.get("gpus")):
        gpu, reasons = values.get("gpu"), values.get("throttle_reasons")
        if isinstance(gpu, int) and not isinstance(gpu, bool) and 0 <= gpu < MOST_GPUS:
            known = reasons if isinstance(reasons, int) and 0 <= reasons < 1 << 64 else None
            yield Reading(
                at_s, gpu, _values(values, GPU_METRICS), known, values.get("lost") is True, _processes(values)
            )
    host = frame.get("host")
    if isinstance(host, Mapping):
        yield Reading(at_s, None, _values(host, HOST_METRICS))


def reasons_of(bits: int) -> tuple[str, ...]:
    """The names of the reasons that are no normal ones."""
    left = bits & THROTTLED
    named = tuple(name for bit, name in REASONS.items() if left & bit)
    return (*named, "other") if left & ~sum(REASONS) else named


@dataclass
class Telemetry:
    """All series of a machine. The host's have no GPU."""

    series: dict[tuple[int | None, str], Series] = field(default_factory=dict)
    marks: deque[Mark] = field(default_factory=lambda: deque(maxlen=MOST_MARKS))
    lost: set[int] = field(default_factory=set)
    processes: dict[int, tuple[tuple[int, int | None], ...]] = field(default_factory=dict)
    """By GPU: process id and bytes of the GPU's memory, as last seen; bytes None where the driver does not say."""
    _throttled: dict[int, int] = field(default_factory=dict)

    def take(self, frame: Mapping[str, Any]) -> tuple[Mark, ...]:
        """Keep one sample frame; the marks that it brings."""
        marks = []
        for reading in readings(frame):
            for name, value in reading.values.items():
                self.series.setdefault((reading.gpu, name), Series()).add(reading.at_s, value)
            if reading.gpu is None:
                continue
            if reading.processes is not None:
                self.processes[reading.gpu] = reading.processes
            if reading.lost:
                self.lost.add(reading.gpu)
            if reading.throttle_reasons is not None:
                now = reading.throttle_reasons & THROTTLED
                if now != self._throttled.get(reading.gpu, 0):
                    marks.append(Mark(reading.at_s, reading.gpu, now))
                self._throttled[reading.gpu] = now
        self.marks.extend(marks)
        return tuple(marks)


def _values(given: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    return {name: value for name in names if (value := _number(given.get(name))) is not None}


def _processes(given: Mapping[str, Any]) -> tuple[tuple[int, int | None], ...] | None:
    if not isinstance(given.get("processes"), list):
        return None
    return tuple(
        (process["pid"], used if isinstance(used := process.get("used_bytes"), int) else None)
        for process in list(_mappings(given["processes"]))[:MOST_PROCESSES]
        if isinstance(process.get("pid"), int)
    )


def _number(value: Any) -> float | None:
    """A number that can be a sample; no infinite one, and none that is beyond all that is sampled."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        return None
    return float(value)


def _mappings(content: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in content if isinstance(each, Mapping)) if isinstance(content, list) else iter(())
