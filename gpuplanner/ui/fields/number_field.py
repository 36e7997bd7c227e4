"""A field for a number: it understands how people write numbers, says at once what it cannot use, and never guesses."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuplanner.messages import InputError, Message, MessageValue, msg
from gpuplanner.quantities import Quantity
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.field import Field, InputBox


class NumberField(Field):
    """`changed` carries every value that can be used, in base units; None where the field is optional and empty.

    An optional field shows what holds without a value ("auto", "no limit") muted inside the box.
    """

    changed = Signal(object)

    def __init__(
        self,
        appearance: Appearance,
        label: MessageValue,
        quantity: Quantity,
        *,
        empty: Message | None = None,
        hint: Message | None = None,
        help_text: Message | None = None,
        name: Message | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """With `empty` the field is optional, and that is what none means. `name` is read out where no label is."""
        self.box = InputBox(appearance)
        self._quantity = quantity
        self._empty = empty
        self._name = name
        self._value: float | None = None
        super().__init__(appearance, label, self.box, hint, help_text, parent)
        self.box.edit.textEdited.connect(self._edited)
        self.box.edit.editingFinished.connect(self._finished)
        appearance.displayChanged.connect(self._show_value)
        self._show_value()

    def value(self) -> float | None:
        """The last value that could be used."""
        return self._value

    def set_value(self, value: float | None) -> None:
        """Show a value. Nobody is told; what is being typed stays as long as it means the same."""
        typing = self.box.edit.hasFocus() and self.problem is None and self._means(value)
        self._value = value
        if not typing:
            self._show_value()

    def _means(self, value: float | None) -> bool:
        try:
            return self._parsed(self.box.edit.text()) == value
        except InputError:
            return False

    def _parsed(self, text: str) -> float | None:
        if not text.strip():
            if self._empty is not None:
                return None
            raise InputError(msg("ui.field.needed"))
        return self._quantity.parse(text, self._appearance.display)

    def _edited(self, text: str) -> None:
        try:
            value = self._parsed(text)
        except InputError as fault:
            self.set_problem(fault.message)
            return
        self.set_problem(None)
        if value != self._value:
            self._value = value
            self.changed.emit(value)

    def _finished(self) -> None:
        if self.problem is None:
            self._show_value()

    def _show_value(self) -> None:
        display = self._appearance.display
        self.set_problem(None)
        self.box.edit.setText("" if self._value is None else self._quantity.show(self._value, display))
        self._render()

    def _render(self) -> None:
        super()._render()
        suffix = self._quantity.suffix(self._appearance.display)
        self.box.set_suffix(self._appearance.translator.unit(suffix))
        self.box.edit.setPlaceholderText(self._appearance.text(self._empty) if self._empty else "")
        if self._name is not None:
            self.box.edit.setAccessibleName(self._appearance.text(self._name))
