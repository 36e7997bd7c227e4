"""Above the table: the field that filters as one types, the filters in force as chips, and how many rows are left."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.query import Term
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.chip import Chip
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.search_field import SearchField

_FIELD, _LEAST_FIELD = 260, 150
_OFFSET = 3
"""Chips are lower than the field, and stand in its middle."""


class FilterBar(QWidget):
    """Enter makes a chip of what is typed; the arrow down goes to the table."""

    typed = Signal(str)
    committed = Signal()
    removed = Signal(object)
    cleared = Signal()
    filterWanted = Signal()
    """A person wants to choose a column to filter by."""
    downWanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._shown: tuple[tuple[Term, str], ...] = ()
        self.field = SearchField(appearance, msg("catalogui.filter.hint"))
        self.field.setMinimumWidth(_LEAST_FIELD)
        self.field.setMaximumWidth(_FIELD)
        self.field.searched.connect(self.typed)
        self.field.edit.returnPressed.connect(self.committed)
        self.field.edit.installEventFilter(self)
        self.more = Button(appearance, msg("catalogui.filter.add"), ButtonKind.QUIET, icon="list-filter", small=True)
        self.more.explain(msg("catalogui.filter.add.tip"))
        self.more.clicked.connect(self.filterWanted)
        self.clear = Button(appearance, msg("catalogui.filter.clear"), ButtonKind.QUIET, small=True)
        self.clear.clicked.connect(self.cleared)
        self.count = Label(appearance, "", TextRole.NUMBER, Ink.MUTED)
        self.problem = Label(appearance, "", TextRole.LABEL, Ink.FAIL, wrap=True)
        self.problem.hide()
        self.chips: list[Chip] = []
        self._tray = QWidget()
        self._flow = FlowLayout(self._tray, across=8, down=6)
        self._flow.setContentsMargins(0, _OFFSET, 0, 0)
        self._flow.addWidget(self.more)
        self._flow.addWidget(self.clear)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.field, 2, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._tray, 3)
        row.addWidget(self.count, 0, Qt.AlignmentFlag.AlignTop)
        self.count.setFixedHeight(self.field.height())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self.problem)
        self.setFocusProxy(self.field)
        appearance.languageChanged.connect(self._explain)
        self._explain()

    def show_typed(self, text: str) -> None:
        """What stands in the field."""
        if self.field.text() != text:
            self.field.edit.blockSignals(True)
            self.field.set_text(text)
            self.field.edit.blockSignals(False)

    def show_terms(self, terms: Sequence[tuple[Term, str]]) -> None:
        """The filters in force with what each says."""
        if tuple(terms) != self._shown:
            had_focus = next((at for at, chip in enumerate(self.chips) if chip.hasFocus()), None)
            self._fill(terms)
            if had_focus is not None:
                # A chip that was taken away leaves the keyboard on its neighbour.
                self.field.setFocus() if not self.chips else self.chips[min(had_focus, len(self.chips) - 1)].setFocus()
        self.clear.setVisible(len(terms) > 1)
        self._flow.invalidate()

    def show_count(self, left: int, total: int) -> None:
        """How many rows are left of how many."""
        self.count.say(f"{left:,} / {total:,}" if left != total else f"{total:,}")

    def show_problem(self, problem: Message | None) -> None:
        """Why the typed text cannot be read."""
        self.field.set_wrong(problem is not None)
        self.problem.say(problem or "")
        self.problem.setVisible(problem is not None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field.edit and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down:
                self.downWanted.emit()
                return True
            if event.key() == Qt.Key.Key_Backspace and not self.field.text() and self.chips:
                self.removed.emit(self._shown[-1][0])
                return True
        return super().eventFilter(watched, event)

    def _explain(self) -> None:
        self.field.edit.setToolTip(self._appearance.text("catalogui.filter.help"))

    def _fill(self, terms: Sequence[tuple[Term, str]]) -> None:
        for widget in (*self.chips, self.more, self.clear):
            self._flow.removeWidget(widget)
        for chip in self.chips:
            chip.hide()
            chip.deleteLater()
        self._shown = tuple(terms)
        self.chips = []
        for term, says in terms:
            chip = Chip(self._appearance, says)
            chip.removed.connect(lambda wanted=term: self.removed.emit(wanted))
            self._flow.addWidget(chip)
            self.chips.append(chip)
        self._flow.addWidget(self.more)
        self._flow.addWidget(self.clear)
