"""How long the window stood still: pumps the event loop and measures the longest time between two beats.

    with watch_stalls() as stalls:
        ...                       # type, scroll, switch
        stalls.pump_until(lambda: page.ready, timeout_s=5)
    assert stalls.longest_ms < 50

A beat is a timer that fires whenever the event loop is idle for a millisecond. What runs on a machine that is busy with
other things is told apart: `longest_ms` is what a person waits, `longest_cpu_ms` what this thread worked of that, and
`longest_own_ms` what this program made a person wait: all but the time in which the system gave the processor to other
programs (where the system tells it). The last one counts waiting for the interpreter that another thread holds.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer


@dataclass
class Stalls:
    """The gaps between beats, in milliseconds; in each the processor time of this thread and its turn in the queue."""

    gaps: list[tuple[float, float, float]] = field(default_factory=list)
    _last: tuple[float, float, float] | None = None

    @property
    def longest_ms(self) -> float:
        """The longest time that the window did not react."""
        return max((wall for wall, _, _ in self.gaps), default=0.0)

    @property
    def longest_cpu_ms(self) -> float:
        """The most processor time that this thread took between two beats."""
        return max((cpu for _, cpu, _ in self.gaps), default=0.0)

    @property
    def longest_own_ms(self) -> float:
        """The longest time that the window did not react while the system would have let it."""
        return max((wall - queued for wall, _, queued in self.gaps), default=0.0)

    def beat(self) -> None:
        """The event loop is alive."""
        now = time.perf_counter(), time.thread_time(), _queued_s()
        if self._last is not None:
            wall, cpu, queued = ((at - before) * 1e3 for at, before in zip(now, self._last, strict=True))
            self.gaps.append((wall, cpu, queued))
        self._last = now

    def pump(self, seconds: float) -> None:
        """Let the event loop run for a while."""
        self.pump_until(lambda: False, seconds, must=False)

    def pump_until(self, done: Callable[[], bool], timeout_s: float = 5.0, *, must: bool = True) -> None:
        """Let the event loop run until something holds. Fails after the time, unless it need not hold."""
        end = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > end:
                assert not must, f"not so after {timeout_s} s"
                return
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)
            time.sleep(0.0005)


def _queued_s() -> float:
    """How long this thread could have run so far and another program was given the processor; 0 where nobody tells."""
    try:
        told = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(told.split()[1]) / 1e9


@contextmanager
def watch_stalls() -> Iterator[Stalls]:
    """Measure until the end of the block. What the block itself does between two pumps counts too."""
    stalls = Stalls()
    timer = QTimer()
    timer.setInterval(1)
    timer.timeout.connect(stalls.beat)
    stalls.pump(0.02)
    timer.start()
    stalls.beat()
    try:
        yield stalls
    finally:
        stalls.pump(0.01)
        timer.stop()
