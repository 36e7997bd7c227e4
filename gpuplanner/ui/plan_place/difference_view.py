"""The difference of the open plan and another one: the fields that differ, side by side."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.captions import value_text
from gpuplanner.ui.plan_place.differences import Difference, PlanDifference, difference
from gpuplanner.ui.plan_place.wizard.fields import Control
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan


class DifferenceView(Card):
    """`closed` asks to go back to the plan."""

    closed = Signal()

    def __init__(
        self,
        appearance: Appearance,
        model_name: Callable[[ModelChoice], str],
        machine_name: Callable[[MachineChoice | None], MessageValue],
    ) -> None:
        super().__init__(appearance, msg("planui.difference"), " ")
        self._appearance = appearance
        self._model_name = model_name
        self._machine_name = machine_name
        self._plans: tuple[Plan, Plan] | None = None
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(18)
        self._grid.setVerticalSpacing(7)
        for column in range(3):
            self._grid.setColumnStretch(column, 1)
        close = Button(appearance, msg("planui.difference.close"), ButtonKind.QUIET, icon="x", small=True)
        close.clicked.connect(self.closed)
        self.title_row.addWidget(close)
        holder = QWidget()
        inner = QVBoxLayout(holder)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addLayout(self._grid)
        inner.addStretch(1)
        self.body.addWidget(holder)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_plans(self, mine: Plan, other: Plan) -> None:
        """Show how two plans differ."""
        self._plans = (mine, other)
        self._render()

    def rows(self) -> Sequence[tuple[str, str, str]]:
        """Field, the value of the open plan, that of the other."""
        if self._plans is None:
            return ()
        found = difference(*self._plans)
        return [*self._kind_rows(found), *(self._row(d) for d in found.differences)]

    def _render(self) -> None:
        if self._plans is None:
            return
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        mine, other = self._plans
        rows = self.rows()
        self.note.say(msg("planui.difference.count", count=len(rows)) if rows else msg("planui.difference.none"))
        unnamed = self._appearance.text("planui.unnamed")
        self._add(0, ("", mine.name or unnamed, other.name or unnamed), head=True)
        for at, row in enumerate(rows, 1):
            self._grid.addWidget(line(self._appearance), 2 * at - 1, 0, 1, 3)
            self._add(2 * at, row)

    def _add(self, at: int, texts: tuple[str, str, str], *, head: bool = False) -> None:
        for column, text in enumerate(texts):
            role = TextRole.STRONG if head else TextRole.BODY
            ink = Ink.MUTED if column == 0 else Ink.TEXT
            self._grid.addWidget(Label(self._appearance, text, role, ink, wrap=True, selectable=True), at, column)

    def _kind_rows(self, found: PlanDifference) -> list[tuple[str, str, str]]:
        if found.kinds is None:
            return []
        text = self._appearance.text
        first, second = (text(f"planui.kind.{kind}") for kind in found.kinds)
        return [(text("planui.kind"), first, second)]

    def _row(self, found: Difference) -> tuple[str, str, str]:
        if found.field is None:
            mine, other = (self._appearance.said(self._machine_name(m)) for m in (found.first, found.second))
            return self._appearance.text("planui.machine"), mine, other
        label = self._appearance.text(found.field.label)
        return label, self._value(found, found.first), self._value(found, found.second)

    def _value(self, found: Difference, value: Any) -> str:
        field = found.field
        if field is None:
            return ""
        name = self._model_name(value) if field.control is Control.MODEL else ""
        return value_text(field, value, self._appearance, name)
