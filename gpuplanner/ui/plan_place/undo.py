"""Undo and redo of a plan, each step named by what was changed. Pure: it keeps plans and knows no clock. No Qt."""

from dataclasses import dataclass

from gpuplanner.messages import Message
from gpuplanner.workload.plan import Plan

KEPT = 200


@dataclass(frozen=True, slots=True)
class Step:
    """One change: the plan before it, the plan after it, and its name. `key` tells whose change it is."""

    before: Plan
    after: Plan
    name: Message
    key: str


class UndoStack:
    """The changes of one plan. Changes of the same key in one go are one step, so that undo takes back a whole number
    that was typed and not its last digit.
    """

    def __init__(self) -> None:
        self._done: list[Step] = []
        self._undone: list[Step] = []
        self._open_key = ""

    @property
    def undo_step(self) -> Step | None:
        """What undo would take back."""
        return self._done[-1] if self._done else None

    @property
    def redo_step(self) -> Step | None:
        """What redo would do again."""
        return self._undone[-1] if self._undone else None

    def push(self, before: Plan, after: Plan, name: Message, key: str) -> None:
        """Keep a change. What had been undone is forgotten."""
        self._undone = []
        if key == self._open_key and self._done:
            before = self._done.pop().before
        if before != after:
            self._done = [*self._done, Step(before, after, name, key)][-KEPT:]
        self._open_key = key

    def close_step(self) -> None:
        """The next change is a step of its own, even when it has the same key."""
        self._open_key = ""

    def undo(self) -> Step | None:
        """Take back the last change; the plan is then `before` of the step."""
        self.close_step()
        if not self._done:
            return None
        step = self._done.pop()
        self._undone.append(step)
        return step

    def redo(self) -> Step | None:
        """Do the last undone change again; the plan is then `after` of the step."""
        self.close_step()
        if not self._undone:
            return None
        step = self._undone.pop()
        self._done.append(step)
        return step
