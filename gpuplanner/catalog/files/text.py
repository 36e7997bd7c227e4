"""The text of a file that a person wrote, whatever its encoding. Refuses what is not text, or far too large."""

import codecs
import stat
from pathlib import Path

from gpuplanner.catalog.problems import Problem, Refused
from gpuplanner.messages import msg
from gpuplanner.units import MB

LARGEST_BYTES = 50 * MB
"""A price list of 100,000 rows has some 20 MB; beyond this a file is something else."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_COMMON_CHARACTERS = range(0xB0, 0xD8)
_COMMON_SHARE = 0.6
"""Of Chinese text so many characters are of the common half of GB 2312; accented Latin letters in pairs are not."""


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises Refused when it cannot be read or is too large to be a file of facts.

    A pipe or a device is never opened, since it could make the app wait for ever.
    """
    try:
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise _refused(path, "overlay.file.not_ordinary")
        if status.st_size > LARGEST_BYTES:
            raise _refused(path, "overlay.file.large", mb=status.st_size / MB, limit=LARGEST_BYTES / MB)
        return path.read_bytes()
    except OSError as error:
        raise _refused(path, "overlay.file.unreadable", reason=error.strerror or type(error).__name__) from error


def decode(content: bytes, path: Path) -> str:
    """The text of a file: UTF-8, UTF-16 with its mark, or the GB 18030 that spreadsheet programs write in China.

    Raises Refused for anything else, since a guess would garble names.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in content:
        raise _refused(path, "overlay.file.binary")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = _chinese(content, path) if encoding == "utf-8" else ""
        if not text:
            raise _refused(path, "overlay.file.encoding") from None
    if "\0" in text:
        raise _refused(path, "overlay.file.binary")
    return text


def _chinese(content: bytes, path: Path) -> str:
    try:
        text = content.decode("gb18030")
    except UnicodeDecodeError:
        raise _refused(path, "overlay.file.encoding") from None
    pairs = [char.encode("gb18030") for char in text if not char.isascii()]
    common = sum(1 for pair in pairs if len(pair) == 2 and pair[0] in _COMMON_CHARACTERS and pair[1] >= 0xA1)
    return text if common >= _COMMON_SHARE * len(pairs) else ""


def _refused(path: Path, message_id: str, **values: str | float) -> Refused:
    return Refused(Problem(path.name, 0, "", msg(message_id, **values)))
