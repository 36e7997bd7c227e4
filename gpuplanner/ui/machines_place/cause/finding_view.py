"""One cause: its sentence; opened also the lines that show it, what mends it, whom to ask, and how to confirm it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.acceptance.diagnosis.finding import Certainty, Finding
from gpuplanner.messages import msg, on_one_line, shortened
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.cause.command_row import CommandRow
from gpuplanner.ui.machines_place.evidence_line import EvidenceLine
from gpuplanner.ui.tab_order import follow
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label

_MOST_LINES = 4
_MOST_SOURCES = 3
_INDENT = 32
_CERTAINTIES = {
    Certainty.SHOWN: "diagnosis.certainty.shown",
    Certainty.LIKELY: "diagnosis.certainty.likely",
    Certainty.POSSIBLE: "diagnosis.certainty.possible",
}


class FindingView(QWidget):
    """`evidenceWanted` carries a line that shows it: the name of its output, and its number."""

    evidenceWanted = Signal(str, int)

    def __init__(self, appearance: Appearance, finding: Finding) -> None:
        super().__init__()
        self._appearance = appearance
        self.finding = finding
        self.opener = Button(appearance, msg("causeui.more"), ButtonKind.QUIET, icon_only=True, small=True)
        self.opener.clicked.connect(lambda: self.set_open(is_open=not self.is_open))
        self.says = Label(appearance, finding.cause, wrap=True)
        self.says.keep_clear(0, 4, 0, 0)
        self.note = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.lines: list[EvidenceLine] = []
        self.confirm: CommandRow | None = None
        self._inside: QWidget | None = None
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.says)
        words.addWidget(self.note)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.opener, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self._column.addLayout(row)
        appearance.languageChanged.connect(self._say_note)
        self._say_note()
        self.set_open(is_open=False)

    def set_open(self, *, is_open: bool) -> None:
        """Show what shows it and what to do, or its sentence alone."""
        self.opener.set_icon("chevron-down" if is_open else "chevron-right")
        self.opener.say(msg("causeui.less" if is_open else "causeui.more"))
        if is_open and self._inside is None:
            self._inside = self._made()
            self._column.addWidget(self._inside)
            follow(*self.stops())
        if self._inside is not None:
            self._inside.setVisible(is_open)

    def stops(self) -> tuple[QWidget, ...]:
        """What Tab stops at, in order."""
        return (self.opener, *self.lines, *((self.confirm.says, self.confirm.copy) if self.confirm else ()))

    @property
    def is_open(self) -> bool:
        """Whether more than its sentence is shown."""
        return self._inside is not None and not self._inside.isHidden()

    def _say_note(self) -> None:
        text = self._appearance.text
        sources = dict.fromkeys(shortened(on_one_line(seen.source), 40) for seen in self.finding.lines)
        joint = text("causeui.and")
        told = joint.join(list(sources)[:_MOST_SOURCES])
        parts = [text("causeui.note", certainty=text(_CERTAINTIES[self.finding.certainty]), sources=told)]
        if self.finding.explains:
            names = joint.join(text(f"check.name.{check}") for check in self.finding.explains)
            parts.append(text("causeui.explains", names=names))
        self.note.say(" · ".join(parts))

    def _made(self) -> QWidget:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(_INDENT, 0, 0, 4)
        column.setSpacing(4)
        appearance, finding = self._appearance, self.finding
        self.lines = [EvidenceLine(appearance, seen) for seen in finding.lines[:_MOST_LINES]]
        for line in self.lines:
            line.wanted.connect(self.evidenceWanted)
            column.addWidget(line)
        left = len(finding.lines) - len(self.lines)
        if left > 0:
            column.addWidget(Label(appearance, msg("causeui.more_lines", count=left), TextRole.LABEL, Ink.MUTED))
        for says in (finding.fix, finding.ask):
            if says is not None:
                column.addWidget(Label(appearance, says, wrap=True))
        column.addWidget(Label(appearance, msg("causeui.confirm"), TextRole.LABEL, Ink.MUTED))
        self.confirm = CommandRow(appearance, finding.confirm)
        column.addWidget(self.confirm)
        return inside
