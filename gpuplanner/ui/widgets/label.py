"""A label that says a message and says it again when the language changes."""

from enum import Enum

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font


class Ink(Enum):
    """The colour of a label, as a role of the palette, so that it follows the theme by itself."""

    TEXT = QPalette.ColorRole.WindowText
    MUTED = QPalette.ColorRole.PlaceholderText
    PRIMARY = QPalette.ColorRole.Link
    FAIL = QPalette.ColorRole.BrightText


class Label(QLabel):
    """Text in one of the roles and inks of the design. Give a Message for our words, a text for somebody's own."""

    def __init__(
        self,
        appearance: Appearance,
        says: MessageValue = "",
        role: TextRole = TextRole.BODY,
        ink: Ink = Ink.TEXT,
        *,
        wrap: bool = False,
        selectable: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._says: MessageValue = says
        self.setFont(font(role))
        self.setForegroundRole(ink.value)
        self.setTextFormat(Qt.TextFormat.PlainText)
        if wrap:
            self.setWordWrap(True)
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        if selectable:
            self.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        appearance.languageChanged.connect(self._render)
        self._render()

    def say(self, says: MessageValue) -> None:
        """Say something else."""
        if says != self._says:
            self._says = says
            self._render()

    def set_role(self, role: TextRole, ink: Ink) -> None:
        """Change size, weight and colour."""
        self.setFont(font(role))
        self.setForegroundRole(ink.value)

    def _render(self) -> None:
        self.setText(self._appearance.said(self._says))
