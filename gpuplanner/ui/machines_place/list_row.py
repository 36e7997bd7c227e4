"""What a row of a list of the place is: one of several, its neighbours by Up and Down; and how it is painted."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tokens import MARKS, RADIUS_FIELD, Verdict
from gpuplanner.ui.widgets.clickable import Clickable

_MARK = 16.0
_LEAST_WIDTH = 120


class ListRow(Clickable):
    """Checked while what it stands for is in sight; who shows it decides that."""

    def __init__(self, appearance: Appearance, height: int, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self._height = height
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(_LEAST_WIDTH, self._height)

    def nextCheckState(self) -> None:
        """Whoever shows it says which one is in sight."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Up, Qt.Key.Key_Down}:
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Down)
        else:
            super().keyPressEvent(event)

    def paint(self, name: str, beside: str, beside_ink: str, verdict: Verdict, icon: str = "") -> None:
        """A mark of a verdict, or an icon in its place; the name; and at the right a word, where there is room for it.

        The mark says the word too, and a tooltip should have it.
        """
        tokens, painter, area = self._appearance.tokens, painter_for(self), QRectF(self.rect())
        if self.isChecked() or self.underMouse():
            rounded_box(painter, area, RADIUS_FIELD, tokens.primary_wash if self.isChecked() else tokens.hover)
        mark = QRectF(8, (area.height() - _MARK) / 2, _MARK, _MARK)
        if icon:
            draw_icon(painter, icon, mark, tokens.muted)
        else:
            tone = tokens.tone(verdict)
            rounded_box(painter, mark, 4, tone.wash)
            painter.setFont(font(TextRole.TAG))
            draw_text(painter, mark, MARKS[verdict], tone.ink, Qt.AlignmentFlag.AlignCenter)
        width = min(QFontMetricsF(font(TextRole.LABEL)).horizontalAdvance(beside) + 2, area.width() * 0.5)
        if QFontMetricsF(font(TextRole.BODY)).horizontalAdvance(name) > area.width() - width - 48:
            width = 0.0
        painter.setFont(font(TextRole.LABEL))
        word = QRectF(area.right() - width - 8, 0, width, area.height())
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        draw_text(painter, word, beside if width else "", beside_ink, right)
        painter.setFont(font(TextRole.BODY))
        room = QRectF(32, 0, word.left() - 38, area.height())
        draw_text(painter, room, name, tokens.primary_ink if self.isChecked() else tokens.text)
        self.paint_focus(painter)
