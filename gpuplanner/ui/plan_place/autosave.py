"""Keeps the open plan: every change becomes a revision within a second, in another thread. Knows no widget.

What cannot be saved stays waiting and is tried again; nothing is dropped before it has been kept.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from gpuplanner.messages import InputError, Message
from gpuplanner.store.plans import PlanShelf, Saved
from gpuplanner.ui.background import Jobs
from gpuplanner.workload.plan import Plan

GATHER_MS = 500
RETRY_MS = 3000


@dataclass(slots=True)
class _Save:
    """One state to keep, and what came of it. `taken`: somebody else writes it, its own job must not."""

    plan: Plan
    label: str
    result: Saved | None = None
    fault: InputError | None = None
    taken: bool = False


class Autosave(QObject):
    """Saves one plan. `saved` after each save; `failed` with the reason; `overtaken` with another window's revision."""

    saved = Signal()
    failed = Signal(object)
    overtaken = Signal(object)

    def __init__(
        self,
        shelf: PlanShelf,
        jobs: Jobs,
        stamped: Callable[[Plan], Plan],
        parent: QObject | None = None,
    ) -> None:
        """`stamped` adds what a saved plan tells about the app and its catalog."""
        super().__init__(parent)
        self._shelf = shelf
        self._jobs = jobs
        self._stamped = stamped
        self._waiting: _Save | None = None
        self._running: _Save | None = None
        self._writing = threading.Lock()
        self._plan_id = ""
        self._revision = 0
        self.problem: Message | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._save)

    @property
    def plan_id(self) -> str:
        """The plan that is saved to; empty until the first save of a new one."""
        return self._plan_id

    @property
    def clean(self) -> bool:
        """Whether everything has been saved."""
        return self._waiting is None and self._running is None

    def follow(self, plan_id: str, revision: int) -> None:
        """Save to this plan from now on; an empty id becomes a new plan with the first change. Saves what waits."""
        self.flush()
        self._waiting = None
        self._plan_id = plan_id
        self._revision = revision
        self.problem = None

    def keep(self, plan: Plan, label: str) -> None:
        """Save this state soon. Several within half a second become one revision with the last one's label."""
        self._waiting = _Save(plan, label)
        if not self._timer.isActive() or self.problem is not None:
            self._timer.start(GATHER_MS)

    def retry(self) -> None:
        """Try at once to save what waits."""
        self._timer.stop()
        self._save()

    def flush(self) -> Message | None:
        """Save what waits now, in this thread. Tells what went wrong, if anything."""
        self._timer.stop()
        running, self._running = self._running, None
        if running is not None:
            with self._writing:
                running.taken = True
            if running.result is None:
                self._waiting = self._waiting or running
            else:
                self._told(running.result)
        if self._waiting is not None:
            save = _Save(self._waiting.plan, self._waiting.label)
            self._write(save)
            self._ended(save)
        return self.problem

    def _save(self) -> None:
        if self._waiting is None or self._running is not None:
            return
        save = self._running = self._waiting
        self._waiting = None
        self._jobs.run(lambda _cancel: self._write(save), lambda _none: self._done(save))

    def _write(self, save: _Save) -> None:
        """Write one state; in any thread. The plan's id and newest revision go forward under the same lock."""
        with self._writing:
            if save.taken:
                return
            plan = self._stamped(save.plan)
            try:
                if self._plan_id:
                    save.result = self._shelf.save(self._plan_id, plan, self._revision, save.label)
                else:
                    self._plan_id, revision = self._shelf.add(plan, save.label)
                    save.result = Saved(revision, None)
                self._revision = save.result.revision
            except InputError as fault:
                save.fault = fault

    def _done(self, save: _Save) -> None:
        if save is self._running:
            self._running = None
            self._ended(save)

    def _ended(self, save: _Save) -> None:
        if save.result is not None:
            if self._waiting is not None and self._waiting.plan == save.plan:
                self._waiting = None
            self._told(save.result)
            return
        self._waiting = self._waiting or save
        self.problem = save.fault.message if save.fault else None
        self._timer.start(RETRY_MS)
        self.failed.emit(self.problem)

    def _told(self, result: Saved) -> None:
        self.problem = None
        if self._waiting is not None and not self._timer.isActive():
            self._timer.start(GATHER_MS)
        if result.other is not None:
            self.overtaken.emit(result.other)
        self.saved.emit()
