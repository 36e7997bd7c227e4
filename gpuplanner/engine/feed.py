"""How quickly data reach a step, and what it waits for them: storage and CPU of one node. Numbers, ranges and parts.

Nothing is made up: storage that nobody speaks of and a CPU that is not known never make a step wait.
"""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Limit, Part
from gpuplanner.engine.formulas.data import (
    cores_beside,
    data_read_seconds,
    data_wait_seconds,
    fed_step_seconds,
    host_cores,
    items_of_node,
    prepare_wait_seconds,
    read_wait_seconds,
    shared_read_rate,
)
from gpuplanner.engine.formulas.elementwise import Number, where
from gpuplanner.engine.machine import Host, Machine
from gpuplanner.engine.ranges import Spread
from gpuplanner.figures import Certainty, Figure, Rung, unrecorded
from gpuplanner.messages import msg
from gpuplanner.units import Unit
from gpuplanner.workload.reads_data import PreparesData, ReadsData, Storage

STORAGES, HOST = "answers", "host"
READ, PREPARE = "data_read", "data_prepare"
LIMITS = {READ: Limit.STORAGE, PREPARE: Limit.CPU}
"""What a step waits for, by the part that says how long."""
UNLIMITED = 1e30
"""Stands for what nothing is known of, and so makes nothing wait."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one item takes: bytes on storage (0: nothing is read), and how many a core prepares in a second (0: any)."""

    stored_bytes: float
    per_core_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of a time that is not exact, as factors of it."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Feed:
    """What one node reads and prepares. Fields that differ between machines may be arrays, one value for each way.

    `processes`: that prepare data on a node. `read`, `prepare`: how far off those times are.
    """

    bytes_per_item: float
    items_per_core_s: float
    storage_bytes_per_s: Number
    shared: bool
    prefetched: bool
    cores: Number
    gpus_per_node: Number
    cores_per_rank: Number
    processes: Number
    read: Ends
    prepare: Ends


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds that a step waits: for reading, for preparing, and in all. Of two at the same time the longer counts."""

    read: Number
    prepare: Number
    whole: Number


NOTHING = Waits(0.0, 0.0, 0.0)


def feed_of(workload: object, sample: Sample, machine: Machine, efficiencies: Efficiencies) -> Feed | None:
    """The feed of a workload on one node; None where nobody says where its data lie and no CPU prepares them."""
    if not isinstance(workload, ReadsData):
        return None
    rate, read = _storage(workload, machine.host, efficiencies)
    reads = sample.stored_bytes > 0 and rate < UNLIMITED
    if not reads and not sample.per_core_s:
        return None
    cpu = efficiencies.constants(HOST, "training cpu")
    off = efficiencies.constants(HOST, "preparing range")
    vcpus = host_of(workload, machine).vcpus
    workers = workload.workers if isinstance(workload, PreparesData) else None
    return Feed(
        bytes_per_item=sample.stored_bytes if reads else 0.0,
        items_per_core_s=sample.per_core_s,
        storage_bytes_per_s=rate,
        shared=workload.data_storage is Storage.SHARED,
        prefetched=workers != 0,
        cores=UNLIMITED if vcpus is None else host_cores(float(vcpus), cpu["threads_per_core"]),
        gpus_per_node=float(machine.gpus_per_node),
        cores_per_rank=cpu["cores_per_rank"],
        processes=UNLIMITED if workers is None else float(max(workers, 1) * machine.gpus_per_node),
        read=read,
        prepare=Ends(off["low"], off["high"]),
    )


def host_of(workload: object, machine: Machine, efficiencies: Efficiencies | None = None) -> Host:
    """The host of one node as the run may use it: with the threads that are stated for it, and what its storage gives.

    `efficiencies`: where the rule of thumb stands for a storage of which only the kind is stated.
    """
    host = machine.host
    if isinstance(workload, PreparesData) and workload.vcpus is not None:
        host = replace(host, vcpus=float(workload.vcpus))
    if isinstance(workload, ReadsData) and efficiencies is not None:
        rate, _ = _storage(workload, machine.host, efficiencies)
        nodes = 1 if workload.data_storage is Storage.SHARED else machine.nodes
        if rate < UNLIMITED:
            host = replace(host, storage_bytes_per_s=rate * nodes)
    return host


def waits(feed: Feed, node_items: Number, reading_nodes: Number, busy_s: Number) -> Waits:
    """What a step of `busy_s` waits for its data. `node_items`: that one node reads for it."""
    prepares = feed.items_per_core_s > 0 and (_limited(feed.cores) or _limited(feed.processes))
    if not feed.bytes_per_item and not prepares:
        return NOTHING
    hidden_s = busy_s if feed.prefetched else 0.0
    read: Number = 0.0
    prepare: Number = 0.0
    if feed.bytes_per_item:
        rate = feed.storage_bytes_per_s
        if feed.shared:
            rate = shared_read_rate(rate, reading_nodes)
        read = read_wait_seconds(data_read_seconds(node_items, feed.bytes_per_item, rate), hidden_s)
    if prepares:
        beside = cores_beside(feed.cores, feed.gpus_per_node, feed.cores_per_rank, feed.processes)
        prepare = prepare_wait_seconds(node_items, feed.items_per_core_s, beside, hidden_s, feed.cores, feed.processes)
    whole = data_wait_seconds(read, prepare, 1.0 if feed.prefetched else 0.0)
    if not feed.prefetched:
        return Waits(read, prepare, whole)
    return Waits(where(read >= prepare, read, 0.0), where(read < prepare, prepare, 0.0), whole)


def _limited(value: Number) -> bool:
    return isinstance(value, np.ndarray) or value < UNLIMITED


@dataclass(frozen=True, slots=True)
class Fed:
    """A step with what it waits for: its seconds, how far off they are, and the parts that are waiting."""

    seconds: Number
    spread: Spread
    parts: tuple[Part, ...]


def fed_items(feed: Feed, items: float, machine: Machine, busy_s: Number, spread: Spread) -> Fed:
    """A step of work in items: `items` of one GPU, each of its own. `busy_s`, `spread`: of the step without data."""
    each = items_of_node(items, float(machine.gpus_per_node))
    nodes = float(machine.nodes)
    found = waits(feed, each, nodes, busy_s)
    whole = fed_step_seconds(busy_s, found.whole) if found.whole else busy_s
    return Fed(
        whole, fed_spread(feed, each, nodes, busy_s, spread), wait_parts(feed, each, nodes, busy_s, spread, found)
    )


def fed_spread(feed: Feed, node_items: Number, reading_nodes: Number, busy_s: Number, spread: Spread) -> Spread:
    """How far off a step is with its data: the spread of the step itself where no end of either makes it wait."""

    def whole(busy: float, read: float, prepare: float) -> float:
        return busy + float(waits(_slower(feed, read, prepare), node_items, reading_nodes, busy).whole)

    busy = float(busy_s)
    with unrecorded():
        high = whole(busy * spread.high, feed.read.high, feed.prepare.high)
        if high <= busy * spread.high:
            return spread
        value = whole(busy, 1.0, 1.0)
        low = whole(busy * spread.low, feed.read.low, feed.prepare.low)
    rung = Rung.ROOFLINE if value > busy else spread.rung
    return Spread(low / value, high / value, rung, msg("data.why"))


def wait_parts(
    feed: Feed, node_items: Number, reading_nodes: Number, busy_s: Number, spread: Spread, found: Waits
) -> tuple[Part, ...]:
    """The parts of a step that are waiting, each between the ends of what it waits for and of the step itself.

    Of two that wait at the same time the longer one is told; its own ends are told, whether or not the other one would
    be the longer one there.
    """

    def ends(alone: Feed, of: Ends) -> tuple[float, float]:
        with unrecorded():
            least = waits(_slower(alone, of.low), node_items, reading_nodes, float(busy_s) * spread.high)
            most = waits(_slower(alone, of.high), node_items, reading_nodes, float(busy_s) * spread.low)
        return float(least.whole), float(most.whole)

    shown = (
        (READ, found.read, feed.bytes_per_item, 0.0, feed.read),
        (PREPARE, found.prepare, 0.0, feed.items_per_core_s, feed.prepare),
    )
    return tuple(
        Part(name, _rule(cast(float, value), *ends(_feeding(feed, each, per_core), of)), LIMITS[name])
        for name, value, each, per_core, of in shown
        if value > 0
    )


def _rule(value: float, low: float, high: float) -> Figure:
    return Figure(value, Unit.SECOND, Certainty.RULE, low, high, Rung.ROOFLINE, msg("data.why"))


def _slower(feed: Feed, read: float, prepare: float | None = None) -> Feed:
    """The same feed where reading takes so many times as long, and preparing so many or as many."""
    slower = feed.items_per_core_s / (read if prepare is None else prepare)
    return _feeding(feed, feed.bytes_per_item * read, slower)


def _feeding(feed: Feed, bytes_per_item: float, items_per_core_s: float) -> Feed:
    """The same feed of other items."""
    return Feed(
        bytes_per_item=bytes_per_item,
        items_per_core_s=items_per_core_s,
        storage_bytes_per_s=feed.storage_bytes_per_s,
        shared=feed.shared,
        prefetched=feed.prefetched,
        cores=feed.cores,
        gpus_per_node=feed.gpus_per_node,
        cores_per_rank=feed.cores_per_rank,
        processes=feed.processes,
        read=feed.read,
        prepare=feed.prepare,
    )


def _storage(workload: ReadsData, host: Host, efficiencies: Efficiencies) -> tuple[float, Ends]:
    """What the storage gives to one node (all of them, where it is shared), and the ends of reading times.

    What the plan says, else what the offer says of its own drives, else the rule of thumb for that kind of storage.
    """
    stated = workload.storage_bytes_per_s
    if stated is None and workload.data_storage is Storage.LOCAL:
        stated = host.local_bytes_per_s
    if stated is not None:
        off = efficiencies.constants(HOST, "reading range")
        return stated, Ends(off["low"], off["high"])
    if workload.data_storage is None:
        return UNLIMITED, Ends(1.0, 1.0)
    rule = efficiencies.constants(STORAGES, f"storage {workload.data_storage.value}")
    rate = rule["storage_bytes_per_s"]
    return rate, Ends(rate / rule["high"], rate / rule["low"])
