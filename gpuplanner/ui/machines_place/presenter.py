"""The machines of the page: the list, which one is in sight, and the verdict on what came. Knows no widget."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpuplanner.machines.evidence import MachineEvidence, of_files, of_run, of_text
from gpuplanner.messages import InputError, Message, msg, on_one_line, shortened
from gpuplanner.probe.transports.ssh_client import checked
from gpuplanner.ui.background import Cancel
from gpuplanner.ui.machines_place.errands import Ways
from gpuplanner.ui.machines_place.session import Entry, MachineSession
from gpuplanner.ui.machines_place.shown import HERE, Shown
from gpuplanner.ui.machines_place.wanted import promised_by
from gpuplanner.ui.places import Context
from gpuplanner.ui.probing import Probing
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.tokens import Verdict

_HOSTS = WINDOW + "machines.hosts"
_WANTED = WINDOW + "machines.expected"


class MachinesPresenter(QObject):
    """`changed`: the list or what is in sight is another; `wantedWrong`: what is wrong with what is expected."""

    changed = Signal()
    judged = Signal()
    wantedWrong = Signal(object)

    def __init__(self, context: Context, ways: Ways | None = None) -> None:
        super().__init__()
        self._context = context
        self.probing = Probing(self)
        self.ways = ways or Ways()
        self.sessions: list[MachineSession] = []
        self.current = self._add(Entry(HERE, "here", ""))
        for host in context.settings.kept(_HOSTS, []):
            self._add(Entry(host, "ssh", host, own=True))

    def choose(self, session: MachineSession) -> None:
        """Bring a machine into sight."""
        self.current = session
        self.changed.emit()

    def find(self, target: str) -> MachineSession | None:
        """The machine of a target."""
        return next((each for each in self.sessions if each.entry.target == target), None)

    def add_host(self, text: str) -> Message | None:
        """Add a host, show it and try the way to it. What is wrong with the name, or None."""
        try:
            name = checked(text.strip())
        except InputError as fault:
            return fault.message
        session = self.find(name)
        if session is None:
            session = self._add(Entry(name, "ssh", name, own=True))
            hosts = [each.entry.target for each in self.sessions if each.entry.own]
            self._context.settings.keep(_HOSTS, hosts)
        self.choose(session)
        session.test()
        return None

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
        kept = self._context.settings.kept(_WANTED, {})
        return str(kept.get(session.entry.target, "")) if isinstance(kept, dict) else ""

    def want(self, text: str) -> None:
        """Hold the machine in sight against something else."""
        kept = self._context.settings.kept(_WANTED, {})
        known = kept if isinstance(kept, dict) else {}
        self._context.settings.keep(_WANTED, {**known, self.current.entry.target: text})
        machine = self.current.shown.machine
        self._judge(self.current, (lambda: machine) if machine is not None else None)

    def close(self) -> None:
        """End all that runs."""
        self.probing.close()
        self.ways.close()

    def _add(self, entry: Entry) -> MachineSession:
        session = MachineSession(entry, self.probing, self.ways, self)
        for signal in (session.changed, session.progressed, session.asked):
            signal.connect(self.changed)
        session.ran.connect(lambda: self._ran(session))
        self.sessions.append(session)
        return session

    def _saved(self, target: str, name: str, read: Callable[[], MachineEvidence]) -> None:
        session = self.find(target) or self._add(Entry(target, "saved", name))
        self.choose(session)
        self._judge(session, read)

    def _ran(self, session: MachineSession) -> None:
        run = session.run
        if run is not None:
            self._judge(session, lambda: of_run(run))

    def _judge(self, session: MachineSession, read: Callable[[], MachineEvidence] | None) -> None:
        from gpuplanner.machines.causes import find
        from gpuplanner.machines.judging import judge

        text, workspace, entry = self.wanted(session), self._context.workspace, session.entry

        def work(_cancel: Cancel) -> tuple[Shown, Message | None]:
            problem = None
            try:
                promised, plan = promised_by(text, workspace)
            except InputError as fault:
                promised, plan, problem = None, None, fault.message
            machine = read() if read is not None else None
            if machine is None:
                return Shown(entry.target, entry.kind, promised=promised, plan=plan), problem
            acceptance = judge(workspace, machine, promised, datetime.now(UTC).date())
            findings = find(machine.evidence, acceptance)
            return (
                Shown(entry.target, entry.kind, machine, acceptance, promised, plan, findings=findings),
                problem,
            )

        def done(found: tuple[Shown, Message | None]) -> None:
            session.show(found[0])
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
