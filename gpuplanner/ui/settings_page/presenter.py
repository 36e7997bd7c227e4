"""Which settings the page shows, what they are set to, and changing them. Knows no widget."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from gpuplanner.messages import Message, msg
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, OWN_MEASUREMENTS, RATES, THEME, Setting
from gpuplanner.ui.appearance import Appearance, DatedRate
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.settings import Settings

GROUPS: tuple[tuple[Message, tuple[Setting, ...]], ...] = (
    (msg("settings.group.look"), (LANGUAGE, THEME)),
    (msg("settings.group.numbers"), (MEMORY, CURRENCY, OWN_MEASUREMENTS)),
)
"""The settings of the page that are chosen among a few, in order."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A currency rate as the page shows it: `origin` says where it is from, `own` that the person gave it."""

    currency: str
    per_usd: float
    origin: Message
    own: bool


class SettingsPresenter:
    """Changes go through the Appearance, so that everything on the screen follows at once."""

    def __init__(self, appearance: Appearance, settings: Settings, today: Callable[[], date]) -> None:
        self._appearance = appearance
        self._settings = settings
        self._today = today

    def title(self, setting: Setting) -> Message:
        """What a setting is called."""
        return Message(f"settings.{setting.key}")

    def help(self, setting: Setting) -> Message:
        """What a setting does."""
        return Message(f"settings.{setting.key}.help")

    def choices(self, setting: Setting) -> tuple[tuple[str, Message], ...]:
        """What can be chosen: ids and what they say. A currency without a known rate cannot be."""
        known = {"USD", *self._appearance.rates()}
        ids = (c for c in setting.choices if setting is not CURRENCY or c in known)
        return tuple((choice, Message(f"settings.{setting.key}.{choice}")) for choice in ids)

    def value(self, setting: Setting) -> Any:
        """What is chosen."""
        return self._settings.get(setting)

    def is_default(self, setting: Setting) -> bool:
        """Whether the default is chosen."""
        return bool(self._settings.get(setting) == setting.default)

    def default(self, setting: Setting) -> Message:
        """The default, said."""
        return msg("settings.default", value=Message(f"settings.{setting.key}.{setting.default}"))

    def choose(self, setting: Setting, value: Any) -> None:
        """Choose a value."""
        self._appearance.choose(setting, value)

    def reset(self, setting: Setting) -> None:
        """Back to the default."""
        self._appearance.reset(setting)

    def reset_all(self) -> Callable[[], None]:
        """Every setting back to its default; the shape of the window stays. Returns what undoes it."""
        every = (*(setting for _, settings in GROUPS for setting in settings), RATES)
        before = [(setting, self._settings.get(setting)) for setting in every]
        for setting in every:
            self._appearance.reset(setting)

        def undo() -> None:
            for setting, value in before:
                if value != setting.default:
                    self._appearance.choose(setting, value)

        return undo

    def matches(self, query: str, setting: Setting) -> bool:
        """Whether a setting is meant by what was typed, in either language."""
        if not query.strip():
            return True
        texts = [*self._appearance.texts(self.title(setting)), *self._appearance.texts(self.help(setting))]
        for _, says in self.choices(setting):
            texts += self._appearance.texts(says)
        return match(query, *texts) > 0

    def rates(self) -> tuple[Rate, ...]:
        """The known rates, US dollars left out."""
        own = self._settings.get(RATES)
        return tuple(
            Rate(code, rate.per_usd, _origin(rate), code in own)
            for code, rate in sorted(self._appearance.rates().items())
            if code != "USD"
        )

    def set_rate(self, currency: str, per_usd: float) -> None:
        """The person's own rate, dated today."""
        own = {**self._settings.get(RATES), currency: {"per_usd": per_usd, "date": self._today().isoformat()}}
        self._appearance.choose(RATES, own)

    def reset_rate(self, currency: str) -> None:
        """Back to the rate of the catalog."""
        own = {code: rate for code, rate in self._settings.get(RATES).items() if code != currency}
        self._appearance.choose(RATES, own)


def _origin(rate: DatedRate) -> Message:
    """Where a rate is from: the person, memory, or a document."""
    if rate.source.user:
        return msg("settings.rates.own", date=rate.date)
    if rate.source.from_memory:
        return msg("settings.rates.memory", date=rate.date)
    return msg("settings.rates.shipped", date=rate.date, source=rate.source.citation)
