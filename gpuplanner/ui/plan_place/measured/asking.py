"""A measurement that was dropped and waits for a yes: of which profile it would be kept, or why it cannot. No widget.

It is understood as one of the open plan, and anew whenever the plan changes, so that a person can set the plan right.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from gpuplanner.engine.own_runs import Understood
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.store.own_measurements import keep_own, remove_own
from gpuplanner.ui.background import Cancel, Jobs, Latest
from gpuplanner.ui.notices import NoticeAction, Notices
from gpuplanner.ui.tokens import Verdict
from gpuplanner.workload.measurement_log import MeasuredRun
from gpuplanner.workload.plan import Plan


class MeasuredWorkspace(Protocol):
    """What of the workspace this uses."""

    @property
    def home(self) -> Path: ...

    def understood(self, run: MeasuredRun, name: str, plan: Plan | None) -> Understood: ...

    def measurements_changed(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What was dropped, under the name of its file, and what it was understood as, or why it was not (yet)."""

    run: MeasuredRun
    name: str
    understood: Understood | None = None
    problem: Message | None = None


class MeasuredAsking(QObject):
    """`changed`: something else waits, or nothing does. `kept`: what counts in estimates is another."""

    changed = Signal()
    kept = Signal()

    def __init__(
        self, workspace: MeasuredWorkspace, jobs: Jobs, notices: Notices, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._notices = notices
        self._latest = Latest(jobs)
        self._waiting: tuple[Asked, ...] = ()
        self._plan: Plan | None = None

    @property
    def asked(self) -> Asked | None:
        """What is asked about now, None when nothing is."""
        return self._waiting[0] if self._waiting else None

    @property
    def waiting(self) -> int:
        """How many wait behind it."""
        return max(0, len(self._waiting) - 1)

    def ask(self, run: MeasuredRun, name: str, plan: Plan) -> None:
        """Ask about a measurement, as one of this plan; after those that wait already."""
        self._plan = plan
        self._waiting = (*self._waiting, Asked(run, name))
        if len(self._waiting) == 1:
            self._understand()
        self.changed.emit()

    def plan_changed(self, plan: Plan) -> None:
        """The plan is another: so is what was measured of it."""
        if self._waiting and plan != self._plan:
            self._plan = plan
            self._understand()
        self._plan = plan

    def keep(self) -> None:
        """Keep what is asked about; it counts at once. A notice offers to undo it."""
        asked = self.asked
        if asked is None or asked.understood is None:
            return
        measurement = asked.understood.measurement
        try:
            keep_own(self._workspace.home, measurement)
        except InputError as fault:
            self._notices.say(fault.message, Verdict.FAIL)
            return
        self._next()
        self._counts_anew()
        undo = NoticeAction(msg("ui.undo"), lambda: self._take_back(measurement.id))
        self._notices.say(msg("own.window.kept", file=measurement.name), Verdict.PASS, undo)

    def dismiss(self) -> None:
        """Do not keep it."""
        self._next()

    def close(self) -> None:
        """Nothing more is asked."""
        self._latest.cancel()

    def _next(self) -> None:
        self._latest.cancel()
        self._waiting = self._waiting[1:]
        if self._waiting:
            self._understand()
        self.changed.emit()

    def _take_back(self, measurement_id: str) -> None:
        try:
            remove_own(self._workspace.home, measurement_id)
        except InputError as fault:
            self._notices.say(fault.message, Verdict.FAIL)
        self._counts_anew()

    def _counts_anew(self) -> None:
        self._workspace.measurements_changed()
        self.kept.emit()

    def _understand(self) -> None:
        asked, plan = self._waiting[0], self._plan

        def work(_cancel: Cancel) -> Understood:
            return self._workspace.understood(asked.run, asked.name, plan)

        def failed(fault: Exception) -> None:
            if not isinstance(fault, InputError):
                raise fault
            self._show(Asked(asked.run, asked.name, problem=fault.message))

        self._latest.run(work, lambda found: self._show(Asked(asked.run, asked.name, found)), failed)

    def _show(self, asked: Asked) -> None:
        if self._waiting and self._waiting[0].run is asked.run:
            self._waiting = (asked, *self._waiting[1:])
            self.changed.emit()
