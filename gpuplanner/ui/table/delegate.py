"""Paints the cells of a table in the theme's colours, the same over every style."""

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, focus_ring, rounded_box
from gpuplanner.ui.table.arrangement import TICK_WIDTH
from gpuplanner.ui.table.columns import Look
from gpuplanner.ui.table.header import PADDING
from gpuplanner.ui.table.model import PagedModel
from gpuplanner.ui.tokens import ROW_HEIGHT, Tokens
from gpuplanner.ui.widgets.verdict_tag import draw_tag

State = QStyle.StateFlag


class CellDelegate(QStyledItemDelegate):
    """Text left or right, tags, ticks, marks; a wash under the selected rows and a ring around the current cell."""

    def __init__(self, appearance: Appearance, model: PagedModel, parent: QObject) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._model = model
        self.hovered_row = -1
        self._body = font(TextRole.NUMBER)
        self._strong = font(TextRole.STRONG)
        self._small = font(TextRole.LABEL)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(60, ROW_HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        tokens = self._appearance.tokens
        painter.save()
        area = QRectF(option.rect)
        chosen = bool(option.state & State.State_Selected)
        hovered = index.row() == self.hovered_row
        painter.fillRect(area, tokens.primary_wash if chosen else tokens.hover if hovered else tokens.card)
        painter.fillRect(QRectF(area.left(), area.bottom() - 1, area.width(), 1), tokens.line)
        # Only now: the edges of neighbouring cells would show as seams where a pixel is not whole.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look = self._model.look_at(index.row(), index.column())
        column = self._model.columns[index.column()]
        inside = area.adjusted(PADDING, 0, -PADDING, -1)
        if look is not None:
            self._paint_look(painter, inside, look, tokens, right=column.right)
        else:
            painter.setFont(self._small)
            draw_text(painter, inside, "…", tokens.muted)
        if option.state & State.State_HasFocus:
            focus_ring(painter, area.adjusted(1, 1, -1, -2), 4, tokens.primary)
        painter.restore()

    def _paint_look(self, painter: QPainter, inside: QRectF, look: Look, tokens: Tokens, *, right: bool) -> None:
        if look.check is not None:
            self._paint_check(painter, inside, tokens, checked=look.check)
            inside = inside.adjusted(TICK_WIDTH, 0, 0, 0)
        if look.verdict is not None:
            draw_tag(painter, inside, look.verdict, look.text, tokens)
            return
        if look.mark:
            painter.setFont(self._small)
            width = QFontMetricsF(self._small).horizontalAdvance(look.mark)
            draw_text(
                painter,
                QRectF(inside.right() - width, inside.top(), width + 1, inside.height()),
                look.mark,
                tokens.muted,
            )
            inside = inside.adjusted(0, 0, -width - 5, 0)
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        face = self._strong if look.strong else self._body
        ink = tokens.muted if look.muted else tokens.text
        painter.setFont(face)
        if not look.note:
            draw_text(painter, inside, look.text, ink, side | Qt.AlignmentFlag.AlignVCenter)
        elif inside.height() > ROW_HEIGHT + 6:
            middle = inside.center().y()
            upper = QRectF(inside.left(), middle - 18, inside.width(), 18)
            draw_text(painter, upper, look.text, ink, side | Qt.AlignmentFlag.AlignVCenter)
            painter.setFont(self._small)
            draw_text(painter, upper.translated(0, 18), look.note, tokens.muted, side | Qt.AlignmentFlag.AlignVCenter)
        else:
            width = min(QFontMetricsF(face).horizontalAdvance(look.text) + 1, inside.width())
            draw_text(painter, inside, look.text, ink)
            painter.setFont(self._small)
            draw_text(painter, inside.adjusted(width + 6, 0, 0, 0), look.note, tokens.muted)

    def _paint_check(self, painter: QPainter, inside: QRectF, tokens: Tokens, *, checked: bool) -> None:
        box = QRectF(inside.left(), inside.center().y() - 8, 16, 16)
        if checked:
            rounded_box(painter, box, 4, tokens.primary)
            draw_icon(painter, "check", box.adjusted(2, 2, -2, -2), tokens.on_primary)
        else:
            rounded_box(painter, box, 4, tokens.field, tokens.line_strong)
