"""The machines of the page: the list, which one is in sight, and the verdict on what came. Knows no widget."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from gpuplanner.machines.evidence import MachineEvidence, of_files, of_run, of_text
from gpuplanner.machines.sample import QUOTED, sample_run
from gpuplanner.machines.ssh_hosts import ssh_hosts
from gpuplanner.messages import InputError, Message, msg, on_one_line, shortened
from gpuplanner.probe.results import Run
from gpuplanner.probe.transports.ssh_client import checked
from gpuplanner.ui.background import Cancel
from gpuplanner.ui.machines_place.errands import Ways
from gpuplanner.ui.machines_place.history.keeping import MachineHistory, Outcome
from gpuplanner.ui.machines_place.session import Entry, MachineSession
from gpuplanner.ui.machines_place.shown import HERE, SAMPLE, Shown
from gpuplanner.ui.machines_place.wanted import promised_by
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.places import Context
from gpuplanner.ui.probing import Probing
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.tokens import Verdict

_WANTED = "machines.expected"
_WANTED_BEFORE = WINDOW + "machines.expected"
_WITHOUT_SAMPLE = "machines.without_sample"
LISTED_HOSTS = 12
"""Hosts of the SSH configuration that stand in the list; of more each is offered as its name is typed."""


def _rank(entry: Entry) -> int:
    """Where a machine stands in the list: here, one's own, those of the SSH configuration, files, the sample."""
    return {"here": 0, "ssh": 1 if entry.own else 2, "saved": 3, "sample": 4}[entry.kind]


class MachinesPresenter(QObject):
    """`changed`: the list or what is in sight is another; `wantedWrong`: what is wrong with what is expected."""

    changed = Signal()
    judged = Signal()
    offered = Signal(object)
    """The hosts of the SSH configuration, those in the list too."""
    wantedWrong = Signal(object)

    def __init__(self, context: Context, ways: Ways | None = None) -> None:
        super().__init__()
        self._context = context
        self.probing = Probing(self)
        self.ways = ways or Ways()
        self.sessions: list[MachineSession] = []
        self.history = MachineHistory(context, self)
        self._last_verdicts = self.history.last_verdicts()
        self.current = self._add(Entry(HERE, "here", ""))
        for host in self.history.hosts():
            self._add(Entry(host, "ssh", host, own=True))
        if context.settings.kept(_WITHOUT_SAMPLE) is not True:
            self._add(Entry(SAMPLE, "sample", ""))
        self._names: tuple[str, ...] = ()
        self._visited = ""
        self._open_last(self.current)
        home = Path.home()
        context.jobs.run(lambda _cancel: ssh_hosts(home), self._offer)

    def choose(self, session: MachineSession) -> None:
        """Bring a machine into sight, with what was found of it last."""
        self.current = session
        self.changed.emit()
        self._open_last(session)
        if session.entry.kind == "sample" and session.shown.machine is None and not session.judging:
            session.judging = True
            self._judge(session, lambda: of_run(sample_run()))

    def find(self, target: str) -> MachineSession | None:
        """The machine of a target."""
        return next((each for each in self.sessions if each.entry.target == target), None)

    def visit(self, target: str) -> None:
        """Bring the machine of a target into sight: also the sample, and hosts of the SSH configuration that are not
        in the list; one that is not known yet when that has been read.
        """
        session = self.find(target)
        if session is not None:
            self.choose(session)
        elif target == SAMPLE:
            self.open_sample()
        elif target in self._names:
            self.choose(self._add(Entry(target, "ssh", target)))
        else:
            self._visited = target

    def add_host(self, text: str) -> Message | None:
        """Add a host, show it and try the way to it. What is wrong with the name, or None."""
        try:
            name = checked(text.strip())
        except InputError as fault:
            return fault.message
        session = self.find(name)
        if session is None:
            session = self._add(Entry(name, "ssh", name, own=True))
        if session.entry.kind == "ssh":
            self.history.add_host(name)
            session.entry = replace(session.entry, own=True)
        self.choose(session)
        session.test()
        return None

    @property
    def may_remove(self) -> bool:
        """Whether the machine in sight can go from the list: not this computer, nor what the SSH configuration has."""
        return self.current.entry.own or self.current.entry.kind in {"saved", "sample"}

    def remove(self) -> None:
        """Take the machine in sight out of the list, with a notice that can put it back."""
        if not self.may_remove:
            return
        session = self.current
        entry, at = session.entry, self.sessions.index(session)
        session.stop()
        self.sessions.remove(session)
        self._listed(entry, there=False)
        name = entry.name or self._context.appearance.text(f"machinesui.kind.{entry.kind}")

        def undo() -> None:
            if self.find(entry.target) is None:
                self.sessions.insert(min(at, len(self.sessions)), session)
                self._listed(entry, there=True)
            self.choose(session)

        says = msg("runsui.removed.host" if entry.own else "runsui.removed.entry", name=name)
        self._context.notices.say(says, action=NoticeAction(msg("ui.undo"), undo))
        self.choose(self.sessions[0])

    def _listed(self, entry: Entry, *, there: bool) -> None:
        """Keep what the list has over a restart."""
        if entry.kind == "sample":
            self._context.settings.keep(_WITHOUT_SAMPLE, not there)
        elif entry.own and there:
            self.history.add_host(entry.target)
        elif entry.own:
            self.history.remove_host(entry.target)

    def open_sample(self) -> None:
        """Show the recorded machine, also where it was taken out of the list."""
        session = self.find(SAMPLE)
        if session is None:
            session = self._add(Entry(SAMPLE, "sample", ""))
            self._context.settings.keep(_WITHOUT_SAMPLE, False)
        self.choose(session)

    def _open_last(self, session: MachineSession) -> None:
        """Show the last run that is kept of a machine, where nothing else of it is known yet."""
        if session.run is None and session.shown.machine is None and session.entry.kind in {"here", "ssh"}:
            runs = self.history.runs(session.entry.target)
            if runs:
                self.open_run(runs[0].id)

    def open_run(self, run_id: int) -> None:
        """Look again at a run of the machine in sight; not while something runs there."""
        session = self.current
        if session.busy:
            self._context.notices.say(msg("runsui.busy"), Verdict.INFO)
            return
        if session.judging:
            return

        session.judging = True
        self.changed.emit()

        def done(run: Run) -> None:
            session.take(run)
            self._judge(session, lambda: of_run(run), run_id=run_id)

        def failed(fault: Exception) -> None:
            session.judging = False
            if not isinstance(fault, InputError):
                raise fault
            self._context.notices.say(fault.message, Verdict.WARN)
            self.changed.emit()

        self._context.jobs.run(lambda _cancel: self.history.read(run_id), done, failed, may_cancel=False)

    def take_files(self, paths: Sequence[str]) -> None:
        """Files of one machine that somebody saved."""
        name = shortened(on_one_line(", ".join(Path(path).name for path in paths)), 60)
        self._saved(str(paths[0]), name, partial(of_files, [Path(path) for path in paths]))

    def take_text(self, text: str) -> None:
        """A text that somebody pasted."""
        name = self._context.appearance.text("machinesui.pasted")
        self._saved(name, name, partial(of_text, text, name))

    def wanted(self, session: MachineSession) -> str:
        """What a machine is held against, as it was typed."""
        default = QUOTED if session.entry.kind == "sample" else ""
        return str(self._wanted().get(session.entry.target, default))

    def want(self, text: str) -> None:
        """Hold the machine in sight against something else."""
        self._context.settings.keep(_WANTED, {**self._wanted(), self.current.entry.target: text})
        machine = self.current.shown.machine
        run_id = self.current.shown.run_id
        self._judge(self.current, (lambda: machine) if machine is not None else None, run_id=run_id)

    def _wanted(self) -> dict[str, Any]:
        """What each machine is held against, by its target."""
        settings = self._context.settings
        kept = settings.kept(_WANTED, settings.kept(_WANTED_BEFORE, {}))
        return kept if isinstance(kept, dict) else {}

    def close(self) -> None:
        """End all that runs."""
        self.probing.close()
        self.ways.close()

    def _add(self, entry: Entry) -> MachineSession:
        session = MachineSession(entry, self.probing, self.ways, self)
        for signal in (session.changed, session.progressed, session.asked):
            signal.connect(self.changed)
        session.ran.connect(lambda: self._ran(session))
        if entry.kind in {"here", "ssh"}:
            session.last_verdict = self._last_verdicts.get(entry.target, "")
        ranks = [_rank(each.entry) for each in self.sessions]
        at = next((at for at, rank in enumerate(ranks) if rank > _rank(entry)), len(ranks))
        self.sessions.insert(at, session)
        return session

    def _offer(self, names: tuple[str, ...]) -> None:
        """List the hosts of the SSH configuration where they are few, and offer all of them to who types."""
        self._names = names
        if len(names) <= LISTED_HOSTS:
            for name in names:
                if self.find(name) is None:
                    self._add(Entry(name, "ssh", name))
        if names:
            self.offered.emit(names)
            self.changed.emit()
        if self._visited in names:
            self.visit(self._visited)

    def _saved(self, target: str, name: str, read: Callable[[], MachineEvidence]) -> None:
        session = self.find(target) or self._add(Entry(target, "saved", name))
        self.choose(session)
        self._judge(session, read)

    def _ran(self, session: MachineSession) -> None:
        run = session.run
        if run is not None:
            self._judge(session, lambda: of_run(run), fresh=True)

    def _judge(
        self,
        session: MachineSession,
        read: Callable[[], MachineEvidence] | None,
        *,
        fresh: bool = False,
        run_id: int | None = None,
    ) -> None:
        """Judge a machine. What is `fresh` is kept in the history; of a kept run its verdict now is."""
        text, workspace, entry = self.wanted(session), self._context.workspace, session.entry
        history, tier = self.history, "".join(each.value for each in session.tiers)
        keep = fresh and history.keeps

        def work(_cancel: Cancel) -> tuple[Shown, Message | None, Outcome | None]:
            # To read them takes a fifth of a second, for which the window does not wait here.
            from gpuplanner.machines.causes import find
            from gpuplanner.machines.judging import judge

            problem = None
            try:
                promised, plan = promised_by(text, workspace)
            except InputError as fault:
                promised, plan, problem = None, None, fault.message
            machine = read() if read is not None else None
            if machine is None:
                return Shown(entry.target, entry.kind, promised=promised, plan=plan), problem, None
            acceptance = judge(workspace, machine, promised)
            findings = find(machine.evidence, acceptance)
            verdict, outcome = acceptance.verdict.value, None
            against = text if problem is None else ""
            if keep:
                outcome = history.keep(entry.target, tier, machine.runs[0], verdict, against)
            elif run_id is not None:
                history.judged(run_id, verdict, against)
            number = outcome.id if outcome is not None else run_id
            return (
                Shown(entry.target, entry.kind, machine, acceptance, promised, plan, number, findings),
                problem,
                outcome,
            )

        def done(found: tuple[Shown, Message | None, Outcome | None]) -> None:
            session.show(found[0])
            if found[2] is not None:
                history.told(found[2])
            if session is self.current:
                self.wantedWrong.emit(found[1])
                self.judged.emit()

        def failed(fault: Exception) -> None:
            session.judging = False
            if not isinstance(fault, InputError):
                raise fault
            self._context.notices.say(fault.message, Verdict.WARN)
            session.problem = fault.message
            session.changed.emit()

        self._context.jobs.run(work, done, failed, title=msg("machinesui.judging"), may_cancel=False)
