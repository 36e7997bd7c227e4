"""Square tables of numbers between devices: a row of their indices, then a row each. Recognises and reads no output."""

import re
from collections.abc import Iterator

from gpuplanner.probe.output import Line

_HEADER = re.compile(r"^\s{0,20}(?:D\\D|GPU|CPU)?(?:\s{1,20}\d{1,3}){1,256}\s{0,20}$")
_ROW = re.compile(r"^\s{0,20}\d{1,3}(?:\s{1,20}(?:\d{1,9}(?:\.\d{1,6})?|N/A)){1,256}\s{0,20}$")


class Grid:
    """Reads one table line by line; `begin` starts another."""

    def __init__(self) -> None:
        self._columns: list[int] = []

    def begin(self) -> None:
        """A title: the next row of indices is this table's."""
        self._columns = []

    def cells(self, line: Line) -> Iterator[tuple[int, int, str]]:
        """Row, column and text of each cell of a line; nothing where the line is none of the table."""
        if not self._columns:
            if _HEADER.match(line.text):
                self._columns = [int(word) for word in line.text.split() if word.isdecimal()]
            return
        if not _ROW.match(line.text):
            return
        row, *cells = line.text.split()
        for column, text in zip(self._columns, cells, strict=False):
            yield int(row), column, text
