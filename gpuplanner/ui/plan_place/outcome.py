"""What the plan comes to, live: the estimate follows each change, the search runs beside it. Knows no widget.

Both run in other threads and only the latest counts. The machine is the plan's own, or the best that the search found.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.search.result import SearchResult
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.ui.background import Cancel, Jobs, Latest
from gpuplanner.ui.plan_place.subject import subject_of
from gpuplanner.workload.plan import Plan

SEARCH_AFTER_MS = 60
"""A search starts when this long nothing was typed: what the next key would cancel is not worth starting."""
EXPLAIN_AFTER_MS = 200
"""Derivations are worked out when this long nothing was typed."""


class Engine(Protocol):
    """What works plans out: the workspace."""

    def estimate(self, plan: Plan) -> Estimate: ...

    def explained(self, plan: Plan) -> Estimate: ...

    def advised(self, made: Estimate) -> Estimate: ...

    def search(self, plan: Plan, cancelled: Callable[[], bool]) -> SearchResult: ...


@dataclass(frozen=True, slots=True)
class Worked:
    """The estimate of the plan, or why there is none. `current`: it is of the plan as it is now.

    `found`: the machine was chosen by the search, not by the person. `explained`: with its figures' derivations and the
    smallest changes that would help.
    """

    estimate: Estimate | None = None
    problem: Message | None = None
    current: bool = False
    found: bool = False
    explained: bool = False


@dataclass(frozen=True, slots=True)
class Searched:
    """What the last search found, of which plan and in how long; or why it could not be done."""

    plan: Plan
    result: SearchResult | None = None
    problem: Message | None = None
    seconds: float = 0.0
    current: bool = True


class Outcome(QObject):
    """Works one plan out."""

    workedChanged = Signal()
    searchedChanged = Signal()

    def __init__(self, engine: Engine, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._jobs = jobs
        self._estimates = Latest(jobs)
        self._searches = Latest(jobs)
        self._plan: Plan | None = None
        self._subject: Plan | None = None
        self.worked = Worked()
        self.searched: Searched | None = None
        self._soon = _timer(self, SEARCH_AFTER_MS, self._search)
        self._explain_soon = _timer(self, EXPLAIN_AFTER_MS, self._explain)

    def work_out(self, plan: Plan) -> None:
        """Work out this plan; whatever runs for another one is cancelled."""
        before, self._plan = self._plan, plan
        self._subject = None
        self._explain_soon.stop()
        self._estimates.cancel()
        self._searches.cancel()
        self._jobs.give_way()
        self.worked = replace(self.worked, current=False)
        if self.searched is not None:
            self.searched = replace(self.searched, current=False)
        if before is None or before.workload.kind != plan.workload.kind:
            self.searched = None
            if plan.machine is None:
                # Until a machine is found a verdict of other work would stand there for this one's.
                self.worked = Worked()
        self.workedChanged.emit()
        self.searchedChanged.emit()
        self._estimate()
        self._soon.start()

    def stop(self) -> None:
        """Stop whatever runs."""
        self._soon.stop()
        self._explain_soon.stop()
        self._estimates.cancel()
        self._searches.cancel()

    # --- Estimate -----------------------------------------------------------------------------------------------------

    def _estimate(self) -> None:
        plan = self._plan
        subject = self._wanted_subject()
        if plan is None or subject is None or subject == self._subject:
            return
        self._subject = subject
        self._explain_soon.start()
        self._work(subject, self._engine.estimate, explained=False)

    def explain_now(self) -> None:
        """Somebody asks how a number came about: do not wait for the next pause."""
        if self._explain_soon.isActive():
            self._explain_soon.stop()
            self._explain()

    def _explain(self) -> None:
        """Derivations and smallest changes cost many times the estimate: they follow when the typing pauses."""
        if self._subject is not None:
            self._work(self._subject, self._in_full, explained=True)

    def _in_full(self, subject: Plan) -> Estimate:
        return self._engine.advised(self._engine.explained(subject))

    def _work(self, subject: Plan, engine: Callable[[Plan], Estimate], *, explained: bool) -> None:
        found = self._plan is not None and self._plan.machine is None

        def work(_cancel: Cancel) -> Estimate:
            return engine(subject)

        def done(estimate: Estimate) -> None:
            self._tell(Worked(estimate, None, current=True, found=found, explained=explained))

        def failed(fault: Exception) -> None:
            if not isinstance(fault, InputError):
                raise fault
            self._explain_soon.stop()
            self._tell(Worked(None, fault.message, current=True, found=found))

        self._estimates.run(work, done, failed, urgent=True)

    def _tell(self, worked: Worked) -> None:
        self.worked = worked
        self.workedChanged.emit()

    def _wanted_subject(self) -> Plan | None:
        """The plan with a machine and a way of running; None as long as nothing has been found for it."""
        plan, searched = self._plan, self.searched
        if plan is None:
            return None
        return subject_of(plan, searched.result if searched else None)

    # --- Search -------------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        plan = self._plan
        if plan is None:
            return

        def work(cancel: Cancel) -> tuple[SearchResult, float]:
            start = perf_counter()
            return self._engine.search(plan, cancel), perf_counter() - start

        def done(found: tuple[SearchResult, float]) -> None:
            result, seconds = found
            self._found(Searched(plan, result, seconds=seconds))

        def failed(fault: Exception) -> None:
            if not isinstance(fault, InputError):
                raise fault
            self._found(Searched(plan, problem=fault.message))

        self._searches.run(work, done, failed)

    def _found(self, searched: Searched) -> None:
        self.searched = searched
        self.searchedChanged.emit()
        self._estimate()
        if self._wanted_subject() is None:
            # Nothing carries the plan and no machine comes near: say why, and do not go on showing what did before.
            self._subject = None
            self._explain_soon.stop()
            self._estimates.cancel()
            self._tell(Worked(None, _why_none(searched), current=True))


def _why_none(searched: Searched) -> Message:
    """Why there is nothing to estimate."""
    remarks = searched.result.remarks if searched.result is not None else ()
    return searched.problem or next(iter(remarks), msg("planui.none_near"))


def _timer(owner: QObject, after_ms: int, act: Callable[[], object]) -> QTimer:
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(after_ms)
    timer.timeout.connect(act)
    return timer
