"""Why the machine is slow or ill: the likeliest cause in full, the others as a line each that opens. Looks for none."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.acceptance.diagnosis.finding_causes import unexplained, would_tell
from gpuplanner.messages import msg
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.cause.command_row import CommandRow
from gpuplanner.ui.machines_place.cause.finding_view import FindingView
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.places import Context
from gpuplanner.ui.tab_order import follow
from gpuplanner.ui.widgets.label import Ink, Label

_MOST_COMMANDS = 4


class CauseCard(QWidget):
    """`evidenceWanted` carries a line that shows a cause: the name of its output, and its number."""

    evidenceWanted = Signal(str, int)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._appearance = context.appearance
        self._shown: Shown | None = None
        self.findings: list[FindingView] = []
        self.after: QWidget | None = None
        """Where Tab comes from."""
        self.title = Label(self._appearance, msg("causeui.title"), TextRole.STRONG)
        self.none = Label(self._appearance, msg("causeui.none"), ink=Ink.MUTED, wrap=True)
        self.unexplained = Label(self._appearance, "", wrap=True)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(6)
        for widget in (self.title, self.none):
            layout.addWidget(widget)
        layout.addLayout(self._rows)
        layout.addWidget(self.unexplained)
        self._telling = QVBoxLayout()
        self._telling.setSpacing(2)
        layout.addLayout(self._telling)
        self._appearance.languageChanged.connect(self._say_unexplained)
        self.hide()

    def show_machine(self, shown: Shown) -> None:
        """Show why this machine is as it is; one of which nothing was read hides the card."""
        if shown is self._shown:
            return
        self._shown = shown
        for each in self.findings:
            _remove(self._rows, each)
        self.findings = [FindingView(self._appearance, finding) for finding in shown.findings]
        for at, view in enumerate(self.findings):
            view.set_open(is_open=at == 0)
            view.evidenceWanted.connect(self.evidenceWanted)
            self._rows.addWidget(view)
        self.title.say(msg("causeui.title" if shown.findings else "causeui.title.none"))
        self.none.setVisible(not shown.findings)
        self._say_unexplained()
        self._offer(self._commands(shown))
        if self.after is not None:
            follow(self.after, *(stop for each in self.findings for stop in each.stops()))
        self.setVisible(shown.acceptance is not None)

    @staticmethod
    def _commands(shown: Shown) -> Sequence[str]:
        """What would tell more: where something is too slow and nothing says why."""
        if shown.acceptance is None or shown.machine is None or not unexplained(shown.acceptance, shown.findings):
            return ()
        return would_tell(shown.machine.evidence)[:_MOST_COMMANDS]

    def _say_unexplained(self) -> None:
        shown = self._shown
        open_ones = unexplained(shown.acceptance, shown.findings) if shown and shown.acceptance else ()
        self.unexplained.setVisible(bool(open_ones))
        self.none.setVisible(not open_ones and not self.findings)
        names = self._appearance.text("causeui.and").join(
            self._appearance.text(f"check.name.{check}") for check in open_ones
        )
        self.unexplained.say(msg("causeui.unexplained", names=names))

    def _offer(self, commands: Sequence[str]) -> None:
        while (item := self._telling.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if commands:
            self._telling.addWidget(Label(self._appearance, msg("causeui.would_tell"), TextRole.LABEL, Ink.MUTED))
        for command in commands:
            self._telling.addWidget(CommandRow(self._appearance, command))


def _remove(layout: QVBoxLayout, widget: QWidget) -> None:
    layout.removeWidget(widget)
    widget.hide()
    widget.deleteLater()
