"""The plans that a person has: listed, pinned, removed and brought back. What goes wrong is said; knows no widget."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from gpuplanner.messages import InputError, msg
from gpuplanner.store.plans import PlanShelf, ShelvedPlan
from gpuplanner.ui.notices import NoticeAction, Notices
from gpuplanner.ui.tokens import Verdict
from gpuplanner.workload.plan import Plan


class OwnPlans(QObject):
    """`changed` says that the list is another."""

    changed = Signal()

    def __init__(self, shelf: PlanShelf, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shelf = shelf
        self._notices = notices

    def listed(self) -> Sequence[ShelvedPlan]:
        """Pinned plans first, then the last opened."""
        try:
            return self._shelf.listed()
        except InputError as fault:
            self._notices.say(fault.message, Verdict.FAIL)
            return ()

    def newest(self, plan_id: str) -> Plan | None:
        """A plan as it is now, to compare with; None when it is not there any more."""
        try:
            newest = self._shelf.latest(plan_id)
        except InputError:
            return None
        return newest.plan if newest else None

    def pin(self, plan_id: str, pinned: bool) -> None:
        """Pin a plan to the top of the list, or take the pin out."""
        self._do(lambda: self._shelf.pin(plan_id, pinned))

    def remove(self, plan_id: str, name: str) -> None:
        """Take a plan off the list; a notice offers to undo it."""
        if self._do(lambda: self._shelf.remove(plan_id)):
            undo = NoticeAction(msg("planui.undo"), lambda: self._do(lambda: self._shelf.restore(plan_id)))
            self._notices.say(msg("planui.removed", name=name), Verdict.INFO, undo)

    def _do(self, work: Callable[[], object]) -> bool:
        try:
            work()
        except InputError as fault:
            self._notices.say(fault.message, Verdict.FAIL)
            return False
        self.changed.emit()
        return True
