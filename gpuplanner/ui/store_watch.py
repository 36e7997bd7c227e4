"""The store as the window has it: never waited for in the GUI thread, and what happens to its file is told there."""

from PySide6.QtCore import QObject, Qt, Signal

from gpuplanner.messages import Message
from gpuplanner.store.store import Store
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.tokens import Verdict


class _Watch(QObject):
    """Carries a note from the thread in which it came up to the notices."""

    came = Signal(object)

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices)
        self._notices = notices
        self.came.connect(self._say, Qt.ConnectionType.QueuedConnection)

    def _say(self, note: Message) -> None:
        self._notices.say(note, Verdict.WARN, sticky=True)


def watch_store(store: Store, notices: Notices) -> None:
    """Have the GUI thread, which calls this, never wait for the store, and told what happens to its file."""
    store.hurry(hurried=True)
    store.listen(_Watch(notices).came.emit)
