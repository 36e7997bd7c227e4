"""What the row of every field can do: show a value, say its help, tell of edits and of being left."""

from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.field import Field as Frame
from gpuplanner.ui.plan_place.wizard.fields import Field
from gpuplanner.ui.widgets.button import Button, ButtonKind


class Row(QWidget):
    """One field. `edited` carries its new value, `left` says that the person is done with it."""

    edited = Signal(object)
    left = Signal()
    reshaped = Signal()
    """It needs another width than before."""

    def __init__(self, appearance: Appearance, field: Field, frame: Frame, target: QWidget) -> None:
        super().__init__()
        self.field = field
        self.frame = frame
        self.target = target
        self._appearance = appearance
        self._helping = False
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(frame)
        self.help_button = Button(
            appearance, msg("planui.what_is_this"), ButtonKind.QUIET, icon="circle-help", icon_only=True, small=True
        )
        self.help_button.setParent(self)
        self.help_button.setFixedSize(20, 20)
        self.help_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.help_button.clicked.connect(self.toggle_help)
        self.help_button.hide()
        # It ends before the mark as long as that is there, where there is no room for both.
        frame.label.elides = True
        target.installEventFilter(self)

    def set_value(self, value: Any) -> None:
        """Show a value."""
        raise NotImplementedError

    def start_anew(self, value: Any) -> None:
        """Show the value of another plan, whatever was being typed."""
        self.set_value(value)

    def set_automatic(self, says: MessageValue | None) -> None:
        """Say what holds while the field is empty."""

    def take_focus(self) -> None:
        """Put the keyboard here. Not by a focus proxy: Tab would get stuck at one that is hidden."""
        self.target.setFocus(Qt.FocusReason.OtherFocusReason)

    def narrow(self) -> bool:
        """Whether the field does with half of the width in the language in use: not while it shows its help."""
        return self._can_be_narrow() and not self._helping

    def wanted_width(self) -> float:
        """How wide the field has to be so that its value is whole."""
        return 0.0

    def _can_be_narrow(self) -> bool:
        return False

    def toggle_help(self) -> None:
        """Show below the field what it means, or hide it again."""
        self._helping = not self._helping
        self.frame.set_hint(self.field.help if self._helping else None)
        self.reshaped.emit()

    def hide_help(self) -> bool:
        """Hide the help. Tells whether it was shown."""
        if self._helping:
            self.toggle_help()
            return True
        return False

    def _show_mark(self, *, shown: bool) -> None:
        self.help_button.setVisible(shown)
        self.frame.label.keep_clear(0, 0, self.help_button.width() + 2 if shown else 0, 0)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Enter:
            self._show_mark(shown=True)
        elif event.type() == QEvent.Type.Leave:
            self._show_mark(shown=self.target.hasFocus())
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self._show_mark(shown=True)
        elif event.type() == QEvent.Type.FocusOut:
            self._show_mark(shown=self.underMouse())
            self.left.emit()
        elif isinstance(event, QKeyEvent) and _undoes(event):
            # Undo is that of the plan; a text field's own would take it back letter by letter.
            event.ignore()
            return True
        elif isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_F1:
            # Before the window's own F1: here it asks what this field is.
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self.toggle_help()
                return True
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.help_button.move(self.width() - self.help_button.width(), -1)
        self.help_button.raise_()


def _undoes(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)
