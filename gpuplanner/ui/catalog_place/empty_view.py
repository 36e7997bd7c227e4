"""Stands in the table's place when no row is left: which filters keep rows away, and how to take them off."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.narrowing import Without
from gpuplanner.ui.catalog_place.query import Term
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.empty_state import EmptyState


class EmptyView(QWidget):
    """`removed` carries a filter to take off; `cleared` asks to take off all."""

    removed = Signal(object)
    cleared = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._state: EmptyState | None = None
        self.buttons: list[Button] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    def show_reasons(self, table: Message, without: Sequence[Without], says: "dict[Term, str]") -> None:
        """Say why the table is empty. `says` has the words of each filter."""
        if self._state is not None:
            self._layout.removeWidget(self._state)
            self._state.hide()
            self._state.deleteLater()
        reason = msg("catalogui.empty.each") if without else msg("catalogui.empty.together")
        clear = (msg("catalogui.filter.clear_all"), self.cleared.emit)
        self._state = EmptyState(
            self._appearance, "list-filter", msg("catalogui.empty.title", table=table), reason, clear
        )
        self.buttons = []
        inner = self._state.layout()
        for one in without[:4]:
            button = Button(
                self._appearance,
                msg("catalogui.empty.without", filter=says[one.term], rows=f"{one.rows:,}"),
                ButtonKind.PLAIN,
                small=True,
            )
            button.clicked.connect(lambda _checked=False, wanted=one.term: self.removed.emit(wanted))
            self.buttons.append(button)
        if isinstance(inner, QVBoxLayout) and self.buttons:
            tray = QWidget()
            column = QVBoxLayout(tray)
            column.setContentsMargins(0, 0, 0, 6)
            column.setSpacing(6)
            for button in self.buttons:
                row = QHBoxLayout()
                row.addStretch(1)
                row.addWidget(button)
                row.addStretch(1)
                column.addLayout(row)
            inner.insertWidget(inner.indexOf(self._state.buttons[0]), tray, 0, Qt.AlignmentFlag.AlignHCenter)
        self._layout.addWidget(self._state)
