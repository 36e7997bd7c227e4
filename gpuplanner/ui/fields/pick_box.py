"""A field that shows what is chosen and asks for something to choose from: a search over more than a list can hold."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent
from PySide6.QtWidgets import QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.tokens import CONTROL_HEIGHT


class PickBox(ChoiceBox):
    """Looks like a choice box; in place of its list `opened` is emitted, by the mouse and by Enter, Space and Down."""

    opened = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        self._text = ""
        self._note = ""
        self._muted = False
        super().__init__(appearance, parent=parent)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_choice(self, text: str, note: str = "", *, muted: bool = False) -> None:
        """Show what is chosen; muted when it stands for nothing chosen."""
        self._text, self._note, self._muted = text, note, muted
        self.setAccessibleDescription(f"{text} {note}".strip())
        self.updateGeometry()
        self.update()

    def text(self) -> str:
        """What is shown as chosen."""
        return self._text

    def note(self) -> str:
        """The muted note."""
        return self._note

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self._face)
        width = metrics.horizontalAdvance(self._text) + metrics.horizontalAdvance(self._note)
        return QSize(int(width) + 56, CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(70, CONTROL_HEIGHT)

    def showPopup(self) -> None:
        self.opened.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down, Qt.Key.Key_Space}:
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def _shown(self, metrics: QFontMetricsF, room: float) -> tuple[str, str, bool]:
        return self._text, self._note, self._muted or not self.isEnabled()
