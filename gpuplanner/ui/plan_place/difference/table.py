"""Two plans side by side: what they come to with the change in words, then the fields that differ."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.captions import machine_offer, machine_title, value_text
from gpuplanner.ui.plan_place.difference.comparing import Result
from gpuplanner.ui.plan_place.difference.fields import Difference, PlanDifference, difference
from gpuplanner.ui.plan_place.difference.results import FREE, ResultRow, result_rows
from gpuplanner.ui.plan_place.results.figure_ids import short_name_of
from gpuplanner.ui.plan_place.verdicts import verdict_of
from gpuplanner.ui.plan_place.wizard.fields import Control
from gpuplanner.ui.widgets.card import line
from gpuplanner.ui.widgets.figure_label import MISSING
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.verdict_tag import VerdictTag
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan

_COLUMNS = 4
_STRETCH = (5, 6, 6, 4)


class DifferenceTable(QWidget):
    """The rows, each with the value of the first plan, that of the second, and how the second differs."""

    def __init__(
        self,
        appearance: Appearance,
        model_name: Callable[[ModelChoice], str],
        machine_name: Callable[[MachineChoice | None], MessageValue],
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._model_name = model_name
        self._machine_name = machine_name
        self._plans: tuple[Plan, Plan] | None = None
        self._titles: tuple[MessageValue, MessageValue] = ("", "")
        self._results: tuple[Result, Result] | None = None
        self._at = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(18)
        self._grid.setVerticalSpacing(7)
        for column, stretch in enumerate(_STRETCH):
            self._grid.setColumnStretch(column, stretch)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_plans(self, first: Plan, second: Plan, titles: tuple[MessageValue, MessageValue]) -> None:
        """Show how two plans differ; what they come to follows."""
        self._plans, self._titles, self._results = (first, second), titles, None
        self._render()

    def show_results(self, first: Result, second: Result) -> None:
        """Show what they come to."""
        self._results = (first, second)
        self._render()

    def differing(self) -> int:
        """How many fields differ."""
        return len(self.rows())

    def rows(self) -> Sequence[tuple[str, str, str]]:
        """The fields that differ: field, value of the first plan, that of the second."""
        if self._plans is None:
            return ()
        found = difference(*self._plans)
        return [*self._kind_rows(found), *(self._row(d) for d in found.differences)]

    def result_texts(self) -> Sequence[tuple[str, str, str, str]]:
        """Memory, speed and cost: what, value of the first plan, that of the second, the change."""
        if self._results is None:
            return ()
        made = [result if isinstance(result, Estimate) else None for result in self._results]
        return [self._result_row(row) for row in result_rows(*made)] if any(made) else []

    # --- Laying out ---------------------------------------------------------------------------------------------------

    def _render(self) -> None:
        if self._plans is None:
            return
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._at = 0
        change: MessageValue = msg("planui.difference.change") if self._results is not None else ""
        self._add(("", *self._titles, change), role=TextRole.STRONG)
        self._title("planui.difference.results")
        if self._results is None:
            self._add((msg("planui.working"), "", "", ""))
        else:
            self._add_verdicts(self._results)
            for texts in self.result_texts():
                self._add(texts)
        rows = self.rows()
        self._title("planui.difference.fields")
        if not rows:
            self._add((msg("planui.difference.none"), "", "", ""))
        for row in rows:
            self._add((*row, ""))
        self._grid.setRowStretch(self._at, 1)

    def _title(self, message_id: str) -> None:
        label = Label(self._appearance, msg(message_id), TextRole.LABEL, Ink.MUTED)
        label.keep_clear(0, 12, 0, 0)
        self._grid.setRowStretch(self._at, 0)
        self._grid.addWidget(label, self._at, 0, 1, _COLUMNS)
        self._at += 1

    def _add(self, texts: Sequence[MessageValue], *, role: TextRole = TextRole.BODY) -> None:
        if self._at:
            self._grid.addWidget(line(self._appearance), self._at, 0, 1, _COLUMNS)
            self._at += 1
        alone = not any(texts[1:])
        for column, text in enumerate(texts[:1] if alone else texts):
            ink = Ink.MUTED if column == 0 else Ink.TEXT
            label = Label(self._appearance, text, role, ink, wrap=True, selectable=True)
            self._grid.addWidget(label, self._at, column, 1, _COLUMNS if alone else 1)
        self._grid.setRowStretch(self._at, 0)
        self._at += 1

    def _add_verdicts(self, results: tuple[Result, Result]) -> None:
        self._add((msg("planui.difference.verdict"), " ", " ", ""))
        at = self._at - 1
        for column, result in enumerate(results, 1):
            if isinstance(result, Estimate):
                tag = VerdictTag(self._appearance, *verdict_of(result.outcome))
                # Without an alignment the column would grow no wider than the tag.
                self._grid.addWidget(tag, at, column, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            else:
                reason = Label(self._appearance, result, ink=Ink.FAIL, wrap=True, selectable=True)
                self._grid.addWidget(reason, at, column)
        self._add((msg("planui.machine"), *(self._on(result) for result in results), ""))

    # --- Texts --------------------------------------------------------------------------------------------------------

    def _on(self, result: Result) -> str:
        if isinstance(result, Message):
            return MISSING
        return f"{machine_title(result.machine)} · {self._appearance.said(machine_offer(result.machine))}"

    def _result_row(self, row: ResultRow) -> tuple[str, str, str, str]:
        appearance = self._appearance
        name = appearance.text("planui.difference.free") if row.id == FREE else short_name_of(row.id, appearance)
        values = (str(appearance.show(v, row.unit)) if v is not None else MISSING for v in (row.first, row.second))
        first, second = values
        return name, first, second, appearance.text(row.change) if row.change is not None else ""

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
