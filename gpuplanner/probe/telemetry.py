"""Keeps the samples of a machine in bounded memory for as long as one looks. Pure: no clock, no reading, no drawing.

Each series has a fixed number of bins; when the time that they span is over, two neighbours become one. So the whole
time stays, coarser and coarser, and no peak or dip is lost: each bin keeps its lowest and its highest value. Beside it
rings keep the last minutes finely, whatever has gone before.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating]
Bins: TypeAlias = tuple[Floats, Floats, Floats, Floats]
"""Middle of each bin in seconds, lowest, mean and highest value of it."""

BINS = 2_000
"""More than a chart has points across."""
FIRST_WIDTH_S = 0.1
MOST_BINS_S = 1e9
WINDOWS: tuple[tuple[float, float], ...] = ((120.0, 0.2), (600.0, 1.0), (3600.0, 6.0))
"""The times back that are kept finely, and how long their bins are, in seconds: 600 bins, as a chart is wide."""
MOST_XIDS = 64
"""Of one GPU in one sample."""
LARGEST_XID = 9_999
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
    "utilization_percent", "memory_percent", "memory_used_mib", "memory_total_mib", "clock_sm_mhz", "clock_sm_max_mhz",
    "clock_memory_mhz", "power_w", "power_limit_w", "temperature_c", "pcie_gen", "pcie_width", "pcie_sent_mb_per_s",
    "pcie_received_mb_per_s", "nvlink_sent_mb_per_s", "nvlink_received_mb_per_s", "encoder_percent", "decoder_percent",
)  # fmt: skip
HOST_METRICS = (
    "cpu_percent", "cpu_wait_percent", "cpus", "cpu_limit", "cpu_limit_used_percent", "busiest_cpu_percent",
    "busiest_disk_percent", "memory_used_mib", "memory_total_mib", "disk_read_mb_per_s",
    "disk_written_mb_per_s", "network_received_mb_per_s", "network_sent_mb_per_s",
    "network_link_mb_per_s",
)  # fmt: skip


class _Bins:
    """Lowest, highest, sum and count of samples in bins of one width."""

    def __init__(self, bins: int, width_s: float) -> None:
        self.width_s = width_s
        self.low: Floats = np.full(bins, np.inf)
        self.high: Floats = np.full(bins, -np.inf)
        self.sum: Floats = np.zeros(bins)
        self.count: Floats = np.zeros(bins)

    def parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.low, self.high, self.sum, self.count

    def merge(self, at: int, low: float, high: float, total: float, count: int) -> None:
        """Take what a finer bin holds into the one at this place."""
        self.low[at] = min(self.low[at], low)
        self.high[at] = max(self.high[at], high)
        self.sum[at] += total
        self.count[at] += count

    def read(self, order: "npt.NDArray[np.intp]", middle: Floats) -> Bins:
        """The bins at these places that hold something. `middle`: the time of each, in seconds."""
        filled = self.count[order] > 0
        at = order[filled]
        return middle[filled], self.low[at], self.sum[at] / self.count[at], self.high[at]


class _Ring(_Bins):
    """The last bins of a time; the oldest gives way."""

    def __init__(self, span_s: float, width_s: float) -> None:
        super().__init__(round(span_s / width_s), width_s)
        self.newest = -1

    def take(self, at_s: float, low: float, high: float, total: float, count: int) -> None:
        number, bins = int(at_s / self.width_s), len(self.low)
        if number <= self.newest - bins:
            return
        # What lies between the newest and this one has no samples.
        for each in range(max(self.newest + 1, number - bins + 1), number + 1):
            at = each % bins
            self.low[at], self.high[at], self.sum[at], self.count[at] = np.inf, -np.inf, 0.0, 0.0
        self.newest = max(self.newest, number)
        self.merge(number % bins, low, high, total, count)

    def bins(self) -> Bins:
        numbers = np.arange(max(0, self.newest - len(self.low) + 1), self.newest + 1)
        return self.read(numbers % len(self.low), (numbers + 0.5) * self.width_s)


class Series:
    """One value over time. `at_s` is seconds since sampling began and never goes back by more than a bin."""

    def __init__(self, bins: int = BINS, first_width_s: float = FIRST_WIDTH_S) -> None:
        """`bins`: even, at least two."""
        self._whole = _Bins(bins, first_width_s)
        self._rings = [_Ring(span_s, width_s) for span_s, width_s in WINDOWS]
        self._fine_s = min(first_width_s, WINDOWS[0][1])
        # The bin that is being filled; arrays are touched when it is full, which is quicker by far.
        self._number, self._at_s, self._low, self._high, self._sum, self._count = -1, 0.0, 0.0, 0.0, 0.0, 0
        self.last: float | None = None

    def add(self, at_s: float, value: float) -> None:
        """Take a sample; times before the beginning and values that are no number are left out."""
        if not (0 <= at_s < MOST_BINS_S and abs(value) <= LARGEST):
            return
        number = int(at_s / self._fine_s)
        if number != self._number:
            self._close()
            self._number, self._at_s, self._low, self._high, self._sum, self._count = (
                number,
                at_s,
                value,
                value,
                value,
                1,
            )
        else:
            self._low, self._high = min(self._low, value), max(self._high, value)
            self._sum += value
            self._count += 1
        self.last = value

    def add_bin(self, at_s: float, low: float, mean: float, high: float) -> None:
        """Take a bin of another series, as of a session that was kept; one that holds no numbers is left out."""
        if 0 <= at_s < MOST_BINS_S and -LARGEST <= low <= mean <= high <= LARGEST:
            self._close()
            self._at_s, self._low, self._high, self._sum, self._count = at_s, low, high, mean, 1
            self._close()
            self.last = mean

    @property
    def width_s(self) -> float:
        """How long a bin of the whole time is by now."""
        return self._whole.width_s

    def bins(self) -> Bins:
        """Middle of each bin that has samples in seconds, lowest, mean and highest value of it; the whole time."""
        self._close()
        whole = self._whole
        every = np.arange(len(whole.low))
        return whole.read(every, (every + 0.5) * whole.width_s)

    def recent(self, span_s: float) -> Bins:
        """As `bins`, of the last `span_s` before the newest sample, as finely as they are kept."""
        self._close()
        kept = next(
            (ring.bins() for ring, (most_s, _) in zip(self._rings, WINDOWS, strict=True) if span_s <= most_s), None
        )
        found = self.bins() if kept is None else kept
        newest = found[0][-1] if len(found[0]) else 0.0
        within = found[0] > newest - span_s
        return found[0][within], found[1][within], found[2][within], found[3][within]

    @property
    def held_bytes(self) -> int:
        """Memory of the bins; the same from the first sample to the last."""
        return sum(part.nbytes for bins in (self._whole, *self._rings) for part in bins.parts())

    def _close(self) -> None:
        if not self._count:
            return
        held = self._low, self._high, self._sum, self._count
        while self._at_s >= self._whole.width_s * len(self._whole.low):
            self._halve()
        self._whole.merge(int(self._at_s / self._whole.width_s), *held)
        for ring in self._rings:
            ring.take(self._at_s, *held)
        self._number, self._count = -1, 0

    def _halve(self) -> None:
        whole = self._whole
        half = len(whole.low) // 2
        for part, joined, empty in (
            (whole.low, np.minimum(whole.low[0::2], whole.low[1::2]), np.inf),
            (whole.high, np.maximum(whole.high[0::2], whole.high[1::2]), -np.inf),
            (whole.sum, whole.sum[0::2] + whole.sum[1::2], 0.0),
            (whole.count, whole.count[0::2] + whole.count[1::2], 0.0),
        ):
            part[:half] = joined
            part[half:] = empty
        whole.width_s *= 2


@dataclass(frozen=True, slots=True)
class Mark:
    """From `at_s` on a GPU is throttled for these reasons (bits of nvml.h), or not any more where there are none.

    `xid`: the mark is of a fault with this number instead.
    """

    at_s: float
    gpu: int
    reasons: int
    xid: int | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """Who computes on a GPU. `used_bytes`: of its memory, None where the driver does not say."""

    pid: int
    used_bytes: int | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one sample says of one GPU, or of the host where `gpu` is None. Only what the driver gave is there.

    `values`: by the names of `GPU_METRICS` or `HOST_METRICS`. `processes`: None where they were not asked at this
    moment. `xids`: the faults since the sample before that are told now.
    """

    at_s: float
    gpu: int | None
    values: Mapping[str, float]
    throttle_reasons: int | None = None
    lost: bool = False
    processes: tuple[Process, ...] | None = None
    xids: tuple[int, ...] = ()


def readings(frame: Mapping[str, Any]) -> Iterator[Reading]:
    """A sample frame of `there/sample.py`, GPUs first. What is no such value is left out: the frame is a stranger's."""
    at_s = _number(frame.get("at_s"))
    if at_s is None:
        return
    for values in _mappings(frame.get("gpus")):
        gpu, reasons = values.get("gpu"), values.get("throttle_reasons")
        if isinstance(gpu, int) and not isinstance(gpu, bool) and 0 <= gpu < MOST_GPUS:
            known = reasons if isinstance(reasons, int) and 0 <= reasons < 1 << 64 else None
            lost = values.get("lost") is True
            yield Reading(at_s, gpu, _values(values, GPU_METRICS), known, lost, _processes(values), _xids(values))
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
    processes: dict[int, tuple[Process, ...]] = field(default_factory=dict)
    """By GPU, as last seen."""
    ended_s: float = 0.0
    """The time of the newest sample."""
    tells_throttling: bool = False
    """Whether any GPU has said if it is throttled."""
    _throttled: dict[int, int] = field(default_factory=dict)

    def take(self, frame: Mapping[str, Any]) -> tuple[Mark, ...]:
        """Keep one sample frame; the marks that it brings."""
        marks: list[Mark] = []
        for reading in readings(frame):
            for name, value in reading.values.items():
                series = self.series.get((reading.gpu, name))
                if series is None:
                    series = self.series[reading.gpu, name] = Series()
                series.add(reading.at_s, value)
            self.ended_s = max(self.ended_s, reading.at_s)
            if reading.gpu is None:
                continue
            marks += [Mark(reading.at_s, reading.gpu, 0, xid) for xid in reading.xids]
            if reading.processes is not None:
                self.processes[reading.gpu] = reading.processes
            if reading.lost:
                self.lost.add(reading.gpu)
            if reading.throttle_reasons is not None:
                self.tells_throttling = True
                now = reading.throttle_reasons & THROTTLED
                if now != self._throttled.get(reading.gpu, 0):
                    marks.append(Mark(reading.at_s, reading.gpu, now))
                self._throttled[reading.gpu] = now
        self.marks.extend(marks)
        return tuple(marks)


def _values(given: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    return {name: value for name in names if (value := _number(given.get(name))) is not None}


def _processes(given: Mapping[str, Any]) -> tuple[Process, ...] | None:
    if not isinstance(given.get("processes"), list):
        return None
    return tuple(
        Process(
            process["pid"],
            used if isinstance(used := process.get("used_bytes"), int) else None,
            name[:64] if isinstance(name := process.get("name"), str) else "",
        )
        for process in list(_mappings(given["processes"]))[:MOST_PROCESSES]
        if isinstance(process.get("pid"), int)
    )


def _xids(given: Mapping[str, Any]) -> tuple[int, ...]:
    told = given.get("xids")
    codes = told[:MOST_XIDS] if isinstance(told, list) else []
    return tuple(code for code in codes if type(code) is int and 0 < code <= LARGEST_XID)


def _number(value: Any) -> float | None:
    """A number that can be a sample; no infinite one, and none that is beyond all that is sampled."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        return None
    return float(value)


def _mappings(content: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in content if isinstance(each, Mapping)) if isinstance(content, list) else iter(())
