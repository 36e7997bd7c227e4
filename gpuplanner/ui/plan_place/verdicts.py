"""The verdict of an estimate as the window marks it. Knows no widget."""

from gpuplanner.engine.estimate import Fit
from gpuplanner.ui.tokens import Verdict

VERDICTS = {Fit.FITS: Verdict.PASS, Fit.TIGHT: Verdict.WARN, Fit.DOES_NOT_FIT: Verdict.FAIL}
