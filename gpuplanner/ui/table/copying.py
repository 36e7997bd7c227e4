"""Rows as text for other programs: TSV, CSV, Markdown. What is shown is what is written: columns, order, units."""

import csv
import io
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from gpuplanner.messages import Translator, for_spreadsheet
from gpuplanner.ui.table.columns import Column
from gpuplanner.units import Display


class CopyFormat(StrEnum):
    """How rows are written."""

    TSV = "tsv"
    CSV = "csv"
    MARKDOWN = "markdown"


def table_text(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    format_: CopyFormat,
    display: Display,
    translator: Translator,
    note: str = "",
) -> str:
    """The rows (values at the columns' places) with a line of titles and units. `note` says the filters in force.

    Numbers are without grouping and with a decimal point, whatever the language.
    """
    titles = [_title(column, display, translator) for column in columns]
    table = [[column.plain(value, display) for column, value in zip(columns, row, strict=True)] for row in rows]
    if format_ is CopyFormat.MARKDOWN:
        return _markdown(columns, titles, table, note)
    written = io.StringIO(newline="")
    delimiter = "\t" if format_ is CopyFormat.TSV else ","
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([[for_spreadsheet(cell) for cell in row] for row in table])
    if note:
        written.write(f"# {note}\n")
    return written.getvalue()


def _title(column: Column, display: Display, translator: Translator) -> str:
    unit = column.unit(display)
    title = translator.text(column.title)
    return f"{title} ({unit})" if unit else title


def _markdown(columns: Sequence[Column], titles: Sequence[str], table: Sequence[Sequence[str]], note: str) -> str:
    lines = [
        _markdown_row(titles),
        _markdown_row(["---:" if column.right else "---" for column in columns]),
        *(_markdown_row([cell.replace("|", "\\|").replace("\n", " ") for cell in row]) for row in table),
    ]
    if note:
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
