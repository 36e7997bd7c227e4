"""The verdict of an estimate as the window marks it. Knows no widget."""

from gpuplanner.engine.estimate import Fit, Outcome
from gpuplanner.messages import Message, msg
from gpuplanner.ui.tokens import Verdict

VERDICTS = {Fit.FITS: Verdict.PASS, Fit.TIGHT: Verdict.WARN, Fit.DOES_NOT_FIT: Verdict.FAIL}

OUTCOMES = {
    Outcome.FITS: Verdict.PASS,
    Outcome.TIGHT: Verdict.WARN,
    Outcome.MAY_MISS: Verdict.WARN,
    Outcome.UNKNOWN: Verdict.UNKNOWN,
    Outcome.MISSES: Verdict.FAIL,
    Outcome.DOES_NOT_RUN: Verdict.FAIL,
    Outcome.DOES_NOT_FIT: Verdict.FAIL,
}


def verdict_of(outcome: Outcome) -> tuple[Verdict, Message]:
    """The mark and the word of a verdict."""
    return OUTCOMES[outcome], msg(f"fit.{outcome.name.lower()}")
