"""Why an offer does not do, in words: the constraint, the nearest way's amount and the limit. Judges nothing itself."""

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


def broke(machine: Machine, failure: Failure) -> Rejection:
    """A machine that was computed and broke a constraint, with the amount that it is over by where there is one."""
    name = f"limits.broken.{failure.broken.value}"
    if failure.unit is Unit.TEXT:
        return rejection(machine, failure.broken, msg(name))
    reason = msg(
        name,
        value=str(show(failure.value, failure.unit, Display())),
        limit=str(show(failure.limit, failure.unit, Display())),
        over=str(show(failure.value - failure.limit, failure.unit, Display())),
    )
    over = failure.value - failure.limit
    return Rejection(machine.instance, machine.gpu, machine, failure.broken, reason, over, failure.unit)
