"""When a whole window is at rest: no job runs, and nothing that it waits for begins by itself. Holds no tests."""

from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from gpuplanner.ui.application import Session

PAUSE_MS = 300
"""The longest pause after which the window goes on by itself; what is longer (a toast, another try) changes nothing."""
FADES_MS = 130
"""A little longer than a colour of the style takes to become another."""


def rest(session: Session, qtbot: QtBot) -> None:
    """Until nothing runs any more, nothing starts again, and every colour is what it will be."""
    for _ in range(2):
        qtbot.waitUntil(lambda: not _goes_on(session), timeout=60_000)
        qtbot.wait(FADES_MS)
    assert not _goes_on(session)


def _goes_on(session: Session) -> bool:
    pauses = (timer for timer in session.window.findChildren(QTimer) if timer.isSingleShot() and timer.isActive())
    return session.jobs.busy > 0 or any(timer.interval() <= PAUSE_MS for timer in pauses)
