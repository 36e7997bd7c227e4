"""Keeps the open plan: every change becomes a revision within a second, in another thread. Knows no widget.

What cannot be saved stays waiting and is tried again, also when another plan is open by then; nothing is dropped before
it has been kept.
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
GLANCE_S = 0.15
"""How long the window waits for a save that another thread is in the middle of; that one goes on by itself."""


@dataclass(slots=True, eq=False)
class _Target:
    """A plan on the shelf and the newest revision of it that this window knows; no id before it is first saved.

    `begun` is what a new plan was before its first change: it is kept too, so that one can go back to it.
    """

    plan_id: str
    revision: int
    begun: Plan | None = None


@dataclass(slots=True, eq=False)
class _Save:
    """One state to keep, and what came of it. `taken`: somebody else writes it, its own job must not."""

    target: _Target
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
        self._target = _Target("", 0)
        self._waiting: list[_Save] = []
        self._running: _Save | None = None
        self._writing = threading.Lock()
        self.problem: Message | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._save)

    @property
    def plan_id(self) -> str:
        """The plan that is saved to; empty until the first save of a new one."""
        return self._target.plan_id

    @property
    def clean(self) -> bool:
        """Whether everything has been saved."""
        return not self._waiting and self._running is None

    def follow(self, plan_id: str, revision: int, begun: Plan | None = None) -> None:
        """Save to this plan from now on; an empty id becomes a new plan with the first change, `begun` its first state.

        What waits is saved first; what cannot be saved goes on waiting for the plan that it is of.
        """
        self.flush()
        self._target = _Target(plan_id, revision, begun)

    def keep(self, plan: Plan, label: str) -> None:
        """Save this state soon. Several within half a second become one revision with the last one's label."""
        self._waiting = [save for save in self._waiting if save.target is not self._target]
        self._waiting.append(_Save(self._target, plan, label))
        if not self._timer.isActive() or self.problem is not None:
            self._timer.start(GATHER_MS)

    def retry(self) -> None:
        """Try at once to save what waits."""
        self._timer.stop()
        self._save()

    def flush(self, *, patient: bool = False) -> Message | None:
        """Save what waits now, in this thread. Tells what went wrong, if anything.

        A save that another thread is in the middle of, held up by a file that another program has locked, goes on
        there, and what waits is saved after it; a `patient` caller waits for it.
        """
        self._timer.stop()
        running = self._running
        if running is not None:
            if not self._writing.acquire(timeout=-1 if patient else GLANCE_S):
                self._timer.start(RETRY_MS)
                return self.problem
            running.taken = True
            self._writing.release()
            self._running = None
            if running.result is None:
                self._wait_again(running)
            else:
                self._told(running.result)
        for save in list(self._waiting):
            self._waiting.remove(save)
            fresh = _Save(save.target, save.plan, save.label)
            self._write(fresh)
            self._ended(fresh)
        return self.problem

    def _save(self) -> None:
        if not self._waiting or self._running is not None:
            return
        save = self._running = self._waiting.pop(0)
        self._jobs.run(lambda _cancel: self._write(save), lambda _none: self._done(save))

    def _write(self, save: _Save) -> None:
        """Write one state; in any thread. The target's id and newest revision go forward under the same lock."""
        target = save.target
        with self._writing:
            if save.taken:
                return
            plan = self._stamped(save.plan)
            save.fault = None
            try:
                if not target.plan_id and target.begun is not None:
                    begun = target.begun.model_copy(update={"sample": False})
                    target.plan_id, target.revision = self._shelf.add(self._stamped(begun))
                if target.plan_id:
                    save.result = self._shelf.save(target.plan_id, plan, target.revision, save.label)
                else:
                    target.plan_id, revision = self._shelf.add(plan, save.label)
                    save.result = Saved(revision, None)
                target.revision = save.result.revision
            except InputError as fault:
                save.fault = fault

    def _done(self, save: _Save) -> None:
        if save is self._running:
            self._running = None
            self._ended(save)

    def _ended(self, save: _Save) -> None:
        if save.result is not None:
            self._told(save.result)
            return
        self._wait_again(save)
        self.problem = save.fault.message if save.fault else None
        self._timer.start(RETRY_MS)
        self.failed.emit(self.problem)

    def _wait_again(self, save: _Save) -> None:
        """A state that is not kept waits on, unless a newer one of the same plan waits already."""
        if all(other.target is not save.target for other in self._waiting):
            self._waiting.insert(0, save)

    def _told(self, result: Saved) -> None:
        self.problem = None
        if self._waiting and not self._timer.isActive():
            self._timer.start(GATHER_MS)
        if result.other is not None:
            self.overtaken.emit(result.other)
        self.saved.emit()
