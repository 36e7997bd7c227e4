"""What happens when something was not foreseen: the details can be copied, nothing is sent, the window stays open."""

import platform
import sys
import traceback
from collections.abc import Callable
from types import TracebackType

from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from gpuplanner import __version__
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Label

_INSIDE = 10
"""Pixels between the details and their frame."""
Hook = Callable[[type[BaseException], BaseException, TracebackType | None], None]


def details(error: BaseException) -> str:
    """What somebody who mends it needs to know, as Markdown: versions and the traceback."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    python = platform.python_version()
    return (
        f"gpuplanner {__version__} · Python {python} · Qt {qVersion()} · {platform.platform()}\n\n```\n{trace}\n```\n"
    )


class CrashDialog(QDialog):
    """The one dialog that stops everything: something went wrong that nobody foresaw."""

    def __init__(self, appearance: Appearance, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = text
        self.setWindowTitle(appearance.text(msg("ui.crash.title")))
        self.setModal(True)
        self.resize(640, 420)
        shown = QPlainTextEdit(text)
        shown.setReadOnly(True)
        shown.setFont(font(TextRole.CODE))
        shown.document().setDocumentMargin(_INSIDE)
        shown.setAccessibleName(appearance.text(msg("ui.crash.details")))
        self.copy = Button(appearance, msg("ui.crash.copy"), icon="copy")
        self.copy.clicked.connect(self._copy)
        close = Button(appearance, msg("ui.crash.go_on"), ButtonKind.PRIMARY)
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addWidget(self.copy)
        buttons.addStretch(1)
        buttons.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 20, 18)
        layout.setSpacing(12)
        layout.addWidget(Label(appearance, msg("ui.crash.title"), TextRole.TITLE))
        layout.addWidget(Label(appearance, msg("ui.crash.says"), wrap=True))
        layout.addWidget(shown, 1)
        layout.addLayout(buttons)
        close.setFocus()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)


def catch_crashes(appearance: Appearance, parent: Callable[[], QWidget | None]) -> Hook:
    """Show the dialog for every exception that nobody caught. Returns the hook that was there before."""
    before = sys.excepthook
    showing: list[CrashDialog] = []

    def caught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        # One dialog is enough: what fails once often fails again at once.
        if showing or issubclass(kind, KeyboardInterrupt):
            return
        dialog = CrashDialog(appearance, details(error), parent())
        showing.append(dialog)
        dialog.finished.connect(lambda _code: showing.clear())
        dialog.open()

    sys.excepthook = caught
    return before
