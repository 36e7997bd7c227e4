"""What a search gives: machines that run the plan, best first, and for each of the others why not. Types only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gpuplanner.catalog.entries import Gpu, Instance
from gpuplanner.engine.estimate import Fit, Way
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.own_links import OF_LINKS
from gpuplanner.figures import Origin
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan


class Broken(StrEnum):
    """The constraints in the order in which they are checked; a rejected machine names the first that it broke.

    Text: message `limits.broken.<name>`.
    """

    FACTS = "facts"
    SUPPORT = "support"
    LAYOUT = "layout"
    MEMORY = "memory"
    HEADROOM = "headroom"
    MAX_GPUS = "max_gpus"
    LOAD = "load"
    RATE = "rate"
    LATENCY = "latency"
    TTFT = "ttft"
    TPOT = "tpot"
    DEADLINE = "deadline"
    PRICE = "price"
    BUDGET_MONTH = "budget_month"
    BUDGET_JOB = "budget_job"
    PROVIDER = "provider"
    REGION = "region"
    GPU = "gpu"
    GPU_MEMORY = "gpu_memory"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A machine with its best way of running. `plan` names both, so that it can be estimated in full.

    `machine` has all nodes that the plan needs; `metrics` are values by the ids of `Estimate.metrics`, those that the
    search computes. `free_bytes`: on the fullest GPU.
    `own`: where they come from when a person measured this very way; None where nobody did. `ranges`: low and high ends
    of those that are not exact, and `may_miss`: a goal is met and its range passes it; told of the first of a ranking.
    """

    machine: Machine
    way: Way
    plan: Plan
    fit: Fit
    free_bytes: float
    metrics: Mapping[str, float]
    own: Origin | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    may_miss: bool = False

    @property
    def own_mark(self) -> Message | None:
        """What is said beside numbers that a person measured, or whose links they measured; None of any other."""
        if self.own is None:
            return None
        return msg("own.links_measured_by_you" if self.own.note == OF_LINKS else "own.measured_by_you")

    @property
    def usd_per_hour(self) -> float | None:
        """What all nodes cost, None when the price is not known."""
        return self.machine.usd_per_hour


@dataclass(frozen=True, slots=True)
class Rejection:
    """An offer that does not do, with the first constraint that it broke and by how much.

    `machine` has the nodes of the nearest way of running, `over` is how far that way is beyond the limit, in `unit`;
    None where there is no amount.
    """

    instance: Instance | None
    gpu: Gpu | None
    machine: Machine | None
    broken: Broken
    reason: Message
    over: float | None = None
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Candidates by the plan's objective, best first; rejections by how far down the list of constraints they came.

    `configurations`: how many ways of running were computed. `cancelled`: the search was stopped, so both are partial.
    `nearest`: of the rejections those of offers that the choice of providers, regions and GPUs leaves.
    `remarks`: what a person should know who finds too few candidates, and what no machine can do whatever its rank.
    """

    candidates: tuple[Candidate, ...]
    rejections: tuple[Rejection, ...]
    configurations: int
    cancelled: bool = False
    remarks: tuple[Message, ...] = ()
    nearest: tuple[Rejection, ...] = ()
