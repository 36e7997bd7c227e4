"""A person's settings: what can be set, its default, and what was chosen. An unusable value is its default."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gpuplanner.store.store import Store


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set. Name: message `settings.<key>`; a choice: `settings.<key>.<choice>`."""

    key: str
    default: Any
    choices: tuple[str, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Whether a stored or given value can be used."""
        if self.choices:
            return value in self.choices
        if isinstance(self.default, float):
            return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12
        return type(value) is type(self.default)


LANGUAGE = Setting("language", "system", ("system", "en", "zh_CN"))
THEME = Setting("theme", "system", ("system", "light", "dark"))
MEMORY = Setting("memory", "GiB", ("GiB", "GB"))
CURRENCY = Setting("currency", "USD", ("USD", "CNY", "EUR", "GBP", "JPY"))
RATES = Setting("rates", {})
"""A person's own currency rates: code → {"per_usd": number, "date": ISO}. They go before those of the catalog."""
OWN_MEASUREMENTS = Setting("own_measurements", "on", ("on", "off"))
"""Whether a person's own measurements are used where one is of the very profile that is estimated."""

SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {s.key: s for s in (LANGUAGE, THEME, MEMORY, CURRENCY, RATES, OWN_MEASUREMENTS)}
)


class Settings:
    """The settings of one store, and beside them what the window keeps of its shape (keys with `window.` before)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, setting: Setting) -> Any:
        """What was chosen, or the default when nothing was or it cannot be used."""
        value = self.kept(setting.key)
        return value if value is not None and setting.accepts(value) else setting.default

    def set(self, setting: Setting, value: Any) -> None:
        """Choose a value. Raises ValueError when the setting does not take it, StoreError when it cannot be kept."""
        if not setting.accepts(value):
            raise ValueError(f"{setting.key} does not take {value!r}")
        self.keep(setting.key, value)

    def reset(self, setting: Setting) -> None:
        """Back to the default."""
        self._store.write(lambda db: db.execute("DELETE FROM settings WHERE key = ?", (setting.key,)))

    def kept(self, key: str, default: Any = None) -> Any:
        """A kept value of any JSON type by its key."""
        rows = self._store.read("SELECT value FROM settings WHERE key = ?", key)
        try:
            return json.loads(rows[0][0]) if rows and isinstance(rows[0][0], str) else default
        except (ValueError, RecursionError):
            return default

    def keep(self, key: str, value: Any) -> None:
        """Keep a value of any JSON type under a key."""
        text = json.dumps(value)

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO settings VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", (key, text)
            )

        self._store.write(work)

    def forget(self, prefix: str) -> None:
        """Forget every kept value whose key begins with `prefix` (such as the window's layout)."""
        self._store.write(
            lambda db: db.execute("DELETE FROM settings WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))
        )
