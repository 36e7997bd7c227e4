"""Names and values below one another, as a detail panel has them: name muted at the left, value at the right."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.widgets.card import line
from gpuplanner.ui.widgets.label import Ink, Label


@dataclass(frozen=True, slots=True)
class Row:
    """A name, its value, a muted word below the value, and what is said when it is pointed at (its source)."""

    name: MessageValue
    value: MessageValue
    note: MessageValue = ""
    tip: str = ""


class KeyValueList(QWidget):
    """Rows with hairlines between them. Values can be selected and copied."""

    def __init__(self, appearance: Appearance, rows: Sequence[Row] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._rows: tuple[Row, ...] = ()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(0, 2)
        self._grid.setColumnStretch(1, 3)
        self.set_rows(rows)

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows."""
        if tuple(rows) == self._rows:
            return
        self._rows = tuple(rows)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for at, row in enumerate(self._rows):
            if at:
                self._grid.addWidget(line(self._appearance), 2 * at - 1, 0, 1, 2)
            self._add(2 * at, row)

    def rows(self) -> tuple[Row, ...]:
        """What is shown."""
        return self._rows

    def _add(self, at: int, row: Row) -> None:
        name = Label(self._appearance, row.name, TextRole.LABEL, Ink.MUTED, wrap=True)
        value = Label(self._appearance, row.value, TextRole.NUMBER, wrap=True, selectable=True)
        value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        # Of the policy only this: its height is that of its width, or the row is as high as if it wrapped.
        policy = value.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Expanding)
        value.setSizePolicy(policy)
        value.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # A label that wraps asks for little width and much height.
        name.setMinimumWidth(100)
        name.setToolTip(row.tip)
        value.setToolTip(row.tip)
        self._grid.addWidget(name, at, 0)
        if not row.note:
            self._grid.addWidget(value, at, 1)
            return
        both = QWidget()
        inner = QVBoxLayout(both)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(1)
        note = Label(self._appearance, row.note, TextRole.LABEL, Ink.MUTED, wrap=True)
        note.setAlignment(Qt.AlignmentFlag.AlignRight)
        inner.addWidget(value)
        inner.addWidget(note)
        self._grid.addWidget(both, at, 1)
