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
from pathlib import Path, PurePosixPath
from typing import IO

from gpuplanner.messages import InputError, msg, on_one_line, shortened
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
        reason = shortened(on_one_line(getattr(fault, "strerror", None) or str(fault) or type(fault).__name__))
        raise InputError(msg("probe.saved.cannot_read", file=name, reason=reason)) from None


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


def _limited(files: Iterator[tuple[str, bytes]], name: str) -> list[Output]:
    outputs: list[Output] = []
    total = 0
    for at, (inside, content) in enumerate(files):
        total += len(content)
        if at >= MOST_FILES or total > MOST_BYTES:
            raise _too_much(name)
        outputs += outputs_in(content, inside)
    if not outputs:
        raise InputError(msg("probe.saved.empty", file=name))
    return outputs


def _folder(path: Path) -> Iterator[tuple[str, bytes]]:
    for at, inside in enumerate(sorted(path.rglob("*"))):
        if at > 10 * MOST_FILES:
            raise _too_much(shortened(on_one_line(path.name), 80))
        if inside.is_symlink() or not inside.is_file():
            continue
        with inside.open("rb") as stream:
            content = stream.read(LARGEST_BYTES + 1)
        if content.startswith(MAGIC):
            content = summary.of_file(inside).encode()
        yield inside.relative_to(path).as_posix(), content


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


def _archive(path: Path, start: bytes) -> Iterator[tuple[str, bytes]]:
    name = shortened(on_one_line(path.name), 80)
    if start.startswith(_ZIP):
        with zipfile.ZipFile(path) as archive:
            if sum(min(entry.file_size, LARGEST_BYTES) for entry in archive.infolist()) > MOST_BYTES:
                raise _too_much(name)
            for entry in archive.infolist():
                if entry.flag_bits & 1:
                    raise InputError(msg("probe.saved.encrypted", file=name))
                if not entry.is_dir():
                    with archive.open(entry) as stream:
                        yield _inside(entry.filename), stream.read(LARGEST_BYTES + 1)
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
