"""One entry of a file: its fields as text with their lines, and reading them as numbers, words and dates.

A fault is kept as a problem with its place and never raised, so that one entry can report all of its faults at once.
"""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import yaml

from gpuplanner.catalog.problems import Problem, Severity, shown
from gpuplanner.messages import Message, MessageValue, msg, without_controls
from gpuplanner.units import digits

Value: TypeAlias = "str | Record | tuple[Value, ...]"

LONGEST_TEXT = 4000
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
_SLASHED_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})")
_FORMULA = re.compile(r"[=@+\t\r]|-(?![\d. ])")
_FORMULA_STARTS = frozenset("=@+-\t\r")
_YES = frozenset({"true", "yes", "1", "是"})
_NO = frozenset({"false", "no", "0", "否"})


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of one mapping or row. `lines` is empty where all fields stand in `line`; `node` is YAML's own."""

    file: str
    line: int
    values: Mapping[str, Value]
    lines: Mapping[str, int] = field(default_factory=dict)
    node: yaml.MappingNode | None = None

    def line_of(self, name: str) -> int:
        """Where a field stands, or where the record begins."""
        return self.lines.get(name, self.line)


class Fields:
    """Reads the fields of one record, keeping what is wrong with them in `problems`."""

    def __init__(self, record: Record, problems: list[Problem]) -> None:
        self.record = record
        self.failed = False
        self._problems = problems

    def problem(
        self, name: str, message_id: str, /, severity: Severity = Severity.ERROR, **values: MessageValue
    ) -> None:
        """Keep a problem with a field. An error makes the entry one that must not be used."""
        self.keep(name, msg(message_id, **values), severity)

    def keep(self, name: str, what: Message, severity: Severity = Severity.ERROR) -> None:
        """Keep what was found wrong with a field."""
        self.failed |= severity is Severity.ERROR
        self._problems.append(Problem(self.record.file, self.record.line_of(name), name, what, severity))

    def has(self, name: str) -> bool:
        """Whether the field is there and says something."""
        return self.record.values.get(name, "") not in {"", ()}

    def text(self, name: str, *, required: bool = False) -> str:
        """A field as text; empty when it is absent."""
        value = self.record.values.get(name, "")
        if not isinstance(value, str):
            self.problem(name, "overlay.value.not_text")
            return ""
        if not value:
            if required:
                self.problem(name, "overlay.value.required")
            return ""
        if len(value) > LONGEST_TEXT:
            self.problem(name, "overlay.value.long", limit=LONGEST_TEXT)
            return ""
        if not value.isprintable():
            value = " ".join(value.split())  # line ends, and the spaces of word processors
            if not value.isprintable():
                self.problem(name, "overlay.value.unprintable", value=shown(value))
                return ""
        if value[:1] in _FORMULA_STARTS and _FORMULA.match(value):
            self.problem(name, "overlay.value.formula", value=shown(value))
            return ""
        return value

    def number(self, name: str, *, low: float = -math.inf, high: float = math.inf) -> float | None:
        """A field as a finite number from `low` to `high`; None when it is absent or not one."""
        value = self.record.values.get(name, "")
        if value == "":
            return None
        number = parse_number(value) if isinstance(value, str) else None
        if number is None:
            self.problem(name, "overlay.value.not_number", value=shown(value if isinstance(value, str) else ""))
            return None
        if not low <= number <= high:
            least, most = _plain(low), _plain(high)
            self.problem(name, "overlay.value.out_of_range", value=shown(str(value)), low=least, high=most)
            return None
        return number

    def count(self, name: str, *, high: int = 100_000) -> int | None:
        """A field as a whole number from one up."""
        number = self.number(name, low=1, high=high)
        if number is not None and number != int(number):
            self.problem(name, "overlay.value.not_whole", value=shown(str(self.record.values[name])))
            return None
        return None if number is None else int(number)

    def flag(self, name: str) -> bool:
        """A field as yes or no; no when it is absent."""
        text = self.text(name).casefold()
        if text and text not in _YES | _NO:
            self.problem(name, "overlay.value.not_flag", value=shown(text))
        return text in _YES

    def date(self, name: str) -> str:
        """A field as an ISO date, or a year, or a year and month."""
        text = self.text(name)
        if slashed := _SLASHED_DATE.fullmatch(text):
            year, month, day = slashed.groups()
            text = f"{year}-{month:0>2}-{day:0>2}"
        if text and not _DATE.fullmatch(text):
            self.problem(name, "overlay.value.not_date", value=shown(text))
            return ""
        return text

    def words(self, name: str, separator: str = ";") -> tuple[str, ...]:
        """A field as several texts: a YAML list, or one text with separators."""
        value = self.record.values.get(name, "")
        if isinstance(value, str):
            return tuple(part for part in map(str.strip, self.text(name).split(separator)) if part)
        texts = value if isinstance(value, tuple) else ()
        if not isinstance(value, tuple) or not all(isinstance(text, str) for text in texts):
            self.problem(name, "overlay.value.not_list")
            return ()
        return tuple(word for text in texts if isinstance(text, str) and (word := without_controls(text).strip()))

    def records(self, name: str) -> Iterator[Record]:
        """A field as a list of mappings."""
        value = self.record.values.get(name, ())
        if value == "":
            return
        if not isinstance(value, tuple):
            self.problem(name, "overlay.value.not_list")
            return
        for item in value:
            if isinstance(item, Record):
                yield item
            else:
                self.problem(name, "overlay.value.not_mapping")

    def only(self, known: Iterable[str]) -> None:
        """Report fields that have no meaning here, with what may have been meant."""
        names = tuple(known)
        for name in self.record.values:
            if name not in names:
                self.problem(name, "overlay.value.unknown_field", near=near(name, names))


def near(name: str, names: Iterable[str]) -> Message:
    """What may have been meant by a name: "Did you mean …?", or nothing."""
    found = difflib.get_close_matches(name, tuple(names), 1, 0.6)
    return msg("overlay.near", name=found[0]) if found else msg("overlay.near.none")


def parse_number(text: str) -> float | None:
    """The finite number that a text is: "1,234.5" and "1234.5", but not "1 GB", "nan" or "=2*3"."""
    if "," in text and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _plain(limit: float) -> str:
    """A limit as figures are written: 1,000,000 and 0.000001, not 1e+06 and 1e-06."""
    text = digits(limit, 12) if math.isfinite(limit) else str(limit)
    return text.rstrip("0").rstrip(".") if "." in text else text
