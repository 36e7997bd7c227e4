"""What clocks, power, temperature, throttling and PCIe links do while something is measured. Measures nothing itself.

Standard library only, Python 3.6 and later.
"""

import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from gpuplanner.probe.there.nvml import Nvml

LOOK_EVERY_S = 0.05
_LOWEST = ("clock_sm_mhz", "pcie_gen", "pcie_width")
_HIGHEST = ("power_w", "temperature_c")
_Look = Tuple[float, float, int, Dict[str, Any]]
"""When it began and ended by `time.monotonic`, the GPU, and what was seen."""


class Conditions:
    """Looks at the GPUs in a thread of its own while something is measured, where NVML is there."""

    def __init__(self, nvml: Optional[Nvml], handles: Dict[int, Any]) -> None:
        self._nvml = nvml
        self._handles = handles
        self._lock = threading.Lock()
        self._watched: Tuple[int, ...] = ()
        self._looks: List[_Look] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        if nvml is not None:
            self._thread.start()

    def begin(self, *gpus: int) -> None:
        """Forget what was seen and look at these GPUs from now on."""
        with self._lock:
            self._watched, self._looks = gpus, []

    def seen(self) -> Dict[str, Any]:
        """Lowest clock and link, highest power and temperature, all reasons for throttling, since `begin`.

        Of several GPUs `throttle_reasons_by_gpu` says besides which of them had which reasons.
        """
        with self._lock:
            watched, looks = self._watched, list(self._looks)
        seen = _folded(looks)
        if len(watched) > 1 and "throttle_reasons" in seen:
            by_gpu = {gpu: _folded([look for look in looks if look[2] == gpu]) for gpu in watched}
            seen["throttle_reasons_by_gpu"] = {
                str(gpu): each["throttle_reasons"] for gpu, each in by_gpu.items() if "throttle_reasons" in each
            }
        return seen

    def seen_of(self, gpu: int, began_s: float, ended_s: float) -> Dict[str, Any]:
        """The same of one GPU in a part of that time, by `time.monotonic`; empty where nobody looked meanwhile."""
        with self._lock:
            looks = list(self._looks)
        return _folded([look for look in looks if look[2] == gpu and began_s <= look[0] and look[1] <= ended_s])

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        if self._nvml is not None:
            self._thread.join(1)

    def _look(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            with self._lock:
                watched = self._watched
            for gpu in watched:
                if gpu in self._handles and self._nvml is not None:
                    began = time.monotonic()
                    values = self._nvml.quick(self._handles[gpu])
                    with self._lock:
                        if self._watched is watched:
                            self._looks.append((began, time.monotonic(), gpu, values))


def _folded(looks: List[_Look]) -> Dict[str, Any]:
    seen: Dict[str, Any] = {"looks": len(looks)} if looks else {}
    for _, _, _, values in looks:
        for name in _LOWEST:
            if name in values:
                seen[name] = min(seen.get(name, values[name]), values[name])
        for name in _HIGHEST:
            if name in values:
                seen[name] = max(seen.get(name, values[name]), values[name])
        if "throttle_reasons" in values:
            seen["throttle_reasons"] = seen.get("throttle_reasons", 0) | int(values["throttle_reasons"])
    return seen
