"""Takes what a person drops, opens or pastes: read in another thread, told when understood or refused. No widget."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpuplanner.messages import InputError, Message
from gpuplanner.ui.background import Cancel, Jobs
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.plan_place.intake import Names, Taken, take_file, take_text
from gpuplanner.ui.tokens import Verdict


class Taking(QObject):
    """`taken` carries what something turned out to be; what cannot be used is said."""

    taken = Signal(object)

    def __init__(self, jobs: Jobs, notices: Notices, names: Names, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._notices = notices
        self._names = names

    def files(self, paths: Sequence[str]) -> None:
        """Files that were dropped or opened."""
        for path in map(Path, paths):
            self._take(partial(_read, path))

    def text(self, text: str) -> None:
        """Text that was pasted."""
        self._take(lambda _cancel: take_text(text, self._names))

    def _take(self, work: Callable[[Cancel], Taken]) -> None:
        def failed(fault: Exception) -> None:
            if not isinstance(fault, InputError):
                raise fault
            self._notices.say(fault.message, Verdict.WARN)

        self._jobs.run(work, self._understood, failed)

    def _understood(self, taken: Taken) -> None:
        self.taken.emit(taken)
        if not taken.runs:  # What was measured is asked about where it was dropped.
            self._say(taken.says, *taken.doubts)

    def _say(self, says: Message, *doubts: Message) -> None:
        self._notices.say(says, Verdict.PASS)
        for doubt in doubts:
            self._notices.say(doubt, Verdict.WARN)


def _read(path: Path, _cancel: Cancel) -> Taken:
    return take_file(path)
