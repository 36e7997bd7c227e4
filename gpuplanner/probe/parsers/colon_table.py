"""Rows of "name: value", and `head -v`'s sections of one file each: the two forms that most of Linux speaks in."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.values import Reading

Fields = Mapping[str, tuple[str, Callable[[str], Any]]]
"""By the tool's label: the field of the record, and what turns the printed text into its value."""

_ROW = re.compile(r"^[ \t]{0,20}([^:\t]{1,80}?)[ \t]{0,20}:[ \t]{0,80}(.*?)[ \t]*$")
_HEAD = re.compile(r"^==> (/[^\n]{1,400}) <==$")
SECTION = _HEAD
"""The line in front of a file's content as `head -v` and `tail` print it."""


def rows(output: Output) -> Iterator[tuple[Line, str, str]]:
    """Each line that is a row: the line, the label and the value."""
    for line in output.lines:
        if match := _ROW.match(line.text):
            yield line, match[1], match[2]


def read_rows(output: Output, fields: Fields, reading: Reading) -> None:
    """Take every row whose label is known."""
    for line, label, value in rows(output):
        reading.of(fields, label, value, line)


def sections(output: Output) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """Each file of a `head -v`: its path and the lines with something in them, up to the next file."""
    path, held = "", list[Line]()
    for line in output.lines:
        if match := _HEAD.match(line.text):
            if path:
                yield path, tuple(held)
            path, held = match[1], []
        elif line.text.startswith("==> "):
            # A head that is cut off ends the file before it and begins none that is known.
            if path:
                yield path, tuple(held)
            path, held = "", []
        elif path and line.text.strip():
            held.append(line)
    if path:
        yield path, tuple(held)


def cpus_in(text: str) -> int:
    """How many processors a list such as "0-3,8" names; 0 of an empty one. Raises ValueError."""
    count = 0
    for part in text.replace(" ", "").split(","):
        if part:
            first, _, last = part.partition("-")
            count += max(0, int(last or first) - int(first) + 1)
    return count
