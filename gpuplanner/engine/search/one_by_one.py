"""The ways of running of kinds whose GPUs share out the items: so many nodes of each offer, estimated one at a time.

Such a kind has few ways on a machine, so that an estimate of each is quick enough for the whole catalog.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.cost import cost_metrics
from gpuplanner.engine.estimate import Estimate, Goal
from gpuplanner.engine.items import JOB
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import MORE_NODES, choice_of, with_nodes
from gpuplanner.engine.search.checks import Array, Check
from gpuplanner.engine.search.result import Broken, Candidate
from gpuplanner.engine.search.space import Computed, Prepared
from gpuplanner.facts import MissingFactError
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Objective, Plan

MOST_TRIED_GPUS = 512
"""As many GPUs are tried where the plan sets no limit."""
ROUNDING = 1e-9
"""By so much may a number of nodes that is just enough seem too few."""


class OneByOne:
    """A space of the search; see `space.Space`. `rate`: the metric of items a second.

    `splits`: GPUs share an item, so that what does not fit on few of them fits on more.
    """

    block_rows = 65_536  # all is worked out before blocks are made

    def __init__(
        self,
        plan: Plan,
        subject: Any,
        efficiencies: Efficiencies,
        estimator: Callable[[Plan, Any, Machine, Efficiencies], Estimate],
        rate: str,
        splits: bool = False,
    ) -> None:
        self._plan = plan
        self._subject = subject
        self._efficiencies = efficiencies
        self._estimator = estimator
        self._rate = rate
        self._splits = splits

    def prepare(self, machine: Machine) -> Prepared | None:
        made = [self._estimated(machine, 1)]
        for nodes in self._counts(made[0], machine):
            try:
                made.append(self._estimated(machine, nodes))
            except MissingFactError:
                break  # what is not known is the network, which one node does without
            if self._plan.constraints.objective is not Objective.TIME and not self._missed(made[-1]):
                break  # more of them would cost more
        return Prepared(machine, len(made), tuple(made))

    def _counts(self, made: Estimate, machine: Machine) -> Sequence[int]:
        """How many times the node is worth trying, once it is known what one of it does.

        Nodes that share no item are together at most so many times as fast as one: of counts that cannot be enough
        only the largest is tried, which comes nearest. None makes a single item quicker.
        """
        if not self._missed(made):
            return ()
        most = (self._plan.constraints.max_gpus or MOST_TRIED_GPUS) // machine.gpus_per_node
        counts = [nodes for nodes in MORE_NODES if nodes <= most]
        if self._splits:
            return counts
        lacks = [_lack(goal, figure.value) for goal in made.goals if (figure := made.metrics.get(goal.metric))]
        if None in lacks:
            return ()
        least = max((lack for lack in lacks if lack is not None), default=1.0) * (1.0 - ROUNDING)
        return [nodes for nodes in counts if nodes >= least] or counts[-1:]

    def compute(self, block: Sequence[Prepared]) -> Sequence[Computed]:
        return [self._computed(prepared.ways) for prepared in block]

    def best(self, computed: Computed, passing: Array) -> int:
        left = [int(i) for i in np.flatnonzero(passing)]
        estimates: tuple[Estimate, ...] = computed.results
        return min(left, key=lambda place: self._key(estimates[place]))

    def candidate(self, machine: Machine, computed: Computed, place: int) -> Candidate:
        made: Estimate = computed.results[place]
        whole = with_nodes(machine, made.machine.nodes)
        metrics = {name: figure.value for name, figure in made.metrics.items()}
        costs, _ = cost_metrics(whole, made.metrics)
        metrics |= {name: figure.value for name, figure in costs.items()}
        plan = self._plan.model_copy(update={"machine": choice_of(whole)})
        return Candidate(whole, made.way, plan, made.fit, made.memory.free, metrics)

    def _estimated(self, machine: Machine, nodes: int) -> Estimate:
        return self._estimator(self._plan, self._subject, with_nodes(machine, nodes), self._efficiencies)

    def _missed(self, made: Estimate) -> bool:
        """Whether so many nodes miss a goal; what does not fit on one GPU fits on more only where they share it."""
        memory = made.memory
        if self._splits and memory.needed.value > memory.usable.value * (
            1.0 - self._plan.constraints.memory_free_share
        ):
            return True
        if memory.free < 0:
            return False
        figures = ((goal, made.metrics.get(goal.metric)) for goal in made.goals)
        return any(figure and not goal.met(figure.value) for goal, figure in figures)

    def _computed(self, estimates: tuple[Estimate, ...]) -> Computed:
        constraints = self._plan.constraints
        needed = np.array([made.memory.needed.value for made in estimates])
        usable = np.array([made.memory.usable.value for made in estimates])
        checks = [
            Check(Broken.MEMORY, needed, usable, Unit.BYTE),
            Check(Broken.HEADROOM, needed, usable * (1.0 - constraints.memory_free_share), Unit.BYTE),
        ]
        if constraints.max_gpus is not None:
            gpus = np.array([float(made.machine.gpus) for made in estimates])
            checks.append(Check(Broken.MAX_GPUS, gpus, float(constraints.max_gpus), Unit.COUNT))
        checks += self._goals(estimates)
        nodes = np.array([float(made.machine.nodes) for made in estimates])
        jobs = [made.metrics.get("job_s") for made in estimates]
        job_s = np.array([job.value for job in jobs if job is not None])
        return Computed(checks, nodes, job_s if len(job_s) == len(estimates) else None, estimates)

    def _goals(self, estimates: Sequence[Estimate]) -> list[Check]:
        """Goals as limits from above: a rate that must be reached stands on the other side."""
        checks = []
        for goal in estimates[0].goals:
            known = [made.metrics.get(goal.metric) for made in estimates]
            told = np.array([0.0 if figure else 2.0 for figure in known])
            checks.append(Check(Broken.FACTS, told, 1.0, Unit.TEXT))
            values = np.array([figure.value if figure else 0.0 for figure in known])
            limits = np.full(values.shape, goal.limit)
            value, limit = (limits, values) if goal.at_least else (values, limits)
            checks.append(Check(Broken(goal.constraint), value, limit, goal.unit))
        return checks

    def _key(self, made: Estimate) -> tuple[float, ...]:
        """Fewest nodes that do, unless time is the objective."""
        rate = made.metrics.get(self._rate)
        speed = -rate.value if rate else 0.0
        nodes = float(made.machine.nodes)
        return (speed, nodes) if self._plan.constraints.objective is Objective.TIME else (nodes, speed)


def _lack(goal: Goal, value: float) -> float | None:
    """How many times as fast everything together has to be for this goal; None where being more does not help."""
    if goal.met(value):
        return 1.0
    if goal.at_least:
        return goal.limit / value if value > 0 else float("inf")
    return value / goal.limit if goal.metric == JOB else None
