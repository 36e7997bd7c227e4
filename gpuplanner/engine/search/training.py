"""The ways of training that the search tries, several machines' in one block, and the best of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.columns import multiplied, tabled, tabled_alike, taken
from gpuplanner.engine.estimate import Way
from gpuplanner.engine.feed import feed_of
from gpuplanner.engine.formulas.cost import usd_per_job, usd_per_mtoken
from gpuplanner.engine.formulas.training_time import job_seconds
from gpuplanner.engine.machine import Machine, MeasuredParts
from gpuplanner.engine.machines import choice_of, with_nodes
from gpuplanner.engine.ranges import ranged
from gpuplanner.engine.search.checks import Array, Check, Failure, passing
from gpuplanner.engine.search.result import Broken, Candidate
from gpuplanner.engine.search.space import Computed, Prepared
from gpuplanner.engine.training_choice import reluctance, shape_of
from gpuplanner.engine.training_hardware import hardware_numbers
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_layouts import layouts_of
from gpuplanner.engine.training_model import model_numbers
from gpuplanner.engine.training_numbers import HeldNumbers, held_numbers, rate_numbers
from gpuplanner.engine.training_ranges import memory_spread_of
from gpuplanner.engine.training_rollout import trainer_gpus
from gpuplanner.engine.training_run import text_sample
from gpuplanner.engine.training_software import software_numbers
from gpuplanner.engine.training_time import step_seconds
from gpuplanner.engine.training_ways import DEFAULT_MAX_GPUS, TrainingWays, training_ways
from gpuplanner.engine.verdict import fit_of, usable_figure
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Objective, Plan
from gpuplanner.workload.training import Training


@dataclass(frozen=True, slots=True)
class _Layouts:
    """Layouts on nodes of one size: the ways, the same as arrays, and the nodes and GPUs of each."""

    ways: TrainingWays
    numbers: LayoutNumbers
    nodes: Array
    gpus: Array


@dataclass(frozen=True, slots=True)
class _Ways:
    layouts: _Layouts
    software: SoftwareNumbers
    hardware: HardwareNumbers


@dataclass(frozen=True, slots=True)
class _Own:
    """Those layouts that fit into one size of memory: their rows, and which they are of a table of more.

    `among` is None where they are all of it.
    """

    rows: Array
    needed: Array
    nodes: Array
    among: Array | None


@dataclass(frozen=True, slots=True)
class _Results:
    """Those layouts of one machine that fit: `rows` of its `ways`."""

    ways: TrainingWays
    rows: Array
    needed: Array
    usable: float
    step_s: Array
    tokens_per_s: Array
    mfu: Array

    def corrected(self, place: int, factors: Mapping[str, float]) -> "_Results":
        """The same with one layout as it was measured: by how many times each of its numbers changes."""
        return multiplied(self, place, factors)


class TrainingSpace:
    """Layouts of one training plan. Machines of one node size share their layouts."""

    block_rows = 65_536

    def __init__(self, plan: Plan, workload: Training, model: ModelArchitecture, efficiencies: Efficiencies) -> None:
        self._plan = plan
        self._workload = workload
        self._efficiencies = efficiencies
        self._memory_spread = memory_spread_of(workload, efficiencies)
        self._shape = shape_of(model)
        self._model = model_numbers(model, workload)
        self._sample = text_sample(workload, efficiencies)
        self._laid_out: dict[tuple[int, int], _Layouts | None] = {}
        self._by_gpu: dict[tuple[str, Fraction, MeasuredParts | None], SoftwareNumbers] = {}
        self._generates = workload.generated_tokens > 0
        self._held_by: dict[int, HeldNumbers] = {}

    def prepare(self, machine: Machine) -> Prepared | None:
        networked = machine.host.network_bytes_per_s is not None
        most = (self._plan.constraints.max_gpus or DEFAULT_MAX_GPUS) if networked else machine.gpus_per_node
        layouts = self._layouts(machine.gpus_per_node, most)
        if layouts is None:
            return None
        hardware = hardware_numbers(with_nodes(machine, 2) if networked else machine, self._efficiencies)
        ways = _Ways(
            layouts,
            self._software(machine),
            replace(
                hardware, gpus=layouts.gpus, feed=feed_of(self._workload, self._sample, machine, self._efficiencies)
            ),
        )
        kin = float(machine.gpus_per_node), float(most), float(hardware.usable_bytes)
        return Prepared(machine, len(layouts.ways), ways, kin)

    def compute(self, block: Sequence[Prepared]) -> Sequence[Computed]:
        """Machines with the same layouts as one table; time only of the layouts that fit."""
        alike: dict[tuple[object, ...], list[int]] = {}
        for place, prepared in enumerate(block):
            alone = place if self._generates else None
            alike.setdefault((id(prepared.ways.layouts), alone), []).append(place)
        found = {
            place: computed
            for places in alike.values()
            for place, computed in zip(places, self._of_kin([block[place].ways for place in places]), strict=True)
        }
        return [found[place] for place in range(len(block))]

    def best(self, computed: Computed, passing: Array) -> int:
        found: _Results = computed.results
        left = np.flatnonzero(passing)
        time = (found.step_s if computed.job_s is None else computed.job_s)[left]
        time = time * reluctance(found.usable, found.needed[left], self._memory_spread.high)
        nodes = computed.nodes[left]
        objective = self._plan.constraints.objective
        if objective is Objective.COST:
            keys = time, time * nodes
        else:
            keys = (nodes, time) if objective is Objective.TIME else (time, nodes)
        return int(left[np.lexsort(keys)[0]])

    def _software(self, machine: Machine) -> SoftwareNumbers:
        """Software's numbers depend on nothing of a machine but its GPUs, the share of one and measured parts."""
        key = machine.gpu.id, machine.gpu_fraction, machine.parts
        if key not in self._by_gpu:
            self._by_gpu[key] = software_numbers(self._workload, machine, self._efficiencies)
        return self._by_gpu[key]

    def _layouts(self, gpus_per_node: int, most: int) -> _Layouts | None:
        key = gpus_per_node, most
        if key not in self._laid_out:
            ways = training_ways(gpus_per_node, self._shape, self._workload, most)
            self._laid_out[key] = self._as_numbers(ways, gpus_per_node) if ways else None
        return self._laid_out[key]

    def _as_numbers(self, ways: TrainingWays, gpus_per_node: int) -> _Layouts:
        nodes = np.broadcast_to(np.asarray(ways.nodes), len(ways))
        tried, places = np.unique(nodes, return_inverse=True)
        trainers = np.array([float(trainer_gpus(self._workload, gpus_per_node, int(each))) for each in tried])
        return _Layouts(ways, layouts_of(self._workload, ways, trainers[places]), nodes, nodes * gpus_per_node)

    def _of_kin(self, machines: Sequence[_Ways]) -> Iterator[Computed]:
        """The ways of machines with the same layouts. One table has all that fit on any of them, each its own of it."""
        layouts = machines[0].layouts
        held = self._held(machines[0])
        needed = np.broadcast_to(np.asarray(held.memory.needed), layouts.nodes.shape)
        memories = {float(each.hardware.usable_bytes) for each in machines}
        judged = {usable: self._checked(layouts, needed, usable) for usable in memories}
        fits = [left for _, left in judged.values() if not isinstance(left, Failure)]
        rows = np.flatnonzero(np.logical_or.reduce(fits)) if fits else np.zeros(0, dtype=np.intp)
        own = {
            usable: _Own(rows, needed[rows], layouts.nodes[rows], None)
            if left[rows].all()
            else _Own(np.flatnonzero(left), needed[left], layouts.nodes[left], left[rows])
            for usable, (_, left) in judged.items()
            if not isinstance(left, Failure)
        }
        table = iter(self._timed([each for each in machines if float(each.hardware.usable_bytes) in own], held, rows))
        for each in machines:
            usable = float(each.hardware.usable_bytes)
            if usable in own:
                yield self._computed(layouts.ways, usable, own[usable], next(table))
            else:
                yield Computed(judged[usable][0], layouts.nodes, None, None)

    def _timed(self, machines: Sequence[_Ways], held: HeldNumbers, rows: Array) -> Iterator[Sequence[Array]]:
        """By machine the tokens a second, seconds of a step, utilisation and seconds of the job of these layouts."""
        if not machines:
            return iter(())
        layouts = machines[0].layouts
        software = tabled_alike([each.software for each in machines])
        hardware = replace(tabled([each.hardware for each in machines]), gpus=layouts.gpus[rows])
        numbers = taken(layouts.numbers, rows)
        part, kept, rollout = taken(held.split, rows), taken(held.memory.kept, rows), taken(held.rollout, rows)
        step_s = step_seconds(self._model, software, hardware, numbers, part, kept, rollout.seconds)
        rates = rate_numbers(self._model, software, hardware, numbers, part, step_s)
        shape = len(machines), len(rows)
        columns = [rates.tokens_per_s, step_s, rates.mfu]
        if self._workload.tokens_in_all is not None:
            columns.append(job_seconds(self._workload.tokens_in_all, rates.tokens_per_s))
        return zip(*(np.broadcast_to(np.asarray(column), shape) for column in columns), strict=True)

    def _held(self, ways: _Ways) -> HeldNumbers:
        """What layouts take of memory. Of a machine it depends on how many GPUs a node has, unless some generate."""
        if self._generates:
            return held_numbers(self._model, ways.software, ways.hardware, ways.layouts.numbers)
        key = id(ways.layouts)
        if key not in self._held_by:
            self._held_by[key] = held_numbers(self._model, ways.software, ways.hardware, ways.layouts.numbers)
        return self._held_by[key]

    def _checked(self, layouts: _Layouts, needed: Array, usable: float) -> tuple[list[Check], Array | Failure]:
        """The constraints on memory and size, and which of the layouts keep them."""
        constraints = self._plan.constraints
        checks = [
            Check(Broken.MEMORY, needed, usable, Unit.BYTE),
            Check(Broken.HEADROOM, needed, usable * (1.0 - constraints.memory_free_share), Unit.BYTE),
        ]
        if constraints.max_gpus is not None:
            checks.append(Check(Broken.MAX_GPUS, layouts.gpus, float(constraints.max_gpus), Unit.COUNT))
        return checks, passing(np.ones(layouts.nodes.shape, dtype=bool), checks)

    def _computed(self, ways: TrainingWays, usable: float, own: _Own, columns: Sequence[Array]) -> Computed:
        """What is known of one machine: its own of the layouts that fit, with a rate, a time and a utilisation."""
        rate, step_s, mfu, *jobs = columns if own.among is None else [column[own.among] for column in columns]
        results = _Results(ways, own.rows, own.needed, usable, step_s, rate, mfu)
        job_s, deadline = jobs[0] if jobs else None, self._workload.deadline_s
        in_time = [Check(Broken.DEADLINE, job_s, deadline, Unit.SECOND)] if deadline and job_s is not None else []
        return Computed(in_time, own.nodes, job_s, results)

    def candidate(self, machine: Machine, computed: Computed, place: int) -> Candidate:
        found: _Results = computed.results
        way = found.ways[int(found.rows[place])]
        whole = with_nodes(machine, way.nodes)
        job_s = None if computed.job_s is None else float(computed.job_s[place])
        rate = float(found.tokens_per_s[place])
        metrics = {
            "step_s": float(found.step_s[place]),
            "tokens_per_s": rate,
            "tokens_per_s_per_gpu": rate / whole.gpus,
            "mfu": float(found.mfu[place]),
        }
        if job_s is not None:
            metrics["job_s"] = job_s
        metrics |= _costs(whole, rate, job_s)
        shown = Way(
            tensor_parallel=way.tensor_parallel,
            pipeline_parallel=way.pipeline_parallel,
            context_parallel=way.context_parallel,
            expert_parallel=way.expert_parallel,
            data_parallel=trainer_gpus(self._workload, whole.gpus_per_node, whole.nodes)
            // (way.tensor_parallel * way.pipeline_parallel * way.context_parallel),
            micro_batch=way.micro_batch,
            choices={"sharding": way.sharding.value, "recomputation": way.recomputation.value},
        )
        workload = self._workload.model_copy(
            update={
                "tensor_parallel": way.tensor_parallel,
                "pipeline_parallel": way.pipeline_parallel,
                "context_parallel": way.context_parallel,
                "expert_parallel": way.expert_parallel,
                "micro_batch": way.micro_batch,
                "sharding": way.sharding,
                "recomputation": way.recomputation,
            }
        )
        plan = self._plan.model_copy(update={"workload": workload, "machine": choice_of(whole)})
        fit = fit_of(
            usable_figure(found.usable, machine.gpu), ranged(float(found.needed[place]), Unit.BYTE, self._memory_spread)
        )
        return Candidate(whole, shown, plan, fit, found.usable - float(found.needed[place]), metrics)


def _costs(machine: Machine, tokens_per_s: float, job_s: float | None) -> Mapping[str, float]:
    if machine.usd_per_hour is None:
        return {}
    costs = {
        "usd_per_hour": machine.usd_per_hour,
        "usd_per_mtoken": float(usd_per_mtoken(machine.usd_per_hour, tokens_per_s)),
    }
    if job_s is not None:
        costs["job_usd"] = float(usd_per_job(machine.usd_per_hour, job_s))
    return costs
