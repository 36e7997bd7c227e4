"""Lays out rows of fields below each other, two beside each other where both do with half of the width."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QGridLayout, QWidget

from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.plan_place.wizard.fields import Field
from gpuplanner.ui.plan_place.wizard.row import Row

_COLUMN_GAP = 10
_ROW_GAP = 12


class FieldGrid(QWidget):
    """The fields of one step, or those of it that stand behind "more". A row is made when its field is first shown."""

    def __init__(self, fields: Sequence[Field], make: Callable[[Field], Row]) -> None:
        super().__init__()
        self.fields = tuple(fields)
        self._make = make
        self._rows: dict[str, Row] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(_COLUMN_GAP)
        self._grid.setVerticalSpacing(_ROW_GAP)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, 1)
        self._placed: list[tuple[str, int, int, int]] = []

    @property
    def made(self) -> Sequence[Row]:
        """The rows that there are, also those that do not apply now."""
        return tuple(self._rows.values())

    def row(self, field: Field) -> Row:
        """The row of one of the fields."""
        row = self._rows.get(field.name)
        if row is None:
            row = self._rows[field.name] = self._make(field)
            # Without a parent a row that is shown would be a window for a moment.
            row.setParent(self)
            row.hide()
        return row

    def lay_out(self, width: int, applying: set[str]) -> None:
        """Place the rows that apply. `width` is what the grid will have."""
        half = (width - _COLUMN_GAP) / 2
        metrics = QFontMetricsF(font(TextRole.LABEL))
        places: list[tuple[str, int, int, int]] = []
        at, beside = 0, False
        shown = [self.row(field) for field in self.fields if field.name in applying]
        beside_now = {name for name, _line, _column, span in self._placed if span == 1}
        fits = [
            row.narrow()
            and metrics.horizontalAdvance(row.frame.label.text()) + 4 <= half
            # What is being typed does not make its field jump.
            and (row.wanted_width() <= half or (row.target.hasFocus() and row.field.name in beside_now))
            for row in shown
        ]
        for index, row in enumerate(shown):
            if beside:
                places.append((row.field.name, at, 1, 1))
                at, beside = at + 1, False
            elif fits[index] and index + 1 < len(shown) and fits[index + 1]:
                places.append((row.field.name, at, 0, 1))
                beside = True
            else:
                places.append((row.field.name, at, 0, 2))
                at += 1
        if places == self._placed:
            return
        self._placed = places
        for name, row in self._rows.items():
            self._grid.removeWidget(row)
            row.setVisible(name in applying)
        for name, line, column, span in places:
            self._grid.addWidget(self._rows[name], line, column, 1, span, Qt.AlignmentFlag.AlignTop)
