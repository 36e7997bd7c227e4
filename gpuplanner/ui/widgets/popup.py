"""A pop-up window with the look of a card: closes with Escape, round where the screen can show that, else square."""

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QApplication, QFrame, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.compositing import composited
from gpuplanner.ui.painting import painter_for, rounded_box
from gpuplanner.ui.tokens import RADIUS_CARD


class Popup(QFrame):
    """Deleted when it closes. Without a compositor what should be translucent is black, so its corners are square."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._appearance = appearance
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        application = QApplication.instance()
        self.round = isinstance(application, QApplication) and composited(application)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, self.round)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        # A line edit would leave Escape to a shortcut of the window behind.
        overrides = event.type() == QEvent.Type.ShortcutOverride
        if overrides and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        radius = RADIUS_CARD if self.round else 0
        rounded_box(painter_for(self), QRectF(self.rect()), radius, tokens.card, tokens.line_strong)
