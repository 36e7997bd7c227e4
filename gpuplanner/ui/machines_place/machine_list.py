"""The machines of the list: each with its state as a mark, a word and a colour. Starts nothing."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.acceptance.verdicts import Verdict as Judged
from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.machines_place.headline import speaks_of_gpus
from gpuplanner.ui.machines_place.list_row import ListRow
from gpuplanner.ui.machines_place.session import MachineSession
from gpuplanner.ui.tab_order import follow
from gpuplanner.ui.tips import plain_tip
from gpuplanner.ui.tokens import Verdict

_HEIGHT = 30
_BY_VERDICT = {
    "pass": (Verdict.PASS, "pass"),
    "warn": (Verdict.WARN, "warn"),
    "fail": (Verdict.FAIL, "fail"),
    "cannot tell": (Verdict.UNKNOWN, "cannot_tell"),
    "skipped": (Verdict.UNKNOWN, "cannot_tell"),
}


def state_of(session: MachineSession) -> tuple[Verdict, Message]:
    """What the list says of a machine."""
    if session.pending:
        return Verdict.WARN, msg("machinesui.state.asks")
    if session.busy or session.judging:
        return Verdict.INFO, msg("machinesui.state.running")
    if session.unreachable:
        return Verdict.FAIL, msg("machinesui.state.unreachable")
    acceptance = session.shown.acceptance
    if acceptance is not None:
        passes_unread = acceptance.verdict is Judged.PASS and not speaks_of_gpus(acceptance)
        verdict, word = _BY_VERDICT[(Judged.CANNOT_TELL if passes_unread else acceptance.verdict).value]
        return verdict, msg(f"machinesui.state.{word}")
    if session.last_verdict in _BY_VERDICT:
        verdict, word = _BY_VERDICT[session.last_verdict]
        return verdict, msg(f"machinesui.state.{word}")
    return Verdict.UNKNOWN, msg("machinesui.state.new")


class MachineRow(ListRow):
    """One machine."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(appearance, _HEIGHT, parent)
        self._name = ""
        self._state: tuple[Verdict, Message] = (Verdict.UNKNOWN, msg("machinesui.state.new"))
        appearance.languageChanged.connect(self._render)

    def show_machine(self, name: str, state: tuple[Verdict, Message], *, current: bool) -> None:
        """Show a machine and whether it is the one in sight."""
        self._name, self._state = name, state
        self.setChecked(current)
        self._render()

    def paintEvent(self, event: QPaintEvent) -> None:
        verdict, word = self._state
        self.paint(self._name, self._appearance.text(word), self._appearance.tokens.tone(verdict).ink, verdict)

    def _render(self) -> None:
        said = f"{self._name}, {self._appearance.text(self._state[1])}"
        self.setAccessibleName(said)
        self.setToolTip(plain_tip(said))
        self.update()


class MachineList(QWidget):
    """`chosen` carries the place of a machine in the list."""

    chosen = Signal(int)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self.rows: list[MachineRow] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._add()  # There is always one, and made now it has its place in the order of Tab.

    def show_machines(self, sessions: Sequence[MachineSession], current: MachineSession) -> None:
        """Show these, in this order."""
        while len(self.rows) > len(sessions):
            row = self.rows.pop()
            self._layout.removeWidget(row)
            row.hide()
            row.deleteLater()
        while len(self.rows) < len(sessions):
            self._add()
        for row, session in zip(self.rows, sessions, strict=True):
            name = session.entry.name or self._appearance.text(f"machinesui.kind.{session.entry.kind}")
            row.show_machine(name, state_of(session), current=session is current)

    def _add(self) -> None:
        row = MachineRow(self._appearance, self)
        at = len(self.rows)
        row.clicked.connect(lambda: self.chosen.emit(at))
        self._layout.addWidget(row)
        if self.rows:
            follow(self.rows[-1], row)
        self.rows.append(row)
