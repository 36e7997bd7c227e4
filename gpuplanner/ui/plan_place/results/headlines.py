"""Which figures of an estimate stand in front, in large type, and which follow. No texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.engine.cost import PER_THOUSAND
from gpuplanner.engine.estimate import Estimate, in_whole
from gpuplanner.engine.kinds import KINDS
from gpuplanner.figures import Figure
from gpuplanner.ui.plan_place.results.figure_ids import NEEDED

_COST = ("usd_per_hour", "usd_per_month", "job_usd", "usd_per_mtoken", *PER_THOUSAND.values())
_POWER = ("power_w", "energy_j")


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure that stands in front, by its id. `figure` is None when it is not known; `Estimate.unknown` says why."""

    id: str
    figure: Figure | None


def headlines(estimate: Estimate) -> Sequence[Headline]:
    """The four figures of the verdict."""
    places = [Headline(NEEDED, estimate.memory.needed)]
    for wanted in KINDS[estimate.plan.workload.kind].front:
        known = next((name for name in wanted if name in estimate.metrics), wanted[0])
        places.append(_metric(estimate, known))
    return places


def capacity(estimate: Estimate) -> Sequence[Headline]:
    """How much the machine could do: throughput, and the largest batch, load or length that fits."""
    return _known(estimate, KINDS[estimate.plan.workload.kind].capacity)


def costs(estimate: Estimate) -> Sequence[Headline]:
    """What it costs, each that applies; None where the price is not known."""
    wanted = [name for name in _COST if name in estimate.metrics or name in {"usd_per_hour", "usd_per_month"}]
    return [_metric(estimate, name) for name in wanted]


def power(estimate: Estimate) -> Sequence[Headline]:
    """What it draws."""
    return _known(estimate, _POWER)


def others(estimate: Estimate) -> Sequence[Headline]:
    """Every figure that stands nowhere else."""
    shown = {h.id for part in (headlines, capacity, costs, power) for h in part(estimate)}
    return [_metric(estimate, name) for name in estimate.metrics if f"metric.{name}" not in shown]


def _known(estimate: Estimate, names: Sequence[str]) -> Sequence[Headline]:
    return [_metric(estimate, name) for name in names if name in estimate.metrics]


def _metric(estimate: Estimate, name: str) -> Headline:
    figure = estimate.metrics.get(name)
    return Headline(f"metric.{name}", None if figure is None else in_whole(name, figure))
