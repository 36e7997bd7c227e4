"""Runs the commands of a probe on the machine itself and brings back what they print, in frames of one line each.

Standard library only, Python 3.6 and later: it is sent as text to machines that have nothing else. It writes nothing
there. Each command has its own time limit and output limit; when the other side is gone, all of them are killed.
"""

import base64
import glob
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional

Tell = Callable[[Dict[str, Any]], None]


class Listening(threading.Event):
    """Set when it is time to leave. `heard_bytes`: what has come from the other side behind the program so far."""

    def __init__(self) -> None:
        super().__init__()
        self.heard_bytes = 0


Work = Callable[[Dict[str, Any], Tell, Listening], bool]
"""Another program's part: takes the job, tells frames, leaves when the event is set, says if it came to its end."""

AT_ONCE = 4
"""Commands that run side by side: `nvidia-smi` waits for the driver most of its time."""
GRACE_S = 0.5
"""Between asking a command to end and killing it."""
AT_MOST = 1 << 16
"""Bytes that are heard at once."""
LEAVE_S = 1.5
"""How long another program's part may take to leave after it was told to."""
PLACES = (
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/cuda/bin",
    "/opt/rocm/bin", "/opt/amazon/efa/bin", "/usr/lib/wsl/lib", "/usr/local/nvidia/bin",
)  # fmt: skip
"""Where tools lie that the search path of a shell without login does not name."""


class Run:
    """One command while it runs. `outcome`: ended, not_found, no_permission, timed_out, cut, stopped or failed."""

    def __init__(self, command: Dict[str, Any]) -> None:
        self.id = command["id"]
        self.argv = expanded(command)
        self.limit_s = float(command["limit_s"])
        self.limit_bytes = int(command["limit_bytes"])
        self.outcome = "ended"
        self.code: Optional[int] = None
        self.parts: Dict[str, List[bytes]] = {"out": [], "err": []}
        self._sizes = {"out": 0, "err": 0}
        self._over = threading.Event()
        self._began = time.time()

    def run(self, stop: threading.Event) -> Dict[str, Any]:
        """Run to the end, a limit, or until `stop` is set."""
        clock = time.perf_counter()
        try:
            self._process: Any = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=surroundings(),
                start_new_session=hasattr(os, "setsid"),
            )
        except OSError as fault:
            absent = isinstance(fault, (FileNotFoundError, NotADirectoryError))
            denied = isinstance(fault, PermissionError)
            self.outcome = "not_found" if absent else "no_permission" if denied else "failed"
            self.parts["err"].append(str(fault).encode("utf-8", "replace"))
            return self.told(time.perf_counter() - clock)
        readers = [threading.Thread(target=self._read, args=(name,), daemon=True) for name in ("out", "err")]
        for reader in readers:
            reader.start()
        end = clock + self.limit_s
        while self._process.poll() is None or any(reader.is_alive() for reader in readers):
            if stop.is_set():
                self._finish("stopped")
            elif self._over.is_set():
                self._finish("cut")
            elif time.perf_counter() > end:
                # Also of a command that has ended and left a child with its output open.
                self._finish("timed_out")
            else:
                stop.wait(0.01)
                continue
            break
        for reader, stream in zip(readers, (self._stream("out"), self._stream("err"))):  # noqa: B905 (strict= is not known to Python 3.6)
            reader.join(GRACE_S)
            if not reader.is_alive():
                # A stream that a stray child still holds open cannot be closed under its reader.
                stream.close()
        self.code = self._process.poll()
        return self.told(time.perf_counter() - clock)

    def told(self, seconds: float) -> Dict[str, Any]:
        """The frame of what came."""
        told: Dict[str, Any] = {
            name: base64.b64encode(b"".join(self.parts[name])).decode("ascii") for name in self.parts
        }
        told.update(
            frame="ended", id=self.id, argv=self.argv, code=self.code, outcome=self.outcome, seconds=seconds,
            began=self._began,
        )  # fmt: skip
        return told

    def _stream(self, name: str) -> Any:
        return getattr(self._process, "std" + name)

    def _read(self, name: str) -> None:
        stream = self._stream(name)
        try:
            while True:
                piece = stream.read1(65536) if hasattr(stream, "read1") else os.read(stream.fileno(), 65536)
                if not piece:
                    return
                room = self.limit_bytes - self._sizes[name]
                self.parts[name].append(piece[:room])
                self._sizes[name] += min(len(piece), room)
                if len(piece) > room:
                    self._over.set()
                    return
        except (OSError, ValueError):
            return

    def _finish(self, outcome: str) -> None:
        self.outcome = outcome
        self._signal("SIGTERM")
        end = time.perf_counter() + GRACE_S
        while self._process.poll() is None and time.perf_counter() < end:
            time.sleep(0.01)
        self._signal("SIGKILL")
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.outcome += "_alive"

    def _signal(self, name: str) -> None:
        """To the command and to all that it has started."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, getattr(signal, name))
            elif self._process.poll() is None:
                self._process.kill()
        except OSError:
            pass


def expanded(command: Dict[str, Any]) -> List[str]:
    """The arguments; where the command says so, a pattern for names of files becomes the names, as a shell does it."""
    argv: List[str] = []
    for argument in command["argv"]:
        names = sorted(glob.glob(argument)) if command.get("expand") and "*" in argument else []
        argv += names or [argument]
    return argv


def surroundings() -> Dict[str, str]:
    """The environment of every command: no translated output, tools found where they usually lie."""
    found = dict(os.environ)
    found.update(LC_ALL="C", LANG="C", LANGUAGE="C")
    known = found.get("PATH", "").split(os.pathsep)
    if os.name == "posix":
        found["PATH"] = os.pathsep.join(known + [place for place in PLACES if place not in known])
    return found


def collect(commands: List[Dict[str, Any]], tell: Tell, stop: threading.Event) -> None:
    """Run all commands, a few at a time, and tell of each that it began and what came of it."""
    waiting = list(reversed(commands))
    lock = threading.Lock()

    def work() -> None:
        while not stop.is_set():
            with lock:
                if not waiting:
                    return
                command = waiting.pop()
            tell({"frame": "began", "id": command["id"]})
            tell(Run(command).run(stop))

    tell(hello())
    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(AT_ONCE, len(commands)))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    tell({"frame": "end", "whole": not waiting and not stop.is_set()})


def hello() -> Dict[str, Any]:
    """Who and where this is, and what time it is there."""
    return {
        "frame": "hello",
        "time": time.time(),
        "python": platform.python_version(),
        "system": platform.system(),
        "user": os.environ.get("USER") or os.environ.get("USERNAME") or "",
        "root": hasattr(os, "geteuid") and os.geteuid() == 0,
    }


def watch(stream: Any, stop: Listening, patience_s: float) -> None:
    """Stop when the other side closes its end, or says nothing for a while because the network is lost."""
    last = [time.monotonic()]

    def listen() -> None:
        while True:
            piece = stream.read(AT_MOST)
            if not piece:
                break
            stop.heard_bytes += len(piece)
            last[0] = time.monotonic()
        stop.set()

    threading.Thread(target=listen, daemon=True).start()
    while not stop.wait(0.5):
        if time.monotonic() - last[0] > patience_s:
            stop.set()


def main(job: Dict[str, Any], work: Optional[Work] = None) -> None:
    """Do a job that came on standard input, after this text; standard input stays open as long as somebody listens.

    `work`: what else than running commands is to be done; whether it came to its end is the last frame.
    """
    stop, lock, out = Listening(), threading.Lock(), sys.stdout.buffer
    mark = job["mark"].encode("ascii") + b" "

    def tell(frame: Dict[str, Any]) -> None:
        line = mark + json.dumps(frame).encode("ascii") + b"\n"
        with lock:
            try:
                out.write(line)
                out.flush()
            except OSError:
                stop.set()

    def asked(_number: int, _frame: Any) -> None:
        stop.set()

    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGPIPE"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN if name == "SIGPIPE" else asked)
    watcher = threading.Thread(
        target=watch,
        args=(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), stop, float(job["patience_s"])),
        daemon=True,
    )
    watcher.start()

    def do(work: Work) -> None:
        tell(hello())
        tell({"frame": "end", "whole": work(job, tell, stop)})

    worker = threading.Thread(
        target=do if work else collect, args=(work,) if work else (job["commands"], tell, stop), daemon=True
    )
    worker.start()
    last = None
    while worker.is_alive() and (last is None or time.monotonic() < last):
        # A signal is only handled while the main thread is not stuck in a join without an end.
        worker.join(0.2)
        if work and stop.is_set() and last is None:
            # A driver that does not answer must not keep us; the system takes back what a process had.
            last = time.monotonic() + LEAVE_S
    os._exit(0)
