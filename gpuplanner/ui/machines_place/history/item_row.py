"""One run or live session of the list: a mark, its date, and what it is."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.machines_place.list_row import ListRow
from gpuplanner.ui.tokens import Verdict

_HEIGHT = 28


class ItemRow(ListRow):
    """Delete asks to take it out."""

    removeWanted = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(appearance, _HEIGHT, parent)
        self._name, self._note, self._mark = "", "", Verdict.UNKNOWN
        self._icon = ""

    def show_item(self, name: str, note: str, tip: str, mark: Verdict, icon: str = "") -> None:
        """Show one; `icon` stands in place of the mark of a verdict."""
        self._name, self._note, self._mark, self._icon = name, note, mark, icon
        self.setToolTip(tip)
        self.setAccessibleName(tip)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.removeWanted.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paint(self._name, self._note, self._appearance.tokens.muted, self._mark, self._icon)
