"""Cells that must be more than a number: counts of things that there are, and sizes that something is divided by."""

from collections.abc import Callable
from typing import TypeVar

from gpuplanner.engine.validation.rows import Row
from gpuplanner.messages import InputError, msg, shortened

T = TypeVar("T")

MOST = 1_000_000_000
"""Of what is counted (GPUs, layers, tokens, samples in a step) no measurement has more."""


def positive(row: Row, column: str) -> float | None:
    """The cell as a number above 0, None when it is empty. Raises InputError naming the column for anything else."""
    value = row.number(column)
    if value is not None and value <= 0:
        raise _unknown(row, column)
    return value


def count(row: Row, column: str, most: int = MOST) -> int | None:
    """The cell as a whole number from 1 to `most`, None when it is empty. Raises InputError naming the column."""
    value = positive(row, column)
    if value is None:
        return None
    if value != int(value):
        raise _unknown(row, column)
    if value > most:
        raise InputError(
            msg("validation.beyond", column=column, text=shortened(row.text(column), 40), most=f"{most:,}")
        )
    return int(value)


def needed(row: Row, column: str, read: Callable[[Row, str], T | None]) -> T:
    """The cell as `read` has it. Raises InputError naming the column when it is empty too."""
    value = read(row, column)
    if value is None:
        raise InputError(msg("validation.empty_cell", column=column))
    return value


def _unknown(row: Row, column: str) -> InputError:
    return InputError(msg("validation.unknown_value", column=column, text=shortened(row.text(column), 40)))
