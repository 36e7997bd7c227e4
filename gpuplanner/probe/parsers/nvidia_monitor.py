"""The columns that `nvidia-smi dmon` and `pmon` print again and again, with spaces or commas. Judges nothing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuplanner.probe.output import Line, Output, at_line_start

MOST_SAMPLES = 100_000
"""Rows that are read of one output: 8 GPUs at one a second take three hours."""

_START = r"#[ \t]{0,20}(?:Date[ ,\t]{1,20})?(?:Time[ ,\t]{1,20})?gpu[ ,\t]"
_HEADER = re.compile(_START)
_TABLE = at_line_start(_START + r"[^\n]{0,2000}")
_ROW = re.compile(r"[ \t]{0,40}\d")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})$")
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells by the names of the columns. `at_s`: of its clock, None where it has none."""

    line: Line
    cells: dict[str, str]
    at_s: float | None


def columns(header: str) -> list[str]:
    """The names of the columns in a header, in lower case."""
    return header.lstrip("# \t").replace(",", " ").lower().split()


def has_table(output: Output, processes: bool) -> bool:
    """Whether there is a table, of processes (`pmon`) or of GPUs (`dmon`)."""
    for line, _ in output.starting(_TABLE):
        names = columns(line.text)
        if ("pid" in names) == processes and len(names) > 2:
            return True
    return False


def rows(output: Output, processes: bool) -> Iterator[Row]:
    """The rows of all tables of one kind, in order; the last column takes the rest of its line."""
    names: list[str] = []
    days = 0.0
    before = 0.0
    for line in output.lines:
        if line.text.startswith("#"):
            if _HEADER.match(line.text):
                found = columns(line.text)
                names = found if ("pid" in found) == processes and len(found) > 2 else []
            continue
        if not names or not _ROW.match(line.text):
            continue
        text = line.text.strip()
        cells = [cell.strip() for cell in text.split(",")] if "," in text else text.split(None, len(names) - 1)
        if len(cells) != len(names):
            continue
        by_name = dict(zip(names, cells, strict=True))
        at_s = _seconds(by_name.get("time", ""))
        if at_s is not None:
            days += _DAY_S if at_s + days < before - _DAY_S / 2 else 0.0
            at_s += days
            before = at_s
        yield Row(line, by_name, at_s)


def _seconds(clock: str) -> float | None:
    match = _CLOCK.match(clock)
    return int(match[1]) * 3600.0 + int(match[2]) * 60.0 + int(match[3]) if match else None
