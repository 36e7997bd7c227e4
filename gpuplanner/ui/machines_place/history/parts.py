"""The parts of the page that have to do with what is kept, and what they do to its machines. Lays nothing out."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from gpuplanner.machines.sample import sample_session
from gpuplanner.messages import InputError, Message, MessageValue, msg
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.recording import written
from gpuplanner.ui.background import Cancel
from gpuplanner.ui.fields.text_field import TextField
from gpuplanner.ui.machines_place.history.choosing import expected_items, host_items
from gpuplanner.ui.machines_place.history.difference_view import DifferenceView
from gpuplanner.ui.machines_place.history.panel import HistoryPanel
from gpuplanner.ui.machines_place.history.words import when
from gpuplanner.ui.machines_place.presenter import LISTED_HOSTS, MachinesPresenter
from gpuplanner.ui.machines_place.session import MachineSession
from gpuplanner.ui.machines_place.shown import SAMPLE, Shown
from gpuplanner.ui.places import Context
from gpuplanner.ui.plan_place.picker import Picker, PickItem
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.chart_export import write

_WIDTH = 380
_RECORDING = ".gpurun"


class HistoryParts(QObject):
    """`sessionRead` carries a live session to show again.

    `expectedChosen` and `hostChosen`: the field has another text, as if it had been typed.
    """

    sessionRead = Signal(object)
    sampleRead = Signal(object)
    """The live session of the recorded machine, which nobody asked for by itself."""
    expectedChosen = Signal()
    hostChosen = Signal()

    def __init__(self, context: Context, presenter: MachinesPresenter, host: TextField, expected: TextField) -> None:
        super().__init__()
        self._context, self._presenter = context, presenter
        self._host, self._expected = host, expected
        self._hosts: tuple[str, ...] = ()
        appearance = context.appearance
        self._closing = False
        self._target = ""
        self.panel = HistoryPanel(context, presenter.history)
        self.difference = DifferenceView(context, presenter.history)
        self.remove = Button(
            appearance, msg("runsui.remove_host"), ButtonKind.QUIET, icon="trash-2", icon_only=True, small=True
        )
        self.pick_expected = self._pick_button(expected, msg("runsui.expected.pick"))
        self.pick_host = self._pick_button(host, msg("runsui.hosts.pick"))
        self.pick_host.hide()
        self.picker: Picker | None = None
        self.remove.clicked.connect(presenter.remove)
        self.pick_expected.clicked.connect(self.choose_expected)
        self.pick_host.clicked.connect(self.choose_host)
        presenter.offered.connect(self._offered)
        self.panel.runWanted.connect(presenter.open_run)
        self.panel.sessionWanted.connect(self._open_session)
        self.panel.saveWanted.connect(self._ask_where)
        presenter.history.keep_rescued()

    def show_machine(self, shown: Shown) -> None:
        """Show what is kept of the machine in sight; of the recorded one, how it was at work."""
        if shown.target == SAMPLE and self._target != SAMPLE:
            self._context.jobs.run(lambda _cancel: sample_session(), self._show_sample)
        self._target = shown.target
        self.panel.show_machine(shown)
        self.difference.show_machine(shown)
        self.remove.setVisible(self._presenter.may_remove)
        if not self._expected.box.edit.hasFocus():
            self._expected.box.edit.setCursorPosition(0)  # A quote is read from its beginning.
        self._expected.box.edit.setToolTip(self._expected.value())

    def note(self, session: MachineSession) -> MessageValue:
        """What stands beside the machine's name: what it is, which run of it is in sight, how long that took."""
        kind = msg(f"machinesui.kind.{session.entry.kind}")
        if session.entry.kind == "sample":
            return msg("runsui.note.sample")
        runs = self.panel.runs
        at = next((at for at, run in enumerate(runs) if run.id == session.shown.run_id), None)
        seconds = f"{session.seconds:.0f}"
        if at is None:
            without = kind if session.entry.name else ""  # Without a name of its own the kind is its title.
            return msg("machinesui.note", kind=kind, seconds=seconds) if session.seconds else without
        number, date = len(runs) - at, when(runs[at].began, self._context.appearance)
        if not session.seconds:
            return msg("runsui.note.short", kind=kind, number=number, count=len(runs), when=date)
        return msg("runsui.note", kind=kind, number=number, count=len(runs), when=date, seconds=seconds)

    def keep_session(self, session: object) -> None:
        """Keep what was watched. While the window closes there is no time for a job."""
        if isinstance(session, LiveSession):
            self._presenter.history.keep_session(session, now=self._closing)

    def closing(self) -> None:
        """The window closes."""
        self._closing = True

    def choose_expected(self) -> None:
        """Ask what the machine is to be held against."""
        workspace, appearance = self._context.workspace, self._context.appearance
        self._open_picker(
            self._expected,
            lambda query: expected_items(workspace, query, appearance),
            (msg("runsui.expected.search"), msg("runsui.expected.nothing")),
            self.expectedChosen.emit,
        )

    def choose_host(self) -> None:
        """Ask which host of the SSH configuration is to be added."""
        hint = msg("runsui.hosts.search"), msg("runsui.hosts.nothing")
        self._open_picker(self._host, lambda query: host_items(self._hosts, query), hint, self.hostChosen.emit)

    def _open_picker(
        self,
        field: TextField,
        find: Callable[[str], Sequence[PickItem]],
        says: tuple[Message, Message],
        chosen: Callable[[], object],
    ) -> None:
        picker = self.picker = Picker(self._context.appearance, find, *says, parent=field)

        def picked(text: str) -> None:
            field.set_value(text)
            chosen()

        picker.picked.connect(picked)
        picker.open_below(field.box, _WIDTH)

    def _pick_button(self, field: TextField, says: Message) -> Button:
        """A button at the end of a field that opens a list to choose from."""
        button = Button(
            self._context.appearance, says, ButtonKind.QUIET, icon="chevron-down", icon_only=True, small=True
        )
        inside = field.box.layout()
        if inside is not None:
            inside.addWidget(button)
            inside.setContentsMargins(7, 0, 3, 0)
        return button

    def _offered(self, names: tuple[str, ...]) -> None:
        self._hosts = names
        self.pick_host.setVisible(len(names) > LISTED_HOSTS)

    def save(self, run_id: int, path: Path) -> None:
        """Write a run to a file, as a recording that opens again."""
        history, notices = self._presenter.history, self._context.notices

        def work(_cancel: Cancel) -> None:
            write(path, written(history.read(run_id)).encode("utf-8", "surrogatepass"))

        def done(_none: None) -> None:
            notices.say(msg("runsui.saved", file=path.name), Verdict.PASS)

        self._context.jobs.run(work, done, self._say_failed)

    def _ask_where(self, run_id: int) -> None:
        title = self._context.appearance.text("runsui.save")
        name = f"gpuplanner-run-{run_id}{_RECORDING}"
        path, _ = QFileDialog.getSaveFileName(self.panel, title, name, f"gpuplanner (*{_RECORDING})")
        if path:
            chosen = Path(path)
            self.save(run_id, chosen if chosen.suffix else chosen.with_name(chosen.name + _RECORDING))

    def _say_failed(self, fault: Exception) -> None:
        if not isinstance(fault, InputError):
            raise fault
        self._context.notices.say(fault.message, Verdict.WARN)

    def _show_sample(self, session: LiveSession) -> None:
        if self._target == SAMPLE:
            self.sampleRead.emit(session)

    def _open_session(self, session_id: int) -> None:
        history = self._presenter.history

        def work(_cancel: Cancel) -> object:
            return history.read_session(session_id)

        self._context.jobs.run(work, self.sessionRead.emit, self._say_failed, may_cancel=False)
