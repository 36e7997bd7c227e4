"""Measures how fast this machine reads its disks, from files that lie there already. Writes nothing, not even a time.

Standard library only, Python 3.6 and later. Files are opened so that the time of their last access stays as it is, and
where that cannot be had they are left alone. File systems of other machines and of memory are left alone too, unless a
person named a folder on one. Raw devices are not read: blocks that were never written are answered without reading.
"""

import glob
import itertools
import mmap
import os
import random
import threading
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from gpuplanner.probe.there.report import Report

LEAST_FILE_BYTES = 16 << 20
LEAST_BYTES = 64 << 20
"""Less than this in all is answered from a device's own memory."""
MOST_READ_BYTES = 8 << 30
MOST_FILES = 64
MOST_DISKS = 2
MOST_NAMES = 50_000
SEARCH_S = 1.5
IN_A_ROW_S = 1.5
AT_RANDOM_S = 0.7
BLOCK_BYTES, SMALL_BLOCK_BYTES = 1 << 20, 4096
READERS = 8
MANY_READERS = 16
_USUAL_PLACES = (
    "~/.cache", "/workspace", "/data*", "/mnt/*", "/scratch*", "/models*", "/opt", "/usr/lib", "/usr/local", "~",
    "/home", "/srv", "/var/lib",
)  # fmt: skip
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs", "proc", "sysfs", "cgroup", "cgroup2", "hugetlbfs", "devpts", "squashfs")
_ELSEWHERE = (
    "nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "9p", "virtiofs", "afs", "glusterfs", "wekafs",
)  # fmt: skip
_PAST_THE_CACHE = ("ext2", "ext3", "ext4", "xfs", "f2fs")
"""Where O_DIRECT reads from the disk whenever opening with it succeeds; elsewhere that is tried out."""
HOURS_23_S = 23 * 3600.0
_DIRECT = getattr(os, "O_DIRECT", 0) if hasattr(os, "preadv") else 0
"""Python 3.6 reads into memory of its own only, which is not where a device may write to."""
_UNTOUCHED = getattr(os, "O_NOATIME", 0)


class File(NamedTuple):
    """A file that is there. `read_s`, `changed_s`: when it was last read and changed, in seconds since 1970.

    `calm`: that no time is written when it is read, however it is opened.
    """

    path: str
    size: int
    owner: int
    read_s: float
    changed_s: float
    calm: bool = False


class Disk(NamedTuple):
    """Files on one file system whose reading changes nothing of them."""

    place: str
    kind: str
    files: List[File]


class Reading:
    """What came of reading for a while. `seconds_each`: of every read; `empty`: reads that gave nothing but zeros."""

    def __init__(self) -> None:
        self.bytes = 0
        self.seconds = 0.0
        self.seconds_each: List[float] = []
        self.empty = 0


def measure_disks(report: Report, places: Sequence[str]) -> None:
    """Read what lies in these folders, or where large files usually lie. Raises Ended."""
    report.progress("disk", None)
    if not hasattr(os, "pread"):
        report.failed("not_supported", "this system's Python cannot read several parts at once", what="disk")
        return
    disks = _disks(report, places)
    if not disks:
        report.failed("no_file", " ".join(places or _USUAL_PLACES), what="disk")
    for disk in disks[:MOST_DISKS]:
        _measure(report, disk)


def _measure(report: Report, disk: Disk) -> None:
    try:
        direct = _opens(disk, _DIRECT) if _DIRECT else False
        first = _read(report, disk, direct, BLOCK_BYTES, READERS, IN_A_ROW_S, in_a_row=True)
        if first.seconds <= 0 or not first.seconds_each:
            report.failed("nothing_read", disk.place, what="disk")
            return
        if 2 * first.empty > len(first.seconds_each):
            report.failed("only_zeros", disk.place, what="disk")
            return
        past = direct and (disk.kind in _PAST_THE_CACHE or _not_cached(disk))
        _told(report, disk, first, "read", BLOCK_BYTES, READERS, past)
        for readers in (1, MANY_READERS):
            found = _read(report, disk, direct, SMALL_BLOCK_BYTES, readers, AT_RANDOM_S, in_a_row=False)
            if found.seconds > 0 and found.seconds_each:
                _told(report, disk, found, "randread", SMALL_BLOCK_BYTES, readers, past)
    except OSError as fault:
        report.failed("not_readable", "%s: %s" % (disk.place, fault.strerror), what="disk")


def _told(report: Report, disk: Disk, found: Reading, operation: str, block: int, readers: int, direct: bool) -> None:
    each = sorted(found.seconds_each)
    report.tell(
        {
            "frame": "result", "kind": "disk", "operation": operation, "block_bytes": block, "queue_depth": readers,
            "direct": direct, "gb_per_s": found.bytes / found.seconds / 1e9,
            "operations_per_s": len(each) / found.seconds, "latency_mean_us": sum(each) / len(each) * 1e6,
            "latency_p99_us": each[min(len(each) - 1, len(each) * 99 // 100)] * 1e6, "seconds": found.seconds,
            "path": disk.place, "job": "%d files, %s" % (len(disk.files), disk.kind or "unknown file system"),
        }
    )  # fmt: skip


# --- What there is to read ----------------------------------------------------------------------------------------


def _disks(report: Report, places: Sequence[str]) -> List[Disk]:
    """Those with most to read first."""
    mounts = _mounts()
    barred = _IN_MEMORY if places else _IN_MEMORY + _ELSEWHERE
    found: Dict[str, List[File]] = {}
    waiting = [os.path.realpath(path) for place in places or _USUAL_PLACES for path in _named(place)]
    seen: Set[str] = set()
    names = at = 0
    end = time.monotonic() + SEARCH_S
    while at < len(waiting) and names < MOST_NAMES and time.monotonic() < end:
        report.leave()
        folder = waiting[at]
        at += 1
        place, kind = _mount_of(folder, mounts)
        # Asking a file system whose machine is away may take for ever.
        if folder in seen or kind in barred or (kind.startswith("fuse") and not places):
            continue
        seen.add(folder)
        count, folders, files = _look(folder)
        names += count
        waiting += folders
        if files:
            found.setdefault(place, []).extend(files)
    disks = []
    for place, files in found.items():
        kept = sorted(_unchanged(place, files), key=lambda file: -file.size)[:MOST_FILES]
        if sum(file.size for file in kept) >= LEAST_BYTES:
            disks.append(Disk(place, mounts.get(place, ""), kept))
    return sorted(disks, key=lambda disk: -sum(file.size for file in disk.files))


def _named(place: str) -> List[str]:
    path = os.path.expanduser(place)
    return sorted(glob.glob(path)) if "*" in path else [path]


def _look(folder: str) -> Tuple[int, List[str], List[File]]:
    """How many names a folder has, its folders, and its large files that can be read."""
    names, folders, files = 0, [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    told = entry.stat(follow_symlinks=False)
                    # A file with holes gives zeros without reading.
                    whole = getattr(told, "st_blocks", told.st_size // 512) * 512 >= told.st_size * 0.9
                    if told.st_size >= LEAST_FILE_BYTES and whole and os.access(entry.path, os.R_OK):
                        changed = max(told.st_mtime, told.st_ctime)
                        files.append(File(entry.path, told.st_size, told.st_uid, told.st_atime, changed))
    except OSError:
        return names, folders, files
    return names, sorted(folders), files


def _mounts() -> Dict[str, str]:
    """File systems by the folder where they begin. Empty where the system does not say it."""
    mounts: Dict[str, str] = {}
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                before, _, after = line.partition(" - ")
                words = before.split()
                if len(words) > 4 and after:
                    mounts[words[4].replace("\\040", " ")] = after.split()[0]
    except OSError:
        return {}
    return mounts


def _mount_of(path: str, mounts: Dict[str, str]) -> Tuple[str, str]:
    """Where the file system of a path begins, and its kind."""
    while path not in mounts:
        above = os.path.dirname(path)
        if above == path:
            return path, ""
        path = above
    return path, mounts[path]


def _unchanged(place: str, files: Sequence[File]) -> List[File]:
    """Those whose time of last access stays as it is when they are read."""
    try:
        flags = os.statvfs(place).f_flag
    except (AttributeError, OSError):
        flags = 0
    if flags & (getattr(os, "ST_NOATIME", 0) | getattr(os, "ST_RDONLY", 0)):
        return [file._replace(calm=True) for file in files]
    user = os.geteuid() if hasattr(os, "geteuid") else -1
    kept = [file for file in files if _UNTOUCHED and user in (0, file.owner)]
    if flags & getattr(os, "ST_RELATIME", 0):
        # The time is written only where it lies before the last change, or a day back.
        now = time.time()
        kept += [
            file._replace(calm=True) for file in files
            if user not in (0, file.owner) and file.read_s > file.changed_s and now - file.read_s < HOURS_23_S
        ]  # fmt: skip
    return kept


# --- Reading ------------------------------------------------------------------------------------------------------


def _open(file: File, more: int) -> int:
    """A file opened for reading such that nothing of it changes. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | more
    return os.open(file.path, flags if file.calm else flags | _UNTOUCHED)


def _opens(disk: Disk, more: int) -> bool:
    """Whether the first file that can be read can be read in this way too."""
    for file in disk.files:
        try:
            os.close(_open(file, 0))
        except OSError:
            continue
        try:
            handle = _open(file, more)
        except OSError:
            return False
        try:
            with os.fdopen(handle, "rb", buffering=0) as stream, mmap.mmap(-1, SMALL_BLOCK_BYTES) as space:
                return stream.readinto(space) == SMALL_BLOCK_BYTES
        except OSError:
            return False
    return False


def _not_cached(disk: Disk) -> bool:
    """Whether what was just read past the cache is in it all the same, by asking for it without waiting."""
    without_waiting = getattr(os, "RWF_NOWAIT", None)
    if without_waiting is None:
        return False
    cached = asked = 0
    for file in disk.files[:4]:
        try:
            with os.fdopen(_open(file, 0), "rb", buffering=0) as stream:
                for at in range(4):
                    asked += 1
                    try:
                        space = bytearray(SMALL_BLOCK_BYTES)
                        offset = at * file.size // 4 // BLOCK_BYTES * BLOCK_BYTES
                        cached += os.preadv(stream.fileno(), [space], offset, without_waiting) > 0
                    except BlockingIOError:
                        continue
        except OSError:
            return False
    return 2 * cached < asked


class _Blocks:
    """Which block is read next, one reader after the other."""

    def __init__(self, files: Sequence[File], block: int, in_a_row: bool) -> None:
        self._lock = threading.Lock()
        self._files = files
        self._block = block
        self._in_a_row = in_a_row
        self._counts = [file.size // block for file in files]
        self._sums = list(itertools.accumulate(self._counts))
        self._at = 0
        self._file = 0
        self._given = 0

    def next(self) -> Optional[Tuple[int, int]]:
        """The number of a file and a position in it; None at the end."""
        if not self._in_a_row:
            file = random.choices(range(len(self._files)), cum_weights=self._sums)[0]  # noqa: S311 (where to read next is no secret)
            return file, random.randrange(self._counts[file]) * self._block  # noqa: S311 (no secret either)
        with self._lock:
            while self._file < len(self._files) and self._at >= self._counts[self._file]:
                self._file, self._at = self._file + 1, 0
            if self._file == len(self._files) or self._given >= MOST_READ_BYTES:
                return None
            self._given += self._block
            self._at += 1
            return self._file, (self._at - 1) * self._block


def _read(
    report: Report, disk: Disk, direct: bool, block: int, readers: int, seconds: float, *, in_a_row: bool
) -> Reading:  # fmt: skip
    """Read with so many readers at once. Raises Ended, and OSError where no file can be opened."""
    report.leave()
    files, handles = _opened(disk, direct)
    total = Reading()
    blocks = _Blocks(files, block, in_a_row)
    lock = threading.Lock()
    began = time.perf_counter()
    end = began + seconds

    def work() -> None:
        own = Reading()
        with mmap.mmap(-1, block) as space:
            nothing = bytes(SMALL_BLOCK_BYTES)
            while not report.stop.is_set():
                at = time.perf_counter()
                place = blocks.next() if at < end else None
                if place is None:
                    break
                try:
                    came = _read_at(handles[place[0]], space, place[1])
                except OSError:
                    break
                own.seconds_each.append(time.perf_counter() - at)
                own.bytes += came
                own.empty += space[:SMALL_BLOCK_BYTES] == nothing
        with lock:
            total.bytes += own.bytes
            total.seconds_each += own.seconds_each
            total.empty += own.empty
            total.seconds = max(total.seconds, time.perf_counter() - began)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(readers)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for handle in handles:
            os.close(handle)
    report.leave()
    return total


def _opened(disk: Disk, direct: bool) -> Tuple[List[File], List[int]]:
    """The files that can be opened. Raises OSError where none can."""
    files: List[File] = []
    handles: List[int] = []
    fault: Optional[OSError] = None
    for file in disk.files:
        try:
            handles.append(_open(file, _DIRECT if direct else 0))
            files.append(file)
        except OSError as failed:
            fault = failed
    if fault is not None and not handles:
        raise fault
    return files, handles


def _read_at(handle: int, space: Any, position: int) -> int:
    if hasattr(os, "preadv"):
        return int(os.preadv(handle, [space], position))
    return len(os.pread(handle, len(space), position))
