"""The ranges of training figures: from the residuals of their family and rung, and the reason in words."""

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.ranges import Spread, unmeasured, widened
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import msg
from gpuplanner.workload.training import Training

TABLE = "training_ranges"
LEAST_SAMPLE_SHARE = 0.25
"""Of the longest sample, the shortest mean that is thought likely where nobody says how long samples are."""


def spread_of(efficiencies: Efficiencies, family: str, rung: Rung) -> Spread:
    """The spread of a family ("pretraining time", "fine-tuning time", "memory") on a rung."""
    try:
        found = efficiencies.constants(TABLE, f"{family}, {rung.value}")
    except MissingFactError:
        return unmeasured(msg("training.why.no_measurement"))
    why = msg(f"training.why.{rung.name.lower()}", rows=found.points)
    return Spread(found["low"], found["high"], rung, why)


def padded_step_spread(workload: Training, spread: Spread, passed: Number, useful: Number) -> Spread:
    """The spread of a step's time: from no padding (samples sorted by length) to padding up to the limit."""
    if workload.packed:
        return spread
    known = workload.mean_tokens is not None
    why = msg("training.why.padding" if known else "training.why.padding_assumed", **_amounts(workload))
    return widened(spread, float(useful / passed), float(1.0 / passed), why)


def padded_token_spread(workload: Training, spread: Spread, passed: Number, useful: Number) -> Spread:
    """The spread of the time of a token that counts. An assumed mean length makes it wider than that of the step."""
    if workload.packed or workload.mean_tokens is not None:
        return padded_step_spread(workload, spread, passed, useful)
    why = msg("training.why.padding_assumed", **_amounts(workload))
    return widened(spread, float(useful), float(useful / LEAST_SAMPLE_SHARE), why)


def _amounts(workload: Training) -> dict[str, int]:
    return {"mean": round(workload.sample_share * workload.sequence_length), "longest": workload.sequence_length}
