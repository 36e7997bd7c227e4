"""Filters as people type them over a column: `>=80`, `A100|H100`, `!x`, `24..80`. Text in, rows of a column out.

Grammar: alternatives are separated by `|`, and a leading `!` negates the whole. Of numbers: a comparison, a range
`low..high` that may be open, or a value (equal within half a percent, as shown numbers are rounded); with a unit, or in
the unit of the header. Of dates: the same, on ISO dates or their beginning. Of words: what is contained; `=word` is the
whole cell; quotes keep `|`. `?` is a value that is missing; comparisons never hold for one, negations do.
"""

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpuplanner.catalog.table.columns import Column, ColumnKind, header_unit
from gpuplanner.catalog.table.values import Mask, Numbers, Part, Range, Texts, TextTest, Values
from gpuplanner.messages import InputError, MessageValue, msg
from gpuplanner.units import Display, Unit

LONGEST_FILTER = 500
# Shown numbers have three digits.
EQUAL_WITHIN = 0.005

_COMPARISON = re.compile(r"^(>=|<=|>|<|==?)\s*(.*)$")
_NUMBER = re.compile(r"^[$¥€£]?\s*([+-]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(.*)$", re.IGNORECASE)
_DATE = re.compile(r"^\d{4}(?:-\d{2}(?:-\d{2})?)?$")
_WORDS = re.compile(r'"([^"]*)"?|([^\s"|]+)|(\|)')
_SIGNS = {"≥": ">=", "≤": "<=", "≠": "!", "！": "!", "～": "..", "~": "..", "…": "..", "...": ".."}

_BYTES = {
    prefix + suffix: base**power
    for base, suffix in ((1000.0, "b"), (1024.0, "ib"))
    for power, prefix in enumerate(("k", "m", "g", "t", "p"), 1)
} | {"b": 1.0}
_SI = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "e": 1e18}
_RATES = {p + end: size for p, size in _SI.items() for end in ("flops", "flop/s", "ops", "op/s") if p}
_RATES |= {"t": 1e12, "p": 1e15}
_UNITS: dict[Unit, dict[str, float]] = {
    Unit.BYTE: _BYTES | {"g": 1e9, "t": 1e12, "m": 1e6},
    Unit.BYTE_PER_TOKEN: _BYTES,
    Unit.BYTE_PER_S: {name + "/s": size for name, size in _BYTES.items()},
    Unit.BIT_PER_S: {p + end: size for p, size in _SI.items() for end in ("bit/s", "bps", "b/s") if p},
    Unit.FLOP_PER_S: _RATES,
    Unit.OP_PER_S: _RATES,
    Unit.PARAMETER: {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12},
    Unit.WATT: {"w": 1.0, "kw": 1e3},
    Unit.COUNT: {"k": 1e3, "m": 1e6},
    Unit.TOKEN: {"k": 1e3, "m": 1e6},
}


_Term: TypeAlias = Range | Part | TextTest | None


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that was read. A row is kept when any term holds, or none does where it is `negated`.

    A term is a range of numbers, a test of a folded text, or None for what is missing.
    """

    terms: tuple[_Term, ...]
    negated: bool

    def kept(self, values: Values) -> Mask:
        """The rows that it keeps of a column. What is missing is not known to be anything, so "not x" keeps it."""
        found: Mask = np.logical_or.reduce([_holds(term, values) for term in self.terms])
        return ~found if self.negated else found


def parse_filter(text: str, column: Column, display: Display) -> Filter | None:
    """The filter of a text; None for an empty one. Raises InputError with one sentence when it cannot be read."""
    if len(text) > LONGEST_FILTER:
        raise InputError(msg("search.filter.too_long", column=msg(column.label), longest=LONGEST_FILTER))
    typed = unicodedata.normalize("NFKC", text).strip()
    for sign, plain in _SIGNS.items():
        typed = typed if column.kind is ColumnKind.TEXT and plain == ".." else typed.replace(sign, plain)
    negated = typed.startswith("!")
    terms = _alternatives(typed.removeprefix("!"), column)
    if terms == [""] and not negated:
        return None
    if not all(terms):
        raise _error("empty_term", column, text)
    return Filter(tuple(_read(term, column, display) for term in terms), negated)


def parse_words(text: str) -> list[list[str]]:
    """The words of each alternative of a text that is looked for in any column; quotes keep `|` and spaces.

    Without any word there is one alternative that everything meets.
    """
    typed = unicodedata.normalize("NFKC", text[:LONGEST_FILTER]).casefold()
    alternatives: list[list[str]] = [[]]
    for quoted, plain, bar in _WORDS.findall(typed):
        if bar:
            alternatives.append([])
        elif quoted or plain:
            alternatives[-1].append(quoted or plain)
    return [words for words in alternatives if words] or [[]]


def _holds(term: _Term, values: Values) -> Mask:
    if term is None:
        return values.missing
    if isinstance(term, Range) and isinstance(values, Numbers):
        return values.within(term)
    if not isinstance(term, Range) and isinstance(values, Texts):
        return values.passing(term)
    raise TypeError(f"a filter of another kind of column: {term!r}")


def _read(term: str, column: Column, display: Display) -> _Term:
    if term == "?":
        return None
    match column.kind:
        case ColumnKind.NUMBER:
            return _number_term(term, column, display)
        case ColumnKind.DATE:
            return _date_term(term, column)
        case ColumnKind.TEXT:
            return _text_term(term, column)


def _alternatives(text: str, column: Column) -> list[str]:
    """The text split at `|` outside of quotes. The quotes stay."""
    terms, quoted = [""], False
    for character in text:
        if character == '"':
            quoted = not quoted
        if character == "|" and not quoted:
            terms.append("")
        else:
            terms[-1] += character
    if quoted:
        raise _error("open_quote", column, text)
    return [term.strip() for term in terms]


def _number_term(term: str, column: Column, display: Display) -> Range:
    if compared := _COMPARISON.match(term):
        sign, number = compared.groups()
        if not number:
            raise _error("empty_term", column, term)
        value = _number(number, column, display)
        match sign:
            case ">=":
                return Range(low=value)
            case ">":
                return Range(low=value, low_open=True)
            case "<=":
                return Range(high=value)
            case "<":
                return Range(high=value, high_open=True)
            case _:
                return _about(value)
    if ".." in term:
        ends = _ends(term, column)
        low, high = (_number(end, column, display) if end else None for end in ends)
        if low is not None and high is not None and low > high:
            raise _error("backwards", column, term, low=ends[0], high=ends[1])
        return Range(-math.inf if low is None else low, math.inf if high is None else high)
    return _about(_number(term, column, display))


def _about(value: float) -> Range:
    slack = abs(value) * EQUAL_WITHIN
    return Range(value - slack, value + slack)


def _ends(term: str, column: Column) -> tuple[str, str]:
    low, _, high = (end.strip() for end in term.partition(".."))
    if not low and not high:
        raise _error("empty_term", column, term)
    return low, high


def _number(text: str, column: Column, display: Display) -> float:
    found = _NUMBER.match(text.strip())
    if not found:
        raise _error("not_a_number", column, text)
    digits, unit = found.groups()
    value = float(digits.replace(",", "").replace("_", ""))
    return value * _factor(unit.strip().casefold(), column, display, text)


def _factor(unit: str, column: Column, display: Display, text: str) -> float:
    header = header_unit(column, display)
    if not unit or unit == header.text.casefold():
        return header.factor
    if column.unit is Unit.MONEY_PER_HOUR and unit in {display.currency.casefold(), "/h", "h"}:
        return header.factor
    factor = _UNITS.get(column.unit, {}).get(unit)
    if factor is None:
        if not header.text:
            raise _error("no_unit", column, text, unit=unit)
        raise _error("unknown_unit", column, text, unit=unit, header=header.text)
    return factor


def _date_term(term: str, column: Column) -> TextTest:
    """A test of ISO dates. A year or month stands for the whole of it: its end sorts before it with "~" behind."""
    if compared := _COMPARISON.match(term):
        sign, date = compared[1], _date(compared[2], column)
        match sign:
            case ">=":
                return lambda text: text >= date
            case ">":
                return lambda text: text > date + "~"
            case "<=":
                return lambda text: text <= date + "~"
            case "<":
                return lambda text: text < date
            case _:
                return lambda text: text.startswith(date)
    if ".." in term:
        low, high = (_date(end, column) if end else "" for end in _ends(term, column))
        if low and high and low > high:
            raise _error("backwards", column, term, low=low, high=high)
        return lambda text: low <= text and (not high or text <= high + "~")
    whole = _date(term, column)
    return lambda text: text.startswith(whole)


def _date(text: str, column: Column) -> str:
    if not _DATE.match(text.strip()):
        raise _error("not_a_date", column, text)
    return text.strip()


def _text_term(term: str, column: Column) -> Part | TextTest:
    word = term.removeprefix("=").strip()
    if len(word) > 1 and word.startswith('"') and word.endswith('"'):
        word = word[1:-1]
    if not word:
        raise _error("empty_term", column, term)
    folded = word.casefold()
    return folded.__eq__ if term.startswith("=") else Part(folded)


def _error(what: str, column: Column, text: str, **values: MessageValue) -> InputError:
    shown = "".join(c if c.isprintable() else " " for c in text).strip()
    return InputError(msg(f"search.filter.{what}", column=msg(column.label), text=shown, **values))
