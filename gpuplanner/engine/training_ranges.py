"""The ranges of training figures: from the residuals of their family and rung, and the reason in words."""

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.ranges import Spread, unmeasured
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import msg

TABLE = "training_ranges"


def spread_of(efficiencies: Efficiencies, family: str, rung: Rung) -> Spread:
    """The spread of a family ("pretraining time", "fine-tuning time", "memory") on a rung."""
    try:
        found = efficiencies.constants(TABLE, f"{family}, {rung.value}")
    except MissingFactError:
        return unmeasured(msg("training.why.no_measurement"))
    why = msg(f"training.why.{rung.name.lower()}", rows=found.points)
    return Spread(found["low"], found["high"], rung, why)
