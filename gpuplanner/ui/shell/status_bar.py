"""The line at the foot: offline, what the catalog holds, what runs, and how numbers and words are shown now."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpuplanner.messages import Language, Message, msg
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, Setting
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Jobs
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.painting import painter_for
from gpuplanner.ui.shell.work_view import WorkView
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.menus import choose_from
from gpuplanner.ui.widgets.verdict_tag import DOT, draw_dot

HEIGHT = 30
LANGUAGE_NAMES = {Language.ENGLISH: "English", Language.CHINESE: "简体中文"}
"""Each language by its own name, whatever the language in use."""


class _Offline(QWidget):
    """The badge that says that nothing leaves this computer."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._label = Label(appearance, msg("ui.status.offline"), TextRole.LABEL, Ink.MUTED)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(int(DOT) + 7, 0, 0, 0)
        layout.addWidget(self._label)
        appearance.languageChanged.connect(self._render)
        appearance.themeChanged.connect(self.update)
        self._render()

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_dot(painter_for(self), DOT / 2, self.height() / 2, self._appearance.tokens.tone(Verdict.PASS).ink)

    def _render(self) -> None:
        self.setToolTip(self._appearance.text(msg("ui.status.offline.help")))


class StatusBar(QWidget):
    """Shows the state; each item at the right can be clicked to change what it says."""

    noticesWanted = Signal()

    def __init__(self, appearance: Appearance, jobs: Jobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.work = WorkView(appearance, jobs)
        self.setFixedHeight(HEIGHT)
        self._catalog = Label(appearance, "", TextRole.LABEL, Ink.MUTED)
        self._catalog.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._job = Label(appearance, "", TextRole.LABEL, Ink.MUTED)
        self.notices = self._item("0", msg("ui.status.notices"), self.noticesWanted.emit)
        self.notices.set_icon("bell")
        self.memory = self._item("", msg("ui.status.memory"), self._choose_memory)
        self.currency = self._item("", msg("ui.status.currency"), self._choose_currency)
        self.language = self._item("", msg("ui.status.language"), self._choose_language)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 1, 10, 0)
        layout.setSpacing(0)
        layout.addWidget(_Offline(appearance))
        layout.addSpacing(18)
        layout.addWidget(self._catalog)
        layout.addStretch(1)
        layout.addWidget(self.work)
        layout.addSpacing(8)
        layout.addWidget(self._job)
        layout.addSpacing(8)
        for item in (self.notices, self.memory, self.currency, self.language):
            layout.addWidget(item)
        appearance.languageChanged.connect(self._render)
        appearance.displayChanged.connect(self._render)
        appearance.themeChanged.connect(self.update)
        self._render()

    def show_catalog(self, says: Message) -> None:
        """Say what the catalog holds and of when it is."""
        self._catalog.say(says)

    def show_job(self, says: Message | None) -> None:
        """Say what runs, or what ran last and how long it took."""
        self._job.say(says or "")

    def show_notices(self, count: int) -> None:
        """Say how many notices are kept."""
        self.notices.say(str(count))
        self.notices.setVisible(count > 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        painter.fillRect(self.rect(), tokens.card)
        painter.fillRect(0, 0, self.width(), 1, tokens.line)

    def _item(self, says: str, tip: Message, run: Callable[[], object]) -> Button:
        button = Button(self._appearance, says, ButtonKind.QUIET, small=True)
        button.explain(tip)
        button.clicked.connect(lambda _checked=False: run())
        return button

    def _choose_memory(self) -> None:
        options = [(c, self._appearance.text(msg(f"settings.memory.{c}"))) for c in MEMORY.choices]
        self._choose(self.memory, options, MEMORY)

    def _choose_currency(self) -> None:
        known = self._appearance.rates()
        options = [
            (code, f"{code} · {known[code].date}" if code in known and code != "USD" else code)
            for code in CURRENCY.choices
            if code == "USD" or code in known
        ]
        self._choose(self.currency, options, CURRENCY)

    def _choose_language(self) -> None:
        options = [(language.value, name) for language, name in LANGUAGE_NAMES.items()]
        choose_from(
            self.language,
            options,
            self._appearance.language.value,
            lambda wanted: self._appearance.choose(LANGUAGE, wanted),
            above=True,
        )

    def _choose(self, owner: Button, options: Sequence[tuple[str, str]], setting: Setting) -> None:
        current = self._appearance.chosen(setting)
        choose_from(owner, options, current, lambda wanted: self._appearance.choose(setting, wanted), above=True)

    def _render(self) -> None:
        self.memory.say(self._appearance.display.memory.value)
        self.currency.say(self._appearance.display.currency)
        self.language.say(LANGUAGE_NAMES[self._appearance.language])
