"""Hears of the Xids of this machine's GPUs: by the driver's events, else by the kernel's log. Reads only.

Standard library only, Python 3.6 and later. The driver tells any user; the kernel's log is root's on most machines.
"""

import os
import re
from typing import Any, Dict, List, Optional, Tuple

from gpuplanner.probe.there.nvml import Nvml, Xids

MOST_LINES = 1000
"""Of the kernel's log at one look; what is beyond comes at the next."""
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]{7,16})\): (\d{1,9})\b")


class KernelLog:
    """Follows the kernel's log from now on. `reason`: why it cannot be read, empty where it can. Reads only."""

    def __init__(self, path: str = "/dev/kmsg") -> None:
        self.reason = ""
        self._file = -1
        try:
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            os.lseek(self._file, 0, os.SEEK_END)
        except PermissionError:
            self.reason = "no_permission"
        except OSError:
            self.reason = "not_found"

    def heard(self) -> List[Tuple[str, int]]:
        """PCI address and code of each Xid since the last time; does not wait."""
        found: List[Tuple[str, int]] = []
        for _ in range(MOST_LINES if self._file >= 0 else 0):
            try:
                line = os.read(self._file, 8192)
            except BrokenPipeError:
                # Lines were overwritten before we came; the next one is there.
                continue
            except OSError:
                break
            if not line:
                break
            said = _XID.search(line.decode("utf-8", "replace"))
            if said:
                found.append((said.group(1), int(said.group(2))))
        return found

    def close(self) -> None:
        """Follow it no more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Faults:
    """The Xids of the GPUs: by the driver's events, else by the kernel's log, where either can be had."""

    def __init__(self, nvml: Nvml, handles: List[Tuple[int, Any]]) -> None:
        self._nvml = nvml
        self._events: Optional[Xids] = nvml.xids_of(handles)
        self._log: Optional[KernelLog] = None
        self._gpus = {handle.value: gpu for gpu, handle in handles}
        if self._events is None:
            self._log = KernelLog()
            if self._log.reason:
                nvml.absent["xid"] = self._log.reason
            else:
                nvml.absent.pop("xid", None)

    def heard(self) -> Dict[int, List[int]]:
        """The codes by GPU since the last time."""
        found: Dict[int, List[int]] = {}
        for gpu, code in self._events.heard() if self._events is not None else []:
            found.setdefault(gpu, []).append(code)
        for bus, code in self._log.heard() if self._log is not None else []:
            handle = self._nvml.at_bus(bus if bus.count(".") else bus + ".0")
            if handle is not None and handle.value in self._gpus:
                found.setdefault(self._gpus[handle.value], []).append(code)
        return found

    def close(self) -> None:
        """Listen no more."""
        if self._events is not None:
            self._events.close()
        if self._log is not None:
            self._log.close()
