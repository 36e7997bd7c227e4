"""What lies over the window while a file is dragged across it: that it can be dropped, and what becomes of it."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tokens import GAP, RADIUS_CARD

_VEIL = 0.86
_LINE = 2.0
_CARD = 72.0
_AROUND = 32.0


class DropVeil(QWidget):
    """Covers its parent and lets the mouse and the drag through."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def open(self) -> None:
        """Lie over everything."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()

    def says(self) -> str:
        """What is written on it."""
        return self._appearance.text(msg("ui.drop.says"))

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        veil = QColor(tokens.primary_wash)
        veil.setAlphaF(_VEIL)
        painter.fillRect(self.rect(), veil)
        area = QRectF(self.rect()).adjusted(GAP, GAP, -GAP, -GAP)
        rounded_box(painter, area, RADIUS_CARD, None)
        painter.setPen(QPen(QColor(tokens.primary), _LINE, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(area, RADIUS_CARD, RADIUS_CARD)
        painter.setFont(font(TextRole.HEADLINE))
        # On a card: what lies below would run through the words.
        width = min(area.width() - 2 * GAP, QFontMetricsF(painter.font()).horizontalAdvance(self.says()) + 2 * _AROUND)
        card = QRectF(area.center().x() - width / 2, area.center().y() - _CARD / 2, width, _CARD)
        rounded_box(painter, card, RADIUS_CARD, tokens.card, tokens.primary)
        draw_text(painter, card, self.says(), tokens.primary_ink, Qt.AlignmentFlag.AlignCenter)
