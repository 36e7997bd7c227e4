"""What runs for long, in the status bar: nothing at first, then what it is, then a bar and the way to stop it."""

import time
from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Jobs
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label

SHORT_S = 0.3
"""What takes less is not worth a word."""
LONG_S = 3.0
"""What takes more needs a bar, and a way out."""
_LOOK_MS = 100


class WorkView(QWidget):
    """Follows the jobs; looks at the clock only while some of them run."""

    def __init__(self, appearance: Appearance, jobs: Jobs, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._jobs = jobs
        self._now = now
        self.says = Label(appearance, "", TextRole.LABEL, Ink.MUTED)
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setFixedSize(90, 6)
        self.stop = Button(appearance, msg("ui.work.cancel"), ButtonKind.QUIET, small=True)
        self.stop.clicked.connect(self._cancel)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for widget in (self.says, self.bar, self.stop):
            layout.addWidget(widget)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.look)
        jobs.busyChanged.connect(self._busy_changed)
        appearance.languageChanged.connect(self._name_bar)
        self.look()

    def look(self) -> None:
        """Show what there is to show now."""
        job = self._jobs.longest
        seconds = self._now() - job.since if job is not None else 0.0
        shown = job is not None and seconds >= SHORT_S
        long = shown and seconds >= LONG_S
        self.setVisible(shown)
        self.bar.setVisible(long)
        self.stop.setVisible(long and job is not None and job.may_cancel)
        if job is not None and job.title is not None:
            self.says.say(job.title)
            self._name_bar()
        if job is None:
            self._timer.stop()

    def _name_bar(self) -> None:
        self.bar.setAccessibleName(self.says.text())

    def _busy_changed(self, _count: int) -> None:
        if self._jobs.longest is None:
            self.look()
        elif not self._timer.isActive():
            self._timer.start()

    def _cancel(self) -> None:
        job = self._jobs.longest
        if job is not None:
            job.cancel.request()
        self.look()
