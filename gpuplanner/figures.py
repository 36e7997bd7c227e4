"""A figure: a computed number that can say how it came about. One formula serves numbers, arrays and explanations.

A formula is a pure function under `engine/formulas/` (parameter counts: `catalog/parameters.py`) with the `@formula`
decorator. It runs on floats and on NumPy arrays alike; inside `recording()` its calls are kept with their named inputs.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from types import FunctionType
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


def explained(known: R, work_out: Callable[[], R]) -> R:
    """What is known already; inside of a recording it is worked out again, to be part of the explanation."""
    return known if _recording.get() is None else work_out()


def formula(unit: Unit, equation: str, reference: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a pure function as a formula with its unit, its equation and the reference for it.

    Outside of a recording the function is called as it is, so that arrays and searches pay nothing for explanations.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        run = cast(FunctionType, function)
        names = run.__code__.co_varnames[: run.__code__.co_argcount]
        described = Formula(run.__name__, unit, equation, reference)

        def keep(kept: Recording, *values: Any) -> Any:
            return kept.keep(described, names, lambda: run(*values), values)

        call = _with_parameters_of(run, keep)
        functools.update_wrapper(call, run)
        call.formula = described
        return cast(Callable[P, R], call)

    return decorate


def _with_parameters_of(run: FunctionType, keep: Callable[..., Any]) -> Any:
    """A function with the parameters of `run` that calls it, or `keep` with the recording while there is one.

    To pack arguments and unpack them costs more than most formulas do, and an estimate calls a thousand of them.
    """
    count = run.__code__.co_argcount
    plain = _caller_of(count)(run, _recording.get, keep)
    names = (*run.__code__.co_varnames[:count], *plain.__code__.co_varnames[count:])
    code = plain.__code__.replace(co_varnames=names)
    return FunctionType(code, plain.__globals__, run.__name__, run.__defaults__, plain.__closure__)


@functools.cache
def _caller_of(count: int) -> Callable[..., FunctionType]:
    """What makes such a function of `count` parameters, compiled once for all formulas that have so many."""
    taken = ", ".join(f"argument_{place}" for place in range(count))
    made: dict[str, Any] = {}
    exec(  # noqa: S102 - as dataclasses make theirs: nothing of it comes from outside
        f"""def make(run, recorded, keep):
    def call({taken}):
        recording = recorded()
        return run({taken}) if recording is None else keep(recording, {taken})
    return call""",
        made,
    )
    return cast(Callable[..., FunctionType], made["make"])


def kept(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep what a pure function of hashable values gave for the last `size` different ones, as from key to key.

    Inside of a recording it is run all the same, so that its formulas are part of the explanation.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        known = functools.lru_cache(maxsize=size)(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if _recording.get() is not None:
                return function(*args, **kwargs)
            return known(*args, **kwargs)  # type: ignore[arg-type]  # hashable, as the docstring asks for

        return call

    return decorate


def described(function: Callable[..., Any]) -> Formula:
    """The description of a function that carries `@formula`."""
    return cast(Formula, function.formula)  # type: ignore[attr-defined]  # put there by the decorator
