"""Which measurements count now: looked up in another thread, told when they are others than before. No widget."""

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from gpuplanner.ui.background import Cancel, Jobs, Latest


class CountedWorkspace(Protocol):
    """What of the workspace this uses."""

    def own_in_use(self) -> Sequence[object]: ...


class OwnInUse(QObject):
    """They change in the settings too, so a page asks whenever it is shown."""

    changed = Signal()

    def __init__(self, workspace: CountedWorkspace, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._latest = Latest(jobs)
        self._counted: Sequence[object] | None = None

    def look(self) -> None:
        """Look whether others count than at the last look."""

        def work(_cancel: Cancel) -> Sequence[object]:
            return self._workspace.own_in_use()

        self._latest.run(work, self._found)

    def expect(self) -> None:
        """Others count for sure: say so at once."""
        self._counted = None
        self.look()
        self.changed.emit()

    def close(self) -> None:
        """Nothing more is looked up."""
        self._latest.cancel()

    def _found(self, own: Sequence[object]) -> None:
        others = self._counted is not None and own != self._counted
        self._counted = own
        if others:
            self.changed.emit()
