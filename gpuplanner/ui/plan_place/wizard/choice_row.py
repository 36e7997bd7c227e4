"""The rows of one of a few, and of yes or no."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.messages import Message, MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fields.field import Field as Frame
from gpuplanner.ui.fields.text_field import CheckField
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.plan_place.wizard.fields import Control, Field
from gpuplanner.ui.plan_place.wizard.row import Row
from gpuplanner.ui.widgets.segmented import Option, Segmented

MOST_SEGMENTS = 4
_SEGMENT_PADDING = 21.0
AUTOMATIC = ""
"""The id of the choice that leaves an optional field to software or search."""
YES, NO = "yes", "no"
_AROUND = 42.0
"""Pixels around the chosen text: margins and the mark of a list."""


class ChoiceRow(Row):
    """One of a few, all in sight where they fit, else in a box that opens a list."""

    def __init__(self, appearance: Appearance, field: Field, options: Sequence[tuple[str, Message]]) -> None:
        self._options = options
        self._current = ""
        self._automatic: MessageValue = ""
        self._segmented = Segmented(appearance, name=field.label)
        self.box = ChoiceBox(appearance)
        self._control = _Either(self._segmented, self.box)
        frame = Frame(appearance, field.label, self._control, help_text=field.help)
        super().__init__(appearance, field, frame, self.box)
        self._segmented.chosen.connect(self._chosen)
        self.box.chosen.connect(self._chosen)
        self._control.resized.connect(self._choose_control)
        appearance.languageChanged.connect(self._render)
        self._render()

    def set_value(self, value: Any) -> None:
        wanted = AUTOMATIC if value is None else value_id(value)
        if wanted != self._current:
            self._current = wanted
            self._render()

    def set_automatic(self, says: MessageValue | None) -> None:
        if (says or "") != self._automatic:
            self._automatic = says or ""
            self._render()

    def take_focus(self) -> None:
        self._control.shown().setFocus(Qt.FocusReason.OtherFocusReason)

    def wanted_width(self) -> float:
        return QFontMetricsF(font(TextRole.BODY)).horizontalAdvance(self.box.currentText()) + _AROUND

    def _can_be_narrow(self) -> bool:
        return len(self._options) > MOST_SEGMENTS

    def _render(self) -> None:
        note = self._appearance.said(self._automatic)
        options = [Option(i, says, note if i == AUTOMATIC else "") for i, says in self._options]
        self.box.set_options(options, self._current)
        self.box.choose(self._current)
        self.box.setAccessibleName(self._appearance.text(self.field.label))
        if len(options) <= MOST_SEGMENTS:
            self._segmented.set_options([Option(i, says) for i, says in self._options], self._current)
            self._segmented.choose(self._current)
        self._choose_control()

    def _choose_control(self) -> None:
        metrics = QFontMetricsF(font(TextRole.STRONG))
        texts = [self._appearance.text(says) for _, says in self._options]
        needed = sum(metrics.horizontalAdvance(text) + _SEGMENT_PADDING for text in texts)
        self._control.show_first(first=len(texts) <= MOST_SEGMENTS and needed <= self._control.width())

    def _chosen(self, option_id: str) -> None:
        self._current = option_id
        self._render()
        self.edited.emit(self._value(option_id))
        self.left.emit()

    def _value(self, option_id: str) -> Any:
        if option_id == AUTOMATIC:
            return None
        if self.field.control is Control.SWITCH:
            return option_id == YES
        return next(choice for choice in self.field.choices if choice.value == option_id)


class _Either(QWidget):
    """One of two controls, whichever fits."""

    resized = Signal()

    def __init__(self, first: QWidget, second: QWidget) -> None:
        super().__init__()
        self._first = first
        self._second = second
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(first)
        layout.addWidget(second)
        first.hide()

    def show_first(self, *, first: bool) -> None:
        """Show the first control, or the second."""
        self._first.setVisible(first)
        self._second.setVisible(not first)

    def shown(self) -> QWidget:
        """The control that is shown."""
        return self._second if self._first.isHidden() else self._first

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.resized.emit()


def value_id(value: Any) -> str:
    """The id of a choice."""
    if isinstance(value, bool):
        return YES if value else NO
    return str(value.value)


class SwitchRow(Row):
    """Yes or no, as a box to tick with its label beside it."""

    def __init__(self, appearance: Appearance, field: Field) -> None:
        self._check = CheckField(appearance, field.label, help_text=field.help)
        super().__init__(appearance, field, self._check, self._check.check)
        self._check.changed.connect(self._clicked)

    def set_value(self, value: Any) -> None:
        self._check.set_value(bool(value))

    def _clicked(self, checked: bool) -> None:
        self.edited.emit(checked)
        self.left.emit()
