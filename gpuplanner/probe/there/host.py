"""Processors, memory, disks and network of this machine, from `/proc` and `/sys`. Reads only.

Standard library only, Python 3.6 and later.
"""

import os
import time
from typing import Dict, List, Optional

SECTOR_BYTES = 512
"""Of /proc/diskstats, whatever the disk's own sectors are."""
_NOT_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr")
"""What stands on other disks of the list would count twice."""
TICKS_PER_S = float(os.sysconf("SC_CLK_TCK")) if hasattr(os, "sysconf") else 100.0


class Host:
    """Processors, memory, disks and network from `/proc`; rates since the look before."""

    def __init__(self) -> None:
        self._before: Dict[str, float] = {}
        self._busy: Dict[str, float] = {}
        self._limit = _cpu_limit()
        self._link = _link_mb_per_s()
        self._at = 0.0

    def look(self) -> Dict[str, float]:
        """What can be read; a value that is not there is left out. Rates in MB/s (10⁶ bytes)."""
        now = time.monotonic()
        counted: Dict[str, float] = {}
        _processors(counted)
        _disks(counted)
        _network(counted)
        busy: Dict[str, float] = {}
        _busy(busy)
        values: Dict[str, float] = {}
        _memory(values)
        if self._link is not None:
            values["network_link_mb_per_s"] = self._link
        if self._limit is not None:
            values["cpu_limit"] = self._limit
            _quota_used(counted)
        passed = now - self._at
        before, self._before, self._at = self._before, counted, now
        busy_before, self._busy = self._busy, busy
        if not before or passed <= 0:
            return values
        more = {name: counted[name] - before[name] for name in counted if name in before}
        if more.get("ticks", 0) > 0:
            values["cpu_percent"] = 100.0 * more.get("busy_ticks", 0) / more["ticks"]
            values["cpu_wait_percent"] = 100.0 * more.get("wait_ticks", 0) / more["ticks"]
            values["cpus"] = len([name for name in busy if name.startswith("cpu")])
            _busiest(values, busy_before, busy, passed)
        if self._limit and more.get("quota_us", -1) >= 0:
            values["cpu_limit_used_percent"] = round(100.0 * more["quota_us"] / 1e6 / passed / self._limit, 1)
        for name in ("disk_read", "disk_written", "network_received", "network_sent"):
            if more.get(name, -1) >= 0:
                values[name + "_mb_per_s"] = more[name] / 1e6 / passed
        return values


def lines_of(path: str) -> List[List[str]]:
    """The words of a file's lines; none where it cannot be read."""
    try:
        with open(path) as file:
            return [line.split() for line in file]
    except OSError:
        return []


def _processors(counted: Dict[str, float]) -> None:
    for words in lines_of("/proc/stat"):
        if words and words[0] == "cpu":
            # user nice system idle iowait irq softirq steal; guests are in user already.
            ticks = [int(word) for word in words[1:9]]
            counted["ticks"] = sum(ticks)
            counted["wait_ticks"] = ticks[4]
            counted["busy_ticks"] = sum(ticks) - ticks[3] - ticks[4]
            return


def _busy(counted: Dict[str, float]) -> None:
    """Seconds that each processor and each disk was busy."""
    for words in lines_of("/proc/stat"):
        if not words or not words[0].startswith("cpu"):
            break
        if words[0] != "cpu":
            ticks = [int(word) for word in words[1:9]]
            counted[words[0]] = (sum(ticks) - ticks[3] - ticks[4]) / TICKS_PER_S
    for words in lines_of("/proc/diskstats"):
        if len(words) > 12 and not words[2].startswith(_NOT_DISKS):
            counted["disk " + words[2]] = int(words[12]) / 1000.0


def _busiest(values: Dict[str, float], before: Dict[str, float], now: Dict[str, float], passed: float) -> None:
    """How busy the busiest processor and the busiest disk are."""
    for kind, name in (("cpu", "busiest_cpu_percent"), ("disk ", "busiest_disk_percent")):
        more = [now[one] - before[one] for one in now if one.startswith(kind) and one in before]
        if more:
            values[name] = round(max(0.0, min(100.0, 100.0 * max(more) / passed)), 1)


def _cpu_limit() -> Optional[float]:
    """How many processors the container may use at a time; None where nothing limits it, or this is no container.

    The file stands at the top of a container's own tree only: the whole machine's has none (cgroups(7)).
    """
    for path, period_path in (
        ("/sys/fs/cgroup/cpu.max", ""),
        ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
    ):
        words = [word for line in lines_of(path) for word in line]
        words += [word for line in lines_of(period_path) for word in line] if period_path else []
        if len(words) >= 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            return int(words[0]) / float(words[1])
    return None


def _quota_used(counted: Dict[str, float]) -> None:
    """Microseconds of processors that the container has used."""
    for words in lines_of("/sys/fs/cgroup/cpu.stat"):
        if words[:1] == ["usage_usec"] and len(words) > 1:
            counted["quota_us"] = int(words[1])
            return
    for words in lines_of("/sys/fs/cgroup/cpuacct/cpuacct.usage"):
        if words and words[0].isdigit():
            counted["quota_us"] = int(words[0]) / 1000.0


def _memory(values: Dict[str, float]) -> None:
    found = {words[0]: int(words[1]) for words in lines_of("/proc/meminfo") if len(words) > 1 and words[1].isdigit()}
    if "MemTotal:" in found and "MemAvailable:" in found:
        values["memory_total_mib"] = found["MemTotal:"] / 1024.0
        values["memory_used_mib"] = (found["MemTotal:"] - found["MemAvailable:"]) / 1024.0


def _disks(counted: Dict[str, float]) -> None:
    rows = [words for words in lines_of("/proc/diskstats") if len(words) > 9 and not words[2].startswith(_NOT_DISKS)]
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
    for words in lines_of("/proc/net/dev"):
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


def _link_mb_per_s() -> Optional[float]:
    """What the adapters that are up can carry one way; None where none says it, as virtual ones do not."""
    found = 0.0
    try:
        names = os.listdir("/sys/class/net")
    except OSError:
        names = []
    for name in names:
        folder = "/sys/class/net/" + name
        if not os.path.exists(folder + "/device") or lines_of(folder + "/operstate")[:1] != [["up"]]:
            continue
        words = lines_of(folder + "/speed")
        # In Mbit/s; an adapter that does not know says -1.
        if words and words[0] and words[0][0].isdigit():
            found += int(words[0][0]) / 8.0
    return found or None
