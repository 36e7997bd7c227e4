"""The verdict of an estimate as the window marks it. Knows no widget."""

from gpuplanner.engine.estimate import Fit, verdict_id
from gpuplanner.messages import Message, msg
from gpuplanner.ui.tokens import Verdict

VERDICTS = {Fit.FITS: Verdict.PASS, Fit.TIGHT: Verdict.WARN, Fit.DOES_NOT_FIT: Verdict.FAIL}


def verdict_of(fit: Fit, carried: bool = True) -> tuple[Verdict, Message]:
    """The mark and the word of a verdict; not `carried`: software that has room and does not run."""
    return VERDICTS[fit if carried else Fit.DOES_NOT_FIT], msg(verdict_id(fit, carried))
