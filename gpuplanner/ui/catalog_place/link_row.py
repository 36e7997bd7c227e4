"""A row that leads somewhere: a name and a muted word at the left, a value and a muted word at the right."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.clickable import Clickable

_HEIGHT = 42
_ONE_LINE = 30
_SIDE = 6.0


class LinkRow(Clickable):
    """Goes somewhere with a click, Enter or Space. Texts are ready to be read; whoever shows it says them anew.

    A strong one stands alone, as a title; others stand in lists and have a line below.
    """

    def __init__(
        self,
        appearance: Appearance,
        name: str,
        value: str = "",
        note: str = "",
        value_note: str = "",
        tip: str = "",
        *,
        strong: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(appearance, parent)
        self._value = value
        self._role = TextRole.STRONG if strong else TextRole.BODY
        self._note = note
        self._value_note = value_note
        self.setText(name)
        self.setToolTip(tip or name)
        self.setAccessibleName(" · ".join(part for part in (name, note, value, value_note) if part))
        self.setFixedHeight(_HEIGHT if note or value_note else _ONE_LINE)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        alone = self._role is TextRole.STRONG
        if self.underMouse() and alone:
            rounded_box(painter, area, RADIUS_FIELD, tokens.hover)
        elif self.underMouse():
            painter.fillRect(area, tokens.hover)
        if not alone:
            painter.fillRect(QRectF(0, area.bottom() - 1, area.width(), 1), tokens.line)
        # In a list the words stand in one line with those of the facts above.
        side = _SIDE if alone else 0
        inside = area.adjusted(side, 3, -side, -4)
        two_lines = bool(self._note or self._value_note)
        upper = QRectF(inside.left(), inside.top(), inside.width(), inside.height() / 2) if two_lines else inside
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.setFont(font(TextRole.NUMBER))
        width = QFontMetricsF(painter.font()).horizontalAdvance(self._value) + 1
        draw_text(painter, upper.adjusted(upper.width() - width, 0, 0, 0), self._value, tokens.text, right)
        painter.setFont(font(self._role))
        draw_text(painter, upper.adjusted(0, 0, -width - 8 if self._value else 0, 0), self.text(), tokens.text)
        if two_lines:
            lower = upper.translated(0, inside.height() / 2)
            painter.setFont(font(TextRole.LABEL))
            width = QFontMetricsF(painter.font()).horizontalAdvance(self._value_note) + 1
            draw_text(painter, lower.adjusted(lower.width() - width, 0, 0, 0), self._value_note, tokens.muted, right)
            draw_text(painter, lower.adjusted(0, 0, -width - 8, 0), self._note, tokens.muted)
        self.paint_focus(painter)
