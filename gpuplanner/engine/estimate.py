"""The result of an estimate, as data: memory, time, limits, host needs, power and cost, each number a Figure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import floor

from gpuplanner.engine.machine import Machine
from gpuplanner.figures import Figure, Origin
from gpuplanner.messages import Message
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan


class Fit(StrEnum):
    """The three verdicts. Tight: under 2 GiB or under 5 % free, or inside the range of the estimate."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does not fit"


class Outcome(StrEnum):
    """The verdict on a plan on a machine: memory, then the software, then what is asked of the run.

    May miss: a goal is met and the range of the estimate passes it. Unknown: whether a goal is met cannot be told.
    Text: message `fit.<name>`.
    """

    FITS = "fits"
    TIGHT = "tight"
    MAY_MISS = "may miss"
    UNKNOWN = "unknown"
    MISSES = "misses"
    DOES_NOT_RUN = "does not run"
    DOES_NOT_FIT = "does not fit"

    @property
    def carries(self) -> bool:
        """Whether the machine carries the plan, as far as can be told: neither refused nor unknown."""
        return self in {Outcome.FITS, Outcome.TIGHT, Outcome.MAY_MISS}


class Limit(StrEnum):
    """What the time goes to, and so what a faster machine would have to have more of."""

    COMPUTE = "compute"
    HBM = "hbm"
    LINK = "link"
    NETWORK = "network"
    STORAGE = "storage"
    CPU = "cpu"
    LATENCY = "latency"
    VIDEO = "video"


@dataclass(frozen=True, slots=True)
class Part:
    """A named share of a whole: a memory component (bytes) or an operator (seconds). Text: message `part.<id>`."""

    id: str
    figure: Figure
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the run with what is in memory of one GPU then. Text: message `phase.<id>`."""

    id: str
    parts: tuple[Part, ...]
    total: Figure


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the fullest GPU. `needed` is what the work needs, `reserved` what the software takes (a server's pool).

    `usable`: what a program can allocate.
    """

    usable: Figure
    needed: Figure
    reserved: Figure
    phases: tuple[Phase, ...]
    peak_phase: str

    @property
    def free(self) -> float:
        """Bytes that stay free at the peak; negative when it does not fit."""
        return self.usable.value - self.needed.value


@dataclass(frozen=True, slots=True)
class HostNeed:
    """Something the host must offer: what the work needs, what the machine has (None: not known), rules beside.

    `id`: vcpus, ram, storage, storage_rate, network. `rules`: ids of catalog rules and the value each asks for.
    """

    id: str
    need: Figure
    offered: float | None
    rules: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """The way of running that was estimated, after defaults and search: parallel degrees and choices that matter."""

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    context_parallel: int = 1
    expert_parallel: int = 1
    data_parallel: int = 1
    replicas: int = 1
    micro_batch: int = 1
    choices: Mapping[str, str] | None = None
    prefill_workers: int = 0
    prefill_tensor_parallel: int = 0

    @property
    def workers(self) -> str:
        """How many replicas only read prompts and how many answer ("1P3D"); empty where each does both."""
        if not self.prefill_workers:
            return ""
        own = f" (P: TP {self.prefill_tensor_parallel})" if self.prefill_tensor_parallel else ""
        return f"{self.prefill_workers}P{self.replicas - self.prefill_workers}D{own}"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the plan that was tried and works: what (a message), the plan it makes, and what it comes to.

    `gives_up`: with it less is done than was asked for.
    """

    what: Message
    plan: Plan
    fit: Fit
    free_bytes: float
    headline: Figure | None = None
    headline_id: str = ""
    outcome: Outcome = Outcome.FITS
    gives_up: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit that a person sets on a metric: at most, or at least where `at_least`.

    `constraint`: which one of the search it is.
    """

    constraint: str
    metric: str
    limit: float
    unit: Unit
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether a value of the metric is within the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    def may_miss(self, figure: Figure) -> bool:
        """Whether a figure meets the limit and the worse end of its range does not."""
        return self.met(figure.value) and not self.met(figure.low if self.at_least else figure.high)


class Runs(StrEnum):
    """Whether the software runs on the GPU, apart from memory: `fit` says whether it has room there."""

    YES = "yes"
    UNKNOWN = "unknown"
    NO = "no"


NEVER_RUNS = frozenset({"limits.support.format", "limits.support.capability"})
"""Messages of `unmet` by which the software certainly does not run."""
MAY_NOT_RUN = frozenset({"limits.support.vendor", "limits.support.no_vendor", "limits.support.unknown_capability"})
"""Messages of `unmet` by which nobody knows whether it does."""
GOAL_UNKNOWN = frozenset({"items.goal_unknown", "training.deadline_unknown"})
"""Messages of `unmet` by which nobody knows whether a goal is met."""


WHOLE = frozenset({"max_concurrency"})
"""Metrics that count what is there whole or not at all."""


def in_whole(name: str, figure: Figure) -> Figure:
    """A metric as it is shown: of what fits in whole ones only, what fits in part does not count."""
    if name not in WHOLE:
        return figure
    return replace(figure, value=floor(figure.value), low=floor(figure.low), high=floor(figure.high))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Everything computed for one plan on one machine in one way of running.

    `metrics` by id, those that apply: serving `ttft_s, tpot_s, output_tokens_per_s, request_per_s, resident_sequences,
    max_concurrency, max_length, kv_pool_tokens, kv_bytes_per_token, usd_per_mtoken`; training `step_s,
    tokens_per_s, tokens_per_s_per_gpu, mfu, hfu, job_s, job_usd, usd_per_mtoken, max_micro_batch, max_sequence`;
    both `usd_per_hour, usd_per_month, power_w, energy_j`. Text: message `metric.<id>`.
    Metrics of kinds that work in items: see their modules. `goals`: what the plan asks of the metrics.
    `time`: the parts of one step (`step_name`: decode_step, train_step), each with its limit; `limits` their shares.
    `own`: where the factor of a person's own measurement comes from, None where none is of this profile.
    """

    plan: Plan
    machine: Machine
    way: Way
    fit: Fit
    reason: Message
    memory: Memory
    step_name: str
    time: tuple[Part, ...]
    limits: tuple[tuple[Limit, float], ...]
    metrics: Mapping[str, Figure]
    host: tuple[HostNeed, ...]
    unknown: tuple[Message, ...] = ()
    remarks: tuple[Message, ...] = ()
    unmet: tuple[Message, ...] = ()
    changes: tuple[Change, ...] = ()
    goals: tuple[Goal, ...] = ()
    own: Origin | None = None

    @property
    def runs(self) -> Runs:
        """Whether the software is known to run on the GPU, as far as `unmet` says something about it."""
        said = {message.id for message in self.unmet}
        return Runs.NO if said & NEVER_RUNS else Runs.UNKNOWN if said & MAY_NOT_RUN else Runs.YES

    @property
    def missed(self) -> tuple[Message, ...]:
        """What of `unmet` is certain and says nothing of the software: goals, budgets and lengths."""
        others = NEVER_RUNS | MAY_NOT_RUN | GOAL_UNKNOWN
        return tuple(message for message in self.unmet if message.id not in others)

    @property
    def outcome(self) -> Outcome:
        """The verdict: memory with what the software and the goals make of it."""
        if self.fit is Fit.DOES_NOT_FIT:
            return Outcome.DOES_NOT_FIT
        if self.runs is Runs.NO:
            return Outcome.DOES_NOT_RUN
        if self.missed:
            return Outcome.MISSES
        if any(message.id in GOAL_UNKNOWN for message in self.unmet):
            return Outcome.UNKNOWN
        if self.fit is Fit.TIGHT:
            return Outcome.TIGHT
        known = ((goal, self.metrics.get(goal.metric)) for goal in self.goals)
        near = any(figure is not None and goal.may_miss(figure) for goal, figure in known)
        return Outcome.MAY_MISS if near else Outcome.FITS

    @property
    def verdict(self) -> str:
        """The id of the message with the verdict."""
        return f"fit.{self.outcome.name.lower()}"
