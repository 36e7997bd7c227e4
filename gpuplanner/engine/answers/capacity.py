"""How many requests a second a machine answers within the goals of a plan: found by trying rates."""

from typing import Any

from gpuplanner.engine.answers.asking import Asking
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.machine import Machine
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.serving import Serving

LEAST_RATE, MOST_RATE = 1e-4, 1e5
"""Requests a second between which a capacity is looked for."""
EXACTNESS = 1.005
"""A capacity is found to half a per cent."""


def serving_of(asking: Asking) -> Serving:
    """The serving workload of the plan. Raises InputError where it is another kind."""
    workload = asking.plan.workload
    if not isinstance(workload, Serving):
        raise InputError(msg("answers.serving_only"))
    return workload


def capacity(asking: Asking, machine: Machine, **changed: Any) -> Figure | None:
    """The largest request rate that keeps the goals; None where even the smallest does not.

    Raises InputError when the plan cannot be run so.
    """

    def made_at(rate: float) -> Estimate:
        return asking.trial(machine, concurrency=None, request_rate=rate, **changed)

    best = made_at(LEAST_RATE)
    if not keeps_up(best):
        return None
    low, high = LEAST_RATE, 1.0
    while high < MOST_RATE and keeps_up(here := made_at(high)):
        low, high, best = high, high * 4.0, here
    while high / low > EXACTNESS:
        middle = (low * high) ** 0.5
        here = made_at(middle)
        if keeps_up(here):
            low, best = middle, here
        else:
            high = middle
    tokens = best.metrics["output_tokens_per_s"]
    least, most = (low * end / tokens.value for end in (tokens.low, tokens.high))
    found = Figure(low, Unit.REQUEST_PER_S, Certainty.CALIBRATED, least, most, tokens.rung, tokens.why)
    return asking.tried("capacity_per_s", found)


def keeps_up(made: Estimate) -> bool:
    """Whether the server runs, answers as many requests as come in, and keeps its goals."""
    return made.fit is not Fit.DOES_NOT_FIT and not made.unmet and "output_tokens_per_s" in made.metrics


def why_none(asking: Asking, machine: Machine, **changed: Any) -> Message:
    """Why not even the smallest rate can be answered, as the estimate says it."""
    made = asking.trial(machine, concurrency=None, request_rate=LEAST_RATE, **changed)
    return made.unmet[0] if made.unmet else made.reason
