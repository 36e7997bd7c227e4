"""Work beside the window: a thread pool whose results arrive in the GUI thread, and floods gathered into one call.

Nothing that takes longer than a few milliseconds runs in the GUI thread. A job gets a `Cancel` to look at; what a
cancelled or overtaken job brings is dropped. What ends a job (done, failed) is never dropped otherwise.
"""

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, QRunnable, QThreadPool, QTimer, Signal

T = TypeVar("T")
COALESCE_MS = 33


class Cancel:
    """Asked by a job, from its thread, whether to stop. Calling it is the same as `requested`."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def request(self) -> None:
        """Ask the job to stop; what it still brings is dropped."""
        self._event.set()

    @property
    def requested(self) -> bool:
        """Whether the job should stop."""
        return self._event.is_set()

    def __call__(self) -> bool:
        return self._event.is_set()


class Job(Generic[T]):
    """A piece of work that was handed in: what to call in the GUI thread when it ends, and how to cancel it."""

    def __init__(
        self,
        work: Callable[[Cancel], T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] | None,
    ) -> None:
        self.work = work
        self.done = done
        self.failed = failed
        self.cancel = Cancel()


class Jobs(QObject):
    """The thread pool of the window. `busyChanged` carries the number of jobs that wait or run."""

    busyChanged = Signal(int)
    _ended = Signal(object, object, object)

    def __init__(self, parent: QObject | None = None, threads: int | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(threads or max(2, (os.cpu_count() or 2) - 1))
        self._running: set[Job[Any]] = set()
        self._ended.connect(self._deliver)

    def run(
        self,
        work: Callable[[Cancel], T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
        *,
        urgent: bool = False,
    ) -> Job[T]:
        """Run `work` in a thread; `done` gets its result in the GUI thread.

        Without `failed` an exception goes where uncaught exceptions go. Urgent work goes before what waits.
        """
        job = Job(work, done, failed)
        self._running.add(job)
        self.busyChanged.emit(len(self._running))
        self._pool.start(_Task(job, self._ended.emit), 1 if urgent else 0)
        return job

    @property
    def busy(self) -> int:
        """How many jobs wait or run."""
        return len(self._running)

    def close(self, wait_ms: int = 2000) -> bool:
        """Cancel every job and wait for the threads. Tells whether all of them ended in time."""
        for job in self._running:
            job.cancel.request()
        self._pool.clear()
        return self._pool.waitForDone(wait_ms)

    def _deliver(self, job: Job[Any], result: object, error: Exception | None) -> None:
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


class _Task(QRunnable):
    def __init__(self, job: Job[Any], ended: Callable[..., object]) -> None:
        super().__init__()
        self._job = job
        self._ended = ended

    def run(self) -> None:
        result, error = None, None
        if not self._job.cancel.requested:
            try:
                result = self._job.work(self._job.cancel)
            except Exception as raised:  # noqa: BLE001 - whatever it is, the GUI thread decides
                error = raised
        try:
            self._ended(self._job, result, error)
        except RuntimeError:
            # The window has gone while this ran; nobody waits for the result.
            return


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
