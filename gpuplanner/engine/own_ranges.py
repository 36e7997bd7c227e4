"""What a measured part of a machine takes out of the ranges of times that depend on it. Pure.

The engine's error with that part is settled; with all others it stays. Errors of parts are taken to be independent, as
their shares of a step weigh them: of the square of a range, in logarithms, goes the square of the part's, times that of
its share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Estimate
from gpuplanner.figures import Figure
from gpuplanner.messages import Message

TABLE = "own_ranges"
LEAST = {"serving": "time per token, same load", "training": "training step, same load"}
"""By kind the range of one run beside another of its profile, than which none gets narrower."""

Settled = tuple[float, float, float]
"""The share of a step that depended on a part, and the ends of the range of times that the engine gives such parts."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """In logarithms and squared, what goes at each end of a range of times, and the least that stays (not squared)."""

    low: float
    high: float
    least_low: float
    least_high: float

    def of_rate(self) -> "_Ends":
        """The same of a rate, whose low end is the high one of its time."""
        return _Ends(self.high, self.low, self.least_high, self.least_low)


def narrowed(
    made: Estimate, settled: Sequence[Settled], follows: Mapping[str, int], why: Message, efficiencies: Efficiencies
) -> Estimate:
    """The estimate, its times as much surer as they depended on what was measured.

    `follows`: the metrics that go with the time of a step (1) or against it (-1).
    """
    least = efficiencies.constants(TABLE, LEAST[made.plan.workload.kind])
    ends = _Ends(
        sum((share * log(low)) ** 2 for share, low, _ in settled),
        sum((share * log(high)) ** 2 for share, _, high in settled),
        -log(least["low"]),
        log(least["high"]),
    )
    changed = {
        name: _narrower(made.metrics[name], ends if power > 0 else ends.of_rate(), why)
        for name, power in follows.items()
        if name in made.metrics
    }
    return replace(made, metrics={**made.metrics, **changed})


def _narrower(figure: Figure, ends: _Ends, why: Message) -> Figure:
    if figure.exact or not 0 < figure.low < figure.value < figure.high:
        return figure
    below, above = log(figure.value / figure.low), log(figure.high / figure.value)
    new_below = min(below, max(sqrt(max(below**2 - ends.low, 0.0)), ends.least_low))
    new_above = min(above, max(sqrt(max(above**2 - ends.high, 0.0)), ends.least_high))
    if new_below == below and new_above == above:
        return figure
    return replace(figure, low=figure.value * exp(-new_below), high=figure.value * exp(new_above), why=why)
