"""The earlier states of a plan, read and judged beside the window. Knows no widget."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from gpuplanner.engine.estimate import Outcome
from gpuplanner.messages import InputError
from gpuplanner.store.plans import PlanShelf, Revision
from gpuplanner.ui.background import Cancel, Jobs, Latest
from gpuplanner.ui.plan_place.difference.fields import PlanDifference, difference
from gpuplanner.ui.plan_place.outcome import Engine


@dataclass(frozen=True, slots=True)
class Entry:
    """A state that was saved, how it differs from the one before, and its verdict.

    `changed` is None for the oldest that is kept; `outcome` is None where no machine was chosen (the search would
    have to be made anew), and until it has been worked out.
    """

    revision: Revision
    changed: PlanDifference | None
    outcome: Outcome | None = None


class History(QObject):
    """`changed` says that the entries are others: they were read, or judged."""

    changed = Signal()

    def __init__(self, shelf: PlanShelf, engine: Engine, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shelf = shelf
        self._engine = engine
        self._latest = Latest(jobs)
        self.entries: Sequence[Entry] = ()
        self.reading = False

    def read(self, plan_id: str) -> None:
        """Read what is kept of a plan, the newest first. A plan that was never saved has nothing yet."""
        self.entries = ()
        self.reading = bool(plan_id)
        self.changed.emit()
        if plan_id:
            self._latest.run(lambda _cancel: self._kept(plan_id), self._were_read, self._failed)

    def stop(self) -> None:
        """Nobody looks any more."""
        self._latest.cancel()

    def _kept(self, plan_id: str) -> list[Entry]:
        revisions = self._shelf.history(plan_id)
        before = [*revisions[1:], None]
        pairs = zip(revisions, before, strict=True)
        return [Entry(now, difference(then.plan, now.plan) if then is not None else None) for now, then in pairs]

    def _were_read(self, entries: list[Entry]) -> None:
        self._show(entries)
        self._latest.run(lambda cancel: [self._judged(entry, cancel) for entry in entries], self._show)

    def _judged(self, entry: Entry, cancel: Cancel) -> Entry:
        if cancel() or entry.revision.plan.machine is None:
            return entry
        try:
            made = self._engine.estimate(entry.revision.plan)
            return replace(entry, outcome=made.outcome)
        except InputError:
            return entry

    def _failed(self, fault: Exception) -> None:
        if not isinstance(fault, InputError):
            raise fault
        self._show([])

    def _show(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.reading = False
        self.changed.emit()
