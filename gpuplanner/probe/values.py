"""From the words that tools print to values: numbers with units, yes and no, and the many ways to say "none"."""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeVar

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence.record import LONGEST_QUOTE, Absent, Lacking, Record, Seen
from gpuplanner.probe.output import Line, Output

R = TypeVar("R", bound=Record)

_LACKING: tuple[tuple[re.Pattern[str], Lacking], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (
            r"^(?:n/?a|not supported|not applicable|(?:requested functionality has been )?deprecated|-+|no data)$",
            Lacking.NOT_SUPPORTED,
        ),
        (r"^(?:deprecated, see .{0,60}|not available in .{0,40})$", Lacking.NOT_SUPPORTED),
        (
            r"^(?:insufficient permissions?|permission denied|not permitted|operation not permitted)$",
            Lacking.NO_PERMISSION,
        ),
        (r"^(?:err!?|error|unknown error|gpu is lost|gpu requires reset|not found|invalid.*|timeout)$", Lacking.ERROR),
        (r"^(?:unknown|none reported|not available|unspecified|to be filled by o\.e\.m\.)$", Lacking.UNKNOWN),
    )
)
_NUMBER = re.compile(
    r"[+-]?(?:(?P<grouped>\d{1,3}(?:,\d{3}){1,6}(?![\d,]))|\d{1,20}|\.\d)(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?"
)
_DECIMAL_COMMA = re.compile(r"([+-]?\d{1,20}),(\d{1,20})(?![\d.,])")
"""As tools of Linux print numbers in most of Europe: "3500,0000". "3,500" is taken for three and a half thousand."""
_BYTES = re.compile(r"^\s*(\d{1,20}(?:[.,]\d{1,20})?)\s*([kmgtpe]?)(i?)(b|bytes)?\b", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


class UnreadableError(ValueError):
    """A text is no value of the kind that is read."""


def lacking(text: str) -> Lacking | None:
    """Why a printed text is no value, when it is one of the tools' ways to say that there is none."""
    bare = text.strip().strip("[]<>()").strip()
    if not bare:
        return Lacking.UNKNOWN
    return next((reason for pattern, reason in _LACKING if pattern.match(bare)), None)


def number(text: str) -> float:
    """The number at the beginning of a text ("81559 MiB" → 81559.0, "3500,0000" → 3500.0). Raises UnreadableError.

    A number that is too large to be kept as one ("1e400") is none: no tool measures it, and JSON has no infinity.
    """
    bare = text.strip()
    match = _NUMBER.match(bare)
    if not match:
        raise UnreadableError(text)
    if not match["grouped"] and (decimal := _DECIMAL_COMMA.match(bare)):
        return float(f"{decimal[1]}.{decimal[2]}")
    value = float(match[0].replace(",", ""))
    if not isfinite(value):
        raise UnreadableError(text)
    return value


def whole(text: str) -> int:
    """The whole number at the beginning of a text, hexadecimal with 0x. Raises UnreadableError."""
    bare = text.strip()
    try:
        if bare[:2].lower() == "0x":
            return int(bare.split()[0][:34], 16)
    except ValueError:
        raise UnreadableError(text) from None
    value = number(bare)
    if value != int(value):
        raise UnreadableError(text)
    return int(value)


def yes(text: str) -> bool:
    """Yes or no in a tool's words. Raises UnreadableError."""
    word = text.strip().lower()
    if word in {"yes", "on", "enabled", "active", "true", "1", "supported"}:
        return True
    if word in {"no", "off", "disabled", "not active", "inactive", "false", "0"}:
        return False
    raise UnreadableError(text)


def words(text: str) -> str:
    """A name as printed, without spaces around it and at most 300 characters. Raises UnreadableError when empty."""
    bare = " ".join(text.split())
    if not bare:
        raise UnreadableError(text)
    return shortened(bare, LONGEST_QUOTE)


def size_bytes(text: str, *, plain_power: int = 1024) -> float:
    """A size with its unit in bytes: "16Gi", "23.6 GiB", "1.7T", "4096". Raises UnreadableError.

    `plain_power`: what K, M, G mean without an i; most tools of Linux count in 1,024.
    """
    match = _BYTES.match(text)
    if not match:
        raise UnreadableError(text)
    power = 1024 if match[3] else plain_power
    return float(match[1].replace(",", ".")) * float(power) ** _POWERS[match[2].lower()]


class Reading:
    """Collects what a parser finds of one thing, with the line of each value; never invents one.

    The first value of a field stands; a later one of the same field is left alone.
    """

    def __init__(self, output: Output) -> None:
        self._source = output.name
        self._values: dict[str, Any] = {}
        self._seen: dict[str, Seen] = {}
        self._absent: dict[str, Absent] = {}
        self._last: tuple[Line, Seen] | None = None

    def __bool__(self) -> bool:
        return bool(self._values or self._absent)

    def __contains__(self, field: str) -> bool:
        return field in self._values

    def get(self, field: str) -> Any:
        """The value of a field that was read, None of any other."""
        return self._values.get(field)

    def lacks(self, field: str) -> Lacking | None:
        """Why a field whose place was read has no value, None of one that has one or was not read."""
        absent = self._absent.get(field)
        return absent.reason if absent is not None else None

    def at(self, line: Line) -> Seen:
        """The place of a line of this output."""
        if self._last is None or self._last[0] is not line:
            text = shortened(line.text.strip(), LONGEST_QUOTE)
            self._last = (line, Seen(source=self._source, line=line.number, text=text))
        return self._last[1]

    def take(self, field: str, text: str, convert: Callable[[str], Any], line: Line) -> None:
        """Read a field from a printed text. What says that there is none, or is no such value, becomes absent."""
        if field in self._values:
            return
        reason = lacking(text)
        if reason is None:
            try:
                self.put(field, convert(text), line)
                return
            except (UnreadableError, OverflowError):
                reason = Lacking.UNREADABLE
        self._absent.setdefault(field, Absent(reason=reason, seen=self.at(line)))

    def put(self, field: str, value: Any, line: Line) -> None:
        """A value that the parser has read itself; one that is too large to be kept as a number is unreadable."""
        if isinstance(value, float) and not isfinite(value):
            self.lack(field, Lacking.UNREADABLE, line)
        elif field not in self._values:
            self._values[field] = value
            self._seen[field] = self.at(line)
            self._absent.pop(field, None)

    def lack(self, field: str, reason: Lacking, line: Line) -> None:
        """A field of which the tool says in its own way why it has no value."""
        if field not in self._values:
            self._absent.setdefault(field, Absent(reason=reason, seen=self.at(line)))

    def of(self, fields: Mapping[str, tuple[str, Callable[[str], Any]]], label: str, text: str, line: Line) -> bool:
        """Read by a table from the tool's label to field and converter. False when the label is none of them."""
        known = fields.get(label)
        if known is None:
            return False
        self.take(known[0], text, known[1], line)
        return True

    def made(self, record: type[R], **known: Any) -> R:
        """The record of everything found; `known` are values that stand in no single line."""
        return record(**{**self._values, **known}, seen=self._seen, absent=self._absent)
