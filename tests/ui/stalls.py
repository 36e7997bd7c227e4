"""How long the window stood still: pumps the event loop and measures the longest time between two beats.

    with watch_stalls() as stalls:
        ...                       # type, scroll, switch
        stalls.pump_until(lambda: page.ready, timeout_s=5)
    assert stalls.longest_ms < 50

A beat is a timer that fires whenever the event loop is idle for a millisecond. What runs on a machine that is busy with
other things is told apart: `longest_ms` is what a person waits, `longest_cpu_ms` what this thread worked of that.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer


@dataclass
class Stalls:
    """The gaps between beats, in milliseconds, and the processor time of this thread in each."""

    gaps: list[tuple[float, float]] = field(default_factory=list)
    _last: tuple[float, float] | None = None

    @property
    def longest_ms(self) -> float:
        """The longest time that the window did not react."""
        return max((wall for wall, _ in self.gaps), default=0.0)

    @property
    def longest_cpu_ms(self) -> float:
        """The most processor time that this thread took between two beats."""
        return max((cpu for _, cpu in self.gaps), default=0.0)

    def beat(self) -> None:
        """The event loop is alive."""
        now = time.perf_counter(), time.thread_time()
        if self._last is not None:
            self.gaps.append(((now[0] - self._last[0]) * 1e3, (now[1] - self._last[1]) * 1e3))
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
