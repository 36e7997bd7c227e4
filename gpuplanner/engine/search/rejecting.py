"""Why an offer does not do, in words: the constraint, the nearest way's amount and the limit. Judges nothing itself."""

from functools import lru_cache

from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import Unplannable
from gpuplanner.engine.search.checks import Failure
from gpuplanner.engine.search.result import Broken, Rejection
from gpuplanner.messages import Message, msg
from gpuplanner.units import Display, Unit, show


def rejection(machine: Machine, broken: Broken, reason: Message) -> Rejection:
    """A machine that was not computed, with the reason."""
    return Rejection(machine.instance, machine.gpu, machine, broken, reason)


def unplannable(offer: Unplannable) -> Rejection:
    """An offer that says too little to be computed."""
    return Rejection(offer.instance, offer.gpu, None, Broken.FACTS, offer.reason)


def broke(machine: Machine, failure: Failure, left_out: str = "") -> Rejection:
    """A machine that was computed and broke a constraint, with the amount that it is over by where there is one.

    `left_out`: the id of the message that says which ways over several nodes were not tried, since nobody knows the
    network between them; empty where all were tried that might do.
    """
    reason = _reason(failure)
    if left_out:
        reason = msg(left_out, reason=reason)
    if failure.unit is Unit.TEXT:
        return rejection(machine, failure.broken, reason)
    over = failure.value - failure.limit
    return Rejection(machine.instance, machine.gpu, machine, failure.broken, reason, over, failure.unit)


@lru_cache(maxsize=1024)
def _reason(failure: Failure) -> Message:
    """The sentence; offers with the same hardware share it."""
    name = f"limits.broken.{failure.broken.value}"
    if failure.unit is Unit.TEXT:
        return msg(name)
    return msg(
        name,
        value=str(show(failure.value, failure.unit, Display())),
        limit=str(show(failure.limit, failure.unit, Display())),
        over=str(show(failure.value - failure.limit, failure.unit, Display())),
    )
