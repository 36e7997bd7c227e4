"""What a filter says on its chip: the column, the sign and the value with its unit. No widget."""

import re

from gpuplanner.catalog.table.columns import Column, ColumnKind, header_unit
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.columns import word_text
from gpuplanner.ui.catalog_place.query import Term

_SIGNS = ((">=", "≥ "), ("<=", "≤ "), ("==", "= "), (">", "> "), ("<", "< "), ("=", "= "))
_BARE_NUMBER = re.compile(r"^[\d.,_]+$")


def filter_text(term: Term, column: Column | None, appearance: Appearance) -> str:
    """A filter as it is read: "GPU memory ≥ 80 GiB", "contains A100 or H100"."""
    negated = term.text.lstrip().startswith(("!", "！", "≠"))
    asked = term.text.strip().lstrip("!！≠")
    either = f" {appearance.text(msg('catalogui.filter.or'))} "
    parts = [part.strip() for part in asked.split("|") if part.strip()]
    if column is None:
        return appearance.text(msg("catalogui.filter.anywhere", words=either.join(parts)))
    said = either.join(_part(part, column, appearance) for part in parts) or term.text
    name = appearance.text(msg(column.label))
    if negated:
        return appearance.text(msg("catalogui.filter.not", column=name, what=said))
    return appearance.text(msg("catalogui.filter.is", column=name, what=said))


def _part(part: str, column: Column, appearance: Appearance) -> str:
    if part == "?":
        return appearance.text("catalogui.filter.missing")
    if column.kind is ColumnKind.TEXT:
        return _words(part, column, appearance)
    for sign, shown in _SIGNS:
        if part.startswith(sign):
            return shown + _number(part.removeprefix(sign).strip(), column, appearance)
    low, dots, high = part.partition("..")
    if dots:
        unit = _unit(column, appearance) if _BARE_NUMBER.match(high.strip() or low.strip()) else ""
        return f"{low.strip()} – {high.strip()} {unit}".strip()
    return _number(part, column, appearance)


def _number(number: str, column: Column, appearance: Appearance) -> str:
    unit = _unit(column, appearance) if _BARE_NUMBER.match(number) else ""
    return f"{number} {unit}".strip()


def _unit(column: Column, appearance: Appearance) -> str:
    return header_unit(column, appearance.display).text if column.kind is ColumnKind.NUMBER else ""


def _words(part: str, column: Column, appearance: Appearance) -> str:
    whole = part.startswith("=")
    word = part.removeprefix("=").strip().strip('"')
    said = word_text(column.id, word, appearance)
    return f"= {said}" if whole else said
