"""Which questions can be asked of which plans, what a person types in for each, and the question that comes of it.

No widget. What is not typed in stays unknown or a rule of thumb, as the questions themselves have it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpuplanner.engine.answers.answering import Question
from gpuplanner.engine.answers.day import Day, Shape
from gpuplanner.engine.answers.energy import Energy
from gpuplanner.engine.answers.failures import Failures
from gpuplanner.engine.answers.job_cost import JobCost
from gpuplanner.engine.answers.linking import Linking
from gpuplanner.engine.answers.loading import Loading
from gpuplanner.engine.answers.splitting import Splitting
from gpuplanner.ui.plan_place.questions.inputs import Typed
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.reads_data import Storage

SLICE = "slice"
"""The one question that needs the names of profiles, which the workspace has."""
_PROBABILITY = 0.99
"""Of the time in which no node is to be missing, where nobody says it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the list. `kinds`: the workloads that it can be asked of, all where it names none.

    `more`: inputs that are seldom wanted. `build` is None for the question that the workspace makes. `needs`: of these
    inputs one has to be given before it can be asked.
    """

    id: str
    inputs: tuple[str, ...]
    build: Callable[[Typed], Question] | None
    kinds: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    @property
    def waits_for(self) -> str:
        """What is asked for first while nothing of what it needs is given."""
        return self.needs[0] if self.needs else ""

    def can_be_asked(self, typed: Typed) -> bool:
        """Whether what it needs is given."""
        return not self.needs or any(name in typed for name in self.needs)


def _number(typed: Typed, name: str) -> float | None:
    given = typed.get(name)
    return given if isinstance(given, float) else None


def _loading(typed: Typed) -> Loading:
    return Loading(
        Storage(str(typed.get("storage", Storage.LOCAL))),
        _number(typed, "storage_rate"),
        _number(typed, "process_start"),
        _number(typed, "engine_start"),
        _number(typed, "readers"),
    )


def _day(typed: Typed) -> Question:
    rates, reserve, least = typed.get("rates", ()), _number(typed, "reserve"), _number(typed, "least")
    return Day(
        rates=rates if isinstance(rates, tuple) else (),
        peak=_number(typed, "peak"),
        shape=Shape(str(typed.get("shape", Shape.OFFICE))),
        reserve_share=reserve or 0.0,
        least_replicas=int(least) if least is not None else 1,
        usd_per_hour=_number(typed, "usd_per_hour"),
        start_s=_number(typed, "start"),
        loading=_loading(typed),
    )


def _cost(typed: Typed) -> Question:
    return JobCost(
        usd_per_hour=_number(typed, "usd_per_hour"),
        hours=_number(typed, "hours"),
        idle_share=_number(typed, "idle"),
        stored_bytes=_number(typed, "storage_gb"),
        usd_per_gb_month=_number(typed, "storage_price"),
        egress_bytes=_number(typed, "egress_gb"),
        usd_per_gb_out=_number(typed, "egress_price"),
        failures=_failures(typed),
    )


def _failures(typed: Typed) -> Failures:
    return Failures(
        bytes_per_s=_number(typed, "write_rate"),
        stall_s=_number(typed, "stall"),
        between_failures_s=_number(typed, "failure_days"),
        restart_s=_number(typed, "restart"),
        repair_s=_number(typed, "repair"),
        probability=_number(typed, "probability") or _PROBABILITY,
    )


def _energy(typed: Typed) -> Question:
    return Energy(_number(typed, "pue"), _number(typed, "host_watts"), _number(typed, "usd_per_kwh"))


SERVING, TRAINING = frozenset({"serving"}), frozenset({"training"})
_OF_FAILURES = ("write_rate", "restart", "repair")
QUESTIONS = (
    Asked("nvlink", (), lambda _typed: Linking(), SERVING | TRAINING),
    Asked(
        "load",
        ("storage", "storage_rate"),
        _loading,
        SERVING | TRAINING,
        more=("readers", "process_start", "engine_start"),
    ),
    Asked("split", ("usd_per_hour",), lambda typed: Splitting(_number(typed, "usd_per_hour")), SERVING),
    Asked(
        "day",
        ("peak", "shape", "rates", "reserve", "usd_per_hour"),
        _day,
        SERVING,
        needs=("peak", "rates"),
        more=("least", "start", "storage", "storage_rate", "readers"),
    ),
    Asked("checkpoints", ("failure_days", "stall"), _failures, TRAINING, more=(*_OF_FAILURES, "probability")),
    Asked(SLICE, ("usd_per_gpu_hour",), None),
    Asked("energy", ("pue", "host_watts", "usd_per_kwh"), _energy),
    Asked(
        "cost",
        ("usd_per_hour", "idle", "storage_price", "egress_gb", "egress_price"),
        _cost,
        more=("hours", "storage_gb", "failure_days", "stall", *_OF_FAILURES),
    ),
)
"""Every question, those that are asked most first."""


def questions_of(plan: Plan) -> tuple[Asked, ...]:
    """The questions that can be asked of a plan."""
    return tuple(asked for asked in QUESTIONS if not asked.kinds or plan.workload.kind in asked.kinds)


def question(asked: Asked, typed: Typed, plan: Plan, slicing: Callable[[Plan, float | None], Any]) -> Question:
    """The question with what was typed in. Raises InputError when its plan has not what it needs."""
    if asked.build is not None:
        return asked.build(typed)
    made: Question = slicing(plan, _number(typed, "usd_per_gpu_hour"))
    return made
