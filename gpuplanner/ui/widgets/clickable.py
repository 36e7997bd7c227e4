"""What a widget that paints itself and is clicked has in common: mouse, keyboard, hover and focus. Paints nothing."""

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QEnterEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import QAbstractButton, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.painting import focus_ring
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.focus import KeyboardFocus


class Clickable(KeyboardFocus, QAbstractButton):
    """A button without a look of its own: Enter and Space click it, and it repaints as the mouse comes and goes.

    Whoever derives from it paints, and calls `paint_focus` last.
    """

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.set_clickable(clickable=True)
        appearance.themeChanged.connect(self.update)

    def set_clickable(self, *, clickable: bool) -> None:
        """Whether there is anything to click: else neither Tab nor the cursor says so."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if clickable else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor if clickable else Qt.CursorShape.ArrowCursor)

    def paint_focus(self, painter: QPainter, area: QRectF | None = None, radius: float = RADIUS_FIELD) -> None:
        """The ring around the widget, where the keyboard is here."""
        if self.shows_focus:
            focus_ring(painter, area or QRectF(self.rect()), radius, self._appearance.tokens.primary)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()
