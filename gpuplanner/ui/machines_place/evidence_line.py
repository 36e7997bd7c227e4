"""A line of what a tool printed, as a link to where it stands in the raw output. Takes it as it was read, as text."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from gpuplanner.messages import on_one_line, shortened
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tips import plain_tip
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.clickable import Clickable

_HEIGHT = 24
_ICON = 14.0
_SOURCE_SHARE = 0.4
"""Of the width, at most, for the name of the output."""
_MOST_SOURCE, _MOST_TEXT = 60, 300


class EvidenceLine(Clickable):
    """The line, and right of it the output that it stands in. `wanted` carries the output's name and the number."""

    wanted = Signal(str, int)

    def __init__(self, appearance: Appearance, seen: Seen) -> None:
        super().__init__(appearance)
        self._seen = seen
        self._quote = shortened(on_one_line(" ".join(seen.text.split())), _MOST_TEXT) or "–"
        self._source = shortened(on_one_line(seen.source), _MOST_SOURCE)
        self._where = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(lambda: self.wanted.emit(seen.source, seen.line))
        appearance.languageChanged.connect(self._render)
        self._render()

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter, area = painter_for(self), QRectF(self.rect())
        if self.underMouse():
            rounded_box(painter, area, RADIUS_FIELD, tokens.hover)
        ink = tokens.text if self.underMouse() else tokens.muted
        draw_icon(painter, "file-text", QRectF(6, (area.height() - _ICON) / 2, _ICON, _ICON), tokens.muted)
        metrics = QFontMetricsF(font(TextRole.LABEL))
        told = self._where_within(metrics, area.width() * _SOURCE_SHARE)
        right = metrics.horizontalAdvance(told) + 2
        painter.setFont(font(TextRole.LABEL))
        where = QRectF(area.right() - right - 8, 0, right, area.height())
        draw_text(painter, where, told, tokens.muted, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(font(TextRole.CODE))
        draw_text(painter, QRectF(26, 0, where.left() - 38, area.height()), self._quote, ink)
        self.paint_focus(painter)

    def _where_within(self, metrics: QFontMetricsF, room: float) -> str:
        """The place of the line, with the name of the output cut rather than the line's number."""
        beside = metrics.horizontalAdvance(self._said("")) + 2
        return self._said(metrics.elidedText(self._source, Qt.TextElideMode.ElideRight, max(0.0, room - beside)))

    def _said(self, source: str) -> str:
        return self._appearance.text("machinesui.detail.line", source=source, line=self._seen.line)

    def _render(self) -> None:
        self._where = self._said(self._source)
        self.setAccessibleName(f"{self._where}, {self._quote}")
        self.setToolTip(plain_tip(f"{self._where}\n{self._quote}"))
        self.update()
