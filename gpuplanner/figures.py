"""A figure: a computed number that can say how it came about. One formula serves numbers, arrays and explanations.

A formula is a pure function under `engine/formulas/` (parameter counts: `catalog/parameters.py`) with the `@formula`
decorator. It runs on floats and on NumPy arrays alike; inside `recording()` its calls are kept with their named inputs.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ParamSpec, TypeVar, cast

from gpuplanner.facts import Fact
from gpuplanner.messages import Message
from gpuplanner.units import Unit

P = ParamSpec("P")
R = TypeVar("R")


class Certainty(StrEnum):
    """What kind of knowledge a number is."""

    EXACT = "exact"
    MEASURED = "measured"
    CALIBRATED = "calibrated"
    RULE = "rule of thumb"
    USER = "user"


class Rung(StrEnum):
    """How near the measurements behind a calibrated number are, nearest first."""

    SAME_GPU = "same GPU"
    SAME_ARCHITECTURE = "same architecture"
    OTHER_ARCHITECTURE = "other architecture"
    ROOFLINE = "roofline only"


@dataclass(frozen=True, slots=True)
class Formula:
    """What a formula is called, its unit, its equation in the names of its parameters, and its reference."""

    id: str
    unit: Unit
    equation: str
    reference: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an input of a formula comes from: a fact of the catalog, the person, or a calibration."""

    certainty: Certainty
    fact: Fact | None = None
    note: Message | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """A named input of a recorded call. `step` is the call that computed it, `origin` where it was read."""

    name: str
    value: Any
    origin: Origin | None = None
    step: "Step | None" = None


@dataclass(frozen=True, slots=True)
class Step:
    """A recorded call of a formula: its inputs, the calls that it made itself, and its value."""

    formula: Formula
    value: Any
    arguments: tuple[Argument, ...]
    inner: tuple["Step", ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit, its range when it is not exact, why the range is as wide, and its derivation.

    `low` and `high` equal `value` for an exact figure. The range is nominally 80 %.
    """

    value: float
    unit: Unit
    certainty: Certainty
    low: float
    high: float
    rung: Rung | None = None
    why: Message | None = None
    derivation: Step | None = None

    @property
    def exact(self) -> bool:
        """Whether nothing about this number is estimated."""
        return self.certainty is Certainty.EXACT


def exact(value: float, unit: Unit, derivation: Step | None = None) -> Figure:
    """A figure without a range."""
    return Figure(value, unit, Certainty.EXACT, value, value, derivation=derivation)


@dataclass(slots=True)
class Recording:
    """The formula calls made while an explanation is asked for. `origins` says where an input of that name was read."""

    origins: Mapping[str, Origin] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def last(self, formula_id: str) -> Step | None:
        """The latest call of that formula that no other formula made or took as input."""
        return next((s for s in reversed(self.steps) if s.formula.id == formula_id), None)

    def keep(self, formula: Formula, names: tuple[str, ...], run: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
        """Run one call of a formula and keep it, with the earlier calls that gave its inputs below it.

        An input that is a tuple stands as so many inputs of its name.
        """
        beside, self.steps = self.steps, []
        value = run()
        inner, self.steps = tuple(self.steps), beside
        taken: list[Argument] = []
        for name, argument in zip(names, arguments, strict=True):
            for each in argument if isinstance(argument, tuple) else (argument,):
                step = _step_that_gave(each, beside)
                taken.append(Argument(name, each, None if step else self.origins.get(name), step))
        used = {id(a.step) for a in taken if a.step}
        self.steps = [s for s in beside if id(s) not in used]
        self.steps.append(Step(formula, value, tuple(taken), inner))
        return value


def _step_that_gave(value: Any, steps: list[Step]) -> Step | None:
    return None if isinstance(value, int) else next((s for s in reversed(steps) if s.value is value), None)


_recording: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recording(origins: Mapping[str, Origin] | None = None) -> Iterator[Recording]:
    """Keep every formula call made inside, in this thread only."""
    kept = Recording(origins or {})
    token = _recording.set(kept)
    try:
        yield kept
    finally:
        _recording.reset(token)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Keep none of the formula calls made inside, whatever is recorded around: trials that no explanation leads to."""
    token = _recording.set(None)
    try:
        yield
    finally:
        _recording.reset(token)


def formula(unit: Unit, equation: str, reference: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a pure function as a formula with its unit, its equation and the reference for it.

    Outside of a recording the function is called as it is, so that arrays and searches pay nothing for explanations.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        names = tuple(signature.parameters)
        described = Formula(function.__name__, unit, equation, reference)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            kept = _recording.get()
            if kept is None:
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            values = tuple(bound.arguments[name] for name in names)
            return cast(R, kept.keep(described, names, lambda: function(*args, **kwargs), values))

        call.formula = described  # type: ignore[attr-defined]  # a function may carry it, mypy has no word for that
        return call

    return decorate


def described(function: Callable[..., Any]) -> Formula:
    """The description of a function that carries `@formula`."""
    return cast(Formula, function.formula)  # type: ignore[attr-defined]  # put there by the decorator
