"""A kernel that crashed, by its own words in its log or in what the firmware kept of it."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.checks.kernel_log import first_crash
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs


def crash(looking: Looking) -> Signs | None:
    """The kernel says that it crashed."""
    crashes = [event for event in looking.evidence.events if event.kind == "crash"]
    if not crashes:
        return None
    first = first_crash(crashes)
    return Signs(Certainty.SHOWN, lines_of([first, *crashes], "said"), {"said": first.said or "–"})


CAUSES = (Cause("kernel_crash", crash),)
