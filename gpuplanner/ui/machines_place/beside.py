"""The right column: the charts of what was measured, and the machine live. It scrolls as a whole."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.tokens import GAP
from gpuplanner.ui.widgets.scrolling import Scrolled, scrolling

_PLACE = "gpuplanner.ui.machines_place"


class MachineCard(Protocol):
    """What every card of the page can do."""

    def show_machine(self, shown: Shown) -> None: ...


def card(module: str, name: str, *given: Any) -> QWidget | None:
    """A card of the page, read when it is first wanted; None where this build has none of them."""
    if find_spec(f"{_PLACE}.{module.split('.', maxsplit=1)[0]}") is None or find_spec(f"{_PLACE}.{module}") is None:
        return None
    made = getattr(import_module(f"{_PLACE}.{module}"), name)(*given)
    if not isinstance(made, QWidget):
        raise TypeError(f"{module}.{name} is no widget")
    return made


class Beside(QWidget):
    """Cards below one another."""

    def __init__(self, cards: Sequence[QWidget | None]) -> None:
        super().__init__()
        self.cards: tuple[Any, ...] = tuple(each for each in cards if each is not None)
        inner = Scrolled()
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        for each in self.cards:
            column.addWidget(each)
        column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        self._area = scrolling(inner)
        layout.addWidget(self._area)

    def reveal(self, each: QWidget) -> None:
        """Bring a card into sight, once it has been laid out."""
        QTimer.singleShot(0, self, lambda: self._area.ensureWidgetVisible(each, 0, 0))

    def show_machine(self, shown: Shown) -> None:
        """Show another machine, or more of this one. Without a card that has something to say the column goes."""
        for each in self.cards:
            each.show_machine(shown)
        self.setVisible(any(not each.isHidden() for each in self.cards))
