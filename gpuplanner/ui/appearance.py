"""How everything is said and shown now: language, theme, units, currency. Widgets listen to its three signals.

A widget takes the Appearance first, renders messages through `text`, and renders again when a signal says so. Whoever
changes the language or the theme changes it here, and nothing has to start anew.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from PySide6.QtCore import QDateTime, QLocale, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication

from gpuplanner.facts import Source
from gpuplanner.messages import Language, Message, MessageValue, Translator
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, THEME, Setting
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.tokens import DARK, LIGHT, Tokens
from gpuplanner.units import Display, MemoryConvention, Shown, Unit, show, show_range

FACE = "window"
"""Texts of its own stand under `<id>.window`; see `Translator`."""


class DatedRate(Protocol):
    """What one US dollar cost in a currency, on which day, and who says so."""

    @property
    def per_usd(self) -> float: ...

    @property
    def date(self) -> str: ...

    @property
    def source(self) -> Source: ...


class Appearance(QObject):
    """Language, theme and units in use. `choose` changes a setting and everything on the screen with it."""

    languageChanged = Signal()
    """Every text has to be rendered again."""
    themeChanged = Signal()
    """Every colour has to be taken anew; the palette of the application is already right."""
    displayChanged = Signal()
    """Every number has to be rendered again: memory convention, currency or rate."""
    settingChanged = Signal(str)
    """The key of a setting that was chosen or reset."""

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._translators = {language: Translator(language, face=FACE) for language in Language}
        self._rates: Callable[[], Mapping[str, DatedRate]] = dict
        self.language = self._wanted_language()
        self.tokens = self._wanted_tokens()
        self.display = self._wanted_display()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._take_tokens)

    # --- Words --------------------------------------------------------------------------------------------------------

    @property
    def translator(self) -> Translator:
        """The translator of the language in use."""
        return self._translators[self.language]

    def text(self, message: Message | str, **values: MessageValue) -> str:
        """The text of a message (or of an id with values) in the language in use."""
        return self.translator.text(message, **values)

    def said(self, says: MessageValue) -> str:
        """A message in the language in use; somebody's own text or a number as it is."""
        return self.text(says) if isinstance(says, Message) else str(says)

    def texts(self, message: Message) -> tuple[str, ...]:
        """The text in every language, the one in use first: what a search over texts looks at."""
        others = (t for language, t in self._translators.items() if language is not self.language)
        return tuple(translator.text(message) for translator in (self.translator, *others))

    # --- Numbers ------------------------------------------------------------------------------------------------------

    def show(self, value: float, unit: Unit) -> Shown:
        """A number in base units as the person wants to read it."""
        return self._translated(show(value, unit, self.display))

    def show_range(self, low: float, high: float, unit: Unit, value: float) -> tuple[Shown, Shown]:
        """The ends of the range of a value as the person wants to read them, in one unit where that reads well."""
        first, last = show_range(low, high, unit, self.display, value)
        return self._translated(first), self._translated(last)

    def _translated(self, shown: Shown) -> Shown:
        return Shown(shown.number, self.translator.unit(shown.unit))

    def moment(self, iso: str) -> str:
        """A moment in UTC as the clock on the wall says it: the day as everywhere in the window, then the time.

        The text itself when it is no moment.
        """
        when = QDateTime.fromString(iso, Qt.DateFormat.ISODateWithMs)
        if not when.isValid():
            return iso
        return when.toLocalTime().toString("yyyy-MM-dd HH:mm:ss")

    def learn_rates(self, rates: Callable[[], Mapping[str, DatedRate]]) -> None:
        """Take the dated rates from here, the person's own among them. Until then money is shown in US dollars."""
        self._rates = rates
        self._take_display()

    def rates(self) -> Mapping[str, DatedRate]:
        """The dated rates that are known now."""
        return self._rates()

    # --- Choosing -----------------------------------------------------------------------------------------------------

    def chosen(self, setting: Setting) -> Any:
        """What was chosen for a setting, or its default."""
        return self._settings.get(setting)

    def choose(self, setting: Setting, value: Any) -> None:
        """Choose a value for a setting and show it everywhere."""
        self._settings.set(setting, value)
        self._take(setting)

    def reset(self, setting: Setting) -> None:
        """Back to the default of a setting."""
        self._settings.reset(setting)
        self._take(setting)

    def _take(self, setting: Setting) -> None:
        self._take_language()
        self._take_tokens()
        self._take_display()
        self.settingChanged.emit(setting.key)

    def _take_language(self) -> None:
        wanted = self._wanted_language()
        if wanted is not self.language:
            self.language = wanted
            self.languageChanged.emit()

    def _take_tokens(self) -> None:
        wanted = self._wanted_tokens()
        if wanted is not self.tokens:
            self.tokens = wanted
            self.themeChanged.emit()

    def _take_display(self) -> None:
        wanted = self._wanted_display()
        if wanted != self.display:
            self.display = wanted
            self.displayChanged.emit()

    def _wanted_language(self) -> Language:
        chosen = self._settings.get(LANGUAGE)
        return Language.from_locale(QLocale.system().name()) if chosen == "system" else Language(chosen)

    def _wanted_tokens(self) -> Tokens:
        chosen = self._settings.get(THEME)
        if chosen == "system":
            return DARK if QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark else LIGHT
        return DARK if chosen == "dark" else LIGHT

    def _wanted_display(self) -> Display:
        memory = MemoryConvention(self._settings.get(MEMORY))
        currency = self._settings.get(CURRENCY)
        rate = self.rates().get(currency)
        if currency == "USD" or rate is None:
            return Display(memory)
        return Display(memory, currency, rate.per_usd, rate.date)
