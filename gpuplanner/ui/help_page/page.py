"""The help page: the guide, the glossary, what has been told, and facts for whoever helps."""

from collections.abc import Sequence

from PySide6.QtGui import QGuiApplication, QHideEvent, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.help_page.diagnostics import as_markdown, diagnostics
from gpuplanner.ui.help_page.glossary import term_of_path
from gpuplanner.ui.help_page.glossary_view import GlossaryView
from gpuplanner.ui.help_page.guide import Guide
from gpuplanner.ui.help_page.notice_list import NoticeList
from gpuplanner.ui.places import Context, Heading, Page, PageAction, Place, Segment
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.key_value import KeyValueList
from gpuplanner.ui.widgets.scrolling import column_page

GUIDE, GLOSSARY, NOTICES, DIAGNOSTICS = "guide", "glossary", "notices", "diagnostics"

_ROOMY = 800
"""From this width on the top bar has room for the action beside the four views; else the palette has it."""


def help_place(places: int) -> Place:
    """The help as a place; `places` is how many the rail shows, each with a key."""
    return Place("help", "circle-help", msg("ui.help.title"), lambda context: HelpPage(context, places), shortcut="F1")


class HelpPage(Page):
    """Four views, of which one is shown."""

    def __init__(self, context: Context, places: int) -> None:
        super().__init__()
        self._context = context
        self._view = GUIDE
        self._roomy = True
        self.glossary = GlossaryView(context.appearance)
        self.notices = NoticeList(context)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        self._facts = KeyValueList(context.appearance)
        facts = Card(context.appearance, msg("ui.diagnostics.title"), msg("ui.diagnostics.note"))
        facts.body.addWidget(self._facts)
        self._areas = {
            GUIDE: column_page(Guide(context.appearance, places)),
            GLOSSARY: column_page(self.glossary),
            NOTICES: column_page(self.notices),
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
        copy = PageAction("copy_facts", msg("ui.diagnostics.copy"), self._copy_facts, icon="copy", in_bar=self._roomy)
        actions: dict[str, tuple[PageAction, ...]] = {NOTICES: (clear,), DIAGNOSTICS: (copy,)}
        segments = (
            Segment(GUIDE, msg("ui.help.guide")),
            Segment(GLOSSARY, msg("ui.help.glossary")),
            Segment(NOTICES, msg("ui.notices.title"), str(count)),
            Segment(DIAGNOSTICS, msg("ui.diagnostics.title")),
        )
        return Heading(segments=segments, segment=self._view, actions=actions.get(self._view, ()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        roomy = self.width() >= _ROOMY
        if roomy != self._roomy:
            self._roomy = roomy
            self.headingChanged.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous() and self._view == NOTICES and not self._context.notices.kept:
            # Whoever asks for help next is not to find an empty list.
            self._view = GUIDE
            self._show()

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
        elif (term := term_of_path(path)) is not None:
            self.visit(GLOSSARY)
            self.glossary.show_term(term)

    def panes(self) -> Sequence[QWidget]:
        return (self.glossary.search,) if self._view == GLOSSARY else (self._areas[self._view],)

    def leave(self) -> bool:
        if self._view != GLOSSARY or not self.glossary.search.text():
            return False
        self.glossary.search.set_text("")
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
