"""Python's collector of cyclic garbage, kept to the GUI thread.

By itself it runs in whichever thread happens to allocate. In the thread of a job it would delete Qt objects that
belong to the GUI thread, and Qt may crash.
"""

import gc

from PySide6.QtCore import QObject, QTimer

_EVERY_MS = 500


class Collector(QObject):
    """While it lives, garbage is collected by its timer only, as seldom as Python would by its thresholds."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thresholds = gc.get_threshold()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def collect(self) -> None:
        """Collect the generations that are due, the youngest first: an old one is large and seldom worth it."""
        for generation, (count, threshold) in enumerate(zip(gc.get_count(), self._thresholds, strict=True)):
            if count <= threshold:
                return
            gc.collect(generation)

    def settle(self) -> None:
        """What is here now stays until the end (the catalog, the modules): do not look at it again."""
        gc.freeze()

    def close(self) -> None:
        """Give the collector back to Python."""
        self._timer.stop()
        gc.enable()
