"""The ranges of training figures: from the residuals of their family and rung, and the reason in words."""

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.ranges import Spread, unmeasured, widened
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import msg
from gpuplanner.workload.training import Method, Training, TrainingObjective

TABLE = "training_ranges"
OTHER_LOW, OTHER_HIGH = 0.9, 1.15
"""By so much more may a number be off for an objective that no measurement is of."""
LEAST_SAMPLE_SHARE = 0.25
"""Of the longest sample, the shortest mean that is thought likely where nobody says how long samples are."""


def spread_of(efficiencies: Efficiencies, family: str, rung: Rung) -> Spread:
    """The spread of a family ("pretraining time", "fine-tuning time", and memory of both) on a rung."""
    try:
        found = efficiencies.constants(TABLE, f"{family}, {rung.value}")
    except MissingFactError:
        return unmeasured(efficiencies, msg("training.why.no_measurement"))
    why = msg(f"training.why.{rung.name.lower()}", rows=found.points)
    return Spread(found["low"], found["high"], rung, why)


def memory_spread_of(workload: Training, efficiencies: Efficiencies) -> Spread:
    """The spread of memory."""
    return beside(workload, spread_of(efficiencies, f"{kind_of(workload.method)} memory", Rung.SAME_ARCHITECTURE))


def time_family(workload: Training) -> str:
    """The family of ranges that the time of a step belongs to."""
    return f"{kind_of(workload.method)} time"


def kind_of(method: Method) -> str:
    """What the families of ranges tell apart: data and software of fine-tuning differ from those of pre-training."""
    return "pretraining" if method is Method.PRETRAINING else "fine-tuning"


def beside(workload: Training, spread: Spread) -> Spread:
    """A spread measured on training towards the next token, made wider for another objective: none was measured."""
    if workload.objective is TrainingObjective.NEXT_TOKEN:
        return spread
    why = msg("training.why.other_objective", objective=workload.objective.value.upper())
    return widened(spread, OTHER_LOW, OTHER_HIGH, why)


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
