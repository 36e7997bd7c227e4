"""Comma-separated output of `nvidia-smi --query-…`: its columns by the header or the command. Knows no field."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import islice

from gpuplanner.probe.output import MOST_TRIED, Line, Output, at_line_start
from gpuplanner.probe.parsers.nvidia_query_names import plain_name

_NAME = re.compile(r"[A-Za-z][\w.]{1,80}(?: \[[^\]]{1,8}\])?$")
_MAYBE_HEADER = at_line_start(r"[ \t]{0,40}[A-Za-z][\w.]{1,80}(?: \[[^\]\n]{1,8}\])?[ \t]{0,4}(?:,[^\n]*|$)")
_SENTENCE = "Unable to determine the device handle"
_MOST_COLUMNS = 500


@dataclass
class Table:
    """Columns by their plain names and the rows below, each with as many cells as columns.

    `odd`: lines that are like a row but do not have as many cells; `header`: None where the command named the columns.
    """

    names: tuple[str, ...]
    header: Line | None
    rows: list[tuple[Line, list[str]]] = field(default_factory=list)
    odd: list[tuple[Line, list[str]]] = field(default_factory=list)


def cells_of(line: Line) -> list[str]:
    """The cells of a line, without the spaces around them."""
    return [cell.strip() for cell in line.text.split(",")]


def header_names(line: Line, known: Collection[str]) -> tuple[str, ...] | None:
    """The plain names in a line when it is a header of which at least one in two is known, else None."""
    if "," not in line.text:
        name = plain_name(line.text.strip())
        return (name,) if name in known and ("." in name or "_" in name) and _NAME.match(line.text.strip()) else None
    cells = cells_of(line) if line.text.count(",") < _MOST_COLUMNS else []
    if not cells or not all(_NAME.match(cell) for cell in cells):
        return None
    names = tuple(plain_name(cell) for cell in cells)
    found = sum(name in known for name in names)
    distinctive = found >= 2 or (found == 1 and ("." in names[0] or "_" in names[0]))
    return names if distinctive and found * 4 >= len(names) else None


def asked_for(output: Output, switch: str) -> tuple[str, ...] | None:
    """The columns that the command asks for (`--query-gpu=index,name`), where it is known or stands at a prompt."""
    words = [*output.command, *(word for typed in output.typed for word in typed[:2_000].split())]
    for at, word in enumerate(words):
        if word == switch and at + 1 < len(words):
            return tuple(plain_name(name) for name in words[at + 1].strip("'\"").split(","))
        if word.startswith(f"{switch}="):
            return tuple(plain_name(name) for name in word[len(switch) + 1 :].strip("'\"").split(","))
    return None


def tables(output: Output, known: Collection[str], switch: str, wide: str = "", word: str = "") -> list[Table]:
    """All tables of an output. `wide`: the column whose text may have commas of its own; `word`: one that
    stands in each header.

    A table ends where a line is empty or has no comma, unless it is a sentence about a GPU that does not answer.
    """
    found: list[Table] = []
    inside = False
    headers = _headers(output, known, word)
    if named := asked_for(output, switch):
        found.append(Table(named, None))
        inside = True
    elif not headers:
        return []
    for line in output.lines:
        if names := headers.get(line.number):
            inside = True
            if not found or found[-1].names != names:
                found.append(Table(names, line))
        elif inside and switch not in line.text:
            inside = _row(found[-1], line, wide)
    return found


def _headers(output: Output, known: Collection[str], word: str) -> dict[int, tuple[str, ...]]:
    """The names of the columns by the number of the line that is a header."""
    found: dict[int, tuple[str, ...]] = {}
    begun = (line for line, _ in output.starting(_MAYBE_HEADER))
    for line in islice(output.holding(word), MOST_TRIED) if word else begun:
        if names := header_names(line, known):
            found[line.number] = names
    return found


def _row(table: Table, line: Line, wide: str) -> bool:
    """Take a line into a table. False where the table ends before it."""
    if not line.text.strip():
        return table.header is None and not table.rows
    if "," not in line.text and len(table.names) > 1:
        return _SENTENCE in line.text or not table.rows
    cells = _fitted(cells_of(line), table.names, wide)
    (table.rows if len(cells) == len(table.names) else table.odd).append((line, cells))
    return True


def _fitted(cells: list[str], names: tuple[str, ...], wide: str) -> list[str]:
    surplus = len(cells) - len(names)
    if surplus <= 0 or wide not in names:
        return cells
    at = names.index(wide)
    return [*cells[:at], ", ".join(cells[at : at + surplus + 1]), *cells[at + surplus + 1 :]]
