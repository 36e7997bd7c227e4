"""Samples the GPUs and the host of the machine that it runs on, again and again, until it is told to stop.

Standard library only, Python 3.6 and later. It reads NVML and `/proc` and nothing else; one process for as long as
somebody looks. What takes the driver long is asked once a second in a thread of its own.
"""

import os
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from gpuplanner.probe.there.collect import Tell
from gpuplanner.probe.there.nvml import Nvml, NvmlFault

SLOW_S = 1.0
SHORTEST_S = 0.05
SECTOR_BYTES = 512
"""Of /proc/diskstats, whatever the disk's own sectors are."""
_NOT_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr")
"""What stands on other disks of the list would count twice."""


class Slow:
    """The values that are asked once a second, by GPU; rates of NVLink from its counters."""

    def __init__(self, nvml: Nvml, handles: List[Tuple[int, Any]], stop: threading.Event) -> None:
        self._nvml = nvml
        self._handles = handles
        self._stop = stop
        self._lock = threading.Lock()
        self._values: Dict[int, Dict[str, Any]] = {}
        self._counters: Dict[int, Tuple[float, Dict[str, float]]] = {}
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def of(self, gpu: int) -> Dict[str, Any]:
        """The last values of a GPU, once each: a value is not told again before it has been asked again."""
        with self._lock:
            return self._values.pop(gpu, {})

    def _look(self) -> None:
        while True:
            began = time.monotonic()
            for gpu, handle in self._handles:
                if self._stop.is_set():
                    return
                values: Dict[str, Any] = dict(self._nvml.slow(handle))
                self._rates(gpu, values)
                values["processes"] = self._nvml.processes(handle)
                with self._lock:
                    self._values[gpu] = values
            if self._stop.wait(max(0.0, SLOW_S - (time.monotonic() - began))):
                return

    def _rates(self, gpu: int, values: Dict[str, Any]) -> None:
        """MB/s instead of the counters, from the second look on; a counter that runs backwards was reset."""
        now = time.monotonic()
        counters: Dict[str, float] = {}
        for name in ("nvlink_sent_kib", "nvlink_received_kib"):
            if name in values:
                counters[name] = values.pop(name)
        before = self._counters.get(gpu)
        self._counters[gpu] = now, counters
        if before is None or now <= before[0]:
            return
        for name, counted in counters.items():
            more = counted - before[1].get(name, counted + 1)
            if more >= 0:
                values[name.replace("_kib", "_mb_per_s")] = more * 1024 / 1e6 / (now - before[0])


class Host:
    """Processors, memory, disks and network from `/proc`; rates since the look before."""

    def __init__(self) -> None:
        self._before: Dict[str, float] = {}
        self._at = 0.0

    def look(self) -> Dict[str, float]:
        """What can be read; a value that is not there is left out. Rates in MB/s (10⁶ bytes)."""
        now = time.monotonic()
        counted: Dict[str, float] = {}
        _processors(counted)
        _disks(counted)
        _network(counted)
        values: Dict[str, float] = {}
        _memory(values)
        passed = now - self._at
        before, self._before, self._at = self._before, counted, now
        if not before or passed <= 0:
            return values
        more = {name: counted[name] - before[name] for name in counted if name in before}
        if more.get("ticks", 0) > 0:
            values["cpu_percent"] = 100.0 * more.get("busy_ticks", 0) / more["ticks"]
            values["cpu_wait_percent"] = 100.0 * more.get("wait_ticks", 0) / more["ticks"]
        for name in ("disk_read", "disk_written", "network_received", "network_sent"):
            if more.get(name, -1) >= 0:
                values[name + "_mb_per_s"] = more[name] / 1e6 / passed
        return values


def _lines(path: str) -> List[List[str]]:
    try:
        with open(path) as file:
            return [line.split() for line in file]
    except OSError:
        return []


def _processors(counted: Dict[str, float]) -> None:
    for words in _lines("/proc/stat"):
        if words and words[0] == "cpu":
            # user nice system idle iowait irq softirq steal; guests are in user already.
            ticks = [int(word) for word in words[1:9]]
            counted["ticks"] = sum(ticks)
            counted["wait_ticks"] = ticks[4]
            counted["busy_ticks"] = sum(ticks) - ticks[3] - ticks[4]
            return


def _memory(values: Dict[str, float]) -> None:
    found = {words[0]: int(words[1]) for words in _lines("/proc/meminfo") if len(words) > 1 and words[1].isdigit()}
    if "MemTotal:" in found and "MemAvailable:" in found:
        values["memory_total_mib"] = found["MemTotal:"] / 1024.0
        values["memory_used_mib"] = (found["MemTotal:"] - found["MemAvailable:"]) / 1024.0


def _disks(counted: Dict[str, float]) -> None:
    rows = [words for words in _lines("/proc/diskstats") if len(words) > 9 and not words[2].startswith(_NOT_DISKS)]
    names = {words[2] for words in rows}
    whole = [words for words in rows if _disk_of(words[2]) not in names]
    if whole:
        counted["disk_read"] = SECTOR_BYTES * sum(int(words[5]) for words in whole)
        counted["disk_written"] = SECTOR_BYTES * sum(int(words[9]) for words in whole)


def _disk_of(name: str) -> str:
    """The disk whose partition has this name: sda of sda1, nvme0n1 of nvme0n1p2; empty of a name without a number."""
    bare = name.rstrip("0123456789")
    if bare == name:
        return ""
    return bare[:-1] if bare.endswith("p") and bare[-2:-1].isdigit() else bare


def _network(counted: Dict[str, float]) -> None:
    rows, physical = [], []
    for words in _lines("/proc/net/dev"):
        # The name may stand together with the first number.
        name, _, rest = " ".join(words).partition(":")
        numbers = rest.split()
        if len(numbers) >= 9 and name != "lo":
            rows.append(numbers)
            if os.path.exists("/sys/class/net/%s/device" % name):
                physical.append(numbers)
    # Bridges, bonds and the ends of containers carry what an adapter carries already.
    rows = physical or rows
    if rows:
        counted["network_received"] = sum(int(numbers[0]) for numbers in rows)
        counted["network_sent"] = sum(int(numbers[8]) for numbers in rows)


def sample(job: Dict[str, Any], tell: Tell, stop: threading.Event) -> bool:
    """Sample every `interval_s` for `seconds` (0: until told to stop); whether it came to its end.

    Without NVML the host alone is sampled, and that is said.
    """
    began = time.monotonic()
    interval = max(SHORTEST_S, float(job["interval_s"]))
    end = began + float(job["seconds"]) if job.get("seconds") else None
    nvml: Optional[Nvml] = None
    try:
        nvml = Nvml()
    except NvmlFault as fault:
        tell({"frame": "without", "what": "nvml", "reason": fault.reason, "said": fault.said})
    slow: Optional[Slow] = None
    try:
        handles = _handles(nvml, tell) if nvml is not None else []
        if nvml is not None and handles:
            slow = Slow(nvml, handles, stop)
        return _loop(nvml, handles, slow, tell, stop, began, interval, end)
    finally:
        # The thread must be out of the library before that is shut.
        stop.set()
        if slow is not None:
            slow.thread.join(1)
        if nvml is not None:
            nvml.close()


def _loop(
    nvml: Optional[Nvml], handles: List[Tuple[int, Any]], slow: Optional[Slow], tell: Tell, stop: threading.Event,
    began: float, interval: float, end: Optional[float],
) -> bool:  # fmt: skip
    host = Host()
    turn = 0
    host_at = began
    while not stop.is_set():
        now = time.monotonic()
        if end is not None and now > end + interval / 2:
            return True
        frame: Dict[str, Any] = {"frame": "sample", "at_s": now - began, "gpus": []}
        if nvml is not None:
            for gpu, handle in handles:
                values: Dict[str, Any] = dict(nvml.quick(handle))
                if not values and nvml.lost(handle):
                    values["lost"] = True
                if slow is not None:
                    values.update(slow.of(gpu))
                values["gpu"] = gpu
                frame["gpus"].append(values)
        if now >= host_at:
            # Ticks of the processors are 10 ms: shorter than this the percentages jump.
            host_at = now + max(SLOW_S, interval)
            frame["host"] = host.look()
        tell(frame)
        turn += 1
        # What a slow driver has missed is left out, not caught up with.
        turn = max(turn, int((time.monotonic() - began) / interval))
        stop.wait(max(0.0, began + turn * interval - time.monotonic()))
    return False


def _handles(nvml: Nvml, tell: Tell) -> List[Tuple[int, Any]]:
    """The GPUs that can be asked, told by name; one that cannot is told as lost."""
    handles: List[Tuple[int, Any]] = []
    gpus: List[Dict[str, Any]] = []
    for index in range(nvml.count()):
        handle = nvml.at(index)
        if handle is None:
            gpus.append({"index": index, "lost": True})
            continue
        handles.append((index, handle))
        name, uuid = nvml.text("nvmlDeviceGetName", handle), nvml.text("nvmlDeviceGetUUID", handle)
        gpus.append({"index": index, "name": name, "uuid": uuid})
        nvml.quick(handle)
    if handles:
        # One is asked what takes long, for what it does not give.
        nvml.slow(handles[0][1])
    tell({"frame": "machine", "gpus": gpus, "absent": dict(nvml.absent)})
    return handles
