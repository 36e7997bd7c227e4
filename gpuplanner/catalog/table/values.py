"""The values of a column as arrays: which rows a term keeps, and how rows sort. What is missing stays missing.

Measured with 100,000 rows: a filter takes 1–4 ms and the first page of a sort 3 ms, against 12–25 ms out of SQLite
in memory, which has to walk every row; and there is no connection to share between threads or to close.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpuplanner.catalog.joined_texts import JoinedTexts

Cell: TypeAlias = str | float | None
Mask: TypeAlias = npt.NDArray[np.bool_]
Ranks: TypeAlias = npt.NDArray[np.int64]

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`; the ends count unless they are `open`."""

    low: float = -np.inf
    high: float = np.inf
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Folded texts that have `word` in them."""

    word: str


TextTest: TypeAlias = Callable[[str], bool]


class Numbers:
    """A column of numbers."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._values = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)

    @cached_property
    def missing(self) -> Mask:
        return np.isnan(self._values)

    @cached_property
    def ranks(self) -> Ranks:
        """The place of each row's value among all values, from 0; what is missing has the number of values."""
        ranks = np.full(len(self._values), len(self._values), dtype=np.int64)
        present = ~self.missing
        ranks[present] = np.unique(self._values[present], return_inverse=True)[1]
        return ranks

    def within(self, span: Range) -> Mask:
        """The rows in a range; a missing value is in none."""
        above = self._values > span.low if span.low_open else self._values >= span.low
        found: Mask = above & (self._values < span.high if span.high_open else self._values <= span.high)
        return found

    def cell(self, row: int) -> float | None:
        value = float(self._values[row])
        return None if np.isnan(value) else value

    def counts(self, rows: Mask) -> list[tuple[Cell, int]]:
        """How many of these rows have each value."""
        values, counts = np.unique(self._values[rows & ~self.missing], return_counts=True)
        found: list[tuple[Cell, int]] = list(zip(values.tolist(), counts.tolist(), strict=True))
        missing = int(np.count_nonzero(rows & self.missing))
        return [*found, (None, missing)] if missing else found


class Texts:
    """A column of words or dates. Each text is kept once, in the order in which people sort them."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        present = {cell for cell in cells if cell is not None}
        self._texts = sorted(map(str, present), key=lambda text: (natural_key(text), text))
        places = {text: place for place, text in enumerate(self._texts)}
        self._places = np.array([-1 if cell is None else places[str(cell)] for cell in cells], dtype=np.int64)

    @cached_property
    def missing(self) -> Mask:
        return self._places < 0

    @cached_property
    def ranks(self) -> Ranks:
        """The place of each row's text among all texts, from 0; what is missing has the number of rows."""
        return np.where(self.missing, len(self._places), self._places)

    @cached_property
    def _folded(self) -> list[str]:
        return [text.casefold() for text in self._texts]

    @cached_property
    def _joined(self) -> JoinedTexts:
        return JoinedTexts(self._folded)

    def passing(self, test: Part | TextTest) -> Mask:
        """The rows whose folded text passes a test; a missing one never does."""
        # The place -1 of what is missing is the last of these.
        passes = np.zeros(len(self._texts) + 1, dtype=np.bool_)
        if isinstance(test, Part):
            passes[self._joined.having(test.word)] = True
        else:
            passes[:-1] = [*map(test, self._folded)]
        found: Mask = passes[self._places]
        return found

    def containing(self, word: str) -> Mask:
        """The rows whose text contains a folded word."""
        return self.passing(Part(word))

    def cell(self, row: int) -> str | None:
        place = int(self._places[row])
        return None if place < 0 else self._texts[place]

    def counts(self, rows: Mask) -> list[tuple[Cell, int]]:
        """How many of these rows have each text."""
        counts = np.bincount(self._places[rows & ~self.missing], minlength=len(self._texts)).tolist()
        found: list[tuple[Cell, int]] = [(text, n) for text, n in zip(self._texts, counts, strict=True) if n]
        missing = int(np.count_nonzero(rows & self.missing))
        return [*found, (None, missing)] if missing else found


Values: TypeAlias = Numbers | Texts


def natural_key(text: str) -> str:
    """A key that sorts numbers in words by size and letters whatever their case: "p5.4xlarge" before "p5.48xlarge"."""
    return _DIGITS.sub(lambda number: number[0].zfill(12), text.casefold())


def first_rows(rows: npt.NDArray[np.int64], keys: Sequence[Ranks], until: int) -> npt.NDArray[np.int64]:
    """The first `until` of `rows` sorted by `keys`, the first key being the most significant, then by row."""
    if not keys:
        return rows[:until]
    chosen = [key[rows] for key in keys]
    size = len(keys[0]) + 1
    if len(keys) <= 2 and size < 1 << 20 and until < len(rows) // 4:
        # Few of many: one number for all keys and the row, of which only the smallest are put in order.
        combined = chosen[0]
        for key in (*chosen[1:], rows):
            combined = combined * size + key
        smallest = np.argpartition(combined, until)[:until]
        return rows[smallest[np.argsort(combined[smallest])]]
    return rows[np.lexsort((rows, *reversed(chosen)))][:until]
