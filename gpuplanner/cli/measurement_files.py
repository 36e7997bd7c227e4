"""Reading CSV files of measurements. A fault of the file is one sentence; a fault of a line is that line's own."""

import csv
import io
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gpuplanner.engine.validation.families import recognise, row_outcomes, with_siblings
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, refusal
from gpuplanner.messages import InputError, msg, shortened

LARGEST_CSV_BYTES = 50_000_000
"""Fifty times the largest public file of measurements."""
MOST_LINES = 20_000
"""Five times the public file with the most; each line is estimated, which takes about a millisecond."""


def file_outcomes(path: Path, context: ValidationContext) -> Iterator[Outcome]:
    """The outcomes of every line of a file. Raises InputError when the file cannot be read or is of no known family."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        header = _checked(next(reader, []), path.name)
        family = recognise(path.name, header)
        rows: list[Row] = []
        ragged: dict[int, int] = {}
        for cells in reader:
            if reader.line_num > MOST_LINES:
                raise InputError(msg("cli.validate.too_many_lines", file=path.name, limit=f"{MOST_LINES:,}"))
            if not cells:
                continue
            rows.append(Row(path.name, reader.line_num, dict(zip(header, cells, strict=False))))
            if len(cells) != len(header):
                ragged[reader.line_num] = len(cells)
    except csv.Error as fault:
        where = msg("cli.validate.not_csv", file=str(path), line=reader.line_num, reason=str(fault))
        raise InputError(where) from None
    for row in with_siblings(rows):
        if row.line in ragged:
            why = msg("cli.validate.ragged", line=row.line, cells=ragged[row.line], columns=len(header))
            yield refusal(row, family.name, family.metrics[0], why)
        else:
            yield from row_outcomes(row, family, context)


def _checked(header: list[str], name: str) -> list[str]:
    """The names of the columns. Raises InputError where they are separated otherwise, or one stands twice."""
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise InputError(msg("cli.validate.other_separator", file=name))
    twice = next((column for column, times in Counter(filter(None, header)).items() if times > 1), None)
    if twice is not None:
        raise InputError(msg("cli.validate.column_twice", file=name, column=shortened(twice, 60)))
    return header


def _text(path: Path) -> str:
    name = str(path)[:200]
    try:
        status = path.stat()
    except FileNotFoundError:
        raise InputError(msg("cli.validate.no_such_file", file=name)) from None
    except (OSError, ValueError) as fault:
        raise _unreadable(name, fault) from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError(msg("cli.validate.not_a_file", file=name))
    if status.st_size > LARGEST_CSV_BYTES:
        raise InputError(msg("cli.validate.too_large", file=name, limit=LARGEST_CSV_BYTES // 1_000_000))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise InputError(msg("cli.validate.not_utf8", file=name, byte=fault.start)) from None
    except OSError as fault:
        raise _unreadable(name, fault) from None
    if not text.strip():
        raise InputError(msg("cli.validate.empty_file", file=name))
    return text


def _unreadable(name: str, fault: OSError | ValueError) -> InputError:
    reason = getattr(fault, "strerror", None) or str(fault)
    return InputError(msg("cli.validate.cannot_read", file=name, reason=reason))
