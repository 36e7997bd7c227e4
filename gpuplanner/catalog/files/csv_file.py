"""CSV as records with lines: commas, semicolons or tabs, as spreadsheet programs write them in any country."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gpuplanner.catalog.files.records import Record, Value
from gpuplanner.catalog.problems import Problem, Refused, Severity
from gpuplanner.messages import msg

if TYPE_CHECKING:
    import _csv

MOST_COLUMNS = 500
"""The widest export of a cloud's prices has some 100."""
MOST_ROWS = 200_000
"""Twice the longest price list; they take some seconds and a few hundred MB."""
_SEPARATORS = (",", ";", "\t")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def parse_csv(
    text: str, path: Path, problems: list[Problem], synonyms: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], Iterator[Record]]:
    """The columns of a CSV file, and its rows one by one. Empty cells and empty rows are left out.

    `synonyms`: columns by other names for them, in lower case and without spaces.
    Raises Refused when there is no header; a row that does not fit the header is kept as a problem and left out.
    """
    skipped = 0
    if text[:4].lower() == "sep=":
        first, _, text = text.partition("\n")
        separator, skipped = first[4:5] or ",", 1
    else:
        header = text.partition("\n")[0]
        separator = max(_SEPARATORS, key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        cells = next(reader, [])
    except csv.Error as error:
        raise Refused(Problem(path.name, 1, "", msg("overlay.file.not_csv", reason=str(error)))) from error
    while cells and not cells[-1].strip():
        cells.pop()
    if len(cells) > MOST_COLUMNS:
        what = msg("overlay.file.many_columns", count=len(cells), limit=MOST_COLUMNS)
        raise Refused(Problem(path.name, 1 + skipped, "", what))
    columns = tuple(_column(cell, synonyms or {}) for cell in cells)
    if not columns or not all(columns):
        raise Refused(Problem(path.name, 1 + skipped, "", msg("overlay.file.no_header")))
    for column in columns:
        if columns.count(column) > 1:
            raise Refused(Problem(path.name, 1 + skipped, column, msg("overlay.file.twice", first=1 + skipped)))
    return columns, _rows(reader, columns, path, problems, skipped, decimal_comma=separator == ";")


def _rows(
    reader: "_csv.Reader",
    columns: tuple[str, ...],
    path: Path,
    problems: list[Problem],
    skipped: int,
    *,
    decimal_comma: bool,
) -> Iterator[Record]:
    width = len(columns)
    while True:
        line = reader.line_num + 1 + skipped
        try:
            cells = next(reader, None)
        except csv.Error as error:
            problems.append(Problem(path.name, line, "", msg("overlay.file.not_csv", reason=str(error))))
            return
        if cells is None:
            return
        if line > MOST_ROWS:
            problems.append(Problem(path.name, line, "", msg("overlay.file.many_rows", limit=MOST_ROWS)))
            return
        if len(cells) > width and any(cell.strip() for cell in cells[width:]):
            what = msg("overlay.row.cells", cells=len(cells), columns=width)
            problems.append(Problem(path.name, line, "", what, Severity.ERROR))
            continue
        values: dict[str, Value] = {}
        for column, cell in zip(columns, cells, strict=False):
            if content := cell.strip():
                values[column] = content.replace(",", ".") if decimal_comma and _is_decimal(content) else content
        if values:
            yield Record(path.name, line, values)


def _column(cell: str, synonyms: Mapping[str, str]) -> str:
    name = cell.strip().casefold()
    return synonyms.get(re.sub(r"\s+", "", name)) or re.sub(r"\s+", "_", name)


def _is_decimal(cell: str) -> bool:
    return "," in cell and _DECIMAL_COMMA.fullmatch(cell) is not None
