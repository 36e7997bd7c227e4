"""Numbers of several machines or layouts put together as columns of one block, and rows of such columns taken out."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
T = TypeVar("T")


def joined(numbers: Sequence[T], rows: Sequence[int]) -> T:
    """One value of the type of `numbers`, which are floats or arrays: each stands in so many rows.

    What is the same float in all of them stays one, which arithmetic does not have to go through.
    """
    return _each(numbers[0], lambda name: _column([getattr(n, name) for n in numbers], rows))


def taken(numbers: T, rows: Array) -> T:
    """These rows of a value that has been joined."""
    return _each(numbers, lambda name: _rows(getattr(numbers, name), rows))


def _each(like: T, value: Callable[[str], Any]) -> T:
    names = (field.name for field in fields(like))  # type: ignore[arg-type]  # a dataclass of numbers
    return type(like)(**{name: value(name) for name in names})


def _column(values: list[Any], rows: Sequence[int]) -> Any:
    first = values[0]
    if all(value is first for value in values):
        if len(values) == 1 or not isinstance(first, np.ndarray):
            return first
        return np.tile(first, len(values))
    if is_dataclass(first):
        return joined(values, rows)
    if any(isinstance(value, np.ndarray) for value in values):
        return np.concatenate([np.broadcast_to(v, count) for v, count in zip(values, rows, strict=True)])
    if not isinstance(first, float) or values.count(first) == len(values):
        return first  # what is no number does not enter into arithmetic
    return np.repeat(np.array(values, dtype=np.float64), rows)


def _rows(value: Any, rows: Array) -> Any:
    if isinstance(value, np.ndarray):
        return value[rows]
    return taken(value, rows) if is_dataclass(value) else value
