"""Opening a file that a person gave as a model: only regular files, only as much as is needed. Knows no format."""

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from gpuplanner.messages import InputError, MessageValue, msg, on_one_line, shortened
from gpuplanner.workload.json_places import line_of_long_number, line_too_deep

_LARGEST_NAME = 80


class ModelFile:
    """An open file with its size, read from front to back; every short read is an InputError that names the byte."""

    def __init__(self, name: str, stream: BinaryIO, size: int) -> None:
        self.name = name
        self.size = size
        self._stream = stream

    @property
    def position(self) -> int:
        """The number of the next byte."""
        return self._stream.tell()

    def read(self, count: int) -> bytes:
        """The next `count` bytes. Raises InputError when the file ends before."""
        content = self._stream.read(count) if 0 <= count <= self.size - self.position else b""
        if len(content) != count:
            raise self.cut_off()
        return content

    def ahead(self, most: int) -> bytes:
        """The next bytes, as many as there are, but not more than `most`."""
        return self._stream.read(most)

    def skip(self, count: int) -> None:
        """Go `count` bytes on, or back when it is negative. Raises InputError when the file ends before."""
        if not 0 <= self.position + count <= self.size:
            raise self.cut_off()
        self._stream.seek(count, 1)

    def start(self, count: int) -> bytes:
        """At most the first `count` bytes, after which reading begins at the front again."""
        self._stream.seek(0)
        content = self._stream.read(count)
        self._stream.seek(0)
        return content

    def cut_off(self) -> InputError:
        """The error for a file that ends too early."""
        return self.refuse("model.file.cut_off", size=self.size)

    def refuse(self, message_id: str, **values: MessageValue) -> InputError:
        """The error for this file."""
        return InputError(msg(message_id, file=self.name, **values))


@contextmanager
def opened(path: Path) -> Iterator[ModelFile]:
    """The file at `path`, if it is a regular one: a pipe or a device is never opened, since that could wait for ever.

    Raises InputError when there is none, it may not be read, or it is something else.
    """
    name = file_name(path)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(msg("model.file.folder", file=name))
        if not stat.S_ISREG(status.st_mode):
            raise InputError(msg("model.file.not_regular", file=name))
        stream = path.open("rb")
    except FileNotFoundError:
        raise InputError(msg("model.file.missing", file=name)) from None
    except PermissionError:
        raise InputError(msg("model.file.permission", file=name)) from None
    except OSError as error:
        raise InputError(msg("model.file.unreadable", file=name, why=error.strerror or str(error))) from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(msg("model.file.missing", file=name)) from None  # a name that no file can have
    with stream:
        try:
            yield ModelFile(name, stream, status.st_size)
        except OSError as error:  # a bad sector, a share that went away
            raise InputError(msg("model.file.unreadable", file=name, why=error.strerror or str(error))) from error


def without_folder(path: Path, inside: str) -> Path:
    """Of a folder that has a file of this name, that file; else the path as it is."""
    try:
        return path / inside if path.is_dir() and (path / inside).exists() else path
    except OSError:  # a name that is too long, a folder that may not be looked into: said when it is opened
        return path


def file_name(path: Path) -> str:
    """The name of a file as it can stand in a sentence: on one line and not too long."""
    return shortened(on_one_line(path.name or str(path)), _LARGEST_NAME)


def json_content(file: ModelFile, content: bytes) -> Any:
    """What JSON text holds. Raises InputError with the place for text that is not JSON, too deep, or names a key twice.

    NaN and Infinity are let through, since real files hold them in fields that nobody reads; a field that is read
    refuses them.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4096]:
        raise file.refuse("model.file.encoding")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise file.refuse("model.file.not_utf8", place=error.start) from None
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise file.refuse("model.file.too_deep", line=line_too_deep(text)) from None
    except _TwiceError as error:
        raise file.refuse("model.file.key_twice", key=error.key) from None
    except json.JSONDecodeError as error:
        raise file.refuse("model.file.not_json", line=error.lineno, column=error.colno) from None
    except ValueError:
        raise file.refuse("model.file.number_too_long", line=line_of_long_number(text)) from None


class _TwiceError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = shortened(key, _LARGEST_NAME)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _TwiceError(key)
            seen.add(key)
    return content
