"""The guide: keyboard shortcuts, what the marks mean, how sure a number is."""

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.shell.shortcuts import PLACE_KEYS, SHORTCUTS
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Label
from gpuplanner.ui.widgets.verdict_tag import VerdictTag


class Guide(QWidget):
    """`places` is how many the rail shows, each with a key."""

    def __init__(self, appearance: Appearance, places: int) -> None:
        super().__init__()
        self._appearance = appearance
        self._places = places
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        for card in (self._shortcuts(), self._marks(), self._certainties()):
            layout.addWidget(card)
        layout.addStretch(1)

    def _shortcuts(self) -> Card:
        card = Card(self._appearance, msg("ui.help.shortcuts"))
        grid = QGridLayout()
        grid.setVerticalSpacing(8)
        grid.setHorizontalSpacing(18)
        grid.setColumnStretch(1, 1)
        rows = [(_native(s.keys), s.does) for s in SHORTCUTS]
        if self._places:
            others = "".join(f", {number}" for number in range(2, self._places + 1))
            rows.append((_native(PLACE_KEYS.format(number=1)) + others, msg("shortcuts.places")))
        for row, (shown, does) in enumerate(rows):
            grid.addWidget(Label(self._appearance, shown, TextRole.LABEL_STRONG), row, 0)
            grid.addWidget(Label(self._appearance, does, wrap=True), row, 1)
        card.body.addLayout(grid)
        return card

    def _marks(self) -> Card:
        card = Card(self._appearance, msg("ui.help.marks"))
        grid = QGridLayout()
        grid.setVerticalSpacing(8)
        grid.setHorizontalSpacing(18)
        grid.setColumnStretch(1, 1)
        for row, verdict in enumerate((Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.UNKNOWN)):
            tag = VerdictTag(self._appearance, verdict, Message(f"ui.verdict.{verdict.value}"))
            grid.addWidget(tag, row, 0)
            grid.addWidget(Label(self._appearance, Message(f"ui.verdict.{verdict.value}.help"), wrap=True), row, 1)
        card.body.addLayout(grid)
        return card

    def _certainties(self) -> Card:
        card = Card(self._appearance, msg("ui.help.certainty"))
        for kind in ("exact", "measured", "calibrated", "rule", "user"):
            card.body.addWidget(Label(self._appearance, Message(f"ui.help.certainty.{kind}"), wrap=True))
        return card


def _native(keys: str) -> str:
    """Keys as this system writes them."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
