"""A command that a person may run there: as text that can be selected, with a button that copies it. Runs nothing."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Label


class CommandRow(QWidget):
    """The command and a button beside it."""

    def __init__(self, appearance: Appearance, command: str) -> None:
        super().__init__()
        self.command = command
        self.says = Label(appearance, command, TextRole.CODE, wrap=True, selectable=True)
        self.says.setAccessibleName(command)
        self.copy = Button(appearance, msg("causeui.copy"), ButtonKind.QUIET, icon="copy", icon_only=True, small=True)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(command))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.says, 1)
        row.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignTop)
