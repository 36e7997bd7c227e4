"""Elementwise helpers so that one formula serves floats and arrays; formulas never branch on a value with `if`.

NumPy's own functions cost a microsecond on a float, a comparison a tenth of that.
"""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Number: TypeAlias = float | NDArray[Any]
"""What a formula takes and gives: one number, or one for each way of running."""

Condition: TypeAlias = bool | NDArray[np.bool_]


def minimum(a: Number, b: Number) -> Number:
    """The smaller of two, element by element."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.minimum(a, b)
    return min(b, a)


def maximum(a: Number, b: Number) -> Number:
    """The larger of two, element by element."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.maximum(a, b)
    return max(b, a)


def where(condition: Condition, then: Number, otherwise: Number) -> Number:
    """`then` where the condition holds, else `otherwise`. Both are computed."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, then, otherwise)
    return then if condition else otherwise


def ceil(a: Number) -> Number:
    """The smallest whole number that is not below."""
    if isinstance(a, np.ndarray):
        return np.ceil(a)
    return float(-(-a // 1))


def floor(a: Number) -> Number:
    """The largest whole number that is not above."""
    if isinstance(a, np.ndarray):
        return np.floor(a)
    return float(a // 1)


def log(a: Number) -> Number:
    """The natural logarithm of what is above 0."""
    return np.log(a) if isinstance(a, np.ndarray) else math.log(a)


def expm1(a: Number) -> Number:
    """E to this power, less 1: exact where that is nearly nothing."""
    return np.expm1(a) if isinstance(a, np.ndarray) else math.expm1(a)


def always(value: Number, number: float) -> bool:
    """Whether a number is this one in every way of running, so that what follows from it need not be worked out."""
    return isinstance(value, float) and value == number


def settled(value: Number, number: float) -> Number:
    """One float where an array is this number in every way of running, which arithmetic does not have to go through."""
    return number if isinstance(value, np.ndarray) and bool((value == number).all()) else value


def added(*terms: Number) -> Number:
    """The sum in this order. Terms that are 0 in every way of running are left out: arrays do not go through them."""
    total: Number | None = None
    for term in terms:
        if isinstance(term, np.ndarray) or term:
            total = term if total is None else total + term
    return 0.0 if total is None else total
