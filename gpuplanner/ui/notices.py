"""What the window has told: short notices, shown as toasts and kept in a list. Nothing here waits for an answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal

from gpuplanner.messages import Message
from gpuplanner.ui.tokens import Verdict

KEPT = 200


@dataclass(frozen=True, slots=True)
class NoticeAction:
    """What a notice offers to do, "undo" for one."""

    label: Message
    run: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing said. A sticky notice stays on the screen until it is closed.

    A quiet one is kept in the list and counted, and makes no toast: a page says it where it matters.
    """

    message: Message
    verdict: Verdict
    at: datetime
    action: NoticeAction | None = None
    sticky: bool = False
    quiet: bool = False


class Notices(QObject):
    """The list of notices, latest last."""

    said = Signal(object)
    cleared = Signal()

    def __init__(self, parent: QObject | None = None, now: Callable[[], datetime] | None = None) -> None:
        super().__init__(parent)
        self._now = now or (lambda: datetime.now().astimezone())
        self.kept: list[Notice] = []

    def say(
        self,
        message: Message,
        verdict: Verdict = Verdict.INFO,
        action: NoticeAction | None = None,
        *,
        sticky: bool = False,
        quiet: bool = False,
    ) -> Notice:
        """Tell the person something. What went wrong should say what to do about it."""
        notice = Notice(message, verdict, self._now(), action, sticky, quiet)
        self.kept = [*self.kept, notice][-KEPT:]
        self.said.emit(notice)
        return notice

    def clear(self) -> None:
        """Forget every notice."""
        self.kept = []
        self.cleared.emit()
