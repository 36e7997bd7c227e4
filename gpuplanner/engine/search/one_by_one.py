"""The ways of running of kinds whose GPUs share out the items: so many nodes of each offer, estimated one at a time.

Such a kind has few ways on a machine, so that an estimate of each is quick enough for the whole catalog.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.cost import cost_metrics
from gpuplanner.engine.estimate import Estimate
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


class OneByOne:
    """A space of the search; see `space.Space`. `rate`: the metric of items a second.

    `splits`: GPUs share an item, so that what does not fit on few of them fits on more.
    """

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
        most = self._plan.constraints.max_gpus or MOST_TRIED_GPUS
        for nodes in MORE_NODES if self._missed(made[0]) else ():
            if nodes * machine.gpus_per_node > most:
                break
            try:
                made.append(self._estimated(machine, nodes))
            except MissingFactError:
                break  # what is not known is the network, which one node does without
        return Prepared(machine, len(made), tuple(made))

    def compute(self, block: Sequence[Prepared]) -> Sequence[Computed]:
        return [self._computed(prepared.ways) for prepared in block]

    def best(self, machine: Machine, computed: Computed, passing: Array) -> Candidate:
        left = [int(i) for i in np.flatnonzero(passing)]
        estimates: tuple[Estimate, ...] = computed.results
        made = estimates[min(left, key=lambda place: self._key(estimates[place]))]
        whole = with_nodes(machine, made.machine.nodes)
        metrics = {name: figure.value for name, figure in made.metrics.items()}
        costs, _ = cost_metrics(whole, made.metrics)
        metrics |= {name: figure.value for name, figure in costs.items()}
        plan = self._plan.model_copy(update={"machine": choice_of(whole)})
        return Candidate(whole, made.way, plan, made.fit, made.memory.free, metrics)

    def _estimated(self, machine: Machine, nodes: int) -> Estimate:
        return self._estimator(self._plan, self._subject, with_nodes(machine, nodes), self._efficiencies)

    def _missed(self, made: Estimate) -> bool:
        """Whether one node misses a goal; what does not fit on one GPU fits on more only where they share it."""
        if made.memory.free < 0:
            return self._splits
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
