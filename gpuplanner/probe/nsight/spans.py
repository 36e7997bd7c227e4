"""Stretches of time that do not overlap, as arrays of nanoseconds. Pure; knows no database."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spans:
    """Disjoint stretches in order, `starts` and `ends` in ns."""

    starts: Times
    ends: Times

    @classmethod
    def together(cls, starts: Times, ends: Times) -> "Spans":
        """The union of stretches that may overlap and touch, in any order."""
        if not len(starts):
            return cls(starts, ends)
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        furthest = np.maximum.accumulate(ends)
        begins = np.concatenate([[True], starts[1:] > furthest[:-1]])
        return cls(starts[begins], furthest[np.concatenate([begins[1:], [True]])])

    @property
    def total(self) -> int:
        """All of it in ns."""
        return int((self.ends - self.starts).sum())

    @property
    def lengths(self) -> Times:
        """Each in ns."""
        return self.ends - self.starts

    def between(self) -> "Spans":
        """What lies between the first start and the last end and is in none of them."""
        return Spans(self.ends[:-1], self.starts[1:])

    def without(self, other: "Spans") -> "Spans":
        """What is in these and not in the others."""
        at = np.concatenate([self.starts, self.ends, other.starts, other.ends])
        mine = np.concatenate([np.ones_like(self.starts), -np.ones_like(self.ends), np.zeros_like(other.starts)])
        mine = np.concatenate([mine, np.zeros_like(other.ends)])
        theirs = np.concatenate([np.zeros_like(self.starts), np.zeros_like(self.ends), np.ones_like(other.starts)])
        theirs = np.concatenate([theirs, -np.ones_like(other.ends)])
        order = np.argsort(at, kind="stable")
        at = at[order]
        alone = (np.cumsum(mine[order]) > 0) & (np.cumsum(theirs[order]) == 0)
        kept = alone[:-1] & (at[1:] > at[:-1])
        return Spans.together(at[:-1][kept], at[1:][kept])

    def within(self, starts: Times, ends: Times) -> Times:
        """How many ns of these lie in each of other stretches, which may overlap each other."""
        return self._before(ends) - self._before(starts)

    def _before(self, times: Times) -> Times:
        """How many ns of these lie before each instant."""
        if not len(self.starts):
            return np.zeros_like(times)
        done = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        at = np.searchsorted(self.starts, times, side="right") - 1
        inside = np.minimum(times, self.ends[at]) - self.starts[at]
        before: Times = np.where(at < 0, 0, done[np.maximum(at, 0)] + inside)
        return before


def outermost(starts: Times, ends: Times) -> npt.NDArray[np.intp]:
    """The places of those stretches that are in no other, in order: a call that another call makes is a part of it."""
    order = np.lexsort((-ends, starts))
    furthest = np.maximum.accumulate(ends[order])
    free = np.concatenate([[True], starts[order][1:] >= furthest[:-1]]) if len(order) else np.zeros(0, dtype=bool)
    outer: npt.NDArray[np.intp] = order[free]
    return outer
