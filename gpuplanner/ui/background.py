"""Work beside the window: threads whose results arrive in the GUI thread, and floods gathered into one call.

Nothing that takes longer than a few milliseconds runs in the GUI thread. A job gets a `Cancel` to look at; what a
cancelled or overtaken job brings is dropped. What ends a job (done, failed) is never dropped otherwise. Each result has
a turn of the event loop of its own: keys and paints come between two that arrive together.
"""

import itertools
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import PriorityQueue
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from gpuplanner.messages import Message

T = TypeVar("T")
COALESCE_MS = 33
SWITCH_S = 0.0005
"""How long a thread keeps the interpreter while another waits for it. Qt hands it over at each call: with the 5 ms that
Python has by itself a page of fifty calls would wait a quarter of a second for a search beside it. Measured over the
full catalog, typing while search and explanation run: of the stalls over 50 ms a fifth is left; below 0.5 ms the search
pays for it.
"""


CALM_MS = 8
"""How long after a result was taken other jobs still give way: until it has been laid out and painted."""
GIVE_WAY_S = 0.2
"""A job gives way no longer than this at a time, whatever the window does meanwhile."""


class Cancel:
    """Asked by a job, from its thread, whether to stop. Calling it says what `requested` says, and gives way first.

    `calm`: set while the window is not showing a result. The interpreter is one for all threads: a window that must
    wait for it at each of its many calls stands still several times as long as it works.
    """

    def __init__(self, calm: threading.Event | None = None) -> None:
        self._event = threading.Event()
        self._calm = calm

    def request(self) -> None:
        """Ask the job to stop; what it still brings is dropped."""
        self._event.set()

    @property
    def requested(self) -> bool:
        """Whether the job should stop."""
        return self._event.is_set()

    def __call__(self) -> bool:
        self.give_way()
        return self._event.is_set()

    def give_way(self) -> None:
        """Wait until the window has shown what it is showing; not where the job is to stop anyway."""
        if self._calm is not None and not self._event.is_set():
            self._calm.wait(GIVE_WAY_S)


class Job(Generic[T]):
    """A piece of work that was handed in: what to call in the GUI thread when it ends, and how to cancel it."""

    def __init__(
        self,
        work: Callable[[Cancel], T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] | None,
        title: Message | None = None,
        *,
        may_cancel: bool = True,
        calm: threading.Event | None = None,
    ) -> None:
        self.title = title
        self.may_cancel = may_cancel
        self.since = time.monotonic()
        self.work = work
        self.done = done
        self.failed = failed
        self.cancel = Cancel(calm)


class Jobs(QObject):
    """The threads of the window. `busyChanged` carries the number of jobs that wait or run.

    They are Python's own: a QRunnable is deleted by its thread while the caller may still hold it, and Qt then crashes.
    """

    busyChanged = Signal(int)
    _ended = Signal()

    def __init__(self, parent: QObject | None = None, threads: int | None = None) -> None:
        super().__init__(parent)
        self._at_most = threads or max(2, (os.cpu_count() or 2) - 1)
        self._threads: list[threading.Thread] = []
        self._waiting: PriorityQueue[tuple[int, int, Job[Any] | None]] = PriorityQueue()
        self._numbers = itertools.count()
        self._running: set[Job[Any]] = set()
        self._outcomes: deque[tuple[Job[Any], Any, Exception | None]] = deque()
        # A timer and not the signal itself: all that is posted to the GUI thread is dealt with in one turn.
        self._turn = QTimer(self)
        self._turn.setInterval(0)
        self._turn.setSingleShot(True)
        self._turn.timeout.connect(self._deliver)
        self._ended.connect(self._turn.start, Qt.ConnectionType.QueuedConnection)
        self._calm = threading.Event()
        self._calm.set()
        self._shown = QTimer(self)
        self._shown.setInterval(CALM_MS)
        self._shown.setSingleShot(True)
        self._shown.timeout.connect(self._calm.set)
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)

    def run(
        self,
        work: Callable[[Cancel], T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
        *,
        urgent: bool = False,
        title: Message | None = None,
        may_cancel: bool = True,
    ) -> Job[T]:
        """Run `work` in a thread; `done` gets its result in the GUI thread.

        Without `failed` an exception goes where uncaught exceptions go. Urgent work goes before what waits. Work with a
        `title` is shown when it takes long, and can be cancelled there unless it may not.
        """
        job = Job(work, done, failed, title, may_cancel=may_cancel, calm=self._calm)
        self._running.add(job)
        self.busyChanged.emit(len(self._running))
        if len(self._threads) < min(self._at_most, len(self._running)):
            thread = threading.Thread(target=self._work, name=f"job {len(self._threads) + 1}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._waiting.put((0 if urgent else 1, next(self._numbers), job))
        return job

    @property
    def busy(self) -> int:
        """How many jobs wait or run."""
        return len(self._running)

    @property
    def longest(self) -> Job[Any] | None:
        """Of the work with a title that nobody cancelled, the one that has taken longest."""
        told = (job for job in self._running if job.title is not None and not job.cancel.requested)
        return min(told, key=lambda job: job.since, default=None)

    def give_way(self) -> None:
        """The window is about to show something: until that is painted, jobs wait where they ask whether to stop."""
        self._calm.clear()
        self._shown.start()

    def close(self, wait_ms: int = 2000) -> bool:
        """Cancel every job and wait for the threads. Tells whether all of them ended in time."""
        for job in self._running:
            job.cancel.request()
        self._shown.stop()
        self._calm.set()
        for _ in self._threads:
            # Before everything that waits: it is cancelled.
            self._waiting.put((-1, next(self._numbers), None))
        end = time.monotonic() + wait_ms / 1000
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        ended = not any(thread.is_alive() for thread in self._threads)
        self._threads = []
        sys.setswitchinterval(self._switch_s)
        return ended

    def _work(self) -> None:
        """What a thread does until it is told to end."""
        while (job := self._waiting.get()[2]) is not None:
            result, error = None, None
            job.cancel.give_way()
            if not job.cancel.requested:
                try:
                    result = job.work(job.cancel)
                except Exception as raised:  # noqa: BLE001 - whatever it is, the GUI thread decides
                    error = raised
            self._outcomes.append((job, result, error))
            # A thread that waits must not keep what it worked on.
            del job, result, error
            try:
                self._ended.emit()
            except RuntimeError:
                # The window has gone while this ran; nobody waits for the result.
                return

    def _deliver(self) -> None:
        if not self._outcomes:
            return
        outcome = self._outcomes.popleft()
        # Before, too: a result may open a loop of its own.
        self.give_way()
        # Before, so that a dialog that the result opens does not hold up the others; and anew after it, so that what
        # fell due meanwhile comes first.
        self._go_on()
        try:
            self._end(*outcome)
        finally:
            self.give_way()
            self._go_on()

    def _go_on(self) -> None:
        if self._outcomes:
            self._turn.start()

    def _end(self, job: Job[Any], result: Any, error: Exception | None) -> None:
        self._running.discard(job)
        self.busyChanged.emit(len(self._running))
        if job.cancel.requested:
            return
        if error is None:
            job.done(result)
        elif job.failed is not None:
            job.failed(error)
        else:
            raise error


class Latest:
    """A place for jobs of which only the latest counts: a new one cancels the one before."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._job: Job[Any] | None = None

    def run(
        self,
        work: Callable[[Cancel], T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
        *,
        urgent: bool = False,
    ) -> Job[T]:
        """As `Jobs.run`; an earlier job of this place is cancelled and its result dropped."""
        self.cancel()
        self._job = job = self._jobs.run(work, done, failed, urgent=urgent)
        return job

    def cancel(self) -> None:
        """Cancel the job of this place, if there is one."""
        if self._job is not None:
            self._job.cancel.request()
            self._job = None


class Coalescer(QObject):
    """Turns a flood of `call`s into one call of `act` per `interval_ms`; the last one is never lost."""

    def __init__(self, act: Callable[[], object], parent: QObject, interval_ms: int = COALESCE_MS) -> None:
        super().__init__(parent)
        self._act = act
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(self._fire)

    def call(self) -> None:
        """Ask for a call; several within the interval become one."""
        if not self._timer.isActive():
            self._timer.start()

    def flush(self) -> None:
        """Make the pending call now, if there is one."""
        if self._timer.isActive():
            self._timer.stop()
            self._fire()

    def _fire(self) -> None:
        self._act()
