"""How long the weights take to load from a given storage, and a replica to start from nothing."""

from dataclasses import dataclass

from gpuplanner.engine.answers.answer import Answer, Line
from gpuplanner.engine.answers.asking import Asking, plain
from gpuplanner.engine.answers.working import worked
from gpuplanner.engine.formulas.answers_time import (
    cold_start_seconds,
    files_read_bytes,
    weight_copy_seconds,
    weight_load_seconds,
    weight_read_seconds,
)
from gpuplanner.engine.formulas.data import shared_read_rate
from gpuplanner.engine.links import host_link_bytes_per_s
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Display, Unit, show, show_duration
from gpuplanner.workload.reads_data import Storage
from gpuplanner.workload.serving import Serving

PAGEABLE_SHARE = 0.3
"""Of its link, what a copy from memory that is not pinned reaches at least."""


@dataclass(frozen=True, slots=True)
class Loading:
    """What the question is asked with. `bytes_per_s`: what one node reads, or all nodes together of a shared storage,
    typed in; None: the rule of thumb. `readers`: how often a node reads each file; None: once, where the files fit into
    the host's memory as far as that is known, else once for each GPU's process.
    """

    storage: Storage = Storage.LOCAL
    bytes_per_s: float | None = None
    process_start_s: float | None = None
    engine_start_s: float | None = None
    readers: float | None = None

    def __call__(self, asking: Asking) -> Answer:
        """The answer: reading, copying to the GPUs, and the whole start."""
        started = cold_start(asking, self)
        parts = ("weights", "read_bytes", "rate", "read", "copy", "load", "process", "engine", "cold_start")
        lines = tuple(Line(f"load.{name}", started.get(name)) for name in parts if name in started)
        load, whole = started["load"], started.get("cold_start")
        says = msg("answers.load.says", load=str(show_duration(load.value)), storage=storage_name(self.storage))
        if whole is not None:
            says = msg("answers.load.says_cold", first=says, cold=str(show_duration(whole.value)))
        unknown = [msg("answers.load.image_unknown")] if whole is not None else []
        if "copy" not in started:
            unknown.append(msg("answers.load.link_unknown", gpu=asking.machine.gpu.name))
        again = "read_bytes" in started
        remarks = [msg("answers.load.not_cached" if again else "answers.load.again")]
        if self.bytes_per_s is None:
            rate = str(show(started["rate"].value, Unit.BYTE_PER_S, Display()))
            remarks.append(msg("answers.load.rule_rate", rate=rate))
        if asking.machine.nodes > 1:
            remarks.append(msg("answers.load.each_node", nodes=asking.machine.nodes))
        return Answer("load", says, lines, unknown=tuple(unknown), remarks=tuple(remarks))


def storage_name(storage: Storage) -> Message:
    """What a storage is called."""
    return msg(f"answers.storage.{storage.value}")


def cold_start(asking: Asking, given: Loading) -> dict[str, Figure]:
    """The figures of a start by name; without those of a server where the plan is no serving plan.

    Raises InputError for plans that have no weights to load.
    """
    size = _weight_bytes(asking)
    rate = asking.typed_or_rule(
        given.bytes_per_s, f"storage {given.storage.value}", "storage_bytes_per_s", Unit.BYTE_PER_S
    )
    if given.storage is Storage.SHARED:
        rate = worked(shared_read_rate, rate, plain(float(asking.machine.nodes), Unit.COUNT))
    found = {"weights": size, "rate": rate}
    readers = _readers(asking, given, size)
    if readers is not None:
        found["read_bytes"] = worked(files_read_bytes, size, readers)
    found["read"] = worked(weight_read_seconds, found.get("read_bytes", size), rate)
    made = asking.base
    held = next((part.figure for part in made.memory.phases[0].parts if part.id in {"weights", "base"}), None)
    try:
        link = host_link_bytes_per_s(asking.machine.gpu)
    except MissingFactError:
        link = None
    if held is not None and link is not None:
        found["copy"] = worked(weight_copy_seconds, held, _reached(link))
        found["load"] = worked(weight_load_seconds, found["read"], found["copy"])
    else:
        found["load"] = found["read"]
    workload = asking.plan.workload
    if isinstance(workload, Serving):
        eager = "engine eager" if workload.eager else "engine"
        found["process"] = asking.typed_or_rule(given.process_start_s, "process", "process_start_s", Unit.SECOND)
        found["engine"] = asking.typed_or_rule(given.engine_start_s, eager, "engine_start_s", Unit.SECOND)
        found["cold_start"] = worked(cold_start_seconds, found["process"], found["load"], found["engine"])
    return found


def _readers(asking: Asking, given: Loading, size: Figure) -> Figure | None:
    """How often a node reads each file; None for once, from which on it comes from the page cache."""
    if given.readers is not None:
        return asking.typed("readers", given.readers, Unit.COUNT) if given.readers > 1 else None
    memory, processes = asking.machine.host.ram_bytes, asking.machine.gpus_per_node
    if memory is None or memory >= size.value or processes == 1:
        return None
    return plain(float(processes), Unit.COUNT)


def _reached(link_bytes_per_s: float) -> Figure:
    """What copies to a GPU reach of its link: all of it from pinned memory, a part from files mapped into memory."""
    least = PAGEABLE_SHARE * link_bytes_per_s
    why = msg("answers.load.why_pinned")
    return Figure(link_bytes_per_s, Unit.BYTE_PER_S, Certainty.RULE, least, link_bytes_per_s, why=why)


def _weight_bytes(asking: Asking) -> Figure:
    size = asking.duty(asking.base).weight_file_bytes
    if size <= 0:
        raise InputError(msg("answers.load.no_weights"))
    return plain(size, Unit.BYTE)
