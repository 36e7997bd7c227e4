"""Looks which tools for measuring are installed here, and runs some of them, one after the other. Installs nothing.

Standard library only, Python 3.6 and later. What a tool writes is its own; of ours only a file that a person named a
folder for, which is made anew and removed whatever happens. A tool that is stopped is ended with all it has started.
"""

import glob
import os
import shutil
import threading
import time
from typing import Any, Dict, List, Optional

from gpuplanner.probe.there.collect import Listening, Run, Tell, surroundings
from gpuplanner.probe.there.nvml import Nvml, NvmlFault, somebody_computes

LOOK_EVERY_S = 0.25
LONGEST_SAID = 200
_GPU_FOLDERS = "/proc/driver/nvidia/gpus/*"


def look(job: Dict[str, Any], tell: Tell, _stop: Listening) -> bool:
    """Tell where each tool lies and how many GPUs there are. `tools`: names and further places (patterns) of each."""
    path = surroundings().get("PATH", "")
    for tool in job["tools"]:
        found = _place(tool, path)
        if found:
            tell({"frame": "found", "tool": tool["id"], "path": found})
    tell({"frame": "gpus", "count": _gpus()})
    return True


def _place(tool: Dict[str, Any], path: str) -> Optional[str]:
    for name in tool["names"]:
        found = shutil.which(name, path=path)
        if found:
            return str(found)
        for pattern in tool["places"]:
            for place in sorted(glob.glob(os.path.join(os.path.expanduser(pattern), name))):
                if os.path.isfile(place) and os.access(place, os.X_OK):
                    return str(place)
    return None


def _gpus() -> Optional[int]:
    try:
        nvml = Nvml()
    except NvmlFault:
        return len(glob.glob(_GPU_FOLDERS)) or None
    try:
        return nvml.count()
    finally:
        nvml.close()


def run_installed(job: Dict[str, Any], tell: Tell, stop: Listening) -> bool:
    """Run the commands of the job; whether all of them came to an end.

    Nothing runs where somebody computes on a GPU, unless the job says `even_if_busy`. Where that cannot be told, what
    loads GPUs does not run either.
    """
    # Nothing of what a driver or a Python compiles is kept on a disk here.
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    commands = job["commands"]
    if not job.get("even_if_busy"):
        reason = _why_not(any(command["loads_gpus"] for command in commands))
        if reason:
            tell({"frame": "failed", "reason": reason, "said": "", "gpu": None, "what": ""})
            return False
    for at, command in enumerate(commands):
        if stop.is_set():
            return False
        tell({"frame": "began", "id": command["id"]})
        tell(_One(command, at, len(commands), tell, stop).run())
    return not stop.is_set()


def _why_not(loads_gpus: bool) -> str:
    try:
        nvml = Nvml()
    except NvmlFault:
        return "maybe_busy" if loads_gpus else ""
    try:
        return somebody_computes(nvml, nvml.handles(), must_know=loads_gpus)[0]
    finally:
        nvml.close()


class _One:
    """One command with its file, while it runs."""

    def __init__(self, command: Dict[str, Any], at: int, count: int, tell: Tell, stop: Listening) -> None:
        self._command = command
        self._at, self._count = at, count
        self._tell = tell
        self._stop = stop
        self._file: Optional[str] = command.get("file")
        self._made = False
        self._over = threading.Event()
        self._run = Run(command)

    def run(self) -> Dict[str, Any]:
        """Run it to its end, a limit or a stop; its file is gone then."""
        fault = self._make()
        if fault:
            self._run.outcome = "failed"
            self._run.parts["err"].append(fault.encode("utf-8", "replace"))
            return self._run.told(0.0)
        ticker = threading.Thread(target=self._tick, daemon=True)
        ticker.start()
        try:
            return self._run.run(self._stop)
        finally:
            self._over.set()
            self._remove()

    def _make(self) -> str:
        """Make the file, which is none that was there before; what is wrong where that cannot be."""
        if self._file is None:
            return ""
        needed = int(self._command["file_bytes"])
        try:
            told = os.statvfs(os.path.dirname(self._file))
            if told.f_bavail * told.f_frsize < 2 * needed:
                return "no_room: %s needs twice %d bytes free" % (os.path.dirname(self._file), needed)
            os.close(os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as fault:
            return "%s: %s" % (self._file, fault.strerror)
        self._made = True
        return ""

    def _remove(self) -> None:
        if self._made and self._file is not None:
            try:
                os.unlink(self._file)
            except OSError:
                # Gone already, with the stop.
                return

    def _tick(self) -> None:
        """Tell how far it is, and what it said last; with a stop the file goes first, however long the end takes."""
        began = time.monotonic()
        while not self._over.wait(LOOK_EVERY_S):
            if self._stop.is_set():
                self._remove()
                return
            share = min(1.0, (time.monotonic() - began) / max(1.0, float(self._command["usual_s"])))
            self._tell(
                {
                    "frame": "measuring", "what": self._command["id"], "gpu": None,
                    "share": (self._at + 0.95 * share) / self._count, "said": self._last(),
                }
            )  # fmt: skip

    def _last(self) -> str:
        """The last line that it printed."""
        parts: List[bytes] = self._run.parts["out"][-2:]
        lines = b"".join(parts).decode("utf-8", "replace").split("\n")
        return next((line.strip()[:LONGEST_SAID] for line in reversed(lines) if line.strip()), "")
