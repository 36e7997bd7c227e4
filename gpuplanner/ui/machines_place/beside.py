"""The right column: the charts of what was measured, and the machine live. It scrolls as a whole."""

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.ui.machines_place.charts.cards import RateCards
from gpuplanner.ui.machines_place.live.card import LiveCard
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.tokens import GAP
from gpuplanner.ui.widgets.scrolling import Scrolled, scrolling

BAR = 9
"""Pixels right of the cards in which the bar lies that scrolls them."""


class Beside(QWidget):
    """The cards below one another."""

    def __init__(self, rates: RateCards, live: LiveCard) -> None:
        super().__init__()
        self._cards: tuple[RateCards | LiveCard, ...] = (rates, live)
        inner = Scrolled()
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, BAR, 0)
        column.setSpacing(GAP)
        for each in self._cards:
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
        for each in self._cards:
            each.show_machine(shown)
        self.setVisible(any(not each.isHidden() for each in self._cards))
