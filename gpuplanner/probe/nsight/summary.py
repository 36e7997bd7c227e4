"""What an export of Nsight Systems says of each GPU, as text: when it was idle, and what the program did then.

The text is what is shown, kept and read by the parser `nsys`; its first line is `HEAD`. Judges nothing.
"""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuplanner.messages import on_one_line, shortened
from gpuplanner.probe.nsight.database import Database
from gpuplanner.probe.nsight.spans import Spans, Times, outermost

HEAD = "Nsight Systems export, summed up by gpuplanner (nsight/1)"
_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_COPIES = ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_SYSTEM = "OSRT_API"
_MOST_GPUS, _MOST_NAMES, _MOST_CALLS = 64, 10, 200
_LONGEST_NAME = 120
_PROCESS_BITS = 24
"""A thread's number in an export has its process's above these bits (documentation of Nsight Systems' exporter)."""
_CORRELATION_BITS = 40
_CORRELATION = 2**_CORRELATION_BITS - 1
_KINDS = (
    ("Synchronize", "synchronization"),
    ("StreamWaitEvent", "synchronization"),
    ("Memcpy", "memory_copy"),
    ("Memset", "memory_copy"),
    ("Malloc", "memory_allocation"),
    ("Free", "memory_allocation"),
    ("MemAlloc", "memory_allocation"),
    ("HostAlloc", "memory_allocation"),
    ("HostRegister", "memory_allocation"),
    ("MemCreate", "memory_allocation"),
    ("MemMap", "memory_allocation"),
    ("Launch", "launch"),
    ("Module", "module_loading"),
    ("Library", "module_loading"),
)
"""What a word in a call's name says of it, the first that fits; the others are "other_cuda_call"."""


def of_file(path: Path) -> str:
    """The summary of an export that lies in a file; why there is none stands in it."""
    return _summed_up(lambda: Database.of_file(path))


def of_bytes(content: bytes) -> str:
    """The summary of an export out of an archive or a pipe."""
    return _summed_up(lambda: Database.of_bytes(content))


def _summed_up(opened: Callable[[], Database]) -> str:
    lines = [HEAD]
    try:
        with contextlib.closing(opened()) as database:
            if not database.tables & {_KERNELS, _GRAPHS, *_COPIES}:
                names = ", ".join(sorted(_plain(name) for name in database.tables)[:_MOST_NAMES])
                return f"SQLite database without a table of Nsight Systems\nTables: {names}\n"
            lines += _lines(database)
            lines[1:1] = [f"Cut: {cut}" for cut in database.cut]
    except (sqlite3.Error, OverflowError, ValueError, MemoryError) as fault:
        lines.append(f"Cannot be read: {_plain(str(fault)) or type(fault).__name__}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Thread:
    """What a thread did: calls of CUDA that no other made, and of the operating system, with their names' numbers."""

    calls: npt.NDArray[np.int64]
    system: npt.NDArray[np.int64]


def _lines(database: Database) -> Iterator[str]:
    kernels = database.numbers(_KERNELS, "start", "end", "deviceId", "correlationId", "globalPid")
    if not len(kernels):
        # Exports of old versions have no process beside a kernel.
        plain = database.numbers(_KERNELS, "start", "end", "deviceId", "correlationId")
        kernels = np.column_stack([plain, np.full(len(plain), -1)]) if len(plain) else kernels
    graphs = database.numbers(_GRAPHS, "start", "end", "deviceId")
    copies = np.concatenate([database.numbers(table, "start", "end", "deviceId") for table in _COPIES])
    calls = database.numbers(_CALLS, "start", "end", "globalTid", "nameId", "correlationId")
    system = database.numbers(_SYSTEM, "start", "end", "globalTid", "nameId")
    ranges = database.ranges()
    whole = not any(table in cut for cut in database.cut for table in (_CALLS, _SYSTEM))
    names = database.gpu_names()
    gpus = np.unique(np.concatenate([kernels[:, 2], graphs[:, 2], copies[:, 2]]))[:_MOST_GPUS]
    for gpu in gpus.tolist():
        ran = np.concatenate([kernels[kernels[:, 2] == gpu][:, :2], graphs[graphs[:, 2] == gpu][:, :2]])
        moved = copies[copies[:, 2] == gpu]
        idle = yield from _use(gpu, names.get(gpu, ""), ran, moved)
        thread = _launching(kernels[kernels[:, 2] == gpu], calls) if whole else None
        if idle is not None and thread is not None:
            mine = calls[calls[:, 2] == thread]
            did = _Thread(mine[outermost(mine[:, 0], mine[:, 1])], system[system[:, 2] == thread])
            yield from _causes(database, idle, did)
            yield from _ranges(idle, [each for each in ranges if each[2] == thread])


def _use(
    gpu: int, name: str, ran: npt.NDArray[np.int64], moved: npt.NDArray[np.int64]
) -> Generator[str, None, Spans | None]:
    """The lines of when a GPU computed. Returns when it was idle, None where it never was."""
    both = np.concatenate([ran[:, :2], moved[:, :2]])
    busy = Spans.together(both[:, 0], both[:, 1])
    idle = busy.between()
    yield f"GPU {gpu}: {_plain(name) or '?'}"
    yield f"  span: {int(busy.ends[-1] - busy.starts[0])} ns"
    yield f"  busy: {busy.total} ns"
    yield f"  in kernels: {Spans.together(ran[:, 0], ran[:, 1]).total} ns"
    yield f"  in copies: {Spans.together(moved[:, 0], moved[:, 1]).total} ns"
    yield f"  idle: {idle.total} ns"
    if len(ran):
        yield f"  kernels: {len(ran)}, median {int(np.median(ran[:, 1] - ran[:, 0]))} ns"
    yield f"  copies: {len(moved)}"
    if not len(idle.starts):
        return None
    yield f"  gaps: {len(idle.starts)}, median {int(np.median(idle.lengths))} ns, longest {int(idle.lengths.max())} ns"
    return idle


def _launching(kernels: npt.NDArray[np.int64], calls: npt.NDArray[np.int64]) -> int | None:
    """The thread that launched the most of a GPU's kernels; None where the export does not tell."""
    if not len(kernels) or not len(calls):
        return None
    known = bool((kernels[:, 4] >= 0).all())
    # A correlation's number is of its process: the two are sorted and looked for together.
    of_calls = calls[:, 2] >> _PROCESS_BITS if known else np.zeros(len(calls), dtype=np.int64)
    of_kernels = kernels[:, 4] >> _PROCESS_BITS if known else np.zeros(len(kernels), dtype=np.int64)
    processes = np.unique(of_calls)
    mine = np.minimum(np.searchsorted(processes, of_kernels), len(processes) - 1)
    kernels, mine = kernels[processes[mine] == of_kernels], mine[processes[mine] == of_kernels]
    keys = (np.searchsorted(processes, of_calls) << _CORRELATION_BITS) + (calls[:, 4] & _CORRELATION)
    order = np.argsort(keys, kind="stable")
    wanted = (mine << _CORRELATION_BITS) + (kernels[:, 3] & _CORRELATION)
    at = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
    threads, counts = np.unique(calls[order[at]][keys[order[at]] == wanted][:, 2], return_counts=True)
    return int(threads[np.argmax(counts)]) if len(threads) else None


def _causes(database: Database, idle: Spans, did: _Thread) -> Iterator[str]:
    """What the launching thread did while the GPU was idle: calls of CUDA, else of the system, else its own work."""
    in_calls = Spans.together(did.calls[:, 0], did.calls[:, 1])
    left = idle.without(in_calls)
    waited = Spans.together(did.system[:, 0], did.system[:, 1])
    alone = left.without(waited)
    by_kind: Counter[str] = Counter()
    most: dict[str, Counter[str]] = {}
    for spans, rows, kind in ((idle, did.calls, ""), (left, did.system, "operating_system")):
        for name, ns in _by_name(database, spans, rows):
            of = kind or _kind(name)
            most.setdefault(of, Counter())[name] += ns
            by_kind[of] += ns
    # Calls of the system may overlap each other, so their time together is that of the union.
    if "operating_system" in by_kind:
        by_kind["operating_system"] = left.total - alone.total
    by_kind["no_cuda_call"] = alone.total
    for kind, ns in by_kind.most_common():
        name = most[kind].most_common(1)[0][0] if kind in most else ""
        if ns:
            yield f"  idle in {kind}: {ns} ns" + (f", most in {_plain(name)}" if name else "")


def _by_name(database: Database, spans: Spans, rows: npt.NDArray[np.int64]) -> Iterator[tuple[str, int]]:
    inside = spans.within(rows[:, 0], rows[:, 1])
    numbers, at = np.unique(rows[:, 3], return_inverse=True)
    sums = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sums, at, inside)
    largest = [int(place) for place in np.argsort(-sums)[:_MOST_CALLS] if sums[place] > 0]
    names = database.texts([int(numbers[place]) for place in largest])
    for place in largest:
        yield names.get(int(numbers[place]), "?"), int(sums[place])


def _kind(name: str) -> str:
    return next((kind for word, kind in _KINDS if word in name), "other_cuda_call")


def _ranges(idle: Spans, ranges: list[tuple[int, int, int, str]]) -> Iterator[str]:
    """Idle time by the innermost range that was open on the thread."""
    if not ranges:
        return
    starts: Times = np.array([start for start, *_ in ranges], dtype=np.int64)
    ends: Times = np.array([end for _, end, *_ in ranges], dtype=np.int64)
    own = idle.within(starts, ends)
    open_now: list[int] = []
    inside = own.copy()
    for place in np.lexsort((-ends, starts)).tolist():
        while open_now and ends[open_now[-1]] <= starts[place]:
            open_now.pop()
        if open_now:
            own[open_now[-1]] -= inside[place]
        open_now.append(place)
    by_name: Counter[str] = Counter()
    for place, (_, _, _, name) in enumerate(ranges):
        by_name[_plain(name)] += max(0, int(own[place]))
    for name, ns in by_name.most_common(_MOST_NAMES):
        if ns:
            yield f"  idle in range: {ns} ns {name or '?'}"


def _plain(text: str) -> str:
    """A name out of a database, for a line of ours."""
    return shortened(" ".join(on_one_line(text).split()), _LONGEST_NAME)
