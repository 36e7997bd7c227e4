"""The row of each field, by the control that its type asks for."""

from collections.abc import Callable, Sequence

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.picker import PickItem
from gpuplanner.ui.plan_place.wizard.choice_row import AUTOMATIC, NO, YES, ChoiceRow, SwitchRow
from gpuplanner.ui.plan_place.wizard.fields import Control, Field, choice_text
from gpuplanner.ui.plan_place.wizard.number_row import NumberRow
from gpuplanner.ui.plan_place.wizard.picked_rows import DraftRow, GpuRow, ModelRow, SeveralRow
from gpuplanner.ui.plan_place.wizard.row import Row


def make_row(appearance: Appearance, field: Field, find: Callable[[Field, str], Sequence[PickItem]]) -> Row:
    """The row that the field's type asks for. `find` gives what a field of several offers."""
    match field.control:
        case Control.MODEL:
            return ModelRow(appearance, field)
        case Control.NUMBER:
            return NumberRow(appearance, field)
        case Control.SEVERAL:
            return SeveralRow(appearance, field, lambda query: find(field, query))
        case Control.GPU:
            return GpuRow(appearance, field, lambda query: find(field, query))
        case Control.DRAFT:
            return DraftRow(appearance, field, lambda query: find(field, query))
        case Control.SWITCH if not field.optional:
            return SwitchRow(appearance, field)
        case _:
            return ChoiceRow(appearance, field, options_of(field))


NOT_STATED = frozenset({"data_storage"})
"""Open choices that nothing is chosen for: what nobody says stays unknown."""


def options_of(field: Field) -> Sequence[tuple[str, Message]]:
    """The ids and texts of what a field offers; first that nothing is chosen, where that is possible."""
    none = msg("planui.not_stated" if field.name in NOT_STATED else "planui.automatic")
    options: list[tuple[str, Message]] = [(AUTOMATIC, none)] if field.optional else []
    if field.control is Control.SWITCH:
        return [*options, (YES, msg("planui.on")), (NO, msg("planui.off"))]
    return [*options, *((choice.value, choice_text(choice)) for choice in field.choices)]
