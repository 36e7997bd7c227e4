"""Typed access to a model configuration: each value is checked where it is read. Does not know any family.

Every refusal is an InputError that names the family, the field as it stands in the file, and what is wrong with it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gpuplanner.catalog.architecture import WIDTH
from gpuplanner.messages import InputError, MessageValue, msg

_SHOWN = 40
_ABSENT: Final = object()


class Fields:
    """A configuration (or a part of one) as a family reads it.

    `path` is the place of this part in the file, with a trailing dot. Of several names for a field the first that has
    a value counts; the first is the one that a refusal names.
    """

    def __init__(self, config: Mapping[str, Any], family: str, path: str = "") -> None:
        self._config = config
        self.family = family
        self.path = path

    def has(self, *names: str) -> bool:
        """Whether one of these fields has a value."""
        return self._raw(names)[1] is not _ABSENT

    def whole(self, *names: str, least: int = 1, most: int = WIDTH) -> int:
        """A whole number that has to be there."""
        name, value = self._raw(names)
        if value is _ABSENT:
            raise self.refuse("model.field.missing", names[0])
        return self._whole(name, value, least, most)

    def whole_or(self, default: int, *names: str, least: int = 0, most: int = WIDTH) -> int:
        """A whole number, or `default` when the field is absent or null."""
        name, value = self._raw(names)
        return default if value is _ABSENT else self._whole(name, value, least, most)

    def number_or(self, default: float, name: str, least: float, most: float) -> float:
        """A number that need not be whole."""
        _, value = self._raw((name,))
        if value is _ABSENT:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.refuse("model.field.number", name, value=shown(value))
        if not least <= value <= most:
            raise self.refuse("model.field.range", name, value=shown(value), least=str(least), most=str(most))
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        _, value = self._raw((name,))
        if value is _ABSENT:
            return default
        if not isinstance(value, bool):
            raise self.refuse("model.field.flag", name, value=shown(value))
        return value

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        _, value = self._raw((name,))
        if value is _ABSENT:
            return default
        if not isinstance(value, str):
            raise self.refuse("model.field.text", name, value=shown(value))
        return value

    def items(self, name: str, length: int) -> Sequence[Any] | None:
        """A list with one entry for each layer (more are ignored: some files add those of prediction layers)."""
        _, value = self._raw((name,))
        if value is _ABSENT:
            return None
        if not isinstance(value, list):
            raise self.refuse("model.field.list", name, value=shown(value))
        if len(value) < length:
            raise self.refuse("model.field.short_list", name, entries=len(value), layers=length)
        return value[:length]

    def whole_items(self, name: str, length: int, most: int = WIDTH) -> Sequence[int] | None:
        """A list of whole numbers, one for each layer."""
        values = self.items(name, length)
        if values is None:
            return None
        return [self._whole(f"{name}[{place}]", value, 0, most) for place, value in enumerate(values)]

    def choices(self, name: str, length: int, known: Sequence[str]) -> Sequence[str] | None:
        """A list of words out of `known`, one for each layer."""
        values = self.items(name, length)
        if values is None:
            return None
        for place, value in enumerate(values):
            if value not in known:
                raise self.refuse(
                    "model.field.choice", f"{name}[{place}]", value=shown(value), known=", ".join(sorted(known))
                )
        return values

    def is_list(self, name: str) -> bool:
        """Whether this field is a list."""
        return isinstance(self._raw((name,))[1], list)

    def is_mapping(self, name: str) -> bool:
        """Whether this field is a part of its own."""
        return isinstance(self._raw((name,))[1], Mapping)

    def entries(self, name: str) -> int:
        """How many entries a list has, 0 where the field is none."""
        _, value = self._raw((name,))
        return len(value) if isinstance(value, list) else 0

    def length(self, name: str, most: int) -> int:
        """How many entries a list has."""
        _, value = self._raw((name,))
        if not isinstance(value, list):
            raise self.refuse("model.field.list", name, value=shown(value))
        if not 1 <= len(value) <= most:
            raise self.refuse("model.field.range", name, value=len(value), least="1", most=f"{most:,}")
        return len(value)

    def indices(self, name: str, layers: int) -> Sequence[int]:
        """A list of layer numbers, empty when absent."""
        _, value = self._raw((name,))
        if value is _ABSENT:
            return ()
        if not isinstance(value, list):
            raise self.refuse("model.field.list", name, value=shown(value))
        if len(value) > layers:
            raise self.refuse("model.field.long_list", name, entries=len(value), layers=layers)
        return [self._whole(f"{name}[{place}]", entry, 0, layers) for place, entry in enumerate(value)]

    def inside(self, name: str) -> "Fields":
        """The part of the configuration under `name`, which has to be a mapping."""
        _, value = self._raw((name,))
        if value is _ABSENT:
            raise self.refuse("model.field.missing", name)
        if not isinstance(value, Mapping):
            raise self.refuse("model.field.mapping", name, value=shown(value))
        return Fields(value, self.family, f"{self.path}{name}.")

    def parts(self, name: str, length: int) -> "Sequence[Fields]":
        """A list of mappings, one for each layer, that has to be there."""
        values = self.items(name, length)
        if values is None:
            raise self.refuse("model.field.missing", name)
        found: list[Fields] = []
        for place, value in enumerate(values):
            if not isinstance(value, Mapping):
                raise self.refuse("model.field.mapping", f"{name}[{place}]", value=shown(value))
            found.append(Fields(value, self.family, f"{self.path}{name}[{place}]."))
        return found

    def with_defaults(self, defaults: Mapping[str, Any]) -> "Fields":
        """The same part with values for fields that the file leaves out."""
        given = {name: value for name, value in self._config.items() if value is not None}
        return Fields({**defaults, **given}, self.family, self.path)

    def with_names(self, names: Mapping[str, str]) -> "Fields":
        """The same part with fields also under the names that other families use."""
        also = {usual: self._config[own] for own, usual in names.items() if own in self._config}
        return Fields({**also, **self._config}, self.family, self.path)

    def is_architecture(self, *names: str) -> bool:
        """Whether the file says that it is for one of these classes."""
        listed = self._config.get("architectures")
        return isinstance(listed, list) and any(name in listed for name in names)

    def inside_or_self(self, *names: str) -> "Fields":
        """The first of these parts that is there, or this one: for language models wrapped beside a tower."""
        return next((self.inside(name) for name in names if self.has(name)), self)

    def divisible(self, value: int, name: str, by: int, by_name: str) -> int:
        """`value` / `by`, refused unless it is whole."""
        if value % by:
            raise self.refuse("model.field.divisible", name, value=value, by=f"{by_name} = {by}")
        return value // by

    def refuse(self, message_id: str, name: str, **values: MessageValue) -> InputError:
        """The error for a field of this part."""
        return InputError(msg(message_id, family=self.family, field=f"{self.path}{name}", **values))

    def _raw(self, names: Sequence[str]) -> tuple[str, Any]:
        for name in names:
            value = self._config.get(name)
            if value is not None:
                return name, value
        return names[0], _ABSENT

    def _whole(self, name: str, value: object, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse("model.field.whole", name, value=shown(value))
        if not least <= value <= most:
            raise self.refuse("model.field.range", name, value=shown(value), least=str(least), most=f"{most:,}")
        return value


def shown(value: object) -> str:
    """A foreign value as it can stand in a sentence: short, on one line, and never a huge number in full."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**_SHOWN:
        return f"> 10^{_SHOWN}"
    if isinstance(value, (list, tuple)):
        return f"[… {len(value)}]"
    if isinstance(value, Mapping):
        return "{…}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
