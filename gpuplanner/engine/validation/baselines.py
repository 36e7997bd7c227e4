"""The floor that an estimate must beat: one constant utilisation for all runs of the same GPU, kind and precision."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from gpuplanner.engine.validation.rows import Outcome


def with_baselines(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes with `baseline` filled where it applies: the metric at its ideal times the kin's utilisation.

    The utilisation (measured / ideal; its inverse for a time) is the median over the other rows of the same kin and
    metric, so that no row helps to predict itself. Rows that the engine refused still serve as kin: the baseline needs
    nothing of the engine but the ideal. Without another row of its kin a row has no baseline.
    """
    shares: dict[tuple[str, str, str], list[tuple[float, int]]] = defaultdict(list)
    for index, outcome in enumerate(outcomes):
        share = _share(outcome)
        if share is not None:
            shares[outcome.family, outcome.metric, outcome.kin].append((share, index))
    filled = list(outcomes)
    for kin in shares.values():
        for share, index in kin:
            others = [s for s, i in kin if i != index]
            ideal = outcomes[index].ideal
            if others and share and ideal:
                filled[index] = replace(outcomes[index], baseline=median(others) * ideal)
    return filled


def _share(outcome: Outcome) -> float | None:
    if not outcome.kin or not outcome.ideal or isinstance(outcome.measured, str) or outcome.measured <= 0:
        return None
    return outcome.measured / outcome.ideal
