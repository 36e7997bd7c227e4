"""The rows of what is picked out of many: several of them, one GPU, a model that drafts, or the model."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Signal

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.field import Field as Frame
from gpuplanner.ui.fields.pick_box import PickBox
from gpuplanner.ui.plan_place.picker import Picker, PickItem
from gpuplanner.ui.plan_place.wizard.fields import Field
from gpuplanner.ui.plan_place.wizard.row import Row


class SeveralRow(Row):
    """Several of many, none meaning any."""

    NOTHING = "planui.any"
    """What none of them reads as."""

    def __init__(self, appearance: Appearance, field: Field, find: Callable[[str], Sequence[PickItem]]) -> None:
        """`find` gives what can be chosen, unchecked."""
        self._find = find
        self._chosen: tuple[str, ...] = ()
        self._box = PickBox(appearance)
        frame = Frame(appearance, field.label, self._box, help_text=field.help)
        super().__init__(appearance, field, frame, self._box)
        self._box.opened.connect(self._open)
        appearance.languageChanged.connect(self._render)
        self._render()

    def set_value(self, value: Any) -> None:
        if tuple(value) != self._chosen:
            self._chosen = tuple(value)
            self._render()

    def refresh(self) -> None:
        """What can be chosen has become known: show names in place of ids."""
        self._render()

    def wanted_width(self) -> float:
        return self._box.sizeHint().width()

    def _can_be_narrow(self) -> bool:
        return True

    def _render(self) -> None:
        name = self._appearance.text(self.field.label)
        self._box.setAccessibleName(name)
        names = {item.id: item.title for item in self._find("")}
        shown = ", ".join(names.get(i, i) for i in self._chosen)
        self._box.show_choice(shown or self._appearance.text(self.NOTHING), muted=not shown)
        self._box.setToolTip(shown)

    def _open(self) -> None:
        picker = Picker(
            self._appearance, self._offered, msg("planui.search"), msg("planui.nothing_found"), parent=self._box
        )
        picker.picked.connect(self._toggle)
        picker.open_below(self._box, 300)

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


class GpuRow(SeveralRow):
    """One GPU of the catalog."""

    def set_value(self, value: Any) -> None:
        super().set_value((value,))

    def _toggle(self, item_id: str) -> None:
        self._chosen = (item_id,)
        self._render()
        self.edited.emit(item_id)
        self.left.emit()


class DraftRow(GpuRow):
    """The smaller model that drafts for the plan's own, or none yet."""

    NOTHING = "planui.not_chosen"

    def set_value(self, value: Any) -> None:
        SeveralRow.set_value(self, (value,) if value else ())


class ModelRow(Row):
    """The model, with its size beside its name; opens a search over the catalog and over files."""

    wanted = Signal()

    def __init__(self, appearance: Appearance, field: Field) -> None:
        self._box = PickBox(appearance)
        self._model = "", ""
        frame = Frame(appearance, field.label, self._box, help_text=field.help)
        super().__init__(appearance, field, frame, self._box)
        self._box.opened.connect(self.wanted)
        appearance.languageChanged.connect(self._render)
        self._render()

    @property
    def button(self) -> PickBox:
        """What the picker opens below."""
        return self._box

    def set_value(self, value: Any) -> None:
        """The model is shown by `show_model`, since its name is in the catalog."""

    def show_model(self, name: str, size: str) -> None:
        """Show the name of the model and how large it is."""
        self._model = name, size
        self._render()

    def _render(self) -> None:
        # The frame says what the field is for in their place, each time that it says its words again.
        self._box.show_choice(*self._model)
        self._box.setToolTip(self._model[0])
        self._box.setAccessibleName(self._appearance.text(self.field.label))
