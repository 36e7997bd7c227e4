"""A derivation as a tree for Qt: what a row says is worked out when it is looked at. Rows come from the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from gpuplanner.engine.explaining import ExplanationRow, equation_text, reference_text, row_value, short_source
from gpuplanner.figures import Certainty
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.painting import with_capital
from gpuplanner.ui.plan_place.captions import named

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole
"""The role under which a delegate finds the row."""
_NONE = QModelIndex()
_SAID_BY_NOTE = frozenset({Certainty.USER, Certainty.CALIBRATED})
"""Kinds that the note of an origin says too."""


def row_name(row: ExplanationRow, appearance: Appearance) -> str:
    """What a row is called. A term is a part of sentences elsewhere; here it stands alone."""
    prefix, _, item_id = row.name_id.partition(".")
    return with_capital(named(prefix, item_id, appearance))


def row_origin(row: ExplanationRow, appearance: Appearance, *, brief: bool = False) -> str:
    """Where an input comes from: its kind, what is noted, its source and date. `brief`: a long source by its name."""
    parts = []
    note = row.origin.note if row.origin is not None else None
    if row.certainty is not None and not (note is not None and row.certainty in _SAID_BY_NOTE):
        parts.append(appearance.text(f"certainty.{row.certainty.name.lower()}"))
    if note is not None:
        parts.append(appearance.text(note))
    source = short_source(row.source) if brief else row.source
    parts += [part for part in (source, row.date) if part]
    return " · ".join(dict.fromkeys(parts))


def row_lines(row: ExplanationRow, appearance: Appearance) -> list[str]:
    """Everything about a row: name and value, equation, reference, origin."""
    lines = [f"{row_name(row, appearance)} = {row_value(row, appearance.translator, appearance.display)}"]
    if row.formula is not None:
        lines.append(f"= {equation_text(row.formula.equation, appearance.translator)}")
        lines.append(reference_text(row.formula, appearance.translator))
    lines.append(row_origin(row, appearance))
    return [line for line in lines if line]


@dataclass(slots=True, eq=False)
class _Node:
    row: ExplanationRow
    parent: "_Node | None"
    place: int
    children: list["_Node"] = field(default_factory=list)


class WhyModel(QAbstractItemModel):
    """One derivation. The root is the figure itself."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._roots: list[_Node] = []
        self._nodes: list[_Node] = []

    def set_rows(self, rows: Sequence[ExplanationRow]) -> None:
        """Show another derivation."""
        self.beginResetModel()
        self._roots, self._nodes = [], []
        path: list[_Node] = []
        for row in rows:
            del path[row.depth :]
            parent = path[-1] if path else None
            beside = parent.children if parent is not None else self._roots
            node = _Node(row, parent, len(beside))
            beside.append(node)
            path.append(node)
            self._nodes.append(node)
        self.endResetModel()

    def index(self, row: int, column: int, parent: Index = _NONE) -> QModelIndex:
        node = self._node(parent)
        beside = node.children if node is not None else self._roots
        return self.createIndex(row, column, beside[row]) if 0 <= row < len(beside) and column == 0 else QModelIndex()

    def parent(self, child: Index) -> QModelIndex:  # type: ignore[override]  # Qt has two of this name
        node = self._node(child)
        if node is None or node.parent is None:
            return QModelIndex()
        return self.createIndex(node.parent.place, 0, node.parent)

    def rowCount(self, parent: Index = _NONE) -> int:
        node = self._node(parent)
        return len(node.children) if node is not None else len(self._roots)

    def columnCount(self, parent: Index = _NONE) -> int:
        return 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        node = self._node(index)
        if node is None:
            return None
        if role == ROW:
            return node.row
        if role == Qt.ItemDataRole.DisplayRole:
            return row_name(node.row, self._appearance)
        if role == Qt.ItemDataRole.ToolTipRole:
            return "\n".join(row_lines(node.row, self._appearance))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return "; ".join(row_lines(node.row, self._appearance))
        return None

    @staticmethod
    def _node(index: Index) -> _Node | None:
        return index.internalPointer() if index.isValid() else None
