"""The ways of serving that the search tries, several machines' in one block, and the best of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpuplanner.catalog.architecture import ModelArchitecture, Role
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.columns import multiplied
from gpuplanner.engine.estimate import Fit, Way
from gpuplanner.engine.formulas.cost import usd_per_month, usd_per_mtoken
from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.engine.formulas.serving_pool import live_cache_bytes, needed_bytes
from gpuplanner.engine.machine import Machine, MeasuredParts
from gpuplanner.engine.machines import choice_of, with_nodes
from gpuplanner.engine.search.checks import Array, Check
from gpuplanner.engine.search.result import Broken, Candidate
from gpuplanner.engine.search.space import Computed, Prepared
from gpuplanner.engine.serving_apart import SERVED, reader_bytes
from gpuplanner.engine.serving_choice import degrees_of, shape_of
from gpuplanner.engine.serving_drafting import served_numbers
from gpuplanner.engine.serving_figures import beside_weights, memory_spread, with_certain_part
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_inputs import GpuNumbers, ServerNumbers, WayNumbers, at, stack, take
from gpuplanner.engine.serving_machine import Found, gpu_numbers, server_numbers
from gpuplanner.engine.serving_memory import MemoryNumbers
from gpuplanner.engine.serving_model import precision_of
from gpuplanner.engine.serving_numbers import ServingNumbers, load_numbers, requests_at_work, serving_numbers
from gpuplanner.engine.serving_pool_fit import fit_with, pool_lack
from gpuplanner.engine.serving_ways import COPIES, ServingWays, serving_ways
from gpuplanner.engine.verdict import fit_of, usable_figure
from gpuplanner.figures import Rung
from gpuplanner.units import HOURS_PER_MONTH, Unit
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving


@dataclass(frozen=True, slots=True)
class _Ways:
    """One machine's ways with its numbers, alone and with its network (the same where that is not known)."""

    ways: ServingWays
    alone: GpuNumbers
    networked: GpuNumbers
    server: ServerNumbers
    rung: Rung


@dataclass(frozen=True, slots=True)
class _Block:
    """The ways of all machines of a block, an element each but of `memory`, which has one for each layout.

    `over`: usable bytes and what one request lacks; `held`: requests that have a place or, read apart, that wait for
    none; `gpus`: of all nodes.
    """

    memory: MemoryNumbers
    over: Array
    needed: Array
    ttft_s: Array
    tpot_s: Array
    resident: Array
    places: Array
    at_work: Array
    held: Array
    request_per_s: Array
    output_tokens_per_s: Array


@dataclass(frozen=True, slots=True)
class _Results:
    """The ways of one machine, computed. `fits`: verdicts by place; offers of the same hardware share them.

    `block`: of its ways, this machine's are those from `start` on; `rung`: what it stands on.
    """

    fits: dict[int, Fit]
    ways: ServingWays
    block: _Block
    start: int
    rung: Rung
    usable: float

    def own(self, column: Array) -> Array:
        """Of a column of the block, what this machine's ways have."""
        return column[self.start : self.start + len(self.ways.nodes)]

    def corrected(self, place: int, factors: Mapping[str, float]) -> "_Results":
        """The same with one way as it was measured: by how many times each of its numbers changes."""
        return replace(self, block=multiplied(self.block, self.start + place, factors))

    def value(self, column: Array, place: int) -> float:
        """The value of one of this machine's ways in a column of the block."""
        return float(column[self.start + place])


class ServingSpace:
    """Ways of serving one plan. Machines of one node size share their ways."""

    block_rows = 24_576

    def __init__(self, plan: Plan, workload: Serving, model: ModelArchitecture, efficiencies: Efficiencies) -> None:
        self._plan = plan
        self._workload = workload
        self._eager = heeded(workload).eager
        self._efficiencies = efficiencies
        self._precision = precision_of(model, workload.weight_precision)
        self._model = served_numbers(model, workload, efficiencies)
        self._shape = shape_of(model)
        self._load = load_numbers(workload)
        self._apart = degrees_of(workload).apart
        self._answers = model.role is not Role.ENCODER  # of the others no time per token says anything
        self._laid_out: dict[tuple[int, bool], ServingWays | None] = {}
        self._servers: dict[tuple[str, MeasuredParts | None], ServerNumbers] = {}

    def prepare(self, machine: Machine) -> Prepared | None:
        spanning = machine.host.network_bytes_per_s is not None and machine.gpu_fraction == 1
        ways = self._ways(machine.gpus_per_node, spanning)
        if ways is None:
            return None
        found = self._gpu(machine)
        alone = found.numbers
        networked = self._gpu(with_nodes(machine, 2)).numbers if spanning else alone
        server = self._server(machine)
        return Prepared(machine, len(ways.nodes), _Ways(ways, alone, networked, server, found.rung))

    def compute(self, block: Sequence[Prepared]) -> Sequence[Computed]:
        """Tables of a row a number of copies, a column a layout: what no copies change is worked out once a layout."""
        prepared: list[_Ways] = [p.ways for p in block]
        counts = [len(p.ways.nodes) // len(COPIES) for p in prepared]
        place = np.repeat(np.arange(len(prepared)), counts)
        # What the cache crosses between workers depends on how many nodes there are, whatever a replica spans.
        spans = (_by_layout(_joined(prepared, "nodes_of_replica")) > 1) | self._apart
        gpus = stack([numbers for p in prepared for numbers in (p.alone, p.networked)], equal_as_floats=True)
        servers = stack([p.server for p in prepared], equal_as_floats=True)
        plain = all(p.ways.plain for p in prepared)
        split = () if plain else ("attention_ranks", "expert_parallel")
        readers = ("prefill_workers",) if self._apart else ()
        way = WayNumbers(
            **{
                name: np.ascontiguousarray(shaped(_joined(prepared, name)))
                for shaped, names in (
                    (_by_layout, ("tensor_parallel", "pipeline_parallel", *split)),
                    (_by_copies, ("replicas", *readers)),
                )
                for name in names
            },
            prefill_tensor_parallel=float(self._workload.prefill_tensor_parallel or 0) if self._apart else 0.0,
        )
        gpu = take(gpus, 2 * place + spans)
        found = serving_numbers(self._model, gpu, take(servers, place), self._load, way)
        made = _block(found, way, gpu.usable_bytes, self._apart, (len(COPIES), len(place)))
        ends = np.cumsum(counts) * len(COPIES)
        return [self._computed(p, made, int(end) - len(p.ways.nodes)) for p, end in zip(prepared, ends, strict=True)]

    def best(self, computed: Computed, passing: Array) -> int:
        """The fewest machines that pass, and of the layouts on so many the one that answers a request first.

        More machines would be faster still: they are not taken, since what passes meets the load and the goals.
        """
        found: _Results = computed.results
        fewest = _first_of_each(passing.reshape(-1, len(COPIES)))
        ttft_s, tpot_s = found.own(found.block.ttft_s), found.own(found.block.tpot_s)
        seconds = ttft_s + tpot_s * (self._workload.output_tokens - 1)
        return int(fewest[np.lexsort((seconds[fewest], computed.nodes[fewest]))[0]])

    def _ways(self, gpus_per_node: int, spanning: bool) -> ServingWays | None:
        key = gpus_per_node, spanning
        if key not in self._laid_out:
            degrees = degrees_of(self._workload)
            self._laid_out[key] = serving_ways(gpus_per_node, self._shape, degrees, spanning)
        return self._laid_out[key]

    def _gpu(self, machine: Machine) -> Found:
        server = str(self._workload.server)
        return gpu_numbers(machine, self._precision, server, self._eager, self._efficiencies)

    def _server(self, machine: Machine) -> ServerNumbers:
        """A server's numbers depend on nothing of a machine but the type of its GPUs, and what of it was measured."""
        key = machine.gpu.id, machine.parts
        if key not in self._servers:
            self._servers[key] = server_numbers(self._workload, machine.gpu, self._efficiencies, parts=machine.parts)
        return self._servers[key]

    def _computed(self, prepared: _Ways, block: _Block, start: int) -> Computed:
        ways = prepared.ways
        usable = float(prepared.alone.usable_bytes)
        results = _Results({}, ways, block, start, prepared.rung, usable)
        constraints = self._plan.constraints
        checks = [
            Check(Broken.MEMORY, results.own(block.over), usable, Unit.BYTE),
            Check(
                Broken.HEADROOM, results.own(block.needed), usable * (1.0 - constraints.memory_free_share), Unit.BYTE
            ),
        ]
        if constraints.max_gpus is not None:
            gpus = ways.nodes * float(prepared.alone.gpus_per_node)
            checks.append(Check(Broken.MAX_GPUS, gpus, float(constraints.max_gpus), Unit.COUNT))
        if self._apart:
            divided = (ways.prefill_workers > 0) & ((ways.nodes == 1) | (prepared.alone is not prepared.networked))
            checks.insert(0, Check(Broken.LAYOUT, np.where(divided, 0.0, 1.0), 0.5, Unit.TEXT))
        checks += self._load_and_goals(results)
        return Computed(checks, ways.nodes, None, results)

    def _load_and_goals(self, found: _Results) -> list[Check]:
        """The load is met when no request waits for a place, unless a goal for the first token says what may wait."""
        workload, block = self._workload, found.block
        checks = []
        if workload.concurrency is not None and workload.ttft_goal_s is None:
            checks.append(Check(Broken.LOAD, float(workload.concurrency), found.own(block.held), Unit.COUNT))
        if not self._answers:
            return checks
        if workload.concurrency is None and workload.request_rate is not None:
            answered = found.own(block.request_per_s)
            checks.append(Check(Broken.RATE, workload.request_rate, answered, Unit.REQUEST_PER_S))
        if workload.ttft_goal_s is not None:
            checks.append(Check(Broken.TTFT, found.own(block.ttft_s), workload.ttft_goal_s, Unit.SECOND))
        if workload.tpot_goal_s is not None:
            checks.append(Check(Broken.TPOT, found.own(block.tpot_s), workload.tpot_goal_s, Unit.SECOND))
        return checks

    def candidate(self, machine: Machine, computed: Computed, place: int) -> Candidate:
        found: _Results = computed.results
        ways = found.ways
        whole = with_nodes(machine, int(ways.nodes[place]))
        way = Way(
            tensor_parallel=int(ways.tensor_parallel[place]),
            pipeline_parallel=int(ways.pipeline_parallel[place]),
            expert_parallel=int(ways.expert_parallel[place]),
            data_parallel=int(ways.attention_ranks[place]),
            replicas=int(ways.replicas[place]),
            prefill_workers=int(ways.prefill_workers[place]),
            prefill_tensor_parallel=(self._workload.prefill_tensor_parallel or 0) if self._apart else 0,
        )
        metrics = self._metrics(found, place) if self._answers else {}
        metrics |= _costs(whole, metrics.get("output_tokens_per_s"))
        degrees = {"tensor_parallel": way.tensor_parallel, "pipeline_parallel": way.pipeline_parallel}
        if not ways.plain:
            degrees |= {"attention_ranks": way.data_parallel, "expert_parallel": way.expert_parallel > 1}
        if self._apart:
            degrees |= {"prefill_workers": way.prefill_workers}
        workload = self._workload.model_copy(update=degrees)
        plan = self._plan.model_copy(update={"workload": workload, "machine": choice_of(whole)})
        if place not in found.fits:
            found.fits[place] = self._fit(machine, found, place)
        free = found.usable - found.value(found.block.needed, place)
        return Candidate(whole, way, plan, found.fits[place], free, metrics)

    def _metrics(self, found: _Results, place: int) -> dict[str, float]:
        """Times and rates of a way, as an estimate has them."""
        block = found.block
        ttft_s, tpot_s = found.value(block.ttft_s, place), found.value(block.tpot_s, place)
        return {
            "ttft_s": ttft_s,
            "tpot_s": tpot_s,
            "request_s": ttft_s + tpot_s * (self._workload.output_tokens - 1),
            "request_per_s": found.value(block.request_per_s, place),
            "output_tokens_per_s": found.value(block.output_tokens_per_s, place),
            "resident_sequences": float(requests_at_work(found.value(block.at_work, place), self._load, self._apart)),
        }

    def _fit(self, machine: Machine, found: _Results, place: int) -> Fit:
        """The verdict that the estimate of this very way gives."""
        block = found.block
        memory = at(block.memory, (found.start + place) // len(COPIES))
        resident, places = found.value(block.resident, place), found.value(block.places, place)
        spread = memory_spread(self._efficiencies, found.rung, self._workload.server.value)
        needed = with_certain_part(found.value(block.needed, place), beside_weights(memory), Unit.BYTE, spread)
        fit = fit_of(usable_figure(found.usable, machine.gpu), needed)
        load = self._load
        answering = found.ways.replicas[place] - found.ways.prefill_workers[place]
        waits = not self._apart or resident >= places * SERVED
        offered = load.concurrency / answering if load.request_per_s is None and waits else None
        return fit_with(fit, pool_lack(memory, resident, places, offered, spread))


def _joined(prepared: Sequence[_Ways], name: str) -> Array:
    """A column of the ways of all machines."""
    return np.concatenate([getattr(p.ways, name) for p in prepared])


def _by_copies(column: Array) -> Array:
    """A column of ways as a table: a row a number of copies, a column a layout."""
    return column.reshape(-1, len(COPIES)).T


def _by_layout(column: Array) -> Array:
    """A column of ways that differs between layouts only, a value for each."""
    return column[:: len(COPIES)]


def _block(found: ServingNumbers, way: WayNumbers, usable: Number, apart: bool, shape: tuple[int, int]) -> _Block:
    """What is kept of a block, a value for each way."""
    memory = found.memory
    cache = live_cache_bytes(found.resident, memory.sequence_bytes, way.attention_ranks, memory.pool_bytes)
    needed, short = needed_bytes(memory.fixed_bytes, cache), _lacking(memory)
    if found.apart is not None:
        needed = maximum(needed, reader_bytes(found.apart, memory, way))
        short = maximum(short, _lacking(found.apart.reader_memory or memory))

    def flat(column: Number) -> Array:
        return np.broadcast_to(column, shape).T.ravel()

    return _Block(
        memory=memory,
        over=flat(usable + short),
        needed=flat(needed),
        ttft_s=flat(found.ttft_s),
        tpot_s=flat(found.tpot_s),
        resident=flat(found.resident),
        places=flat(found.places),
        at_work=flat(found.at_work),
        held=flat(found.at_work / SERVED if apart else np.floor(found.resident + 1e-9) * way.replicas),
        request_per_s=flat(found.request_per_s),
        output_tokens_per_s=flat(found.output_tokens_per_s),
    )


def _lacking(memory: MemoryNumbers) -> Number:
    """Bytes that one request of full length lacks; negative where the pool holds more."""
    return memory.reserved_sequence_bytes + memory.shortfall_bytes - memory.pool_bytes


def _first_of_each(passing: Array) -> Array:
    """The place of the first way that passes in each row that has one, in the flat order."""
    rows = np.flatnonzero(passing.any(axis=1))
    first: Array = rows * passing.shape[1] + passing[rows].argmax(axis=1)
    return first


def _costs(machine: Machine, output_tokens_per_s: float | None) -> Mapping[str, float]:
    if machine.usd_per_hour is None:
        return {}
    found = {
        "usd_per_hour": machine.usd_per_hour,
        "usd_per_month": float(usd_per_month(machine.usd_per_hour, HOURS_PER_MONTH)),
    }
    if output_tokens_per_s is not None:
        found["usd_per_mtoken"] = float(usd_per_mtoken(machine.usd_per_hour, output_tokens_per_s))
    return found
