"""The left column: what to run, how it is used, within which limits, how it runs. Drawn from the workload's type."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.plan_place.edits import applies, value_of
from gpuplanner.ui.plan_place.picker import PickItem
from gpuplanner.ui.plan_place.wizard.controls import make_row
from gpuplanner.ui.plan_place.wizard.field_grid import FieldGrid
from gpuplanner.ui.plan_place.wizard.fields import LIMITS, Field, all_fields
from gpuplanner.ui.plan_place.wizard.number_row import NumberRow
from gpuplanner.ui.plan_place.wizard.picked_rows import ModelRow, SeveralRow
from gpuplanner.ui.plan_place.wizard.row import Row
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Label
from gpuplanner.ui.widgets.segmented import Option
from gpuplanner.workload.plan import WORKLOADS, Plan

STEPS = (("model",), ("use", "goals"), (LIMITS,), ("way",))
"""The steps of the wizard, in order, each with the steps of the types that stand in it."""
_BADGE = 20


class WizardView(Card):
    """All steps in one card; they can be visited in any order. `edited` carries a field and its new value."""

    edited = Signal(object, object)
    left = Signal()
    kindChosen = Signal(str)
    modelWanted = Signal()

    def __init__(self, appearance: Appearance, find: Callable[[Field, str], Sequence[PickItem]]) -> None:
        super().__init__(appearance)
        self._appearance = appearance
        self._find = find
        self._plan: Plan | None = None
        self._sections: dict[str, list[Section]] = {}
        self._choices: dict[str, ChoiceBox] = {}
        self._advice: dict[str, Message | None] = {}
        self._automatic: Mapping[str, MessageValue] = {}
        self.body.setSpacing(22)

    def rows(self, kind: str) -> Sequence[Row]:
        """Every row that a workload kind has, also those that nobody has seen yet."""
        self._build(kind)
        return [section.row(field) for section in self._sections[kind] for field in section.fields]

    def row(self, key: str) -> Row | None:
        """The row of a field of a kind that was shown, by the field's key."""
        sections = [section for kept in self._sections.values() for section in kept]
        return next((s.row(field) for s in sections for field in s.fields if field.key == key), None)

    @property
    def model_row(self) -> ModelRow | None:
        """The row of the model of the kind that is shown."""
        kind = self._plan.workload.kind if self._plan else ""
        return next((row for row in self._made(kind) if isinstance(row, ModelRow)), None)

    def show_plan(self, plan: Plan, *, another: bool = False) -> None:
        """Show what the plan says. `another`: it is not the plan that was shown before."""
        kind = plan.workload.kind
        self._build(kind)
        before = self._plan.workload.kind if self._plan is not None else ""
        self._plan = plan
        if before != kind:
            self._automatic = {}
            self._turn(before, kind)
        for row in self._made(kind):
            show = row.start_anew if another else row.set_value
            show(value_of(plan, row.field))
        self._lay_out()

    def show_automatic(self, says: Mapping[str, MessageValue]) -> None:
        """Say what holds in the fields that are left open, by field name."""
        if self._plan is None:
            return
        self._automatic = says
        for row in self._made(self._plan.workload.kind):
            if row.field.optional:
                row.set_automatic(says.get(row.field.name))

    def leave(self) -> bool:
        """Close the help of a field. Tells whether one was open."""
        kind = self._plan.workload.kind if self._plan else ""
        return any(row.hide_help() for row in self._made(kind))

    def put_first(self, widget: QWidget) -> None:
        """Put something above the first step: the name of the plan."""
        self.body.insertWidget(0, widget)

    def advise(self, key: str, says: Message | None) -> None:
        """Say below a number field what others advise."""
        self._advice[key] = says
        for row in (row for kind in self._sections for row in self._made(kind)):
            if isinstance(row, NumberRow) and row.field.key == key:
                row.advise(says)
        self._lay_out()

    def refresh(self) -> None:
        """What fields of several offer is known now: show their names."""
        for row in (row for kind in self._sections for row in self._made(kind)):
            if isinstance(row, SeveralRow):
                row.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Of the height only the width decides: laid out anew for each height, fields and scroll area chase each other.
        if event.size().width() != event.oldSize().width():
            self._lay_out()

    def _turn(self, before: str, kind: str) -> None:
        """Show the steps of another kind. The keyboard goes to its kind first: hidden, it would go further down."""
        for section in self._sections[kind]:
            section.show()
        focused = QApplication.focusWidget()
        if before and focused is not None and self.isAncestorOf(focused):
            self._focus_kind(before, kind)
        for section in self._sections.get(before, ()):
            section.hide()

    def _focus_kind(self, before: str, kind: str) -> None:
        by_keyboard = self._choices[before].shows_focus
        reason = Qt.FocusReason.ShortcutFocusReason if by_keyboard else Qt.FocusReason.OtherFocusReason
        self._choices[kind].setFocus(reason)

    def _build(self, kind: str) -> None:
        if kind in self._sections:
            return
        fields = all_fields(kind)
        sections: list[Section] = []
        for steps in STEPS:
            asked = [field for field in fields if field.ask.step in steps]
            if not asked:
                continue
            title = msg(f"planui.step.{kind}.{steps[0]}")
            first = None if sections else self._kind_choice(kind)
            section = Section(self._appearance, len(sections) + 1, title, asked, partial(self._row, kind), first)
            section.setVisible(False)
            section.toggled.connect(self._lay_out)
            sections.append(section)
            self.body.addWidget(section)
        self._sections[kind] = sections

    def _kind_choice(self, kind: str) -> ChoiceBox:
        """Each kind has its own, so that Tab reaches it before the fields."""
        options = [Option(other, msg(f"planui.kind.{other}")) for other in _kinds()]
        choice = ChoiceBox(self._appearance, options)
        choice.choose(kind)
        name = partial(_name_kinds, choice, self._appearance)
        self._appearance.languageChanged.connect(name)
        name()
        choice.chosen.connect(self.kindChosen)
        choice.chosen.connect(lambda: choice.choose(kind))
        self._choices[kind] = choice
        return choice

    def kind_choice(self) -> ChoiceBox | None:
        """Where the kind that is shown is chosen."""
        return self._choices[self._plan.workload.kind] if self._plan is not None else None

    def _made(self, kind: str) -> Sequence[Row]:
        """The rows of a kind that there are."""
        return [row for section in self._sections.get(kind, ()) for row in section.made()]

    def _row(self, kind: str, field: Field) -> Row:
        """A row that shows what the plan says, as those do that were there before."""
        row = make_row(self._appearance, field, self._find)
        row.edited.connect(lambda value: self._edited(field, value))
        row.left.connect(self.left)
        row.reshaped.connect(self._lay_out)
        if isinstance(row, ModelRow):
            row.wanted.connect(self.modelWanted)
        if isinstance(row, NumberRow):
            row.advise(self._advice.get(field.key))
        if self._plan is not None and self._plan.workload.kind == kind:
            row.start_anew(value_of(self._plan, field))
            if field.optional:
                row.set_automatic(self._automatic.get(field.name))
        return row

    def _edited(self, field: Field, value: Any) -> None:
        self.edited.emit(field, value)

    def _lay_out(self) -> None:
        if self._plan is None:
            return
        workload = self._plan.workload
        margins = self.contentsMargins()
        layout = self.layout()
        inside = layout.contentsMargins() if layout is not None else margins
        width = self.width() - inside.left() - inside.right()
        for section in self._sections[workload.kind]:
            applying = {field.name for field in section.fields if applies(field, workload)}
            changed = {field.name for field in section.fields if value_of(self._plan, field) != field.default}
            section.lay_out(width, applying, changed)


class Section(QWidget):
    """One step: a number and a title, its fields, and those that stand behind "more"."""

    toggled = Signal()

    def __init__(
        self,
        appearance: Appearance,
        number: int,
        title: Message,
        fields: Sequence[Field],
        make: Callable[[Field], Row],
        first: QWidget | None = None,
    ) -> None:
        """`make` makes the row of a field; `first` stands between the title and the fields."""
        super().__init__()
        self._open = False
        self._plain = FieldGrid([field for field in fields if not field.ask.advanced], make)
        self._advanced = FieldGrid([field for field in fields if field.ask.advanced], make)
        self._advanced.hide()
        self.more = Button(appearance, "", ButtonKind.QUIET, icon="chevron-down", small=True)
        self.more.clicked.connect(self._toggle)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(_Badge(appearance, number))
        head.addWidget(Label(appearance, title, TextRole.STRONG), 1)
        head.addWidget(self.more)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(12)
        self._layout.addLayout(head)
        if first is not None:
            self._layout.addWidget(first)
        self._layout.addWidget(self._plain)
        self._layout.addWidget(self._advanced)

    @property
    def fields(self) -> Sequence[Field]:
        """All fields."""
        return (*self._plain.fields, *self._advanced.fields)

    def made(self) -> Sequence[Row]:
        """The rows that there are: those of fields that were shown."""
        return (*self._plain.made, *self._advanced.made)

    def row(self, field: Field) -> Row:
        """The row of one of the fields."""
        return (self._advanced if field.ask.advanced else self._plain).row(field)

    def lay_out(self, width: int, applying: set[str], changed: set[str]) -> None:
        """Place the fields that apply; `changed` are those that differ from the usual."""
        self._plain.lay_out(width, applying)
        hidden = [field.name for field in self._advanced.fields if field.name in applying]
        if self._open:
            self._advanced.lay_out(width, applying)
        self._advanced.setVisible(self._open and bool(hidden))
        self.more.setVisible(bool(hidden))
        count = sum(name in changed for name in hidden)
        tip = None
        if self._open:
            says = msg("planui.less")
        elif count:
            # Short, since it stands beside the title in the narrowest column; the tooltip is the whole sentence.
            says = msg("planui.more_changed", count=len(hidden), changed=count)
            tip = msg("planui.more_changed.tip", count=len(hidden), changed=count)
        else:
            says = msg("planui.more", count=len(hidden))
        self.more.say(says)
        self.more.explain(tip)
        self.more.set_icon("chevron-up" if self._open else "chevron-down")

    def _toggle(self) -> None:
        self._open = not self._open
        self.toggled.emit()


class _Badge(QWidget):
    """The number of a step."""

    def __init__(self, appearance: Appearance, number: int) -> None:
        super().__init__()
        self._appearance = appearance
        self._number = str(number)
        self.setFixedSize(_BADGE, _BADGE)
        appearance.themeChanged.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        rounded_box(painter, area, _BADGE / 2, tokens.primary_wash)
        painter.setFont(font(TextRole.TAG))
        draw_text(painter, area, self._number, tokens.primary_ink, Qt.AlignmentFlag.AlignCenter)


class NameField(QLineEdit):
    """The name of the plan, edited where it stands. Esc takes back what was typed."""

    renamed = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self.setFrame(False)
        appearance.themeChanged.connect(self._dress)
        self._dress()
        self.setFont(font(TextRole.TITLE))
        self.setMaxLength(200)
        self.textEdited.connect(self.renamed)
        appearance.languageChanged.connect(self._render)
        self._render()

    def show_name(self, name: str) -> None:
        """Show a name; one that is being typed stays."""
        if name != self.text():
            self.setText(name)
        if not self.hasFocus():
            self.setCursorPosition(0)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.hasFocus() or not self.text():
            super().paintEvent(event)
            return
        # A name that is too long ends in an ellipsis until it is edited.
        painter = painter_for(self)
        painter.setFont(self.font())
        draw_text(painter, QRectF(self.rect()).adjusted(2, 0, -2, 0), self.text(), self._appearance.tokens.text)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.setCursorPosition(0)

    def _dress(self) -> None:
        tokens = self._appearance.tokens
        self.setStyleSheet(
            f"QLineEdit {{ background: transparent; border: none; padding: 0; color: {tokens.text};"
            f" selection-background-color: {tokens.primary}; selection-color: {tokens.on_primary}; }}"
        )

    def _render(self) -> None:
        says = self._appearance.text("planui.name")
        self.setAccessibleName(says)
        self.setPlaceholderText(says)


def _name_kinds(choice: ChoiceBox, appearance: Appearance) -> None:
    choice.setAccessibleName(appearance.text("planui.kind"))


def _kinds() -> Sequence[str]:
    return [workload.model_fields["kind"].default for workload in WORKLOADS]
