"""Text for people: a message is an id with values, rendered late in English or Simplified Chinese. No Qt.

The texts stand in `resources/locale/<language>/LC_MESSAGES/<domain>.po`, compiled to `.mo`; the domain is the part of
the id before the first dot.
"""

import gettext
import re
import string
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from gpuplanner.paths import shipped

LONGEST_VALUE = 300
"""Characters of a value in a sentence about wrong input: enough for a path, not for a file that was put into a name."""

_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Unicode's characters that change the direction of the text after them (UAX #9)."""
_ALIKE = 0.6
"""How alike a known word has to be before it is offered; `difflib` finds that right for words."""
_BEGINNING = 3
"""Letters that a word has to share from its first on, to be offered for what was only begun."""


class Language(StrEnum):
    """The languages that every text exists in."""

    ENGLISH = "en"
    CHINESE = "zh_CN"

    @classmethod
    def from_locale(cls, name: str | None) -> "Language":
        """The language for a locale name such as `zh_CN.UTF-8`; English when there is no better."""
        return cls.CHINESE if (name or "").replace("-", "_").lower().startswith("zh") else cls.ENGLISH


@dataclass(frozen=True, slots=True)
class Message:
    """A text for people: its id and the values that go into it. A value may itself be a message."""

    id: str
    values: Mapping[str, "MessageValue"] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.id, tuple(sorted((k, str(v)) for k, v in self.values.items()))))


MessageValue: TypeAlias = str | int | float | Message


def msg(message_id: str, /, **values: MessageValue) -> Message:
    """A message by its id, with its values by name."""
    return Message(message_id, values)


class _Counting(string.Formatter):
    """Fills a text in. `{count:row|rows}` is the first word beside a count of one, else the second."""

    def format_field(self, value: Any, format_spec: str) -> str:
        one, divided, many = format_spec.partition("|")
        if divided:
            return one if str(value) == "1" else many
        return str(super().format_field(value, format_spec))


_COUNTING = _Counting()
_DURATION = re.compile(r"(?<=\d) (d|h|min|s)$")
"""The end of a duration as `units.show_duration` writes it; what is below a second keeps its SI symbol."""
_DURATION_UNITS = frozenset({"d", "h", "min", "s"})
_SEAM = "\0"
"""Stands behind a duration while a Chinese text is filled in; no value has it, see `on_one_line`."""
_SPACE_AFTER_SEAM = re.compile(rf"{_SEAM} ?(?=[\u3400-\u9fff])|{_SEAM}")
"""The space that parts a Latin unit from the Chinese word after it has no place behind a Chinese unit."""


class Translator:
    """Renders messages in one language. Domains are loaded when first used.

    `face`: who shows them. A text that tells a person what to do may have one of its own there, `<id>.<face>`: where
    the command line names an option, the window names what can be clicked.
    """

    def __init__(self, language: Language, locale_folder: Path | None = None, *, face: str = "") -> None:
        self.language = language
        self._face = face
        self._folder = locale_folder or shipped("resources") / "locale"
        self._domains: dict[str, gettext.NullTranslations] = {}

    def text(self, message: Message | str, **values: MessageValue) -> str:
        """The text of `message` (or of an id with `values`). Without a text it raises KeyError."""
        if isinstance(message, str):
            message = Message(message, values)
        template = self._template(message.id)
        if template == message.id:
            raise KeyError(f"message {message.id!r} has no text in {self.language.value}")
        rendered = {k: self._shown(v) for k, v in message.values.items()}
        if not rendered:
            return template
        text = _COUNTING.vformat(template, (), rendered) if "|" in template else template.format(**rendered)
        return _SPACE_AFTER_SEAM.sub("", text) if _SEAM in text else text

    def has(self, message_id: str) -> bool:
        """Whether a text exists for this id."""
        return self._domain(message_id.partition(".")[0]).gettext(message_id) != message_id

    def unit(self, unit: str) -> str:
        """A shown unit in this language: durations are days, hours, minutes and seconds; all others stay symbols."""
        return self.text(f"unit.{unit}") if unit in _DURATION_UNITS else unit

    def joined(self, parts: Iterable[str]) -> str:
        """Rendered parts of a remark in a row, with the comma of the language between them."""
        return ("，" if self.language is Language.CHINESE else ", ").join(parts)

    def _template(self, message_id: str) -> str:
        texts = self._domain(message_id.partition(".")[0])
        if self._face:
            own = f"{message_id}.{self._face}"
            if (template := texts.gettext(own)) != own:
                return template
        return texts.gettext(message_id)

    def _shown(self, value: MessageValue) -> str | int | float:
        """A value as it can stand in a sentence: a foreign one cannot speak to a terminal, nor turn the line around."""
        if isinstance(value, Message):
            return self.text(value)
        if not isinstance(value, str):
            return value
        seam = _SEAM if self.language is Language.CHINESE else ""
        return _DURATION.sub(lambda found: f" {self.unit(found[1])}{seam}", on_one_line(value))

    def _domain(self, name: str) -> gettext.NullTranslations:
        if name not in self._domains:
            self._domains[name] = gettext.translation(
                name, self._folder, languages=[self.language.value], fallback=True
            )
        return self._domains[name]


def on_one_line(text: str) -> str:
    """A foreign text with a mark in place of line ends, control characters and invisible ones."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Zs" else "�" for c in text)


def is_text(text: str) -> bool:
    """Whether a text can be written at all; half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def without_controls(text: str) -> str:
    """A name without line ends, control characters and marks that turn the direction in which it is written."""
    if text.isprintable():
        return text
    spaced = "".join(" " if c in "\t\n\r\v\f\x85\u2028\u2029" else c for c in text)
    return "".join(c for c in spaced if unicodedata.category(c) not in {"Cc", "Cs"} and c not in _TURNS)


def shortened(text: str, longest: int = LONGEST_VALUE) -> str:
    """A text of at most `longest` characters; of a longer one the middle is left out, since paths tell by both ends."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[-end:]}"


def for_spreadsheet(cell: str) -> str:
    """A cell that a spreadsheet would take for a formula, made text; a number stays one."""
    if not cell or cell[0] not in "=+-@\t\r":
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def nearest(given: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Those of the known words that a person may have meant by one that is not known, best first, whatever the case."""
    from difflib import get_close_matches

    by_folded = {word.casefold(): word for word in known}
    folded = given[:LONGEST_VALUE].casefold()
    begun = [word for word in by_folded if len(folded) >= _BEGINNING and word.startswith(folded)]
    found = dict.fromkeys((*get_close_matches(folded, by_folded, most, _ALIKE), *begun))
    return [by_folded[word] for word in found][:most]


class InputError(ValueError):
    """What a person gave cannot be used. Carries a message that says what, where, and what to do, and stays short."""

    def __init__(self, message: Message) -> None:
        super().__init__(message.id, dict(message.values))
        self.message = _short(message)


def _short(message: Message) -> Message:
    values = {k: _short(v) if isinstance(v, Message) else v for k, v in message.values.items()}
    return Message(message.id, {k: shortened(v) if isinstance(v, str) else v for k, v in values.items()})
