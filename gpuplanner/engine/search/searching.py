"""The search: offers of the catalog × ways of running, in blocks that fit the cache, judged one offer at a time.

Memory stays bounded: of a block only the best way of each offer, or its rejection, is kept. Offers with the same
hardware (an instance in several regions or sizes of disk) are computed once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpuplanner.catalog.catalog import Catalog, Rate
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.software import Software
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.limits import missing_fact
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import Unplannable, catalog_machines, with_assumed_network, with_nodes
from gpuplanner.engine.own_links import WITH_STEP
from gpuplanner.engine.own_measurements import Own, site_of
from gpuplanner.engine.own_parts import OwnParts, origin_of, with_own_parts
from gpuplanner.engine.search.checks import Failure, broken_choice, offer_checks, passing
from gpuplanner.engine.search.ordering import furthest_first, ranked
from gpuplanner.engine.search.own import OF_MEMORY, OwnRows
from gpuplanner.engine.search.rejecting import broke, rejection, unplannable
from gpuplanner.engine.search.result import Broken, Candidate, Rejection, SearchResult
from gpuplanner.engine.search.space import Computed, Prepared, Space
from gpuplanner.engine.support import unsupported
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.workload.plan import Constraints, Plan
from gpuplanner.workload.reads_data import PreparesData, ReadsData
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

MOST_RANGED = 20
"""So many candidates are estimated in full: more than are read, and quick beside the search."""

Hardware = tuple[object, ...]


Group = tuple[Prepared, list[Machine]]
"""Offers with the same hardware, with its ways."""


def search(
    plan: Plan,
    subject: Any,
    catalog: Catalog,
    efficiencies: Efficiencies,
    rates: Mapping[str, Rate],
    cancelled: Callable[[], bool] = lambda: False,
    progress: Callable[[float], None] = lambda _: None,
    own: Sequence[Own] = (),
    ranged: int = MOST_RANGED,
) -> SearchResult:
    """All offers of the catalog for a plan, with its constraints and objective; `subject`: what its workload runs.

    `cancelled` is asked before each block; what has been found until then is given back. `progress` is told the share
    of the hardware that is done, 0 … 1. `ranged`: so many of the first candidates get their
    ranges by an estimate in full.
    """
    asked = plan.constraints
    offered = catalog_machines(catalog, rates, bare_gpus=asked.bare_gpus, regions=asked.regions)
    network = asked.network_bits_per_s
    offers = [with_assumed_network(o, network) if isinstance(o, Machine) else o for o in offered]
    parts, overlooked = [each for each in own if isinstance(each, OwnParts)], dict[str, Message]()
    if parts:
        offers = [_with_parts(o, parts, efficiencies, overlooked) if isinstance(o, Machine) else o for o in offers]
    rejected = [unplannable(offer) for offer in offers if isinstance(offer, Unplannable)]
    space = KINDS[plan.workload.kind].space(plan, subject, efficiencies)
    measured = OwnRows(plan, subject, efficiencies, own, lambda machine: hardware_of(machine, plan.workload))
    groups: list[Group] = []
    machines = (offer for offer in offers if isinstance(offer, Machine))
    for alike in _alike(machines, plan.workload):
        prepared = _prepared(plan, space, alike[0], efficiencies.software)
        if isinstance(prepared, Prepared):
            groups.append((prepared, alike))
        else:
            rejected += [rejection(machine, *prepared) for machine in alike]
    verdicts: dict[int, list[Candidate | Rejection]] = {}
    computed, done, stopped = 0, 0, False
    for block in _blocks(groups, space.block_rows):
        stopped = cancelled()
        if stopped:
            break
        results = space.compute([groups[place][0] for place in block])
        for place, result in zip(block, results, strict=True):
            prepared, alike = groups[place]
            computed += prepared.rows
            counted = measured.counted(space, alike[0], result)
            verdicts[place] = list(_judged(plan, space, alike, counted))
        done += len(block)
        progress(done / len(groups))
    judged = [verdict for place in sorted(verdicts) for verdict in verdicts[place]]
    candidates = [_marked(measured.marked(verdict)) for verdict in judged if isinstance(verdict, Candidate)]
    rejections = furthest_first([*rejected, *(verdict for verdict in judged if isinstance(verdict, Rejection))])
    nearest = tuple(rejection for rejection in rejections if _wanted(asked, rejection))
    anywhere = KINDS[plan.workload.kind].unmet_anywhere(plan.workload, subject)
    remarks = (*anywhere, *_remarks(asked, catalog), *measured.passed_over.values(), *overlooked.values())
    first = ranked(plan, candidates)
    known = () if stopped else _with_ranges(first[:ranged], subject, efficiencies, own, cancelled)
    return SearchResult((*known, *first[len(known) :]), rejections, computed, stopped, remarks, nearest)


def _with_parts(
    machine: Machine, parts: Sequence[OwnParts], efficiencies: Efficiencies, overlooked: dict[str, Message]
) -> Machine:
    """The offer with its parts as they were measured. `overlooked`: what is said of measurements that do not count."""
    measured, said = with_own_parts(machine, parts, site_of(with_nodes(machine, 1)), efficiencies)
    overlooked.update({str(message.values["file"]): message for message in said})
    return measured


def _marked(candidate: Candidate) -> Candidate:
    """The candidate with where its numbers come from, where they are of parts that were measured and of no run."""
    parts = candidate.machine.parts
    if parts is None or candidate.own is not None or candidate.plan.workload.kind not in WITH_STEP:
        return candidate
    return replace(candidate, own=origin_of(parts))


def _with_ranges(
    candidates: Sequence[Candidate],
    subject: Any,
    efficiencies: Efficiencies,
    own: Sequence[Own],
    cancelled: Callable[[], bool],
) -> tuple[Candidate, ...]:
    """The candidates with the ranges of their numbers, which blocks are computed without; none when cancelled."""
    found = []
    for candidate in candidates:
        if cancelled():
            return ()
        try:
            made = estimate(candidate.plan, subject, candidate.machine, efficiencies, (), own)
        except InputError:
            found.append(candidate)
            continue
        ranges = {
            name: (value * figure.low / figure.value, value * figure.high / figure.value)
            for name, value in candidate.metrics.items()
            if (figure := made.metrics.get(name)) is not None and figure.value and figure.low < figure.high
        }
        known = ((goal, made.metrics.get(goal.metric)) for goal in made.goals)
        near = any(figure is not None and goal.may_miss(figure) for goal, figure in known)
        found.append(replace(candidate, ranges={**ranges, **candidate.ranges}, may_miss=near))
    return tuple(found)


def _wanted(asked: Constraints, rejection: Rejection) -> bool:
    """Whether the offer is one that the plan chooses, whatever runs on it."""
    offer = rejection.machine or Unplannable(rejection.instance, rejection.gpu, rejection.reason)
    return broken_choice(asked, offer) is None


def _remarks(asked: Constraints, catalog: Catalog) -> Iterator[Message]:
    """Which of the chosen GPUs no offer has, so that no way of running can help."""
    if asked.bare_gpus:
        return
    offered = {instance.planning_gpu_id for instance in catalog.instances.values()}
    missing = [catalog.gpus[gpu].name for gpu in asked.gpus if gpu in catalog.gpus and gpu not in offered]
    if missing:
        yield msg("limits.gpus_not_offered", gpus=", ".join(missing), count=len(missing))


def _alike(machines: Iterable[Machine], workload: object) -> list[list[Machine]]:
    groups: dict[Hardware, list[Machine]] = {}
    for machine in machines:
        groups.setdefault(hardware_of(machine, workload), []).append(machine)
    return list(groups.values())


def _prepared(plan: Plan, space: Space, machine: Machine, software: Software) -> Prepared | tuple[Broken, Message]:
    """The ways of a machine, or why it has none."""
    reason = unsupported(machine.gpu, KINDS[plan.workload.kind].needs(plan.workload), software)
    if reason is not None:
        return Broken.SUPPORT, reason
    try:
        prepared = space.prepare(machine)
    except MissingFactError as error:
        return Broken.FACTS, missing_fact(error)
    except InputError as error:
        return Broken.SUPPORT, error.message
    return prepared or (Broken.LAYOUT, msg("limits.broken.layout"))


def hardware_of(machine: Machine, workload: object) -> Hardware:
    """What decides how fast a machine is: two offers that agree in it run the same plan alike.

    Its CPU counts where a step may wait for the data that it prepares, unless the plan says what of it may be used;
    so do its own drives where data are read.
    """
    waits = isinstance(workload, PreparesData) and workload.prepares and workload.vcpus is None
    return (
        machine.gpu.id,
        machine.gpus_per_node,
        machine.gpu_fraction.as_integer_ratio(),
        machine.topology,
        machine.link_bytes_per_s,
        machine.host.network_bytes_per_s,
        machine.host.vcpus if waits else None,
        machine.host.local_bytes_per_s if isinstance(workload, ReadsData) else None,
    )


def _blocks(groups: Sequence[Group], most: int) -> Iterator[list[int]]:
    """Places of groups that are computed together, kin beside each other: `most` ways, or one group of more."""
    block: list[int] = []
    rows = 0
    for place in sorted(range(len(groups)), key=lambda place: groups[place][0].kin):
        prepared = groups[place][0]
        if block and rows + prepared.rows > most:
            yield block
            block, rows = [], 0
        block.append(place)
        rows += prepared.rows
    if block:
        yield block


def _judged(plan: Plan, space: Space, offers: Iterable[Machine], computed: Computed) -> Iterator[Candidate | Rejection]:
    """What becomes of each offer of the same hardware."""
    ways = passing(np.ones(computed.nodes.shape, dtype=bool), computed.checks)
    best_of_all = None if isinstance(ways, Failure) else space.best(computed, ways)
    for machine in offers:
        left = ways
        if not isinstance(left, Failure):
            left = passing(left, offer_checks(plan.constraints, machine, computed.nodes, computed.job_s))
        if isinstance(left, Failure):
            # The amount is that of so many nodes.
            left_out = _left_out(plan, machine, computed, left)
            yield broke(with_nodes(machine, int(computed.nodes[left.place])), left, left_out)
        elif best_of_all is not None and left is ways:
            yield space.candidate(machine, computed, best_of_all)
        else:
            yield space.candidate(machine, computed, space.best(computed, left))


def _left_out(plan: Plan, machine: Machine, computed: Computed, failure: Failure) -> str:
    """The message on ways over several nodes that might do and were not tried for want of a network; empty for none."""
    if machine.host.network_bytes_per_s is not None or machine.gpu_fraction != 1:
        return ""
    most = plan.constraints.max_gpus
    if most is not None and most < 2 * machine.gpus_per_node:
        return ""
    if isinstance(plan.workload, Serving):
        # More nodes were tried as replicas, each of which holds the whole model.
        return "limits.no_model_over_nodes" if failure.broken in OF_MEMORY else ""
    if computed.nodes.max() > 1:
        return ""
    shared = isinstance(plan.workload, Training) and failure.broken in OF_MEMORY
    return "limits.only_one_node" if shared or failure.broken in {Broken.DEADLINE, Broken.RATE} else ""
