"""What the window asks of the settings, as the store keeps them; and settings in memory, for when there is no store.

What can be set stands in `store/settings.py`. What the window keeps of its shape has keys below `WINDOW`, so that
"reset layout" forgets all of it at once.
"""

from collections.abc import Callable
from typing import Any, Protocol

from gpuplanner.messages import InputError, Message
from gpuplanner.store.settings import Setting

WINDOW = "window."
"""Before every key of the window's shape: geometry, splitters, columns, the last place."""

_MOST_PIXELS = 100_000
"""No screen comes near it, and Qt takes no number of more than 32 bits."""


def is_pixels(value: Any, least: int = -_MOST_PIXELS) -> bool:
    """Whether a kept value is a length in pixels that a window can use."""
    return type(value) is int and least <= value <= _MOST_PIXELS


class Settings(Protocol):
    """Where settings are kept. `kept` and `keep` take any JSON value."""

    def get(self, setting: Setting) -> Any: ...

    def set(self, setting: Setting, value: Any) -> None: ...

    def reset(self, setting: Setting) -> None: ...

    def kept(self, key: str, default: Any = None) -> Any: ...

    def keep(self, key: str, value: Any) -> None: ...

    def forget(self, prefix: str) -> None: ...


class MemorySettings:
    """Settings that are forgotten when the program ends."""

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self.values = dict(values or {})

    def get(self, setting: Setting) -> Any:
        value = self.values.get(setting.key)
        return value if value is not None and setting.accepts(value) else setting.default

    def set(self, setting: Setting, value: Any) -> None:
        if not setting.accepts(value):
            raise ValueError(f"{setting.key} does not take {value!r}")
        self.keep(setting.key, value)

    def reset(self, setting: Setting) -> None:
        self.values.pop(setting.key, None)

    def kept(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def keep(self, key: str, value: Any) -> None:
        self.values[key] = value

    def forget(self, prefix: str) -> None:
        self.values = {key: value for key, value in self.values.items() if not key.startswith(prefix)}


class ForgivingSettings:
    """Settings of a store that may fail: what cannot be kept holds until the window closes, and `failed` is told once.

    A full disk or a store that another program has locked must not keep a person from working.
    """

    def __init__(self, kept: Settings, failed: Callable[[Message], object]) -> None:
        self._kept = kept
        self._failed = failed
        self._told = False
        self._unkept = MemorySettings()

    def get(self, setting: Setting) -> Any:
        value = self.kept(setting.key)
        return value if value is not None and setting.accepts(value) else setting.default

    def set(self, setting: Setting, value: Any) -> None:
        if not setting.accepts(value):
            raise ValueError(f"{setting.key} does not take {value!r}")
        self.keep(setting.key, value)

    def reset(self, setting: Setting) -> None:
        self._unkept.reset(setting)
        if not self._tried(lambda: self._kept.reset(setting)):
            self._unkept.keep(setting.key, setting.default)

    def kept(self, key: str, default: Any = None) -> Any:
        if key in self._unkept.values:
            return self._unkept.kept(key)
        try:
            return self._kept.kept(key, default)
        except InputError as fault:
            self._tell(fault)
            return default

    def keep(self, key: str, value: Any) -> None:
        self._unkept.values.pop(key, None)
        if not self._tried(lambda: self._kept.keep(key, value)):
            self._unkept.keep(key, value)
        elif self._unkept.values:
            # The store takes changes again: also those that it did not take before.
            late, self._unkept = self._unkept.values, MemorySettings()
            for name, kept in late.items():
                self.keep(name, kept)

    def forget(self, prefix: str) -> None:
        self._unkept.forget(prefix)
        self._tried(lambda: self._kept.forget(prefix))

    def _tried(self, write: Callable[[], object]) -> bool:
        try:
            write()
        except InputError as fault:
            self._tell(fault)
            return False
        return True

    def _tell(self, fault: InputError) -> None:
        if not self._told:
            self._told = True
            self._failed(fault.message)
