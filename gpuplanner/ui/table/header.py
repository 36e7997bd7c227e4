"""The header of a table: title and unit below it, and the marks of the keys it is sorted by."""

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFontMetricsF, QMouseEvent, QPainter
from PySide6.QtWidgets import QHeaderView, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text
from gpuplanner.ui.table.model import PagedModel

PADDING = 8.0
_MARK = 12.0


class DataHeader(QHeaderView):
    """Clicking sorts; with Shift it adds a key. Sections can be moved and resized."""

    sortClicked = Signal(int, bool)
    menuWanted = Signal(int, object)

    def __init__(self, appearance: Appearance, model: PagedModel, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._appearance = appearance
        self._model = model
        self._pressed_at: tuple[int, int] | None = None
        self.setSectionsClickable(True)
        self.setSectionsMovable(True)
        self.setHighlightSections(False)
        self.setMinimumSectionSize(44)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        appearance.themeChanged.connect(self._repaint)

    def sizeHint(self) -> QSize:
        two_lines = any(column.unit(self._appearance.display) for column in self._model.columns)
        return QSize(super().sizeHint().width(), 42 if two_lines else 32)

    def wanted_width(self, section: int) -> int:
        """How wide a section has to be to show its title, its unit and a mark."""
        metrics = QFontMetricsF(font(TextRole.LABEL))
        *above, last = str(self._model.headerData(section, Qt.Orientation.Horizontal) or "").split("\n")
        mark = _MARK + 6 if self._model.columns[section].sortable else 0
        widths = (*(metrics.horizontalAdvance(line) for line in above), metrics.horizontalAdvance(last) + mark)
        return int(max(widths) + 2 * PADDING + 1)

    def paintSection(self, painter: QPainter, area: QRect, section: int) -> None:
        tokens = self._appearance.tokens
        column = self._model.columns[section]
        painter.save()
        painter.fillRect(area, tokens.card)
        painter.fillRect(area.left(), area.bottom(), area.width(), 1, tokens.line_strong)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        title, _, unit = str(self._model.headerData(section, Qt.Orientation.Horizontal) or "").partition("\n")
        inside = QRectF(area).adjusted(PADDING, 4, -PADDING, -5)
        half = inside.height() / 2
        upper = QRectF(inside.left(), inside.top(), inside.width(), half)
        lower = upper.translated(0, half) if unit else inside
        key = self._model.seen_order.of(column.id)
        if key is not None:
            # Beside the unit, which is short, so that titles need no room for it.
            lower = self._paint_mark(painter, lower, column.id, descending=key.descending, right=column.right)
        side = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
        painter.setFont(font(TextRole.LABEL))
        ink = tokens.text if key is not None else tokens.muted
        if unit:
            draw_text(painter, upper, title, ink, side | Qt.AlignmentFlag.AlignBottom)
            draw_text(painter, lower, unit, tokens.muted, side | Qt.AlignmentFlag.AlignTop)
        else:
            draw_text(painter, lower, title, ink, side | Qt.AlignmentFlag.AlignVCenter)
        painter.restore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        self._pressed_at = (self.logicalIndexAt(at), self.sectionPosition(self.logicalIndexAt(at)))
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        resizing = self.cursor().shape() == Qt.CursorShape.SplitHCursor
        super().mouseReleaseEvent(event)
        section = self.logicalIndexAt(event.position().toPoint())
        here = (section, self.sectionPosition(section))
        # Neither the end of a move nor that of a resize is a click.
        if event.button() is Qt.MouseButton.LeftButton and section >= 0 and here == self._pressed_at and not resizing:
            also = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.sortClicked.emit(section, also)
        self._pressed_at = None

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menuWanted.emit(self.logicalIndexAt(event.pos()), event.globalPos())

    def _paint_mark(self, painter: QPainter, inside: QRectF, column: str, *, descending: bool, right: bool) -> QRectF:
        """The arrow, and its rank where there are several keys. Returns the room that is left."""
        tokens = self._appearance.tokens
        several = len(self._model.seen_order.keys) > 1
        width = _MARK + (7 if several else 0)
        left = inside.left() if right else inside.right() - width
        arrow = QRectF(left, inside.center().y() - _MARK / 2, _MARK, _MARK)
        draw_icon(painter, "arrow-down" if descending else "arrow-up", arrow, tokens.primary_ink)
        if several:
            painter.setFont(font(TextRole.TAG))
            rank = str(self._model.seen_order.rank(column))
            draw_text(painter, QRectF(arrow.right(), inside.top(), 8, inside.height()), rank, tokens.primary_ink)
        return inside.adjusted(width + 3, 0, 0, 0) if right else inside.adjusted(0, 0, -width - 3, 0)

    def _repaint(self) -> None:
        self.viewport().update()
