"""When to show where the keyboard is: after Tab, F6 and their like, and not after a click."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent

_BY_KEYBOARD = {
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
}


class KeyboardFocus:
    """For widgets that paint themselves: `shows_focus` says whether to draw the ring. Stands before the Qt class."""

    _by_keyboard = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        if event.reason() in _BY_KEYBOARD:
            self._by_keyboard = True
        elif event.reason() is Qt.FocusReason.MouseFocusReason:
            self._by_keyboard = False
        super().focusInEvent(event)  # type: ignore[misc]  # of the widget that it is mixed into

    @property
    def shows_focus(self) -> bool:
        """Whether the widget has the focus and a person who uses the keyboard has to see it."""
        return self._by_keyboard and bool(self.hasFocus())  # type: ignore[attr-defined]  # of the widget
