"""The history as the window uses it: what cannot be kept or read is told as a notice. Knows no widget."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gpuplanner.machines.history import KeptRun, KeptSession, Left, RunHistory
from gpuplanner.machines.rescue import Rescue, Rescued
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.ui.background import Cancel, Latest
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.places import Context
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.tokens import Verdict

if TYPE_CHECKING:
    from gpuplanner.probe.live_session import LiveSession
    from gpuplanner.probe.results import Run

LEAST_SESSION_S = 5.0
"""What was watched for less is not kept."""
_KEEPS = "machines.keeps"
_LOST = "machines.lost_session"
"""The host whose live session could be written nowhere when the window closed."""
_HOSTS_BEFORE = WINDOW + "machines.hosts"
"""Where hosts were kept before the history had them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of keeping something: its number, what left for it, and why it was not kept."""

    id: int | None = None
    left: Left | None = None
    problem: Message | None = None


@dataclass(frozen=True, slots=True)
class Lists:
    """The runs and the live sessions of all hosts, the latest first; None where they could not be read."""

    runs: tuple[KeptRun, ...] | None = None
    sessions: tuple[KeptSession, ...] | None = None


class MachineHistory(QObject):
    """`changed`: the lists are others. `keep` and `read` may be called in another thread.

    The lists are read when it is made, and from then on beside the window.
    """

    changed = Signal()

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._history = RunHistory(context.workspace.store)
        self._rescue = Rescue(context.workspace.home)
        self._reading = Latest(context.jobs)
        self._lists = self._listed()

    # --- Hosts --------------------------------------------------------------------------------------------------------

    def hosts(self) -> tuple[str, ...]:
        """The hosts that a person added."""
        settings = self._context.settings
        before = settings.kept(_HOSTS_BEFORE, [])
        try:
            for name in before if isinstance(before, list) else []:
                self._history.add_host(str(name))
            if before:
                settings.keep(_HOSTS_BEFORE, [])
            return self._history.hosts()
        except InputError as fault:
            self._context.notices.say(fault.message, Verdict.WARN)
            return ()

    def add_host(self, name: str) -> None:
        """Have a host in the list from now on."""
        self._tried(partial(self._history.add_host, name))

    def remove_host(self, name: str) -> None:
        """Have it there no more; `add_host` undoes it."""
        self._tried(partial(self._history.remove_host, name))

    # --- Keeping ------------------------------------------------------------------------------------------------------

    @property
    def keeps(self) -> bool:
        """Whether runs and live sessions are kept."""
        return self._context.settings.kept(_KEEPS, True) is not False

    def choose_keeps(self, keeps: bool) -> None:
        """Keep them from now on, or not."""
        self._context.settings.keep(_KEEPS, keeps)

    def keep(self, host: str, tier: str, run: "Run", verdict: str, expected: str) -> Outcome:
        """Keep a run. `told` says what came of it."""
        try:
            return Outcome(*self._history.keep(host, tier, run, verdict, expected))
        except InputError as fault:
            return Outcome(problem=fault.message)

    def judged(self, run_id: int, verdict: str, expected: str) -> None:
        """Note what a run is when it is held against something else. What cannot be noted stays as it was."""
        try:
            self._history.judged(run_id, verdict, expected)
        except InputError:
            return

    def told(self, outcome: Outcome) -> None:
        """Say what came of keeping something."""
        notices = self._context.notices
        if outcome.problem is not None:
            notices.say(msg("runsui.not_kept", reason=outcome.problem), Verdict.WARN)
        if outcome.left is not None and outcome.left.count:
            put_back = outcome.left.put_back
            undo = NoticeAction(msg("ui.undo"), lambda: self._undone(put_back))
            notices.say(msg("runsui.left", count=outcome.left.count), Verdict.WARN, undo, sticky=True)
        self.refresh()

    def keep_session(self, session: "LiveSession", *, now: bool = False) -> None:
        """Keep a live session, beside the window unless it closes `now`."""
        if not self.keeps or session.telemetry.ended_s < LEAST_SESSION_S:
            return

        def work(_cancel: Cancel | None = None) -> Outcome:
            try:
                return Outcome(*self._history.keep_session(session))
            except InputError as fault:
                return Outcome(problem=fault.message)

        if now:
            # Nobody could read a notice any more.
            if work().problem is not None and not self._rescue.write(session):
                self._context.settings.keep(_LOST, session.target)
        else:
            self._context.jobs.run(work, self.told, may_cancel=False)

    def keep_rescued(self) -> None:
        """Keep what could not be kept when the window closed, beside the window; and say what came of it."""
        lost = self._context.settings.kept(_LOST)
        if lost:
            self._context.settings.keep(_LOST, None)
            self._context.notices.say(msg("runsui.lost", host=str(lost)), Verdict.WARN)

        def work(_cancel: Cancel) -> tuple[Rescued, ...]:
            return self._rescue.keep_all(self._history.keep_session)

        def done(found: tuple[Rescued, ...]) -> None:
            for each in found:
                if each.problem is None:
                    self._context.notices.say(msg("runsui.rescued", host=each.host), Verdict.PASS)
                else:
                    self._context.notices.say(
                        msg("runsui.rescued.not", file=str(each.file), reason=each.problem), Verdict.WARN
                    )
            if found:
                self.refresh()

        self._context.jobs.run(work, done, may_cancel=False)

    # --- What is kept -------------------------------------------------------------------------------------------------

    def runs(self, host: str) -> tuple[KeptRun, ...]:
        """The runs of a host, the latest first, as they were read last."""
        return tuple(run for run in self._lists.runs or () if run.host == host)

    def last_verdicts(self) -> dict[str, str]:
        """The verdict of the latest run of each host that was judged whole."""
        return {run.host: run.verdict for run in reversed(self._lists.runs or ()) if run.whole and run.verdict}

    def sessions(self, host: str) -> tuple[KeptSession, ...]:
        """The live sessions of a host, the latest first, as they were read last."""
        return tuple(session for session in self._lists.sessions or () if session.host == host)

    def refresh(self) -> None:
        """Read the lists again, beside the window. What cannot be read now, as where the store is busy, stays."""

        def take(found: Lists) -> None:
            before = self._lists
            self._lists = Lists(
                before.runs if found.runs is None else found.runs,
                before.sessions if found.sessions is None else found.sessions,
            )
            if self._lists != before:
                self.changed.emit()

        self._reading.run(lambda _cancel: self._listed(), take)

    def _listed(self) -> Lists:
        runs = sessions = None
        try:
            runs = self._history.runs()
            sessions = self._history.sessions()
        except InputError:
            return Lists(runs, sessions)
        return Lists(runs, sessions)

    def read(self, run_id: int) -> "Run":
        """A run as it was. Raises InputError where it cannot be read."""
        return self._history.read(run_id)

    def read_session(self, session_id: int) -> "LiveSession":
        """A live session as it was. Raises InputError where it cannot be read."""
        return self._history.read_session(session_id)

    def remove(self, run: KeptRun, name: str) -> None:
        """Take a run out, with a notice that can put it back."""
        if self._tried(partial(self._history.remove, run.id)):
            left = tuple(each for each in self._lists.runs or () if each.id != run.id)
            self._removed(
                replace(self._lists, runs=left),
                partial(self._history.restore, run.id),
                msg("runsui.removed.run", run=name),
            )

    def remove_session(self, session: KeptSession, name: str) -> None:
        """Take a live session out, with a notice that can put it back."""
        if self._tried(partial(self._history.remove_session, session.id)):
            left = tuple(each for each in self._lists.sessions or () if each.id != session.id)
            self._removed(
                replace(self._lists, sessions=left),
                partial(self._history.restore_session, session.id),
                msg("runsui.removed.session", session=name),
            )

    def _removed(self, left: Lists, restore: Callable[[], object], says: Message) -> None:
        # What is being read of the time before would bring it back into sight.
        self._reading.cancel()
        self._lists = left
        self._context.notices.say(says, action=NoticeAction(msg("ui.undo"), partial(self._undone, restore)))
        self.changed.emit()

    def _undone(self, put_back: Callable[[], object]) -> None:
        if self._tried(put_back):
            self.refresh()

    def _tried(self, work: Callable[[], object]) -> bool:
        """Whether it could be done; what stood against it is said."""
        try:
            work()
        except InputError as fault:
            self._context.notices.say(fault.message, Verdict.WARN)
            return False
        return True
