"""Work on machines beside the window: one asyncio loop in a thread, whose words arrive gathered in the GUI thread.

What work tells comes as a list, at most every 33 ms; how it ended (done, failed) is never dropped, and comes after all
that was told before. Whoever cancels hears nothing more.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeAlias, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from gpuplanner.ui.background import COALESCE_MS

T = TypeVar("T")
Tell: TypeAlias = Callable[[Any], None]
CLOSE_S = 2.0
"""Within this time whatever runs on a machine is ended, also when the window closes."""
LEAVE_S = 1.5
"""Of that, what is left to processes to leave by themselves."""
MOST_UNHEARD = 50_000
"""What is told and not heard yet, at most: of a flood the oldest goes first."""


class Probe(Generic[T]):
    """A piece of work that was started. `cancel` ends it: CancelledError is raised inside where it waits."""

    def __init__(
        self,
        heard: Callable[[list[Any]], object],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] | None,
        ended: Callable[[], object],
    ) -> None:
        self.heard = heard
        self.done = done
        self.failed = failed
        self.told: deque[Any] = deque(maxlen=MOST_UNHEARD)
        self.outcome: tuple[T | None, Exception | None] | None = None
        self.cancelled = False
        self._future: Future[None] | None = None
        self._ended = ended

    def begin(self, future: "Future[None]") -> None:
        """The loop has the work."""
        self._future = future

    def cancel(self) -> None:
        """End it. Neither `heard` nor `done` is called any more."""
        if self.cancelled:
            return
        # Also where it has ended and nobody was told yet.
        self.cancelled = True
        if self._future is not None:
            self._future.cancel()
        self._ended()

    @property
    def running(self) -> bool:
        """Whether it has not ended and nobody cancelled it."""
        return not self.cancelled and self.outcome is None


class Probing(QObject):
    """The loop. Its thread starts with the first work and ends with `close`."""

    _said = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._probes: list[Probe[Any]] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(COALESCE_MS)
        self._timer.timeout.connect(self._deliver)
        self._waiting = threading.Event()
        self._said.connect(self._timer.start, Qt.ConnectionType.QueuedConnection)

    def start(
        self,
        work: Callable[[Tell], Coroutine[Any, Any, T]],
        heard: Callable[[list[Any]], object],
        done: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> Probe[T]:
        """Run `work` in the loop. Without `failed` an exception goes where uncaught exceptions go."""
        loop = self._running_loop()
        probe: Probe[T] = Probe(heard, done, failed, self._forget)
        self._probes.append(probe)

        def tell(said: Any) -> None:
            probe.told.append(said)
            self._say()

        async def whole() -> None:
            result: T | None = None
            error: Exception | None = None
            try:
                result = await work(tell)
            except Exception as raised:  # noqa: BLE001 - whatever it is, the GUI thread decides
                error = raised
            probe.outcome = result, error
            self._say()

        probe.begin(asyncio.run_coroutine_threadsafe(whole(), loop))
        return probe

    def call(self, act: Callable[[], object]) -> None:
        """Call something in the loop's thread: an answer that work waits for."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(act)

    @property
    def busy(self) -> int:
        """How many pieces of work run."""
        return sum(probe.running for probe in self._probes)

    def close(self, wait_s: float = CLOSE_S) -> bool:
        """Cancel everything and end the thread. Tells whether all of it ended in time."""
        loop, thread = self._loop, self._thread
        for probe in list(self._probes):
            probe.cancel()
        self._timer.stop()
        if loop is None or thread is None:
            return True
        ending = asyncio.run_coroutine_threadsafe(_end_all(), loop)
        ending.add_done_callback(lambda _future: loop.call_soon_threadsafe(loop.stop))
        thread.join(wait_s)
        self._loop = self._thread = None
        return not thread.is_alive()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            loop = self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(loop,), name="probing", daemon=True)
            self._thread.start()
        return self._loop

    def _say(self) -> None:
        # One event in the queue of the GUI thread, however much is told.
        if self._waiting.is_set():
            return
        self._waiting.set()
        try:
            self._said.emit()
        except RuntimeError:
            return  # The window has gone while this ran.

    def _forget(self) -> None:
        self._probes = [probe for probe in self._probes if probe.running]

    def _deliver(self) -> None:
        self._waiting.clear()
        for probe in list(self._probes):
            self._hear(probe)

    def _hear(self, probe: Probe[Any]) -> None:
        # Before what was told: all of that came before the end.
        outcome = probe.outcome
        said = [probe.told.popleft() for _ in range(len(probe.told))]
        if said and not probe.cancelled:
            probe.heard(said)
        if outcome is None or probe.cancelled:
            return
        self._forget()
        result, error = outcome
        if error is None:
            probe.done(result)
        elif probe.failed is not None:
            probe.failed(error)
        else:
            raise error


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


async def _end_all() -> None:
    """Wait for what was cancelled: what it started on a machine ends with it. What does not end by itself is ended.

    Not at once: work that was cancelled is waiting for its process to leave, and would leave it behind.
    """
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if not left:
        return
    _, stayed = await asyncio.wait(left, timeout=LEAVE_S)
    for task in stayed:
        task.cancel()
    await asyncio.gather(*stayed, return_exceptions=True)
