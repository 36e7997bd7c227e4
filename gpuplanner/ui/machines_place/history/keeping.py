"""The history as the window uses it: what cannot be kept or read is told as a notice. Knows no widget."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gpuplanner.machines.history import KeptRun, KeptSession, Left, RunHistory
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.ui.background import Cancel
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
_HOSTS_BEFORE = WINDOW + "machines.hosts"
"""Where hosts were kept before the history had them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of keeping something: its number, what left for it, and why it was not kept."""

    id: int | None = None
    left: Left | None = None
    problem: Message | None = None


class MachineHistory(QObject):
    """`changed`: the lists are others. `keep` and `read` may be called in another thread."""

    changed = Signal()

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._history = RunHistory(context.workspace.store)
        self._runs: dict[str, tuple[KeptRun, ...]] = {}
        self._sessions: dict[str, tuple[KeptSession, ...]] = {}

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
        self.changed.emit()

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
            work()
        else:
            self._context.jobs.run(work, self.told, may_cancel=False)

    # --- What is kept -------------------------------------------------------------------------------------------------

    def runs(self, host: str) -> tuple[KeptRun, ...]:
        """The runs of a host, the latest first; those that were read before where the store is busy now."""
        try:
            self._runs[host] = self._history.runs(host)
        except InputError:
            return self._runs.get(host, ())
        return self._runs[host]

    def last_verdicts(self) -> dict[str, str]:
        """The verdict of the latest run of each host that was judged whole."""
        try:
            runs = self._history.runs()
        except InputError:
            return {}
        return {run.host: run.verdict for run in reversed(runs) if run.whole and run.verdict}

    def sessions(self, host: str) -> tuple[KeptSession, ...]:
        """The live sessions of a host, the latest first; those that were read before where the store is busy now."""
        try:
            self._sessions[host] = self._history.sessions(host)
        except InputError:
            return self._sessions.get(host, ())
        return self._sessions[host]

    def read(self, run_id: int) -> "Run":
        """A run as it was. Raises InputError where it cannot be read."""
        return self._history.read(run_id)

    def read_session(self, session_id: int) -> "LiveSession":
        """A live session as it was. Raises InputError where it cannot be read."""
        return self._history.read_session(session_id)

    def remove(self, run: KeptRun, name: str) -> None:
        """Take a run out, with a notice that can put it back."""
        self._removed(self._history.remove, self._history.restore, run.id, msg("runsui.removed.run", run=name))

    def remove_session(self, session: KeptSession, name: str) -> None:
        """Take a live session out, with a notice that can put it back."""
        history, says = self._history, msg("runsui.removed.session", session=name)
        self._removed(history.remove_session, history.restore_session, session.id, says)

    def _removed(
        self, remove: Callable[[int], None], restore: Callable[[int], bool], item_id: int, says: Message
    ) -> None:
        if not self._tried(partial(remove, item_id)):
            return

        def undo() -> None:
            if self._tried(partial(restore, item_id)):
                self.changed.emit()

        self._context.notices.say(says, action=NoticeAction(msg("ui.undo"), undo))
        self.changed.emit()

    def _undone(self, put_back: Callable[[], None]) -> None:
        if self._tried(put_back):
            self.changed.emit()

    def _tried(self, work: Callable[[], object]) -> bool:
        """Whether it could be done; what stood against it is said."""
        try:
            work()
        except InputError as fault:
            self._context.notices.say(fault.message, Verdict.WARN)
            return False
        return True
