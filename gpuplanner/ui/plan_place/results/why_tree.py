"""The derivation of one number as a tree: each step with its formula, each input with where it comes from."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
)

from gpuplanner.engine.explaining import ExplanationRow, equation_text, row_value
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, rounded_box
from gpuplanner.ui.plan_place.results.see_through import see_through
from gpuplanner.ui.plan_place.results.why_model import ROW, Index, WhyModel, row_name, row_origin
from gpuplanner.ui.tokens import RADIUS_TAG

_ROW_HEIGHT = 26
_INDENT = 18
_PADDING = 4
_WRAP = Qt.TextFlag.TextWordWrap
_HEIGHTS_KEPT = 2_000


class WhyTree(QTreeView):
    """As high as its rows, so that the card around it scrolls and not the tree."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self.stale = False
        self._heights: dict[tuple[str, int], int] = {}
        self._tree = WhyModel(appearance, self)
        self.setModel(self._tree)
        self.setItemDelegate(_WhyDelegate(appearance, self))
        self.setHeaderHidden(True)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setIndentation(_INDENT)
        self.setUniformRowHeights(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setExpandsOnDoubleClick(False)
        self.setPalette(see_through())
        self.viewport().setAutoFillBackground(False)
        self.clicked.connect(self._toggle)
        self.expanded.connect(self._fit)
        self.collapsed.connect(self._fit)
        appearance.languageChanged.connect(self._rename)
        appearance.languageChanged.connect(self._fit)
        appearance.displayChanged.connect(self.viewport().update)
        self._rename()

    def set_stale(self, stale: bool) -> None:
        """Mute the rows while those of the next estimate are on their way."""
        if stale != self.stale:
            self.stale = stale
            self.viewport().update()

    def show_rows(self, rows: Sequence[ExplanationRow]) -> None:
        """Show another derivation, its first level open; of the same number what was open stays so."""
        opened = self._open_paths() if self._same_number(rows) else set()
        opened.add(())
        self._tree.set_rows(rows)
        with QSignalBlocker(self):
            # Once when all are open, and not for each of them.
            self._open(opened)
        self._fit()

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        # Some styles paint a background of their own behind every row.
        painter.fillRect(rect, self._appearance.tokens.card)
        if not self._tree.hasChildren(index):
            return
        name = "chevron-down" if self.isExpanded(index) else "chevron-right"
        box = QRectF(rect.right() - 14, rect.top() + (_ROW_HEIGHT - 12) / 2, 12, 12)
        draw_icon(painter, name, box, self._appearance.tokens.muted)

    def _same_number(self, rows: Sequence[ExplanationRow]) -> bool:
        root = self._tree.index(0, 0)
        return bool(rows) and root.isValid() and root.data(ROW).name_id == rows[0].name_id

    def _open_paths(self) -> set[tuple[int, ...]]:
        """Which rows are open, each by its places below the root."""
        found: set[tuple[int, ...]] = set()
        waiting: list[tuple[tuple[int, ...], QModelIndex]] = [((), self._tree.index(0, 0))]
        while waiting:
            path, index = waiting.pop()
            if self.isExpanded(index):
                found.add(path)
                waiting += [((*path, at), self._tree.index(at, 0, index)) for at in range(self._tree.rowCount(index))]
        return found

    def _open(self, paths: set[tuple[int, ...]]) -> None:
        for path in sorted(paths, key=len):
            index = self._tree.index(0, 0)
            for place in path:
                index = self._tree.index(place, 0, index)
            if index.isValid():
                self.setExpanded(index, True)

    def _toggle(self, index: QModelIndex) -> None:
        if self._tree.hasChildren(index):
            self.setExpanded(index, not self.isExpanded(index))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            # Equations wrap at another place now.
            self.scheduleDelayedItemsLayout()
            self._fit()

    def row_height(self, index: Index) -> int:
        """How high a row is: an equation takes the lines that it needs."""
        row: ExplanationRow = index.data(ROW)
        if row.formula is None or not row.formula.equation:
            return _ROW_HEIGHT
        width = self.viewport().width() - (row.depth + 1) * _INDENT - 2 * _PADDING
        return _ROW_HEIGHT + self._lines_height(row.formula.equation, max(80, width))

    def _lines_height(self, equation: str, width: int) -> int:
        """How high the lines of an equation are. The same equations come again with every estimate."""
        known = self._heights.get((equation, width))
        if known is None:
            if len(self._heights) >= _HEIGHTS_KEPT:
                self._heights.clear()
            text = f"= {equation_text(equation, self._appearance.translator)}"
            room = QRectF(0, 0, width, 1000)
            lines = QFontMetricsF(font(TextRole.LABEL)).boundingRect(room, _WRAP, text).height()
            known = self._heights[equation, width] = int(lines) + 1
        return known

    def _fit(self) -> None:
        height = 0
        index = self._tree.index(0, 0)
        while index.isValid():
            height += self.row_height(index)
            index = self.indexBelow(index)
        self.setFixedHeight(height + 2)

    def _rename(self) -> None:
        self._heights.clear()
        self.setAccessibleName(self._appearance.text("planui.why"))
        self.viewport().update()


class _WhyDelegate(QStyledItemDelegate):
    def __init__(self, appearance: Appearance, tree: WhyTree) -> None:
        super().__init__(tree)
        self._appearance = appearance
        self._tree = tree

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, self._tree.row_height(index))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        appearance = self._appearance
        tokens = appearance.tokens
        row: ExplanationRow = index.data(ROW)
        area = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(area, tokens.card)
        if option.state & QStyle.StateFlag.State_HasFocus:
            rounded_box(painter, area.adjusted(0, 1, 0, -1), RADIUS_TAG, tokens.primary_wash)
        elif option.state & QStyle.StateFlag.State_MouseOver:
            rounded_box(painter, area.adjusted(0, 1, 0, -1), RADIUS_TAG, tokens.hover)
        inside = area.adjusted(_PADDING, 0, -_PADDING, 0)
        value = row_value(row, appearance.translator, appearance.display)
        painter.setFont(font(TextRole.NUMBER))
        value_width = QFontMetricsF(painter.font()).horizontalAdvance(value) + 2
        top = QRectF(inside.left(), inside.top(), inside.width(), _ROW_HEIGHT)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        beside = QRectF(top.right() - value_width, top.top(), value_width, _ROW_HEIGHT)
        ink = tokens.muted if self._tree.stale else tokens.text
        draw_text(painter, beside, value, ink, right)
        room = top.width() - value_width - 12
        painter.setFont(font(TextRole.BODY))
        name = row_name(row, appearance)
        name_width = min(QFontMetricsF(painter.font()).horizontalAdvance(name) + 1, room)
        draw_text(painter, QRectF(top.left(), top.top(), name_width, _ROW_HEIGHT), name, ink)
        painter.setFont(font(TextRole.LABEL))
        origin = row_origin(row, appearance, brief=True)
        if origin and room - name_width > 30:
            after = QRectF(top.left() + name_width + 7, top.top(), room - name_width - 7, _ROW_HEIGHT)
            draw_text(painter, after, origin, tokens.muted)
        if row.formula is not None and row.formula.equation:
            equation = f"= {equation_text(row.formula.equation, appearance.translator)}"
            below = inside.adjusted(0, _ROW_HEIGHT - 4, 0, 4)
            painter.setPen(QColor(tokens.muted))
            painter.drawText(below, _WRAP, equation)
        painter.restore()
