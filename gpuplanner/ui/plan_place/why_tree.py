"""The derivation of one number as a tree: each step with its formula, each input with where it comes from. No texts
of its own: the rows are those of `engine/explaining.py`.
"""

import re
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from gpuplanner.engine.explaining import ExplanationRow, row_value
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, rounded_box
from gpuplanner.ui.plan_place.captions import named
from gpuplanner.ui.plan_place.see_through import see_through
from gpuplanner.ui.tokens import RADIUS_TAG

_ROW = 26
_TALL_ROW = 42
_INDENT = 18
_OPEN_DEPTH = 1
_DATA = Qt.ItemDataRole.UserRole
_TERM = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+|\b[a-z]{3,}\b(?!\()")
_PLACES = {"·": "×", "*": "×", "/": "÷", "-": "−"}


def equation_text(equation: str, appearance: Appearance) -> str:
    """An equation with the names of its terms in words, in the language in use."""
    words = _TERM.sub(lambda found: named("term", found[0], appearance), equation)
    return "".join(_PLACES.get(c, c) for c in words)


def row_name(row: ExplanationRow, appearance: Appearance) -> str:
    """What a row is called."""
    prefix, _, item_id = row.name_id.partition(".")
    return named(prefix, item_id, appearance)


def row_origin(row: ExplanationRow, appearance: Appearance) -> str:
    """Where an input comes from: its kind, what is noted, its source and date."""
    parts = []
    if row.certainty is not None:
        parts.append(appearance.text(f"certainty.{row.certainty.name.lower()}"))
    if row.origin is not None and row.origin.note is not None:
        parts.append(appearance.text(row.origin.note))
    parts += [part for part in (row.source, row.date) if part]
    return " · ".join(dict.fromkeys(parts))


class WhyTree(QTreeView):
    """As high as its rows, so that the card around it scrolls and not the tree."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._rows: Sequence[ExplanationRow] = ()
        self._model = QStandardItemModel(0, 1, self)
        self.setModel(self._model)
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
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._fill)

    def show_rows(self, rows: Sequence[ExplanationRow]) -> None:
        """Show another derivation, its first level open."""
        self._rows = rows
        self._fill()

    def drawBranches(self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex) -> None:
        # Some styles paint a background of their own behind every row.
        painter.fillRect(rect, self._appearance.tokens.card)
        if not self._model.hasChildren(index):
            return
        name = "chevron-down" if self.isExpanded(index) else "chevron-right"
        box = QRectF(rect.right() - 14, rect.top() + (_ROW - 12) / 2, 12, 12)
        draw_icon(painter, name, box, self._appearance.tokens.muted)

    def _toggle(self, index: QModelIndex) -> None:
        if self._model.hasChildren(index):
            self.setExpanded(index, not self.isExpanded(index))

    def _fill(self) -> None:
        self._model.clear()
        path: list[QStandardItem] = []
        for row in self._rows:
            item = QStandardItem()
            item.setData(row, _DATA)
            self._say(item, row)
            del path[row.depth :]
            (path[-1] if path else self._model.invisibleRootItem()).appendRow(item)
            path.append(item)
        self.expandToDepth(_OPEN_DEPTH - 1)
        self._fit()

    def _say(self, item: QStandardItem, row: ExplanationRow) -> None:
        name, value = row_name(row, self._appearance), row_value(row, self._appearance.display)
        lines = [f"{name} = {value}"]
        if row.formula is not None:
            lines.append(f"= {equation_text(row.formula.equation, self._appearance)}")
            if row.formula.reference:
                lines.append(row.formula.reference)
        origin = row_origin(row, self._appearance)
        if origin:
            lines.append(origin)
        item.setToolTip("\n".join(lines))
        item.setData("; ".join(lines), Qt.ItemDataRole.AccessibleTextRole)

    def _fit(self) -> None:
        height = 0
        index = self._model.index(0, 0)
        while index.isValid():
            height += _height(index.data(_DATA))
            index = self.indexBelow(index)
        self.setFixedHeight(height + 2)


def _height(row: ExplanationRow) -> int:
    return _TALL_ROW if row.formula is not None and row.formula.equation else _ROW


class _WhyDelegate(QStyledItemDelegate):
    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, _height(index.data(_DATA)))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        appearance = self._appearance
        tokens = appearance.tokens
        row: ExplanationRow = index.data(_DATA)
        area = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(area, tokens.card)
        if option.state & QStyle.StateFlag.State_HasFocus:
            rounded_box(painter, area.adjusted(0, 1, 0, -1), RADIUS_TAG, tokens.primary_wash)
        elif option.state & QStyle.StateFlag.State_MouseOver:
            rounded_box(painter, area.adjusted(0, 1, 0, -1), RADIUS_TAG, tokens.hover)
        inside = area.adjusted(4, 0, -4, 0)
        value = row_value(row, appearance.display)
        painter.setFont(font(TextRole.NUMBER))
        value_width = QFontMetricsF(painter.font()).horizontalAdvance(value) + 2
        top = QRectF(inside.left(), inside.top(), inside.width(), _ROW)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        draw_text(painter, QRectF(top.right() - value_width, top.top(), value_width, _ROW), value, tokens.text, right)
        room = top.width() - value_width - 12
        painter.setFont(font(TextRole.BODY))
        name = row_name(row, appearance)
        name_width = min(QFontMetricsF(painter.font()).horizontalAdvance(name) + 1, room)
        draw_text(painter, QRectF(top.left(), top.top(), name_width, _ROW), name, tokens.text)
        painter.setFont(font(TextRole.LABEL))
        origin = row_origin(row, appearance)
        if origin and room - name_width > 30:
            beside = QRectF(top.left() + name_width + 7, top.top(), room - name_width - 7, _ROW)
            draw_text(painter, beside, origin, tokens.muted)
        if row.formula is not None and row.formula.equation:
            equation = f"= {equation_text(row.formula.equation, appearance)}"
            below = QRectF(inside.left(), inside.top() + _ROW - 4, inside.width(), _TALL_ROW - _ROW)
            draw_text(painter, below, equation, tokens.muted)
        painter.restore()
