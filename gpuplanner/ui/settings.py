"""What the window asks of the settings, as the store keeps them; and settings in memory, for when there is no store.

What can be set stands in `store/settings.py`. What the window keeps of its shape has keys below `WINDOW`, so that
"reset layout" forgets all of it at once.
"""

from typing import Any, Protocol

from gpuplanner.store.settings import Setting

WINDOW = "window."
"""Before every key of the window's shape: geometry, splitters, columns, the last place."""


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
