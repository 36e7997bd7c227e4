"""One run or live session of the list: a mark, its date, and what it is. Paints itself."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tokens import MARKS, RADIUS_FIELD, Verdict
from gpuplanner.ui.widgets.clickable import Clickable

_HEIGHT = 28
_MARK = 16.0


class ItemRow(Clickable):
    """Up and Down go to its neighbours, Delete asks to take it out."""

    removeWanted = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(appearance, parent)
        self._name, self._note, self._mark = "", "", Verdict.UNKNOWN
        self._icon = ""
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_item(self, name: str, note: str, tip: str, mark: Verdict, icon: str = "") -> None:
        """Show one; `icon` stands in place of the mark of a verdict."""
        self._name, self._note, self._mark, self._icon = name, note, mark, icon
        self.setToolTip(tip)
        self.setAccessibleName(tip)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, _HEIGHT)

    def nextCheckState(self) -> None:
        """Whoever shows the item says which one is in sight."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Up, Qt.Key.Key_Down}:
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Down)
        elif event.key() == Qt.Key.Key_Delete:
            self.removeWanted.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        if self.isChecked() or self.underMouse():
            rounded_box(painter, area, RADIUS_FIELD, tokens.primary_wash if self.isChecked() else tokens.hover)
        mark = QRectF(8, (area.height() - _MARK) / 2, _MARK, _MARK)
        if self._icon:
            draw_icon(painter, self._icon, mark, tokens.muted)
        else:
            tone = tokens.tone(self._mark)
            rounded_box(painter, mark, 4, tone.wash)
            painter.setFont(font(TextRole.TAG))
            draw_text(painter, mark, MARKS[self._mark], tone.ink, Qt.AlignmentFlag.AlignCenter)
        painter.setFont(font(TextRole.LABEL))
        width = min(QFontMetricsF(painter.font()).horizontalAdvance(self._note) + 2, area.width() * 0.5)
        if QFontMetricsF(font(TextRole.BODY)).horizontalAdvance(self._name) > area.width() - width - 48:
            width = 0.0  # The tooltip has it.
        note = QRectF(area.right() - width - 8, 0, width, area.height())
        draw_text(
            painter,
            note,
            self._note if width else "",
            tokens.muted,
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
        )
        painter.setFont(font(TextRole.BODY))
        name = QRectF(32, 0, note.left() - 38, area.height())
        draw_text(painter, name, self._name, tokens.primary_ink if self.isChecked() else tokens.text)
        self.paint_focus(painter)
