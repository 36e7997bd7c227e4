"""The row of a number. What cannot be used says why, with a value that can be taken by a click."""

import math
from typing import Any

from PySide6.QtGui import QFontMetricsF

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.plan_place.captions import automatic
from gpuplanner.ui.plan_place.edits import suggestion
from gpuplanner.ui.plan_place.wizard.fields import Field
from gpuplanner.ui.plan_place.wizard.row import Row
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.units import Unit

_AROUND = 34.0
"""Pixels around the text of a number."""
_LONG = 1e12
"""Tokens up to this and more need the whole width."""


class NumberRow(Row):
    """A number. What cannot be used says why, with a value that can be taken by a click."""

    def __init__(self, appearance: Appearance, field: Field) -> None:
        self._number = _Number(appearance, field)
        super().__init__(appearance, field, self._number, self._number.box.edit)
        self._fix = Button(appearance, "", ButtonKind.QUIET, small=True)
        self._fix.hide()
        self._fix.clicked.connect(self._take_fix)
        layout = self.layout()
        if layout is not None:
            layout.addWidget(self._fix)
        self._suggested = ""
        self._advice: Message | None = None
        self._number.changed.connect(self.edited)
        for signal in (self._number.box.edit.textChanged, self._number.box.edit.textEdited):
            signal.connect(self._offer_fix)

    def set_value(self, value: Any) -> None:
        # What cannot be used stays in the field, with its reason, until it is mended or the value changes.
        if value != self._number.value():
            self._number.set_value(value)

    def start_anew(self, value: Any) -> None:
        self._number.set_value(value)
        self._offer_fix()

    def set_automatic(self, says: MessageValue | None) -> None:
        self._number.set_empty(says)

    def wanted_width(self) -> float:
        box = self._number.box
        words = (box.edit.text() or box.edit.placeholderText(), box.suffix.text())
        return sum(map(QFontMetricsF(font(TextRole.BODY)).horizontalAdvance, words)) + _AROUND

    def _can_be_narrow(self) -> bool:
        quantity = self.field.quantity
        long = quantity is not None and self.field.ask.unit is Unit.TOKEN and _LONG <= quantity.most < math.inf
        return not self._advice and not long

    def advise(self, says: Message | None) -> None:
        """Say below the field what others advise."""
        self._advice = says
        self.frame.set_hint(says)

    def toggle_help(self) -> None:
        super().toggle_help()
        if not self._helping:
            self.frame.set_hint(self._advice)

    def _offer_fix(self) -> None:
        problem = self.frame.problem
        text = self._number.box.edit.text()
        self._suggested = suggestion(text, self.field, self._appearance.display) if problem else ""
        self._fix.setVisible(bool(self._suggested))
        if self._suggested:
            self._fix.say(msg("planui.use", value=self._suggested))

    def _take_fix(self) -> None:
        edit = self._number.box.edit
        edit.setText(self._suggested)
        edit.textEdited.emit(self._suggested)
        self._offer_fix()
        edit.setFocus()


class _Number(NumberField):
    """A number field whose words for "empty" can change: the default of another server, a degree that was found."""

    def __init__(self, appearance: Appearance, field: Field) -> None:
        if field.quantity is None:
            raise TypeError(f"{field.key} is not a number")
        empty = automatic(field) if field.optional else None
        super().__init__(appearance, field.label, field.quantity, empty=empty, help_text=field.help)
        self._says: MessageValue | None = None

    def set_empty(self, says: MessageValue | None) -> None:
        """Say what holds while nothing is typed."""
        if says != self._says:
            self._says = says
            self._render()

    def _render(self) -> None:
        super()._render()
        says = getattr(self, "_says", None)
        if says is not None and self._empty is not None:
            self.box.edit.setPlaceholderText(self._appearance.said(says))
