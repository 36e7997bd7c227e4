"""Answers a question about a plan on its machine, with the derivation of every figure where that is asked for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.answers.answer import HOLDERS, Answer
from gpuplanner.engine.answers.asking import Asking
from gpuplanner.engine.deriving import derived
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.limits import missing_fact
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.origins import WatchedEfficiencies, finder
from gpuplanner.engine.own_measurements import Own, with_own_origin
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Origin, recording
from gpuplanner.messages import InputError
from gpuplanner.workload.plan import Plan

Question = Callable[[Asking], Answer]


def answered(
    question: Question,
    plan: Plan,
    subject: Any,
    machine: Machine,
    efficiencies: Efficiencies,
    rules: Iterable[Rule] = (),
    own: Sequence[Own] = (),
    *,
    explained: bool = False,
) -> Answer:
    """The answer to a question about a plan. `own`: what the person measured; `explained`: with every derivation.

    Raises InputError when the question cannot be asked of this plan, or when a fact is missing that it needs.
    """
    try:
        if not explained:
            asking = Asking(plan, subject, machine, efficiencies, rules, own)
            return _with_left_out(question(asking), asking)
        watched = WatchedEfficiencies(efficiencies)
        asking = Asking(plan, subject, machine, watched, rules, own)
        with recording() as kept:
            answer = _with_left_out(question(asking), asking)
    except MissingFactError as error:
        raise InputError(missing_fact(error)) from None
    kind = plan.workload.kind
    finders = [
        with_own_origin(
            finder(KINDS[kind].inputs(made.plan.workload), subject, made.machine, made.way, watched.used), made.own
        )
        for made in asking.made
    ]

    def find(name: str, value: Any) -> Origin | None:
        found = asking.origin_of(name, value)
        return found or next((origin for find in finders if (origin := find(name, value))), None)

    return derived(answer, kept, find, HOLDERS)


def _with_left_out(answer: Answer, asking: Asking) -> Answer:
    """The answer, which says so where estimates are compared and a measurement of one of them is left out."""
    left_out = asking.left_out()
    return answer if left_out is None else replace(answer, remarks=(*answer.remarks, left_out))
