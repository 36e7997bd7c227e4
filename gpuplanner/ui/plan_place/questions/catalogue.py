"""Which questions can be asked of which plans, what a person types in for each, and the question that comes of it.

No Qt. What is not typed in stays unknown or a rule of thumb, as the questions themselves have it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuplanner.engine.answers.answering import Question
from gpuplanner.engine.answers.day import Day
from gpuplanner.engine.answers.energy import Energy
from gpuplanner.engine.answers.failures import Failures
from gpuplanner.engine.answers.job_cost import JobCost
from gpuplanner.engine.answers.linking import Linking
from gpuplanner.engine.answers.loading import Loading
from gpuplanner.engine.answers.splitting import Splitting
from gpuplanner.ui.fields.quantities import Quantity
from gpuplanner.units import GB
from gpuplanner.workload.plan import Plan

Typed = Mapping[str, float]
"""What was typed in, by the name of the input; what is empty is not there."""
SLICE = "slice"
"""The one question that needs the names of profiles, which the workspace has."""


def _in(suffix: str, base: float = 1.0, least: float = 0.0, most: float = 1e12) -> Quantity:
    return Quantity(
        suffix=lambda _display: suffix, plain=lambda _display: base, least=least, most=most, above_least=least == 0.0
    )


PER_CENT = _in("%", 0.01, most=0.99)
INPUTS: Mapping[str, Quantity] = {
    "storage_rate": _in("GB/s", GB),
    "failure_days": _in("d", 86400.0),
    "stall": _in("s"),
    "pue": _in("", least=1.0, most=5.0),
    "host_watts": _in("W", most=1e5),
    "usd_per_kwh": _in("USD", most=100.0),
    "usd_per_hour": _in("USD/h"),
    "usd_per_gpu_hour": _in("USD/h"),
    "idle": PER_CENT,
    "storage_price": _in("USD"),
    "egress_gb": _in("GB", GB),
    "egress_price": _in("USD"),
    "peak": _in("/s", most=1e6),
    "reserve": PER_CENT,
}
"""What can be typed in; labels: messages `answers.input.<name>`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the list. `kinds`: the workloads that it can be asked of, all where it names none.

    `build` is None for the question that the workspace makes. `needs`: what has to be typed in before it can be asked.
    """

    id: str
    inputs: tuple[str, ...]
    build: Callable[[Typed], Question] | None
    kinds: frozenset[str] = frozenset()
    needs: str = ""


def _day(typed: Typed) -> Question:
    return Day(peak=typed.get("peak"), reserve_share=typed.get("reserve", 0.0), usd_per_hour=typed.get("usd_per_hour"))


def _cost(typed: Typed) -> Question:
    return JobCost(
        usd_per_hour=typed.get("usd_per_hour"),
        idle_share=typed.get("idle"),
        usd_per_gb_month=typed.get("storage_price"),
        egress_bytes=typed.get("egress_gb"),
        usd_per_gb_out=typed.get("egress_price"),
    )


def _failures(typed: Typed) -> Question:
    return Failures(stall_s=typed.get("stall"), between_failures_s=typed.get("failure_days"))


SERVING, TRAINING = frozenset({"serving"}), frozenset({"training"})
QUESTIONS = (
    Asked("nvlink", (), lambda _typed: Linking(), SERVING | TRAINING),
    Asked("load", ("storage_rate",), lambda typed: Loading(bytes_per_s=typed.get("storage_rate")), SERVING | TRAINING),
    Asked("split", ("usd_per_hour",), lambda typed: Splitting(typed.get("usd_per_hour")), SERVING),
    Asked("day", ("peak", "reserve", "usd_per_hour"), _day, SERVING, "peak"),
    Asked("checkpoints", ("failure_days", "stall"), _failures, TRAINING),
    Asked(SLICE, ("usd_per_gpu_hour",), None),
    Asked(
        "energy",
        ("pue", "host_watts", "usd_per_kwh"),
        lambda typed: Energy(typed.get("pue"), typed.get("host_watts"), typed.get("usd_per_kwh")),
    ),
    Asked("cost", ("usd_per_hour", "idle", "storage_price", "egress_gb", "egress_price"), _cost),
)
"""Every question, those that are asked most first."""


def questions_of(plan: Plan) -> tuple[Asked, ...]:
    """The questions that can be asked of a plan."""
    return tuple(asked for asked in QUESTIONS if not asked.kinds or plan.workload.kind in asked.kinds)


def question(asked: Asked, typed: Typed, plan: Plan, slicing: Callable[[Plan, float | None], Any]) -> Question:
    """The question with what was typed in. Raises InputError when its plan has not what it needs."""
    if asked.build is not None:
        return asked.build(typed)
    made: Question = slicing(plan, typed.get("usd_per_gpu_hour"))
    return made
