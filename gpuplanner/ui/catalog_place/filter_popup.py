"""Filters one column: a field for what is asked, and the values that the column has, most frequent first."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.catalog.table.columns import Column, ColumnKind
from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.columns import short_title
from gpuplanner.ui.catalog_place.link_row import LinkRow
from gpuplanner.ui.catalog_place.query import Term
from gpuplanner.ui.fields.text_field import TextField
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.popup import Popup

_WIDTH = 300
MOST_VALUES = 9


class FilterPopup(Popup):
    """Enter filters and closes; what cannot be read is said and stays open. `asked` carries the term."""

    asked = Signal(object)

    def __init__(
        self,
        appearance: Appearance,
        column: Column,
        current: str,
        fault: Callable[[Term], Message | None],
        parent: QWidget,
    ) -> None:
        super().__init__(appearance, parent)
        self._column = column
        self._fault = fault
        self.setFixedWidth(_WIDTH)
        hint = msg(f"catalogui.popup.hint.{column.kind.value}")
        self.field = TextField(appearance, short_title(column), hint=hint, longest=500)
        self.field.set_value(current)
        self.field.changed.connect(self._check)
        self.field.box.edit.returnPressed.connect(self._apply)
        self.values: list[LinkRow] = []
        self._values_title = Label(appearance, msg("catalogui.popup.values"), TextRole.LABEL, Ink.MUTED)
        self._values_title.hide()
        self._tray = QVBoxLayout()
        self._tray.setSpacing(0)
        self.apply = Button(appearance, msg("catalogui.popup.apply"), ButtonKind.PRIMARY, small=True)
        self.apply.clicked.connect(self._apply)
        self.take_off = Button(appearance, msg("catalogui.popup.remove"), ButtonKind.QUIET, small=True)
        self.take_off.clicked.connect(lambda: self._ask(""))
        self.take_off.setVisible(bool(current))
        buttons = QHBoxLayout()
        buttons.addWidget(self.apply)
        buttons.addWidget(self.take_off)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(self.field)
        layout.addLayout(buttons)
        layout.addWidget(self._values_title)
        layout.addLayout(self._tray)

    def open_at(self, at: QPoint) -> None:
        """Show it with its upper left corner there, as far as the screen has room."""
        self._place(at)
        self.show()
        self.field.box.edit.setFocus(Qt.FocusReason.PopupFocusReason)
        self.field.box.edit.selectAll()

    def show_values(self, values: Sequence[tuple[str, str, int]]) -> None:
        """Values to choose: the filter that asks for each, what it says, how many rows have it."""
        for filter_text, says, rows in values[:MOST_VALUES]:
            row = LinkRow(self._appearance, says, f"{rows:,}")
            row.clicked.connect(lambda _checked=False, wanted=filter_text: self._ask(wanted))
            self._tray.addWidget(row)
            self.values.append(row)
        self._values_title.setVisible(bool(self.values))
        self._place(self.pos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Down)
        else:
            super().keyPressEvent(event)

    def _place(self, at: QPoint) -> None:
        self.adjustSize()
        screen = self.screen().availableGeometry()
        size = self.sizeHint()
        left = max(screen.left(), min(at.x(), screen.right() - _WIDTH))
        self.move(left, max(screen.top(), min(at.y(), screen.bottom() - size.height())))

    def _check(self, text: str) -> None:
        self.field.set_problem(self._fault(Term(self._column.id, text)) if text.strip() else None)

    def _apply(self) -> None:
        text = self.field.value()
        self._check(text)
        if not text.strip() or self._fault(Term(self._column.id, text)) is None:
            self._ask(text)

    def _ask(self, text: str) -> None:
        self.close()
        self.asked.emit(Term(self._column.id, text))


def filterable_values(column: Column) -> bool:
    """Whether the values of a column are worth listing: words, and numbers that are counts."""
    return column.kind is ColumnKind.TEXT and column.id != "name"
