"""A question on the way to a machine, inside the page: what is asked in the client's words, and a field or buttons."""

import re

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLineEdit

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.probe.transports.askpass import Asked, Question
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.field import InputBox
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.asking import Busy, Pending, ToolsFound
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label

_FINGERPRINT = re.compile(r"\b(?:SHA256:[A-Za-z0-9+/]{43}|MD5:(?:[0-9a-f]{2}:){15}[0-9a-f]{2})")


class QuestionCard(Card):
    """`answered` carries the answer, None for giving up. What was typed is gone with the card."""

    answered = Signal(object)

    def __init__(self, appearance: Appearance, pending: Pending) -> None:
        question = pending.question
        kind = _kind(question)
        super().__init__(appearance, msg(f"machinesui.ask.{kind}"))
        self.pending = pending
        self.box: InputBox | None = None
        # Not to be selected, so that what is long, such as a fingerprint, goes on in the next line and is seen whole.
        self.says = Label(appearance, _said(question), wrap=True)
        self.body.addWidget(self.says)
        self.body.addWidget(Label(appearance, msg(f"machinesui.ask.{kind}.note"), TextRole.LABEL, Ink.MUTED, wrap=True))
        row = QHBoxLayout()
        row.setSpacing(8)
        if isinstance(question, Question) and question.secret:
            self.box = InputBox(appearance)
            self.box.edit.setEchoMode(QLineEdit.EchoMode.Password)
            self.box.edit.setMaxLength(1000)
            self.box.edit.returnPressed.connect(self._send)
            row.addWidget(self.box, 1)
        self.yes = Button(appearance, self._agreeing(question), ButtonKind.PRIMARY)
        self.yes.clicked.connect(self._send)
        if isinstance(question, Question) and question.kind is Asked.TOUCH:
            self.yes.hide()
        self.no = Button(appearance, msg("machinesui.ask.give_up"))
        self.no.clicked.connect(lambda: self.answered.emit(None))
        for button in (self.yes, self.no):
            row.addWidget(button)
        if self.box is None:
            row.addStretch(1)
        self.copy: Button | None = None
        fingerprint = _FINGERPRINT.search(self.says.text().replace("\u200b", ""))
        if fingerprint is not None:
            copy = self.copy = Button(appearance, msg("machinesui.ask.copy"), ButtonKind.QUIET, icon="copy", small=True)
            copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(fingerprint[0]))
            row.addWidget(copy)
        self.body.addLayout(row)
        appearance.languageChanged.connect(self._name)
        self._name()

    def focus(self) -> None:
        """Put the keyboard on what is to be done: not on accepting, which takes a look first."""
        (self.box.edit if self.box is not None else self.no).setFocus()

    def _name(self) -> None:
        if self.box is not None:
            self.box.edit.setAccessibleName(self.title.text())

    def _agreeing(self, question: Question | Busy | ToolsFound) -> Message:
        if isinstance(question, Busy):
            return msg("machinesui.ask.measure")
        if isinstance(question, ToolsFound):
            return msg("machinesui.ask.run")
        return msg("machinesui.ask.send" if question.secret else "machinesui.ask.accept")

    def _send(self) -> None:
        if self.box is None:
            self.answered.emit("yes")
            return
        typed = self.box.edit.text()
        self.box.edit.clear()
        self.answered.emit(typed)


def _kind(question: Question | Busy | ToolsFound) -> str:
    if isinstance(question, Question):
        return question.kind.value
    return "busy" if isinstance(question, Busy) else "tools"


def _said(question: Question | Busy | ToolsFound) -> MessageValue:
    """What is asked: the client's own words, or ours."""
    if isinstance(question, Question):
        return question.text.strip()
    if isinstance(question, Busy):
        return msg("machinesui.ask.busy.sure" if question.sure else "machinesui.ask.busy.maybe")
    lines = [
        msg(
            "machinesui.ask.tools.command",
            command=each.command.shown,
            limit=f"{each.command.limit_s:.0f}",
            note=each.note,
        )
        for each in question.commands
    ]
    said = lines[-1]
    for line in reversed(lines[:-1]):
        said = msg("machinesui.ask.tools.both", first=line, second=said)
    return said
