"""Gives the figures of a result the derivations that were recorded while it was made. Computes nothing.

A figure is found by the identity of its number, so that a number that was changed on the way gets no derivation.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from gpuplanner.engine.formulas.terms import TERM_UNITS
from gpuplanner.engine.origins import Find, Tracer
from gpuplanner.figures import Figure, Formula, Recording, Step

T = TypeVar("T")

AS_READ = "as_read"


def derived(made: T, kept: Recording, find: Find, holders: tuple[type, ...]) -> T:
    """`made` with the derivation of every figure in it, each input with where it comes from.

    `holders`: the types of it that hold figures.
    """
    tracer = Tracer(find, _steps_by_value(kept))
    read = _read_as_they_are(kept)

    def with_derivation(figure: Figure) -> Figure:
        given = figure.derivation or (None if tracer.step_of(figure.value) else read.get(id(figure.value)))
        step = tracer.completed(given) if given else tracer.step_of(figure.value)
        return figure if step is None else replace(figure, derivation=step)

    return _with_figures(made, with_derivation, holders)


def _steps(kept: Recording) -> Iterator[Step]:
    """Every recorded step, those outside before those inside."""
    waiting = list(kept.steps)
    while waiting:
        step = waiting.pop()
        yield step
        waiting += [argument.step for argument in step.arguments if argument.step is not None]
        waiting += step.inner


def _steps_by_value(kept: Recording) -> dict[int, Step]:
    """Every recorded step by the identity of its value, the outermost of several that give the very same number."""
    found: dict[int, Step] = {}
    for step in _steps(kept):
        if not isinstance(step.value, int):
            found.setdefault(id(step.value), step)
    return found


def _read_as_they_are(kept: Recording) -> dict[int, Step]:
    """By the identity of its value, each number that no formula gave but that went into one."""
    return {
        id(argument.value): Step(Formula(AS_READ, TERM_UNITS[argument.name], "", ""), argument.value, (argument,))
        for step in _steps(kept)
        for argument in step.arguments
        if argument.step is None and isinstance(argument.value, float) and argument.name in TERM_UNITS
    }


def _with_figures(value: T, change: Callable[[Figure], Figure], holders: tuple[type, ...]) -> T:
    """The same value with each figure in it changed."""
    whole: Any = value
    changed: Any = value
    if isinstance(value, Figure):
        changed = change(value)
    elif isinstance(value, tuple):
        changed = tuple(_with_figures(item, change, holders) for item in value)
    elif isinstance(value, Mapping):
        changed = {key: _with_figures(item, change, holders) for key, item in value.items()}
    elif isinstance(value, holders) and is_dataclass(value):
        named = {f.name: _with_figures(getattr(value, f.name), change, holders) for f in fields(value)}
        changed = replace(whole, **named)
    return cast(T, changed)
