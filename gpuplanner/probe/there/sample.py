"""Samples the GPUs and the host of the machine that it runs on, again and again, until it is told to stop.

Standard library only, Python 3.6 and later. It reads NVML, `/proc` and `/sys`, and the kernel's log for Xids where
the driver does not tell of them; one process for as long as somebody looks.
What takes the driver long is asked once a second in a thread of its own.
"""

import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from gpuplanner.probe.there.collect import Tell
from gpuplanner.probe.there.faults import Faults
from gpuplanner.probe.there.host import Host, lines_of
from gpuplanner.probe.there.nvml import Nvml, NvmlFault

SLOW_S = 1.0
SHORTEST_S = 0.05


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
                values["processes"] = [_named(one) for one in self._nvml.processes(handle)]
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


def _named(process: Dict[str, Any]) -> Dict[str, Any]:
    """With the name of the program where this machine shows it; the driver's number may be another container's."""
    words = lines_of("/proc/%d/comm" % process["pid"])
    return dict(process, name=" ".join(words[0])[:64]) if words and words[0] else process


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
    faults: Optional[Faults] = None
    try:
        handles = _handles(nvml, tell) if nvml is not None else []
        if nvml is not None and handles:
            faults = Faults(nvml, handles)
            if "xid" in nvml.absent:
                tell({"frame": "without", "what": "xid", "reason": nvml.absent["xid"], "said": ""})
            slow = Slow(nvml, handles, stop)
        return _loop(nvml, handles, slow, faults, tell, stop, began, interval, end)
    finally:
        # The thread must be out of the library before that is shut.
        stop.set()
        if slow is not None:
            slow.thread.join(1)
        if faults is not None:
            faults.close()
        if nvml is not None:
            nvml.close()


def _loop(
    nvml: Optional[Nvml], handles: List[Tuple[int, Any]], slow: Optional[Slow], faults: Optional[Faults], tell: Tell,
    stop: threading.Event, began: float, interval: float, end: Optional[float],
) -> bool:  # fmt: skip
    host = Host()
    turn = 0
    host_at = began
    while not stop.is_set():
        now = time.monotonic()
        if end is not None and now > end + interval / 2:
            return True
        frame: Dict[str, Any] = {"frame": "sample", "at_s": round(now - began, 3), "gpus": []}
        seldom = now >= host_at
        xids = faults.heard() if faults is not None and seldom else {}
        if nvml is not None:
            for gpu, handle in handles:
                values: Dict[str, Any] = dict(nvml.quick(handle))
                if not values and nvml.lost(handle):
                    values["lost"] = True
                if slow is not None:
                    values.update(slow.of(gpu))
                if gpu in xids:
                    values["xids"] = xids[gpu]
                values["gpu"] = gpu
                frame["gpus"].append(values)
        if seldom:
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
