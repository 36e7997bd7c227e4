"""Numbers of several machines put together as a table, and rows taken out of columns of layouts."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
T = TypeVar("T")


def tabled(numbers: Sequence[T]) -> T:
    """One value of the type of `numbers`, which are floats: what differs is a column of a table, a row for each.

    What is the same float in all of them stays one, which arithmetic does not have to go through. Together with columns
    of layouts such a value makes a table, a row for each of `numbers` and a column for each layout.
    """
    return _each(numbers[0], lambda name: _column([getattr(n, name) for n in numbers]))


def taken(numbers: T, rows: Array) -> T:
    """These rows of a value whose fields are columns of one length, or floats."""
    return _each(numbers, lambda name: _rows(getattr(numbers, name), rows))


def _each(like: T, value: Callable[[str], Any]) -> T:
    kind: Any = type(like)
    made: T = kind(*[value(name) for name in _names(kind)])
    return made


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass of numbers."""
    return tuple(field.name for field in fields(kind))


def _column(values: list[Any]) -> Any:
    first = values[0]
    if all(value is first for value in values):
        return first
    if is_dataclass(first):
        return tabled(values)
    if not isinstance(first, float) or values.count(first) == len(values):
        return first  # what is no number does not enter into arithmetic
    return np.array(values, dtype=np.float64)[:, None]


def _rows(value: Any, rows: Array) -> Any:
    if isinstance(value, np.ndarray):
        return value[rows]
    return taken(value, rows) if is_dataclass(value) else value
