"""The settings page: lays out the presenter's settings as rows of cards, and filters them as one types."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.quantities import money_rate
from gpuplanner.store.settings import CURRENCY, Setting
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.own_folder import OVERLAYS
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.palette.providers import OWN_FILES
from gpuplanner.ui.places import Context, Heading, Page, PageAction, Place
from gpuplanner.ui.settings_page.presenter import GROUPS, Rate, SettingsPresenter
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.scrolling import column_page
from gpuplanner.ui.widgets.search_field import SearchField
from gpuplanner.ui.widgets.segmented import Option, Segmented


def settings_place(today: Callable[[], date]) -> Place:
    """The settings as a place."""
    return Place(
        "settings", "settings", msg("settings.title"), lambda context: SettingsPage(context, today), shortcut="Ctrl+,"
    )


class SettingsPage(Page):
    """All settings on one page."""

    def __init__(self, context: Context, today: Callable[[], date]) -> None:
        super().__init__()
        # It reads the engine: the window is there before it.
        from gpuplanner.ui.settings_page.own_measurements import OwnMeasurements

        self._context = context
        self._appearance = context.appearance
        self._presenter = SettingsPresenter(context.appearance, context.settings, today)
        self._rows: list[_Row] = []
        self._search = SearchField(self._appearance, msg("settings.search"))
        self._search.searched.connect(self._filter)
        self._nothing = Label(self._appearance, msg("settings.nothing"), ink=Ink.MUTED)
        self._nothing.hide()
        self._cards: list[tuple[Card, Sequence[_Row]]] = []
        column = QVBoxLayout()
        column.setSpacing(GAP)
        column.addWidget(self._search)
        column.addWidget(self._nothing)
        for title, settings in GROUPS:
            column.addWidget(self._card(title, settings))
        self._rates = _Rates(self._appearance, self._presenter)
        column.addWidget(self._rates)
        self._own = _OwnFiles(context)
        column.addWidget(self._own)
        self.measured = OwnMeasurements(context)
        column.addWidget(self.measured)
        column.addStretch(1)
        inner = QWidget()
        inner.setLayout(column)
        column.setContentsMargins(0, 0, 0, 0)
        self._area = column_page(inner)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._area)
        self._appearance.settingChanged.connect(self._refresh)
        self._appearance.displayChanged.connect(self._refresh)
        self._refresh()

    def heading(self) -> Heading:
        return Heading(
            msg("settings.title"),
            actions=(
                PageAction("reset_layout", msg("settings.reset_layout"), self._context.reset_layout),
                PageAction("reset_all", msg("settings.reset_all"), self._reset_all),
            ),
        )

    def visit(self, path: str) -> None:
        """`path` is the key of a setting, or the person's own files."""
        if path == OWN_FILES:
            self._search.set_text("")
            self._area.ensureWidgetVisible(self._own)
            self._own.open.setFocus(Qt.FocusReason.ShortcutFocusReason)
        row = next((row for row in self._rows if row.setting.key == path), None)
        if row is not None:
            self._search.set_text("")
            self._area.ensureWidgetVisible(row)
            row.control.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def panes(self) -> Sequence[QWidget]:
        return (self._search,)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # The Plan place keeps measurements too.
        self.measured.refresh()

    def close_page(self) -> None:
        self.measured.stop()

    def leave(self) -> bool:
        if not self._search.text():
            return False
        self._search.set_text("")
        return True

    def _card(self, title: Message, settings: Sequence[Setting]) -> Card:
        card = Card(self._appearance, title)
        rows = [_Row(self._appearance, self._presenter, setting) for setting in settings]
        for row in rows:
            card.body.addWidget(row)
        self._rows += rows
        self._cards.append((card, rows))
        return card

    def _filter(self, query: str) -> None:
        for card, rows in self._cards:
            for row in rows:
                row.setVisible(self._presenter.matches(query, row.setting))
            card.setVisible(any(not row.isHidden() for row in rows))
        self._rates.setVisible(self._presenter.matches(query, CURRENCY))
        self._own.setVisible(self._own.matches(query))
        self.measured.setVisible(self.measured.matches(query))
        cards = (self._own, self.measured, *(card for card, _ in self._cards))
        self._nothing.setVisible(all(card.isHidden() for card in cards))

    def _refresh(self) -> None:
        for row in self._rows:
            row.refresh()
        self._rates.refresh()

    def _reset_all(self) -> None:
        undo = NoticeAction(msg("ui.undo"), self._presenter.reset_all())
        self._context.notices.say(msg("settings.reset_all.done"), Verdict.PASS, undo)


class _Row(QWidget):
    """A setting: what it is called and does, its control, and the way back to its default."""

    def __init__(self, appearance: Appearance, presenter: SettingsPresenter, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self._presenter = presenter
        self.control = Segmented(appearance, name=presenter.title(setting))
        self.control.chosen.connect(lambda choice: presenter.choose(setting, choice))
        self._reset = Button(appearance, msg("settings.reset"), ButtonKind.QUIET, icon="rotate-ccw", icon_only=True)
        self._reset.clicked.connect(lambda: presenter.reset(setting))
        policy = self._reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._reset.setSizePolicy(policy)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Label(appearance, presenter.title(setting)))
        words.addWidget(Label(appearance, presenter.help(setting), TextRole.LABEL, Ink.MUTED, wrap=True))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.setSpacing(10)
        layout.addLayout(words, 1)
        # Before the control, so that this ends with the card and does not move when the way back appears.
        layout.addWidget(self._reset, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.control, 0, Qt.AlignmentFlag.AlignTop)

    def refresh(self) -> None:
        """Show what is chosen now."""
        options = [Option(choice, says) for choice, says in self._presenter.choices(self.setting)]
        self.control.set_options(options, str(self._presenter.value(self.setting)))
        self._reset.setVisible(not self._presenter.is_default(self.setting))
        self._reset.explain(self._presenter.default(self.setting))


class _OwnFiles(Card):
    """Where the person's own files over the catalog are, and what can be done about them."""

    def __init__(self, context: Context) -> None:
        appearance = self._look = context.appearance
        super().__init__(appearance, msg("settings.own_files"))
        self._context = context
        self.folder = Path(context.workspace.home) / OVERLAYS
        self.open = Button(appearance, msg("settings.own_files.open"), icon="folder-open")
        self.open.clicked.connect(self._open)
        self.copy = Button(appearance, msg("settings.own_files.copy"), icon="copy")
        self.copy.clicked.connect(self._copy)
        self.again = Button(appearance, msg("settings.own_files.again"), icon="rotate-ccw")
        self.again.clicked.connect(context.read_again)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.open, self.copy, self.again):
            buttons.addWidget(button)
        buttons.addStretch(1)
        self.body.addWidget(Label(appearance, msg("settings.own_files.help"), TextRole.LABEL, Ink.MUTED, wrap=True))
        self.body.addWidget(Label(appearance, str(self.folder), wrap=True, selectable=True))
        self.body.addLayout(buttons)

    def matches(self, query: str) -> bool:
        """Whether these files are meant by what was typed, in either language."""
        ids = ("settings.own_files", "settings.own_files.help", "ui.own.where.words", "ui.own.again.words")
        texts = [text for name in ids for text in self._look.texts(Message(name))]
        return not query.strip() or match(query, *texts) > 0

    def _open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            self._context.notices.say(msg("settings.own_files.not_opened", folder=str(self.folder), why=why))
            return
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.folder)))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(str(self.folder))
        self._context.notices.say(msg("settings.own_files.copied"), Verdict.PASS)


class _Rates(Card):
    """The currency rates, each with its date; a person's own replaces that of the catalog."""

    def __init__(self, appearance: Appearance, presenter: SettingsPresenter) -> None:
        super().__init__(appearance, msg("settings.rates"), msg("settings.rates.note"))
        self._look = appearance
        self._presenter = presenter
        self._fields: dict[str, NumberField] = {}
        self._notes: dict[str, tuple[Label, Button]] = {}

    def refresh(self) -> None:
        """Show the rates that are known now."""
        rates = self._presenter.rates()
        for rate in rates:
            if rate.currency not in self._fields:
                self._add(rate)
            self._fields[rate.currency].set_value(rate.per_usd)
            note, reset = self._notes[rate.currency]
            note.say(rate.origin)
            reset.setVisible(rate.own)
        self.setHidden(not rates)

    def _add(self, rate: Rate) -> None:
        currency = rate.currency
        field = NumberField(self._look, "", money_rate(currency), name=msg("settings.rates.name", currency=currency))
        field.setFixedWidth(180)
        field.changed.connect(lambda value: self._presenter.set_rate(currency, value))
        note = Label(self._look, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        reset = Button(self._look, msg("settings.reset"), ButtonKind.QUIET, icon="rotate-ccw", icon_only=True)
        reset.clicked.connect(lambda: self._presenter.reset_rate(currency))
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(Label(self._look, msg("settings.rates.usd")))
        row.addWidget(field, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(note, 1)
        row.addWidget(reset)
        if self._fields:
            self.body.addWidget(line(self._look))
        self.body.addLayout(row)
        self._fields[currency] = field
        self._notes[currency] = (note, reset)
