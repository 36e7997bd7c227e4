"""The glossary as it is read: every word with its meaning, searched in both languages."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.help_page.glossary import GLOSSARY, Term
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.tokens import GAP
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.search_field import SearchField


class GlossaryView(QWidget):
    """A field to search with, and the words that match."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self.search = SearchField(appearance, msg("ui.help.search"))
        self.search.searched.connect(self._filter)
        self.terms: list[tuple[Term, QWidget]] = []
        self._card = self._terms_card()
        self._nothing = Label(appearance, msg("ui.help.nothing"), ink=Ink.MUTED)
        self._nothing.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        for widget in (self.search, self._nothing, self._card):
            layout.addWidget(widget)
        layout.addStretch(1)

    def show_term(self, term: Term) -> None:
        """Search for one word, so that it stands alone, or nearly."""
        self.search.set_text(self._appearance.text(term.name))

    def _terms_card(self) -> Card:
        card = Card(self._appearance, msg("ui.help.glossary"))
        for term in GLOSSARY:
            row = QWidget()
            column = QVBoxLayout(row)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(3)
            if self.terms:
                column.addWidget(line(self._appearance))
                column.addSpacing(6)
            column.addWidget(Label(self._appearance, term.name, TextRole.STRONG))
            column.addWidget(Label(self._appearance, term.meaning, wrap=True, selectable=True))
            card.body.addWidget(row)
            self.terms.append((term, row))
        return card

    def _filter(self, query: str) -> None:
        found = False
        for term, row in self.terms:
            texts = (*self._appearance.texts(term.name), *self._appearance.texts(term.meaning))
            shown = not query.strip() or match(query, *texts) > 0
            row.setVisible(shown)
            found = found or shown
        self._card.setVisible(found)
        self._nothing.setHidden(found)
