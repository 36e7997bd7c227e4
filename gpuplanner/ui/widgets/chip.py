"""A filter in force, as a chip that can be taken away by mouse or keyboard."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.clickable import Clickable

_HEIGHT = 26


class Chip(Clickable):
    """Says a filter ("Memory ≥ 16 GB"). A click, Delete or Backspace removes it: `removed`."""

    removed = Signal()

    def __init__(self, appearance: Appearance, says: MessageValue, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self._says = says
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self.removed)
        appearance.languageChanged.connect(self._render)
        self._render()

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(font(TextRole.LABEL)).horizontalAdvance(self.text())
        return QSize(int(width + 10 + 5 + 13 + 8 + 1), _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(min(80, self.sizeHint().width()), _HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Delete, Qt.Key.Key_Backspace}:
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
        self.paint_focus(painter)

    def _render(self) -> None:
        self.setText(self._appearance.said(self._says))
        remove: Message = msg("ui.chip.remove", what=self._says)
        self.setAccessibleName(self._appearance.text(remove))
        self.setToolTip(self._appearance.text(remove))
        self.updateGeometry()
        self.update()
