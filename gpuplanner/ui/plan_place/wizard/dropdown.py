"""A field that shows what is chosen and opens something to choose from: a menu or a picker."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for, rounded_box
from gpuplanner.ui.tokens import CONTROL_HEIGHT, RADIUS_FIELD

_PADDING = 11.0
_CHEVRON = 14.0


class Dropdown(QAbstractButton):
    """What is chosen, a muted note after it, and a chevron. Enter, Space and Down open it too."""

    opened = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._note = ""
        self._muted = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self.opened)
        appearance.themeChanged.connect(self.update)

    def show_choice(self, text: str, note: str = "", *, muted: bool = False) -> None:
        """Show what is chosen; muted when it stands for nothing chosen."""
        self._note = note
        self._muted = muted
        self.setText(text)
        self.setAccessibleDescription(f"{text} {note}".strip())
        self.update()

    def note(self) -> str:
        """The muted note."""
        return self._note

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(font(TextRole.BODY))
        width = metrics.horizontalAdvance(self.text()) + metrics.horizontalAdvance(self._note)
        return QSize(int(width + 2 * _PADDING + _CHEVRON + 20), CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(70, CONTROL_HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down}:
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        border = tokens.line_strong if self.underMouse() and self.isEnabled() else tokens.line
        rounded_box(painter, area, RADIUS_FIELD, tokens.field if self.isEnabled() else tokens.track, border)
        chevron = QRectF(area.right() - _CHEVRON - 8, (area.height() - _CHEVRON) / 2, _CHEVRON, _CHEVRON)
        draw_icon(painter, "chevron-down", chevron, tokens.muted)
        painter.setFont(font(TextRole.BODY))
        metrics = QFontMetricsF(painter.font())
        room = chevron.left() - 6 - _PADDING
        note_width = min(metrics.horizontalAdvance(self._note) + 1, room / 2) if self._note else 0.0
        text_width = room - note_width - (8 if self._note else 0)
        ink = tokens.muted if self._muted or not self.isEnabled() else tokens.text
        draw_text(painter, QRectF(_PADDING, 0, text_width, area.height()), self.text(), ink)
        if self._note:
            box = QRectF(chevron.left() - 6 - note_width, 0, note_width, area.height())
            draw_text(painter, box, self._note, tokens.muted)
        if self.hasFocus():
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)
