"""The help page: shortcuts, marks, a glossary that can be searched; what has been told; facts for whoever helps."""

from collections.abc import Sequence

from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.help_page.diagnostics import as_markdown, diagnostics
from gpuplanner.ui.help_page.glossary import GLOSSARY, Term
from gpuplanner.ui.notices import Notice
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.places import Context, Heading, Page, PageAction, Place, Segment
from gpuplanner.ui.shell.shortcuts import PLACE_KEYS, SHORTCUTS
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.key_value import KeyValueList
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.scrolling import column_page
from gpuplanner.ui.widgets.search_field import SearchField
from gpuplanner.ui.widgets.verdict_tag import VerdictTag

GUIDE, NOTICES, DIAGNOSTICS = "guide", "notices", "diagnostics"


def help_place(places: int) -> Place:
    """The help as a place; `places` is how many the rail shows, each with a key."""
    return Place("help", "circle-help", msg("ui.help.title"), lambda context: HelpPage(context, places), shortcut="F1")


class HelpPage(Page):
    """Three views: the guide, the notices that were told, and the diagnostics."""

    def __init__(self, context: Context, places: int) -> None:
        super().__init__()
        self._context = context
        self._view = GUIDE
        self._guide = _Guide(context.appearance, places)
        self._notices = _Notices(context)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        self._facts = KeyValueList(context.appearance)
        facts = Card(context.appearance, msg("ui.diagnostics.title"), msg("ui.diagnostics.note"))
        facts.body.addWidget(self._facts)
        self._areas = {
            GUIDE: column_page(self._guide),
            NOTICES: column_page(self._notices),
            DIAGNOSTICS: column_page(facts),
        }
        for area in self._areas.values():
            layout.addWidget(area)
        context.notices.said.connect(self.headingChanged)
        context.notices.cleared.connect(self.headingChanged)
        self._show()

    def heading(self) -> Heading:
        count = len(self._context.notices.kept)
        clear = PageAction("clear_notices", msg("ui.notices.clear"), self._context.notices.clear, enabled=count > 0)
        copy = PageAction("copy_facts", msg("ui.diagnostics.copy"), self._copy_facts, icon="copy")
        actions: dict[str, tuple[PageAction, ...]] = {GUIDE: (), NOTICES: (clear,), DIAGNOSTICS: (copy,)}
        segments = (
            Segment(GUIDE, msg("ui.help.guide")),
            Segment(NOTICES, msg("ui.notices.title"), str(count)),
            Segment(DIAGNOSTICS, msg("ui.diagnostics.title")),
        )
        return Heading(segments=segments, segment=self._view, actions=actions[self._view])

    def choose_segment(self, segment_id: str) -> None:
        self._view = segment_id
        self._show()
        self.headingChanged.emit()
        self.moved.emit(self.path())

    def path(self) -> str:
        return self._view

    def visit(self, path: str) -> None:
        if path in self._areas:
            self._view = path
            self._show()
            self.headingChanged.emit()
        elif path.startswith("term/"):
            self.visit(GUIDE)
            self._guide.search.set_text(self._context.appearance.text(Message(f"ui.term.{path[5:]}")))

    def panes(self) -> Sequence[QWidget]:
        return (self._guide.search,) if self._view == GUIDE else ()

    def leave(self) -> bool:
        if not self._guide.search.text():
            return False
        self._guide.search.set_text("")
        return True

    def _copy_facts(self) -> None:
        rows = diagnostics(self._context.appearance, self._context.workspace)
        QGuiApplication.clipboard().setText(as_markdown(self._context.appearance, rows))
        self._context.notices.say(msg("ui.diagnostics.copied"), Verdict.PASS)

    def _show(self) -> None:
        if self._view == DIAGNOSTICS:
            self._facts.set_rows(diagnostics(self._context.appearance, self._context.workspace))
        for view, area in self._areas.items():
            area.setVisible(view == self._view)


class _Guide(QWidget):
    def __init__(self, appearance: Appearance, places: int) -> None:
        super().__init__()
        self._appearance = appearance
        self._places = places
        self.search = SearchField(appearance, msg("ui.help.search"))
        self.search.searched.connect(self._filter)
        self._terms: list[tuple[Term, QWidget]] = []
        self._cards = [self._shortcuts(), self._marks(), self._certainties()]
        self._glossary = self._terms_card()
        self._nothing = Label(appearance, msg("ui.help.nothing"), ink=Ink.MUTED)
        self._nothing.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self.search)
        layout.addWidget(self._nothing)
        for card in (*self._cards, self._glossary):
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

    def _terms_card(self) -> Card:
        card = Card(self._appearance, msg("ui.help.glossary"))
        for term in GLOSSARY:
            row = QWidget()
            column = QVBoxLayout(row)
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(3)
            if self._terms:
                column.addWidget(line(self._appearance))
                column.addSpacing(6)
            column.addWidget(Label(self._appearance, term.name, TextRole.STRONG))
            column.addWidget(Label(self._appearance, term.meaning, wrap=True, selectable=True))
            card.body.addWidget(row)
            self._terms.append((term, row))
        return card

    def _filter(self, query: str) -> None:
        searching = bool(query.strip())
        for card in self._cards:
            card.setHidden(searching)
        found = False
        for term, row in self._terms:
            texts = (*self._appearance.texts(term.name), *self._appearance.texts(term.meaning))
            shown = not searching or match(query, *texts) > 0
            row.setVisible(shown)
            found = found or shown
        self._glossary.setVisible(found)
        self._nothing.setHidden(found)


def _native(keys: str) -> str:
    """Keys as this system writes them."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


class _Notices(QWidget):
    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self._none = Label(context.appearance, msg("ui.notices.none"), ink=Ink.MUTED)
        self._layout.addWidget(self._none)
        self._boxes: list[NoticeBox] = []
        for notice in context.notices.kept:
            self._add(notice)
        context.notices.said.connect(self._add)
        context.notices.cleared.connect(self._clear)

    def _add(self, notice: Notice) -> None:
        says = msg("ui.notices.at", time=notice.at.strftime("%H:%M"), says=notice.message)
        box = NoticeBox(self._context.appearance, says, notice.verdict, notice.action)
        self._boxes.append(box)
        self._layout.insertWidget(0, box)
        self._none.hide()

    def _clear(self) -> None:
        for box in self._boxes:
            self._layout.removeWidget(box)
            box.deleteLater()
        self._boxes = []
        self._none.show()
