"""Numbers of several machines put together as a table, and rows taken out of columns of layouts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import repeat
from operator import attrgetter, is_
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
    kind: Any = type(numbers[0])
    made: T = kind(*map(_column, zip(*map(_reader(kind), numbers), strict=True)))
    return made


def tabled_alike(numbers: Sequence[T]) -> T:
    """The same table, of numbers of which many are one object: each is read once. No field is a column yet."""
    once = {id(each): each for each in numbers}
    place = {key: row for row, key in enumerate(once)}
    return taken(tabled(list(once.values())), np.array([place[id(each)] for each in numbers]))


def taken(numbers: T, rows: Array) -> T:
    """These rows of a value whose fields are columns of one length, or floats."""
    kind: Any = type(numbers)
    made: T = kind(*(_rows(value, rows) for value in _reader(kind)(numbers)))
    return made


def multiplied(numbers: T, row: int, factors: Mapping[str, float]) -> T:
    """The same columns of a dataclass, in one row each so many times as large; names that are no column are ignored."""
    changed: dict[str, Any] = {
        name: times(column, row, factor)
        for name, factor in factors.items()
        if isinstance(column := getattr(numbers, name, None), np.ndarray)
    }
    made: T = replace(numbers, **changed)  # type: ignore[type-var]  # T is a dataclass of numbers
    return made


def times(column: Array, row: int, factor: float) -> Array:
    """A copy that is so many times as large in one row."""
    changed = np.array(column, dtype=np.float64)
    changed[row] *= factor
    return changed


@cache
def _reader(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Reads all fields of a dataclass of numbers: at once, since by field it takes as long as the formulas."""
    names = [field.name for field in fields(kind)]
    if len(names) < 2:  # of one, an attribute getter gives no tuple
        return lambda value: tuple(getattr(value, name) for name in names)
    return attrgetter(*names)


def _column(values: tuple[Any, ...]) -> Any:
    first = values[0]
    if all(map(is_, values, repeat(first))):
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
