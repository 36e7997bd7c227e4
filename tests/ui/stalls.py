"""How long the window stood still: pumps the event loop and measures the longest time between two beats.

    with watch_stalls() as stalls:
        ...                       # type, scroll, switch
        stalls.pump_until(lambda: page.ready, timeout_s=5)
    assert stalls.quick_cpu_ms < 50

A beat is a timer that fires whenever the event loop is idle for a millisecond. What runs on a machine that is busy with
other things is told apart: `longest_ms` is what a person waits, `longest_cpu_ms` what this thread worked of that, and
`longest_own_ms` what this program made a person wait: all but the time in which the system gave the processor to other
programs (where the system tells it). The last one counts waiting for the interpreter while another thread works with
it, but not while that thread is itself kept from the processor.

A limit is for a machine as quick as the one that it was set on. On a slower one, or on one whose other programs take
the caches from this one, the same work takes more time of the processor: so a yardstick is timed beside each
measurement, and `quick_cpu_ms` and `quick_own_ms` are what the same would have been there. A quicker machine gains
nothing by it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEventLoop, QRectF, Qt, QTimer
from PySide6.QtGui import QFontMetricsF, QImage, QPainter

from gpuplanner.ui.fonts import TextRole, font

YARDSTICK_MS = 1.8
"""What `yardstick_ms` gives on the machine that the limits of stalls were set on: 1.7 to 1.8 on one of its two cores,
and a quarter more while other programs keep both busy. The upper end, so that such a machine gets no more than a limit.
"""
_ROUNDS = 7


def yardstick_ms() -> float:
    """Processor time of a fixed piece of what a page does (words put together, measured and painted), the least of
    several rounds.
    """
    return min(_one_round_ms() for _ in range(_ROUNDS))


def _one_round_ms() -> float:
    start = time.thread_time()
    image = QImage(400, 300, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.setFont(font(TextRole.NUMBER))
    metrics = QFontMetricsF(painter.font())
    said: dict[str, float] = {}
    for number in range(40):
        text = f"{number * 1.37:,.2f} GB/s of {number} × H100"
        said[text] = metrics.horizontalAdvance(text)
        painter.drawText(QRectF(0, number * 7, 390, 20), Qt.AlignmentFlag.AlignRight, text)
    painter.end()
    for number in range(4000):
        said[f"{number % 97} of {number % 13}"] = number / 3
    return (time.thread_time() - start) * 1e3


@dataclass
class Stalls:
    """The gaps between beats in milliseconds, with this thread's processor time and our threads' time in the queue."""

    gaps: list[tuple[float, float, float]] = field(default_factory=list)
    slowness: float = 1.0
    """How many times as long the yardstick took as where the limits were set; 1 where it took less."""
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
        return max((max(cpu, wall - queued) for wall, cpu, queued in self.gaps), default=0.0)

    @property
    def quick_cpu_ms(self) -> float:
        """`longest_cpu_ms` as it would be on the machine that the limits were set on."""
        return self.longest_cpu_ms / self.slowness

    @property
    def quick_own_ms(self) -> float:
        """`longest_own_ms` as it would be on the machine that the limits were set on."""
        return self.longest_own_ms / self.slowness

    def weigh(self) -> None:
        """Time the yardstick here and now."""
        self.slowness = max(self.slowness, yardstick_ms() / YARDSTICK_MS)

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
    """How long the threads that share the interpreter could have run so far and others were given the processor; 0
    where nobody tells.
    """
    return sum(_queued_by_thread_s(thread.native_id) for thread in threading.enumerate())


def _queued_by_thread_s(native_id: int | None) -> float:
    try:
        told = Path(f"/proc/self/task/{native_id}/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(told.split()[1]) / 1e9


@contextmanager
def watch_stalls() -> Iterator[Stalls]:
    """Measure until the end of the block. What the block itself does between two pumps counts too."""
    stalls = Stalls()
    stalls.weigh()
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
        stalls.weigh()
