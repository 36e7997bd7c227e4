"""What the tools printed, cleaned, as plain text that can be searched. Reads no meaning from it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.probe.output import Output
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.widgets.button import Button
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.search_field import SearchField
from gpuplanner.ui.widgets.segmented import Option

MOST_LINES = 2_000
"""Lines shown at once, so that the window stays quick; a search looks through all of them."""
_BEFORE = 200
_TAB = 4
"""Columns of a tab: tools indent by several of them."""


class RawView(QWidget):
    """`againWanted` carries the name of the output whose command is to run again."""

    againWanted = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._outputs: dict[str, Output] = {}
        self._at = 0
        self._first = 0
        self.choice = ChoiceBox(appearance)
        self.search = SearchField(appearance, msg("machinesui.raw.search"))
        self.note = Label(appearance, "", TextRole.LABEL, Ink.MUTED)
        self.copy = Button(appearance, msg("machinesui.raw.copy"), icon="copy", icon_only=True)
        self.again = Button(appearance, msg("machinesui.raw.again"), icon="rotate-ccw", icon_only=True)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(font(TextRole.CODE))
        self.text.setTabStopDistance(_TAB * QFontMetricsF(self.text.font()).horizontalAdvance(" "))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.choice, 2)
        row.addWidget(self.search, 1)
        row.addWidget(self.copy)
        row.addWidget(self.again)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(row)
        layout.addWidget(self.note)
        layout.addWidget(self.text, 1)
        self.choice.chosen.connect(lambda name: self.go(name, 1))
        self.search.searched.connect(lambda _text: self._find(0))
        self.search.edit.returnPressed.connect(lambda: self._find(self._at))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.choice.current()))
        self.again.clicked.connect(lambda: self.againWanted.emit(self.choice.current()))

        appearance.languageChanged.connect(self._name)
        self._name()

    def show_outputs(self, outputs: Sequence[Output], *, may_run: bool) -> None:
        """Show these; `may_run`: whether their commands can run again."""
        self._outputs = {output.name: output for output in outputs}
        self.choice.set_options([Option(name, name) for name in self._outputs])
        self.again.setVisible(may_run)
        if self._outputs and self.choice.current() not in self._outputs:
            self.choice.choose(next(iter(self._outputs)))
        self.go(self.choice.current(), 1)

    def holds(self, name: str) -> bool:
        """Whether an output of this name is among those that it shows."""
        return name in self._outputs

    def go(self, name: str, line: int) -> None:
        """Show an output at a line, counted from 1."""
        output = self._outputs.get(name)
        if output is None:
            self.text.setPlainText("")
            self.note.say(msg("machinesui.raw.none"))
            return
        self.choice.choose(name)
        self._at = line
        self._first = max(0, line - 1 - _BEFORE) if len(output.lines) > MOST_LINES else 0
        part = output.lines[self._first : self._first + MOST_LINES]
        self.text.setPlainText("\n".join(each.text for each in part))
        self.note.say(
            msg("machinesui.raw.lines", first=self._first + 1, last=self._first + len(part), count=len(output.lines))
        )
        block = self.text.document().findBlockByNumber(line - 1 - self._first)
        cursor = QTextCursor(block)
        # Backwards: it is the beginning of the line that is brought into sight.
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        self.text.setTextCursor(cursor)
        self.text.centerCursor()

    def _name(self) -> None:
        self.choice.setAccessibleName(self._appearance.text("machinesui.raw.choose"))
        self.text.setAccessibleName(self._appearance.text("machinesui.view.raw"))

    def _find(self, after: int) -> None:
        """The next line with what is searched for, from the beginning again behind the last one."""
        wanted = self.search.text().casefold()
        output = self._outputs.get(self.choice.current())
        if not wanted or output is None:
            return
        hits = [line.number for line in output.lines if wanted in line.text.casefold()]
        if not hits:
            self.note.say(msg("machinesui.raw.not_found"))
            return
        self.go(output.name, next((hit for hit in hits if hit > after), hits[0]))
