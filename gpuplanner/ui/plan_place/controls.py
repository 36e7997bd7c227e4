"""The row of one field: its label, the control that its type asks for, help, and what is wrong with it."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fields.field import Field as Frame
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.fields.text_field import CheckField
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.plan_place.captions import automatic
from gpuplanner.ui.plan_place.dropdown import Dropdown
from gpuplanner.ui.plan_place.edits import suggestion
from gpuplanner.ui.plan_place.fields import Control, Field, choice_text
from gpuplanner.ui.plan_place.picker import Picker, PickItem
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.segmented import Option, Segmented

MOST_SEGMENTS = 4
_SEGMENT_PADDING = 21.0
AUTOMATIC = ""
"""The id of the choice that leaves an optional field to software or search."""


class Row(QWidget):
    """One field. `edited` carries its new value, `left` says that the person is done with it."""

    edited = Signal(object)
    left = Signal()
    reshaped = Signal()
    """It needs another width than before."""

    def __init__(self, appearance: Appearance, field: Field, frame: Frame, target: QWidget) -> None:
        super().__init__()
        self.field = field
        self.frame = frame
        self.target = target
        self._appearance = appearance
        self._helping = False
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(frame)
        self.help_button = Button(
            appearance, msg("planui.what_is_this"), ButtonKind.QUIET, icon="circle-help", icon_only=True, small=True
        )
        self.help_button.setParent(self)
        self.help_button.setFixedSize(20, 20)
        self.help_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.help_button.clicked.connect(self.toggle_help)
        self.help_button.hide()
        target.installEventFilter(self)

    def set_value(self, value: Any) -> None:
        """Show a value."""
        raise NotImplementedError

    def start_anew(self, value: Any) -> None:
        """Show the value of another plan, whatever was being typed."""
        self.set_value(value)

    def set_automatic(self, says: MessageValue | None) -> None:
        """Say what holds while the field is empty."""

    def take_focus(self) -> None:
        """Put the keyboard here. Not by a focus proxy: Tab would get stuck at one that is hidden."""
        self.target.setFocus(Qt.FocusReason.OtherFocusReason)

    def narrow(self) -> bool:
        """Whether the field does with half of the width in the language in use: not while it shows its help."""
        return self._can_be_narrow() and not self._helping

    def _can_be_narrow(self) -> bool:
        return False

    def toggle_help(self) -> None:
        """Show below the field what it means, or hide it again."""
        self._helping = not self._helping
        self.frame.set_hint(self.field.help if self._helping else None)
        self.reshaped.emit()

    def hide_help(self) -> bool:
        """Hide the help. Tells whether it was shown."""
        if self._helping:
            self.toggle_help()
            return True
        return False

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Enter:
            self.help_button.show()
        elif event.type() == QEvent.Type.Leave:
            self.help_button.setVisible(self.target.hasFocus())
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self.help_button.show()
        elif event.type() == QEvent.Type.FocusOut:
            self.help_button.setVisible(self.underMouse())
            self.left.emit()
        elif isinstance(event, QKeyEvent) and _undoes(event):
            # Undo is that of the plan; a text field's own would take it back letter by letter.
            event.ignore()
            return True
        elif isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_F1:
            # Before the window's own F1: here it asks what this field is.
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self.toggle_help()
                return True
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.help_button.move(self.width() - self.help_button.width(), -1)
        self.help_button.raise_()


def _undoes(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)


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

    def _can_be_narrow(self) -> bool:
        return not self._advice

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
            return option_id == _YES
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
        self.resized.emit()


_YES, _NO = "yes", "no"


def value_id(value: Any) -> str:
    """The id of a choice."""
    if isinstance(value, bool):
        return _YES if value else _NO
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


class SeveralRow(Row):
    """Several of many, none meaning any."""

    def __init__(self, appearance: Appearance, field: Field, find: Callable[[str], Sequence[PickItem]]) -> None:
        """`find` gives what can be chosen, unchecked."""
        self._find = find
        self._chosen: tuple[str, ...] = ()
        self._dropdown = Dropdown(appearance)
        frame = Frame(appearance, field.label, self._dropdown, help_text=field.help)
        super().__init__(appearance, field, frame, self._dropdown)
        self._dropdown.opened.connect(self._open)
        appearance.languageChanged.connect(self._render)
        self._render()

    def set_value(self, value: Any) -> None:
        if tuple(value) != self._chosen:
            self._chosen = tuple(value)
            self._render()

    def refresh(self) -> None:
        """What can be chosen has become known: show names in place of ids."""
        self._render()

    def _can_be_narrow(self) -> bool:
        return True

    def _render(self) -> None:
        name = self._appearance.text(self.field.label)
        self._dropdown.setAccessibleName(name)
        names = {item.id: item.title for item in self._find("")}
        shown = ", ".join(names.get(i, i) for i in self._chosen)
        self._dropdown.show_choice(shown or self._appearance.text("planui.any"), muted=not shown)
        self._dropdown.setToolTip(shown)

    def _open(self) -> None:
        picker = Picker(
            self._appearance, self._offered, msg("planui.search"), msg("planui.nothing_found"), parent=self._dropdown
        )
        picker.picked.connect(self._toggle)
        picker.open_below(self._dropdown, 300)

    def _offered(self, query: str) -> Sequence[PickItem]:
        items = self._find(query)
        checked = [PickItem(i.id, i.title, i.note, i.detail, i.id in self._chosen) for i in items]
        return sorted(checked, key=lambda item: not item.checked) if not query else checked

    def _toggle(self, item_id: str) -> None:
        if item_id in self._chosen:
            self._chosen = tuple(i for i in self._chosen if i != item_id)
        else:
            self._chosen = (*self._chosen, item_id)
        self._render()
        self.edited.emit(self._chosen)
        self.left.emit()


class ModelRow(Row):
    """The model, with its size beside its name; opens a search over the catalog and over files."""

    wanted = Signal()

    def __init__(self, appearance: Appearance, field: Field) -> None:
        self._dropdown = Dropdown(appearance)
        frame = Frame(appearance, field.label, self._dropdown, help_text=field.help)
        super().__init__(appearance, field, frame, self._dropdown)
        self._dropdown.opened.connect(self.wanted)
        appearance.languageChanged.connect(self._render)
        self._render()

    @property
    def button(self) -> Dropdown:
        """What the picker opens below."""
        return self._dropdown

    def set_value(self, value: Any) -> None:
        """The model is shown by `show_model`, since its name is in the catalog."""

    def show_model(self, name: str, size: str) -> None:
        """Show the name of the model and how large it is."""
        self._dropdown.show_choice(name, size)
        self._dropdown.setToolTip(name)

    def _render(self) -> None:
        self._dropdown.setAccessibleName(self._appearance.text(self.field.label))


def make_row(appearance: Appearance, field: Field, find: Callable[[Field, str], Sequence[PickItem]]) -> Row:
    """The row that the field's type asks for. `find` gives what a field of several offers."""
    match field.control:
        case Control.MODEL:
            return ModelRow(appearance, field)
        case Control.NUMBER:
            return NumberRow(appearance, field)
        case Control.SEVERAL:
            return SeveralRow(appearance, field, lambda query: find(field, query))
        case Control.SWITCH if not field.optional:
            return SwitchRow(appearance, field)
        case _:
            return ChoiceRow(appearance, field, options_of(field))


def options_of(field: Field) -> Sequence[tuple[str, Message]]:
    """The ids and texts of what a field offers; first that nothing is chosen, where that is possible."""
    options: list[tuple[str, Message]] = [(AUTOMATIC, msg("planui.automatic"))] if field.optional else []
    if field.control is Control.SWITCH:
        return [*options, (_YES, msg("planui.on")), (_NO, msg("planui.off"))]
    return [*options, *((choice.value, choice_text(choice)) for choice in field.choices)]
