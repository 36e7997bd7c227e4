"""What a check can say, and what several of them say together. Never takes "cannot tell" for a pass."""

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict of one check, or of a machine."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"
    SKIPPED = "skipped"


_WORST_FIRST = (Verdict.FAIL, Verdict.WARN, Verdict.CANNOT_TELL, Verdict.PASS, Verdict.SKIPPED)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Of several things that one check looks at: one that cannot be told keeps the rest from passing."""
    given = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in given), Verdict.CANNOT_TELL)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Of all checks of a machine: a failure, else a warning, else a pass as soon as anything passed.

    That much could not be told is said beside it, and does not hide what was found.
    """
    given = set(verdicts)
    order = (Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.CANNOT_TELL)
    return next((verdict for verdict in order if verdict in given), Verdict.CANNOT_TELL)
