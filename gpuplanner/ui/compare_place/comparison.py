"""Values side by side: what differs, and which is best. No Qt, no words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.facts import Known
from gpuplanner.messages import Message
from gpuplanner.ui.compare_place.properties import Better, Property, Value, property_groups
from gpuplanner.ui.compare_place.subjects import Subject

SAME_WITHIN = 1e-9
"""Numbers that differ by less are the same but for rounding."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value. `known` is the fact behind it, where it is one; `spread` the ends of its range.

    `within`: the place of another subject in whose range this best value lies, so that it may not be the best.
    """

    value: Value
    best: bool = False
    known: Known | None = None
    spread: tuple[float, float] | None = None
    within: int | None = None


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One property of all subjects. `differs`: they are not all the same; a missing value is not known to be.

    `mixed`: the values do not mean the same, so none of them is best.
    """

    property: Property
    cells: tuple[Cell, ...]
    differs: bool
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """Rows under a title."""

    title: Message
    rows: tuple[ComparedRow, ...]


def compare(subjects: Sequence[Subject], *, only_differences: bool = False) -> tuple[ComparedGroup, ...]:
    """The subjects side by side. Rows with no value, or with the titles again, are left out."""
    groups = []
    for group in property_groups():
        rows = [row for prop in group.properties if (row := _row(prop, subjects)) is not None]
        shown = tuple(row for row in rows if row.differs or not only_differences)
        if shown:
            groups.append(ComparedGroup(group.title, shown))
    return tuple(groups)


def _row(prop: Property, subjects: Sequence[Subject]) -> ComparedRow | None:
    values = [prop.read(subject) for subject in subjects]
    if all(value is None or value == subject.title for value, subject in zip(values, subjects, strict=True)):
        return None
    ranked = prop.better is not Better.NEITHER
    meanings = {prop.comparable(subject) for value, subject in zip(values, subjects, strict=True) if value is not None}
    mixed = ranked and len(meanings) > 1
    best = set() if mixed else _best(values, prop.better)
    spreads = [prop.spread(subject) for subject in subjects]
    estimates = [prop.estimate(subject) for subject in subjects]
    cells = tuple(
        Cell(value, at in best, prop.known(subject), spreads[at], _within(value, at, best, spreads, estimates))
        for at, (value, subject) in enumerate(zip(values, subjects, strict=True))
    )
    return ComparedRow(prop, cells, any(not _same(values[0], other) for other in values[1:]), mixed)


def _within(
    value: Value,
    at: int,
    best: set[int],
    spreads: Sequence[tuple[float, float] | None],
    estimates: Sequence[object],
) -> int | None:
    """Whose range a best value lies in, of those that are not best.

    Where the estimate behind both is the same, it is off by as much in both, and what differs is certain.
    """
    if at not in best or not isinstance(value, float | int):
        return None
    own = estimates[at]
    others = (
        (place, ends)
        for place, ends in enumerate(spreads)
        if ends is not None and place not in best and (own is None or estimates[place] != own)
    )
    return next((place for place, (low, high) in others if low <= value <= high), None)


def _best(values: Sequence[Value], better: Better) -> set[int]:
    """Where the best values stand. None where fewer than two are known, or where all that are known are the same."""
    numbers = {at: float(v) for at, v in enumerate(values) if isinstance(v, float | int)}
    if better is Better.NEITHER or len(numbers) < 2:
        return set()
    top = (max if better is Better.MORE else min)(numbers.values())
    found = {at for at, number in numbers.items() if _same(number, top)}
    return found if len(found) < len(numbers) else set()


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=SAME_WITHIN)
    return one == other
