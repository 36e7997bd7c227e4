"""A filter in force, as a chip that can be taken away by mouse or keyboard."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for, rounded_box
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.focus import KeyboardFocus

_HEIGHT = 26


class Chip(KeyboardFocus, QAbstractButton):
    """Says a filter ("Memory ≥ 16 GB"). A click, Delete or Backspace removes it: `removed`."""

    removed = Signal()

    def __init__(self, appearance: Appearance, says: MessageValue, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._says = says
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(self.removed)
        appearance.languageChanged.connect(self._render)
        appearance.themeChanged.connect(self.update)
        self._render()

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(font(TextRole.LABEL)).horizontalAdvance(self.text())
        return QSize(int(width + 10 + 5 + 13 + 8 + 1), _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(min(80, self.sizeHint().width()), _HEIGHT)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        rounded_box(painter, area, RADIUS_FIELD, tokens.line if self.underMouse() else tokens.track)
        painter.setFont(font(TextRole.LABEL))
        draw_text(painter, area.adjusted(10, 0, -26, 0), self.text(), tokens.text)
        cross = tokens.text if self.underMouse() else tokens.muted
        draw_icon(painter, "x", QRectF(area.right() - 21, area.center().y() - 6.5, 13, 13), cross)
        if self.shows_focus:
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)

    def _render(self) -> None:
        self.setText(self._appearance.said(self._says))
        remove: Message = msg("ui.chip.remove", what=self._says)
        self.setAccessibleName(self._appearance.text(remove))
        self.setToolTip(self._appearance.text(remove))
        self.updateGeometry()
        self.update()
