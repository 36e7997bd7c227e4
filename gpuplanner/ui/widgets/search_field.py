"""A field that searches as one types: a lens before it, a cross that empties it, Esc too."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.field import InputBox
from gpuplanner.ui.widgets.button import Button, ButtonKind


class SearchField(InputBox):
    """`searched` follows every keystroke; gather with a Coalescer where an answer costs something."""

    searched = Signal(str)

    def __init__(self, appearance: Appearance, hint: Message, parent: QWidget | None = None) -> None:
        super().__init__(appearance, icon="search", parent=parent)
        self._hint = hint
        self._cross = Button(appearance, msg("ui.clear"), ButtonKind.QUIET, icon="x", icon_only=True, small=True)
        self._cross.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._cross.clicked.connect(self.edit.clear)
        self._cross.hide()
        layout = self.layout()
        if layout is not None:
            layout.addWidget(self._cross)
            layout.setContentsMargins(30, 0, 3, 0)
        self.edit.textChanged.connect(self._changed)
        appearance.languageChanged.connect(self._render)
        self._render()

    def text(self) -> str:
        """What is searched for."""
        return self.edit.text()

    def set_text(self, text: str) -> None:
        """Search for something."""
        self.edit.setText(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        escape = (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        )
        if watched is self.edit and escape and self.text():
            # Emptying the field is the innermost thing that Esc can do here.
            self.edit.clear()
            event.accept()
            return True
        return super().eventFilter(watched, event)

    def _changed(self, text: str) -> None:
        self._cross.setVisible(bool(text))
        self.searched.emit(text)

    def _render(self) -> None:
        says = self._appearance.text(self._hint)
        self.edit.setPlaceholderText(says)
        self.edit.setAccessibleName(says)
