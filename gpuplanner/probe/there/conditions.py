"""What clocks, power, temperature, throttling and PCIe links do while something is measured. Measures nothing itself.

Standard library only, Python 3.6 and later.
"""

import threading
from typing import Any, Dict, Optional, Tuple

from gpuplanner.probe.there.nvml import Nvml

LOOK_EVERY_S = 0.05
_LOWEST = ("clock_sm_mhz", "pcie_gen", "pcie_width")
_HIGHEST = ("power_w", "temperature_c")


class Conditions:
    """Looks at the GPUs in a thread of its own while something is measured, where NVML is there."""

    def __init__(self, nvml: Optional[Nvml], handles: Dict[int, Any]) -> None:
        self._nvml = nvml
        self._handles = handles
        self._lock = threading.Lock()
        self._watched: Tuple[int, ...] = ()
        self._seen: Dict[str, Any] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        if nvml is not None:
            self._thread.start()

    def begin(self, *gpus: int) -> None:
        """Forget what was seen and look at these GPUs from now on."""
        with self._lock:
            self._watched, self._seen = gpus, {}

    def seen(self) -> Dict[str, Any]:
        """Lowest clock and link, highest power and temperature, all reasons for throttling, since `begin`."""
        with self._lock:
            return dict(self._seen)

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
                    values = self._nvml.quick(self._handles[gpu])
                    with self._lock:
                        if self._watched is watched:
                            self._keep(values)

    def _keep(self, values: Dict[str, Any]) -> None:
        seen = self._seen
        seen["looks"] = seen.get("looks", 0) + 1
        for name in _LOWEST:
            if name in values:
                seen[name] = min(seen.get(name, values[name]), values[name])
        for name in _HIGHEST:
            if name in values:
                seen[name] = max(seen.get(name, values[name]), values[name])
        if "throttle_reasons" in values:
            seen["throttle_reasons"] = seen.get("throttle_reasons", 0) | int(values["throttle_reasons"])
