"""What a person should know of a run that waits for its data, and what would change it. Estimates nothing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Estimate, HostNeed
from gpuplanner.engine.feed import LIMITS, PREPARE, READ, STORAGES
from gpuplanner.engine.formulas.data import data_bytes_per_s
from gpuplanner.engine.host import TABLE, Duty, without_waiting
from gpuplanner.engine.proposals import Changes
from gpuplanner.messages import Message, msg
from gpuplanner.units import Display, Unit, percent, show
from gpuplanner.workload.reads_data import PreparesData, ReadsData, Storage
from gpuplanner.workload.training import Training, TrainingData
from gpuplanner.workload.vision import Vision, VisionData

TOLD_SHARE = 0.02
"""From this share of a step on it is worth saying that it waits for its data."""
USUAL_THREADS = 16
"""Of a machine for one GPU: what asks for more is worth saying where nothing is known of its CPU."""
MOST_WORKERS = 64
"""More for one GPU only take memory."""


def data_remarks(
    made: Estimate, duty: Duty, needs: Sequence[HostNeed], efficiencies: Efficiencies
) -> Iterator[Message]:
    """What the run waits for, and what would have to be known to tell."""
    work = made.plan.workload
    if not isinstance(work, ReadsData) or not made.time:
        return
    duty = without_waiting(duty, made.time)
    read, prepare = (_share(made, part) for part in LIMITS)
    yield from _of_storage(made, read, duty, {need.id: need for need in needs}, efficiencies)
    if isinstance(work, PreparesData):
        yield from _of_cpu(made, work, prepare, duty, next(need for need in needs if need.id == "vcpus"))
        if work.workers == 0 and read + prepare > TOLD_SHARE:
            yield msg("data.no_workers")


def _of_storage(
    made: Estimate,
    share: float,
    duty: Duty,
    needs: Mapping[str, HostNeed],
    efficiencies: Efficiencies,
) -> Iterator[Message]:
    rate = _data_rate(duty, efficiencies)
    stated = needs["storage_rate"].offered
    slowest = efficiencies.constants(STORAGES, f"storage {Storage.NETWORK.value}")["low"]
    if stated is not None and not rate:
        yield msg("data.nothing_to_read")
    elif share > TOLD_SHARE:
        yield msg("data.waits_for_storage", share=percent(share), rate=_said(rate))
    elif stated is not None and not share:
        yield msg("data.storage_enough", rate=_said(stated))
    elif stated is None and rate > slowest * made.machine.nodes:
        yield msg("data.storage_not_stated", rate=_said(rate))


def _of_cpu(made: Estimate, work: PreparesData, share: float, duty: Duty, threads: HostNeed) -> Iterator[Message]:
    if not duty.items_per_core_s:
        if work.workers is not None:
            yield msg("data.nothing_to_prepare")
    elif share > TOLD_SHARE:
        yield _waits_for_cpu(made, work, share, threads)
    elif share:
        return
    elif work.workers is not None or work.vcpus is not None:
        yield msg("data.cpu_enough")
    elif threads.offered is None and threads.need.value > USUAL_THREADS * made.machine.gpus_per_node:
        yield msg("data.threads_not_known", threads=f"{threads.need.value:,.0f}")


def _waits_for_cpu(made: Estimate, work: PreparesData, share: float, threads: HostNeed) -> Message:
    """Too few processes, or too few cores for them."""
    if work.workers is not None:
        busy = max(work.workers, 1) * made.machine.gpus_per_node
        if threads.offered is None or busy < threads.offered / 2:
            return msg("data.waits_for_workers", share=percent(share), workers=work.workers)
    return msg("data.waits_for_cpu", share=percent(share), threads=f"{threads.need.value:,.0f}")


def _data_rate(duty: Duty, efficiencies: Efficiencies) -> float:
    """What the data alone ask of the storage, all nodes together."""
    if duty.bytes_per_item:
        return float(data_bytes_per_s(duty.items_per_s, duty.bytes_per_item))
    return float(data_bytes_per_s(duty.tokens_per_s, efficiencies.constants(TABLE, "storage")["bytes_per_token"]))


def _share(made: Estimate, part: str) -> float:
    """Of the step, what it waits for one thing."""
    whole = sum(each.figure.value for each in made.time)
    return sum(each.figure.value for each in made.time if each.id == part) / whole


def _said(rate: float) -> str:
    return str(show(rate, Unit.BYTE_PER_S, Display()))


def with_data_changes(changes: Changes) -> Changes:
    """The changes of a kind whose work reads data: where a goal is missed, first what lets it wait less for them."""

    def both(made: Estimate, work: Any) -> Iterator[tuple[Message, dict[str, Any]]]:
        if made.unmet and made.time:
            yield from _data_changes(made, work)
        yield from changes(made, work)

    return both


def _data_changes(made: Estimate, work: Any) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Where a step waits for storage, other storage; where it waits for the CPU, more of it or less work for it."""
    if _share(made, READ) > 0:
        if work.data_storage is not Storage.LOCAL:
            yield msg("change.local_storage"), {"data_storage": Storage.LOCAL, "storage_bytes_per_s": None}
        yield from _faster_storage(made, work)
    if _share(made, PREPARE) <= 0:
        return
    if isinstance(work, PreparesData):
        yield from _more_workers(work)
        has = made.machine.host.vcpus
        if work.vcpus is not None and has is not None and has > work.vcpus:
            yield msg("change.vcpus", count=int(has)), {"vcpus": int(has)}
    if isinstance(work, Vision) and work.data is VisionData.CPU:
        yield msg("change.decode_on_gpu"), {"data": VisionData.GPU}
    if isinstance(work, Training) and work.data is TrainingData.TEXT:
        yield msg("change.tokenised"), {"data": TrainingData.TOKENS}


def _faster_storage(made: Estimate, work: ReadsData) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Twice and more times the rate that is counted with now."""
    shared = work.data_storage is Storage.SHARED
    rate = next((need.offered for need in made.host if need.id == "storage_rate"), None)
    if rate is None:
        return
    each = rate if shared else rate / made.machine.nodes
    for times in (2, 4, 8, 16):
        name = "change.shared_storage_rate" if shared else "change.storage_rate"
        yield msg(name, rate=_said(each * times)), {"storage_bytes_per_s": each * times}


def _more_workers(work: PreparesData) -> Iterator[tuple[Message, dict[str, Any]]]:
    more = 2 * max(work.workers, 1) if work.workers is not None else MOST_WORKERS + 1
    while more <= MOST_WORKERS:
        yield msg("change.workers", count=more), {"workers": more}
        more *= 2
