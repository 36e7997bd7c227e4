"""Above the comparison: one head for each subject, with its name and what can be done with it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.link_row import LinkRow
from gpuplanner.ui.compare_place.compare_table import LEAST_WIDTH, NAME_WIDTH
from gpuplanner.ui.compare_place.subjects import Subject
from gpuplanner.ui.compare_place.wording import about
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label


class Head(QWidget):
    """A click on the name goes to the entry; the small buttons plan with it, move the column or take it away."""

    opened = Signal()
    planned = Signal()
    moved = Signal(int)
    removed = Signal()

    def __init__(self, appearance: Appearance, subject: Subject, *, first: bool, last: bool) -> None:
        super().__init__()
        says = about(subject, appearance)
        self.name = LinkRow(appearance, subject.title, strong=True)
        self.name.setAccessibleName(f"{subject.title} · {says}")
        self.name.clicked.connect(self.opened)
        self.about = Label(appearance, says, TextRole.LABEL, Ink.MUTED, wrap=True)
        self.about.keep_clear(6, 0, 6, 0)
        self.plan = _small(appearance, "compareui.plan_with", "sliders-horizontal")
        self.plan.clicked.connect(self.planned)
        self.plan.setEnabled(subject.plan_path is not None)
        self.left = _small(appearance, "compareui.left", "arrow-left")
        self.left.clicked.connect(lambda: self.moved.emit(-1))
        self.left.setEnabled(not first)
        self.right = _small(appearance, "compareui.right", "arrow-right")
        self.right.clicked.connect(lambda: self.moved.emit(1))
        self.right.setEnabled(not last)
        self.remove = _small(appearance, "compareui.remove", "x")
        self.remove.clicked.connect(self.removed)
        buttons = QHBoxLayout()
        buttons.setSpacing(0)
        for button in (self.plan, self.left, self.right, self.remove):
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 0, 2, 0)
        layout.setSpacing(2)
        layout.addWidget(self.name)
        layout.addWidget(self.about)
        layout.addStretch(1)
        layout.addLayout(buttons)
        self.setMinimumWidth(LEAST_WIDTH)


class Heads(QWidget):
    """The row of heads, each as wide as its column."""

    opened = Signal(object)
    planned = Signal(object)
    moved = Signal(object, int)
    removed = Signal(object)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self.heads: list[Head] = []
        self.note = Label(appearance, "", ink=Ink.MUTED, wrap=True)
        self.note.setFixedWidth(NAME_WIDTH)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._layout.addWidget(self.note)

    def show_subjects(self, subjects: Sequence[Subject]) -> None:
        """Show other heads. The keyboard stays where it was, as far as there is such a head."""
        focused = QApplication.focusWidget()
        at = next((i for i, head in enumerate(self.heads) if focused is not None and head.isAncestorOf(focused)), None)
        for head in self.heads:
            self._layout.removeWidget(head)
            head.hide()
            head.deleteLater()
        self.heads = [
            Head(self._appearance, subject, first=place == 0, last=place == len(subjects) - 1)
            for place, subject in enumerate(subjects)
        ]
        for head, subject in zip(self.heads, subjects, strict=True):
            self._connect(head, subject)
            self._layout.addWidget(head, 1)
        self.setMinimumWidth(NAME_WIDTH + len(subjects) * LEAST_WIDTH)
        if at is not None and self.heads:
            self.heads[min(at, len(self.heads) - 1)].name.setFocus()

    def height_at(self, width: int) -> int:
        """How high the heads are in a table of this width: nothing of what they say is cut."""
        if not self.heads:
            return 0
        column = max(LEAST_WIDTH, (max(width, self.minimumWidth()) - NAME_WIDTH) // len(self.heads))
        return max(head.heightForWidth(column) for head in self.heads)

    def _connect(self, head: Head, subject: Subject) -> None:
        pin = subject.pin
        head.planned.connect(lambda: self.planned.emit(subject))
        head.opened.connect(lambda: self.opened.emit(pin))
        head.moved.connect(lambda by: self.moved.emit(pin, by))
        head.removed.connect(lambda: self.removed.emit(pin))


def _small(appearance: Appearance, says: str, icon: str) -> Button:
    return Button(appearance, msg(says), ButtonKind.QUIET, icon=icon, icon_only=True, small=True)
