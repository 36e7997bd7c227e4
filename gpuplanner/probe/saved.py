"""Files that somebody saved on a machine: one file, a folder of them, an archive, or a recording.

Nothing is unpacked to the disk, and no name inside an archive is ever opened as a path.
"""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO

from gpuplanner.messages import InputError, Message, msg, on_one_line, shortened
from gpuplanner.probe.nsight import summary
from gpuplanner.probe.nsight.database import MAGIC
from gpuplanner.probe.output import LARGEST_BYTES, Output
from gpuplanner.probe.recording import is_recording, read_recording

MOST_FILES = 2_000
MOST_BYTES = 500_000_000
"""Of one folder or archive, unpacked: the logs of a large machine; more is an archive made to fill a memory."""
_ZIP, _GZIP, _XZ, _BZ2 = b"PK\x03\x04", b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh"
_FAULTS = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)


def outputs_of(path: Path) -> list[Output]:
    """The outputs that a path holds. Raises InputError naming the path and what is wrong with it."""
    name = shortened(on_one_line(path.name or str(path)), 80)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            return _limited(_folder(path), name)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(msg("probe.saved.not_a_file", file=name))
        with path.open("rb") as stream:
            start = stream.read(tarfile.BLOCKSIZE)
        if start.startswith((_ZIP, _GZIP, _XZ, _BZ2)) or _begins_a_tar(start):
            return _limited(_archive(path, start), name)
        if start.startswith(MAGIC):
            return outputs_in(summary.of_file(path).encode(), path.name)
        with path.open("rb") as stream:
            return outputs_in(stream.read(LARGEST_BYTES + 1), path.name)
    except FileNotFoundError:
        raise InputError(msg("probe.saved.missing", file=name)) from None
    except (*_FAULTS, ValueError) as fault:
        if isinstance(fault, InputError):
            raise
        raise InputError(_cannot_read(name, fault)) from None


def outputs_in(content: bytes, name: str) -> list[Output]:
    """The outputs of one file's content; of a recording one for each of its commands. Raises InputError.

    Of an export of Nsight Systems, which is a database, the output is its summary.
    """
    name = shortened(on_one_line(name), 120)
    if content.startswith(MAGIC):
        return [Output.of(summary.of_bytes(content), name)]
    if content[:40].lstrip(b"\xef\xbb\xbf \n").startswith(b'{"format":"gpurun/'):
        text = content.decode("utf-8-sig", "replace")
        if is_recording(text):
            return [result.output() for result in read_recording(text, name).results]
    return [Output.of(content, name)]


def _cannot_read(name: str, fault: Exception) -> Message:
    reason = shortened(on_one_line(getattr(fault, "strerror", None) or str(fault) or type(fault).__name__))
    return msg("probe.saved.cannot_read", file=shortened(on_one_line(name), 120), reason=reason)


def _limited(files: Iterator[tuple[str, bytes | Message]], name: str) -> list[Output]:
    """The outputs of all files that can be read; one that cannot be says why in its place, and takes no other along.

    Raises InputError where there are none, or where not one can be read.
    """
    outputs: list[Output] = []
    total = 0
    for at, (inside, content) in enumerate(files):
        total += len(content) if isinstance(content, bytes) else 0
        if at >= MOST_FILES or total > MOST_BYTES:
            raise _too_much(name)
        outputs += _unread(inside, content) if isinstance(content, Message) else _outputs_or_why(content, inside)
    if not outputs:
        raise InputError(msg("probe.saved.empty", file=name))
    if all(output.unread for output in outputs) and (first := outputs[0].unread):
        raise InputError(first)
    return outputs


def _outputs_or_why(content: bytes, name: str) -> list[Output]:
    try:
        return outputs_in(content, name)
    except InputError as fault:
        return _unread(name, fault.message)


def _unread(name: str, why: Message) -> list[Output]:
    return [Output(shortened(on_one_line(name), 120), "", unread=why)]


def _folder(path: Path) -> Iterator[tuple[str, bytes | Message]]:
    """The files below a folder in the order of their names; links are not followed."""
    looked_at = 0
    waiting = [path]
    while waiting:
        inside = waiting.pop()
        looked_at += 1
        if looked_at > 10 * MOST_FILES:
            raise _too_much(shortened(on_one_line(path.name), 80))
        name = inside.relative_to(path).as_posix()
        try:
            if inside != path and inside.is_symlink():
                continue
            if inside.is_dir():
                # One more than may be: of a folder of millions not all names are read before it is refused.
                entries = list(islice(inside.iterdir(), 10 * MOST_FILES + 1))
                waiting += sorted(entries, reverse=True)
            elif inside.is_file():
                yield name, _content(inside)
        except OSError as fault:
            if inside == path:
                raise
            yield name, _cannot_read(name, fault)


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        content = stream.read(LARGEST_BYTES + 1)
    return summary.of_file(path).encode() if content.startswith(MAGIC) else content


class _Unpacked(io.RawIOBase):
    """What unpacking gives, up to `MOST_BYTES`: a few packed kilobytes may hold terabytes, also between two files."""

    def __init__(self, stream: gzip.GzipFile, name: str) -> None:
        self._stream = stream
        self._name = name
        self._given = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises InputError where it is too much."""
        content = self._stream.read(MOST_BYTES + 1 if size < 0 else size)
        self._given += len(content)
        if self._given > MOST_BYTES:
            raise _too_much(self._name)
        return content


def _too_much(name: str) -> InputError:
    return InputError(msg("probe.saved.too_much", file=name, files=MOST_FILES, gigabytes=MOST_BYTES / 10**9))


def _begins_a_tar(start: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(start[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _archive(path: Path, start: bytes) -> Iterator[tuple[str, bytes | Message]]:
    name = shortened(on_one_line(path.name), 80)
    if start.startswith(_ZIP):
        with zipfile.ZipFile(path) as archive:
            if sum(min(entry.file_size, LARGEST_BYTES) for entry in archive.infolist()) > MOST_BYTES:
                raise _too_much(name)
            for entry in archive.infolist():
                if entry.flag_bits & 1:
                    raise InputError(msg("probe.saved.encrypted", file=name))
                if not entry.is_dir():
                    yield _inside(entry.filename), _packed(archive, entry)
    elif start.startswith(_GZIP):
        with gzip.open(path) as packed:
            first = packed.read(tarfile.BLOCKSIZE)
            packed.seek(0)
            if _begins_a_tar(first):
                yield from _members(_Unpacked(packed, name))
            else:
                yield path.stem, packed.read(LARGEST_BYTES + 1)
    elif start.startswith((_XZ, _BZ2)):
        raise InputError(msg("probe.saved.unknown_archive", file=name))
    else:
        with path.open("rb") as plain:
            yield from _members(plain)


def _packed(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes | Message:
    try:
        with archive.open(entry) as stream:
            return stream.read(LARGEST_BYTES + 1)
    except _FAULTS as fault:
        return _cannot_read(_inside(entry.filename), fault)


def _members(stream: IO[bytes] | _Unpacked) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for at, member in enumerate(archive):
            if at > 10 * MOST_FILES:
                return
            content = archive.extractfile(member) if member.isreg() else None
            if content:
                yield _inside(member.name), content.read(LARGEST_BYTES + 1)


def _inside(name: str) -> str:
    """A name inside an archive, for showing only."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in {"/", "..", "."}]
    return "/".join(parts)[-200:]
