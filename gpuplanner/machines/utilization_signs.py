"""What samples of a machine say about how its GPUs work, as numbers: means, dips and what went on meanwhile. Pure."""

from dataclasses import dataclass, field

import numpy as np

from gpuplanner.probe.telemetry import THROTTLED, Floats, Telemetry

DIP_SHARE = 0.5
"""A GPU dips where it does less than this share of what it usually does (our own rule)."""
DIP_FROM_PERCENT = 20.0
"""Where it never does more than this there is nothing to dip from (our own rule)."""


@dataclass(frozen=True, slots=True)
class Signs:
    """Means of the window. Percent of 100, shares of 1, MB/s of 10⁶ bytes; None is what was not sampled.

    `each`, `power`: by GPU. `dip_every_s` from one dip's start to the next, `dip_s` how long one lasts. `pcie_in_dips`
    and `pcie_otherwise`: what a GPU received over PCIe while it dipped and while it did not; `pcie`: all the time.
    """

    gpus: tuple[int, ...] = ()
    seconds: float = 0.0
    utilization: float | None = None
    each: dict[int, float] = field(default_factory=dict)
    power: dict[int, float] = field(default_factory=dict)
    power_share: float | None = None
    memory_busy: float | None = None
    clock_share: float | None = None
    throttled_share: float | None = None
    dips: int = 0
    dip_every_s: float | None = None
    dip_s: float = 0.0
    pcie: float | None = None
    pcie_in_dips: float | None = None
    pcie_otherwise: float | None = None
    processes: int | None = None
    cpu: float | None = None
    cpu_wait: float | None = None
    busiest_cpu: float | None = None
    cpus: float | None = None
    cpu_limit: float | None = None
    cpu_limit_used: float | None = None
    disk_busy: float | None = None
    disk_read_mb_per_s: float | None = None
    received_mb_per_s: float | None = None
    link_mb_per_s: float | None = None


def signs_of(telemetry: Telemetry, window_s: float) -> Signs:
    """The signs of the last `window_s`."""
    window = _Window(telemetry, window_s)
    each = window.by_gpu("utilization_percent")
    power = window.by_gpu("power_w")
    dips = _Dips.of(window)
    known = [len(telemetry.processes[gpu]) for gpu in window.gpus if gpu in telemetry.processes]
    return Signs(
        gpus=window.gpus,
        seconds=window.seconds,
        utilization=_mean(each),
        each=each,
        power=power,
        power_share=_mean(_ratio(power, window.by_gpu("power_limit_w"))),
        memory_busy=_mean(window.by_gpu("memory_percent")),
        clock_share=_mean(_ratio(window.by_gpu("clock_sm_mhz"), window.by_gpu("clock_sm_max_mhz"))),
        throttled_share=_throttled(window),
        dips=dips.count,
        dip_every_s=dips.every_s,
        dip_s=dips.long_s,
        pcie=_mean(window.by_gpu("pcie_received_mb_per_s")),
        pcie_in_dips=dips.pcie_within,
        pcie_otherwise=dips.pcie_without,
        processes=sum(known) if known else None,
        cpu=window.host("cpu_percent"),
        cpu_wait=window.host("cpu_wait_percent"),
        busiest_cpu=window.host("busiest_cpu_percent"),
        cpus=window.host("cpus"),
        cpu_limit=window.host("cpu_limit"),
        cpu_limit_used=window.host("cpu_limit_used_percent"),
        disk_busy=window.host("busiest_disk_percent"),
        disk_read_mb_per_s=window.host("disk_read_mb_per_s"),
        received_mb_per_s=window.host("network_received_mb_per_s"),
        link_mb_per_s=window.host("network_link_mb_per_s"),
    )


class _Window:
    """The last seconds of the series."""

    def __init__(self, telemetry: Telemetry, window_s: float) -> None:
        self.telemetry = telemetry
        self.window_s = window_s
        self.gpus = tuple(sorted({gpu for gpu, _ in telemetry.series if gpu is not None}))
        starts = [float(times[0]) for gpu in self.gpus if len(times := self.times(gpu, "utilization_percent")[0])]
        self.start_s = min(starts, default=telemetry.ended_s)
        self.seconds = max(0.0, telemetry.ended_s - self.start_s)

    def times(self, gpu: int | None, name: str) -> tuple[Floats, Floats]:
        """Times and means of a series' bins; none where it was not sampled."""
        series = self.telemetry.series.get((gpu, name))
        if series is None:
            return np.zeros(0), np.zeros(0)
        middle, _, mean, _ = series.recent(self.window_s)
        return middle, mean

    def by_gpu(self, name: str) -> dict[int, float]:
        return {gpu: float(mean.mean()) for gpu in self.gpus if len(mean := self.times(gpu, name)[1])}

    def host(self, name: str) -> float | None:
        mean = self.times(None, name)[1]
        return float(mean.mean()) if len(mean) else None


@dataclass(frozen=True, slots=True)
class _Dips:
    count: int = 0
    every_s: float | None = None
    long_s: float = 0.0
    pcie_within: float | None = None
    pcie_without: float | None = None

    @classmethod
    def of(cls, window: _Window) -> "_Dips":
        """Dips of all GPUs together: their mean falls below a share of what they usually do."""
        curves = [window.times(gpu, "utilization_percent") for gpu in window.gpus]
        longest = max(curves, key=lambda curve: len(curve[0]), default=(np.zeros(0), np.zeros(0)))[0]
        if len(longest) < 4:
            return cls()
        together = np.mean([np.interp(longest, at, mean) for at, mean in curves if len(at)], axis=0)
        usual = float(np.quantile(together, 0.9))
        if usual < DIP_FROM_PERCENT:
            return cls()
        low = together < DIP_SHARE * usual
        begins = np.flatnonzero(low & ~np.concatenate(([False], low[:-1])))
        step = float(np.median(np.diff(longest)))
        if not len(begins):
            return cls()
        every = float(np.median(np.diff(longest[begins]))) if len(begins) > 1 else None
        within, without = _received(window, longest, low)
        return cls(len(begins), every, float(low.sum()) * step / len(begins), within, without)


def _received(
    window: _Window, times: Floats, low: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> tuple[float | None, float | None]:
    """MB/s over PCIe while the GPUs dipped and while they did not."""
    within: list[float] = []
    without: list[float] = []
    for gpu in window.gpus:
        at, mean = window.times(gpu, "pcie_received_mb_per_s")
        if len(at):
            dipped = low[np.clip(np.searchsorted(times, at), 0, len(low) - 1)]
            within += list(mean[dipped])
            without += list(mean[~dipped])
    return (float(np.mean(within)) if within else None), (float(np.mean(without)) if without else None)


def _throttled(window: _Window) -> float | None:
    """The share of the window in which a GPU was throttled, the mean of the GPUs; None where that is not told."""
    if not window.telemetry.tells_throttling or not window.seconds:
        return None
    shares = []
    for gpu in window.gpus:
        since, reasons, held = window.start_s, 0, 0.0
        marks = [mark for mark in window.telemetry.marks if mark.gpu == gpu and mark.xid is None]
        for at_s, more in (*((mark.at_s, mark.reasons) for mark in marks), (window.telemetry.ended_s, 0)):
            if reasons & THROTTLED:
                held += max(0.0, at_s - max(since, window.start_s))
            since, reasons = at_s, more
        shares.append(min(1.0, held / window.seconds))
    return float(np.mean(shares)) if shares else None


def _ratio(over: dict[int, float], under: dict[int, float]) -> dict[int, float]:
    return {gpu: over[gpu] / under[gpu] for gpu in over if under.get(gpu, 0) > 0}


def _mean(values: dict[int, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None
