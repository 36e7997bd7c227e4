"""The plan that is open: its edits by name, undo and redo. Holds state and commands; knows no widget."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from gpuplanner.messages import Message, msg, without_controls
from gpuplanner.ui.plan_place.edits import said_in, value_of, with_kind, with_machine, with_value
from gpuplanner.ui.plan_place.undo import UndoStack
from gpuplanner.ui.plan_place.wizard.fields import Field
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan, Workload

KIND = "planui.kind"
"""What is changed when another kind of workload is planned."""


class PlanDocument(QObject):
    """One open plan. `changed` says that the plan is another; its argument is the message id of what was done."""

    changed = Signal(str)
    undoChanged = Signal()

    def __init__(self, plan: Plan, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._plan = plan
        self._undo = UndoStack()
        self._earlier: dict[str, Workload] = {}
        self._arrived: dict[str, Workload] = {}
        self._said: dict[tuple[str, str], Any] = {}

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        return self._plan

    @property
    def undo_name(self) -> Message | None:
        """What undo would take back."""
        return self._undo.undo_step.name if self._undo.undo_step else None

    @property
    def redo_name(self) -> Message | None:
        """What redo would do again."""
        return self._undo.redo_step.name if self._undo.redo_step else None

    def open(self, plan: Plan) -> None:
        """Take another plan; nothing of the one before can be undone."""
        self._plan = plan
        self._undo = UndoStack()
        self._earlier, self._arrived, self._said = {}, {}, {}
        self.changed.emit("")
        self.undoChanged.emit()

    @property
    def history(self) -> UndoStack:
        """What can be undone and done again."""
        return self._undo

    def go_on(self, history: UndoStack) -> None:
        """Go on with what could be undone of this very plan before."""
        self._undo = history
        self._undo.close_step()
        self.undoChanged.emit()

    def replace(self, plan: Plan, name: Message) -> None:
        """Take another state of this plan as one step that can be undone."""
        self._undo.close_step()
        self._push(plan, name, name.id)
        self._undo.close_step()

    def set_value(self, field: Field, value: Any) -> None:
        """Change one field. Raises ValidationError when its type does not take the value."""
        if value_of(self._plan, field) != value:
            self._push(with_value(self._plan, field, value), field.label, field.label.id)

    def set_kind(self, kind: str, parameters: float = 0, model: ModelChoice | None = None) -> None:
        """Change the kind of workload; what both kinds ask stays, the rest is as it was when last of this kind.

        `parameters` of the model, 0 when not known, and the `model` where none is: see `with_kind`.
        """
        workload = self._plan.workload
        if workload.kind != kind:
            self._earlier[workload.kind] = workload
            # What a kind began with because it could not take what was said before is not said anew.
            self._said |= said_in(workload, self._arrived.get(workload.kind))
            plan = with_kind(
                self._plan, kind, self._earlier.get(kind), said=self._said, parameters=parameters, model=model
            )
            self._arrived[kind] = plan.workload
            self.replace(plan, msg(KIND))

    def set_name(self, name: str) -> None:
        """Give the plan another name."""
        name = without_controls(name)[:_LONGEST_NAME]
        if name != self._plan.name:
            self._push(self._plan.model_copy(update={"name": name}), msg("planui.name"), "planui.name")

    def set_machine(self, machine: MachineChoice | None) -> None:
        """Choose the machine, or leave it to the search."""
        if machine != self._plan.machine:
            self._push(with_machine(self._plan, machine), msg("planui.machine"), "planui.machine")

    def close_step(self) -> None:
        """What is edited next can be undone on its own: the person left the field."""
        self._undo.close_step()

    def undo(self) -> None:
        """Take back the last step."""
        self._step(self._undo.undo, lambda step: step.before)

    def redo(self) -> None:
        """Do the last undone step again."""
        self._step(self._undo.redo, lambda step: step.after)

    def _push(self, plan: Plan, name: Message, key: str) -> None:
        # A plan that was changed is the person's own and no longer the sample.
        plan = plan.model_copy(update={"sample": False})
        self._undo.push(self._plan, plan, name, key)
        self._plan = plan
        self.changed.emit(key)
        self.undoChanged.emit()

    def _step(self, move: Callable[[], Any], state: Callable[[Any], Plan]) -> None:
        step = move()
        if step is not None:
            self._plan = state(step)
            self.changed.emit(step.key)
            self.undoChanged.emit()


_LONGEST_NAME = 200
