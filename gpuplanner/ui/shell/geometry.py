"""Where a window stands and how large it is, kept from one start to the next. Knows nothing of what is in it."""

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from gpuplanner.ui.settings import WINDOW, Settings, is_pixels

_KEY = WINDOW + "geometry"
_USUAL = (1440, 900)
_BESIDE, _BELOW = 40, 60
"""What is left of a screen that is no larger than a new window."""


class KeptGeometry:
    """Restores the geometry of one window, and keeps it."""

    def __init__(self, window: QWidget, settings: Settings) -> None:
        self._window = window
        self._settings = settings
        self._frame = (0, 0)
        """How wide the system's frame is at the side and at the top: a maximised window does not say."""

    def restore(self) -> None:
        """As large as it was and where it was, as far as the screens of today have it."""
        window = self._window
        kept = self._settings.kept(_KEY)
        known = isinstance(kept, list) and len(kept) == 7 and all(map(is_pixels, kept))
        screen = QGuiApplication.primaryScreen().availableGeometry()
        if not known:
            window.resize(min(_USUAL[0], screen.width() - _BESIDE), min(_USUAL[1], screen.height() - _BELOW))
            return
        x, y, width, height, beside, above, maximised = kept
        found = (s.availableGeometry() for s in QGuiApplication.screens())
        screen = next((area for area in found if area.contains(x + 40, y + 20)), screen)
        # The frame of the system belongs to the window: all of it is on the screen, and its title can be gripped.
        width = max(window.minimumWidth(), min(width, screen.width() - 2 * beside))
        height = max(window.minimumHeight(), min(height, screen.height() - above - beside))
        window.resize(width, height)
        window.move(
            max(screen.left(), min(x, screen.right() - width - 2 * beside)),
            max(screen.top(), min(y, screen.bottom() - height - above - beside)),
        )
        if maximised:
            window.showMaximized()

    def save(self) -> None:
        """Keep how it stands now."""
        window = self._window
        if not window.isMaximized():
            inner, outer = window.geometry(), window.frameGeometry()
            self._frame = (inner.left() - outer.left(), inner.top() - outer.top())
        # Where its frame is: that is what `move` takes.
        area = window.normalGeometry() if window.isMaximized() else window.geometry()
        beside, above = self._frame
        numbers = [area.x() - beside, area.y() - above, area.width(), area.height(), beside, above]
        self._settings.keep(_KEY, [*numbers, int(window.isMaximized())])

    def reset(self) -> Callable[[], None]:
        """As at first. Returns what undoes it."""
        window = self._window
        area, maximised = window.geometry(), window.isMaximized()
        self._settings.forget(_KEY)
        window.showNormal()
        self.restore()

        def undo() -> None:
            window.setGeometry(area)
            if maximised:
                window.showMaximized()

        return undo
