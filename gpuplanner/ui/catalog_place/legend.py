"""The line below the table that says what the marks mean. A painted word for each, no colours."""

from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.marks import Mark
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.widgets.label import Ink, Label


class Legend(QWidget):
    """Says less where there is nothing of a kind in sight."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._label = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self._priced = False
        self._marks: tuple[Mark, ...] = (Mark.SOURCED, Mark.DISPUTED, Mark.MEMORY)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._label, 1)
        appearance.languageChanged.connect(self._render)
        self._render()

    def show_own(self, *, own: bool) -> None:
        """Whether a person has entries of their own."""
        marks = (Mark.SOURCED, Mark.DISPUTED, Mark.MEMORY)
        self._marks = (*marks, Mark.OWN) if own else marks
        self._render()

    def show_priced(self, *, priced: bool) -> None:
        """Whether the rows have prices, whose age is marked too."""
        self._priced = priced
        self._render()

    def _render(self) -> None:
        said = [f"{mark.value} {self._appearance.text(mark.meaning)}" for mark in self._marks]
        if self._priced:
            said.append(self._appearance.text("catalogui.legend.age"))
        self._label.say("   ".join(said))
