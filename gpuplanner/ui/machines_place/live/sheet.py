"""The strips of the live card on one sheet, under a title, for a picture or a drawing. Writes nothing."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter

from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.machines_place.live.strip_view import StripView
from gpuplanner.ui.painting import draw_text
from gpuplanner.ui.tokens import Tokens
from gpuplanner.ui.widgets.chart_export import painted_drawing, painted_picture

_WIDTH, _MARGIN, _TITLE, _BETWEEN = 900, 16, 26, 8


class Sheet:
    """`strips` below one another, as wide as a page."""

    def __init__(self, strips: Sequence[StripView], title: str, tokens: Tokens) -> None:
        self._strips = strips
        self._title = title
        self._tokens = tokens
        heights = sum(strip.sizeHint().height() + _BETWEEN for strip in strips)
        self._size = QSize(_WIDTH, 2 * _MARGIN + _TITLE + heights)

    def picture(self) -> bytes:
        """As PNG."""
        return painted_picture(self._size, QColor(self._tokens.card), self._paint)

    def drawing(self) -> bytes:
        """As SVG."""
        return painted_drawing(self._size, self._title, QColor(self._tokens.card), self._paint)

    def _paint(self, painter: QPainter) -> None:
        wide = _WIDTH - 2 * _MARGIN
        painter.setFont(font(TextRole.STRONG))
        draw_text(painter, QRectF(_MARGIN, _MARGIN - 4, wide, _TITLE), self._title, self._tokens.text)
        top = float(_MARGIN + _TITLE)
        for strip in self._strips:
            high = strip.sizeHint().height()
            strip.paint(painter, QRectF(_MARGIN, top, wide, high), self._tokens)
            top += high + _BETWEEN
