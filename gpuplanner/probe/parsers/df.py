"""`df` in any unit, with or without types; also as `df -B1 --output=…` prints it."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Limits, Mount
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading, number, size_bytes, words

_HEADER = re.compile(
    r"^Filesystem[ \t]{1,200}(?:Type[ \t]{1,40})?"
    r"(?P<unit>1-blocks|1B-blocks|1K-blocks|1024-blocks|512-blocks|1M-blocks|Size)[ \t]{1,40}Used[ \t]{1,40}Avail"
)
_UNITS = {
    "1-blocks": 1,
    "1B-blocks": 1,
    "1K-blocks": 1024,
    "1024-blocks": 1024,
    "512-blocks": 512,
    "1M-blocks": 1 << 20,
}
_SHARED = "/dev/shm"  # noqa: S108 (the name of a mount, nothing is written)
_PERCENT = re.compile(r"[ \t](\d{1,3}%|-)[ \t]{1,8}(/.*)$")


def recognise(output: Output) -> int:
    """By its header."""
    return CERTAIN if output.has(_HEADER, "Filesystem") else NO


def parse(output: Output) -> Parsed:
    """A mount a row; of `/dev/shm` its size is a limit of a process too."""
    mounts: list[Mount] = []
    limits = Reading(output)
    unit, typed = "", False
    for line in output.lines:
        if header := _HEADER.match(line.text):
            unit, typed = header["unit"], " Type " in line.text
        elif unit and (row := _row(output, line, unit, typed)):
            mounts.append(row)
            if row.target == _SHARED and row.size_bytes is not None:
                limits.put("shm_bytes", row.size_bytes, line)
    shm = limits.made(Limits) if limits else None
    return Parsed(Evidence(mounts=tuple(mounts), limits=shm, looked_for=frozenset({"mounts"})))


def _row(output: Output, line: Line, unit: str, typed: bool) -> Mount | None:
    """A row from its end: names of devices may hold spaces, percent and target stand last."""
    match = _PERCENT.search(line.text)
    if not match:
        return None
    before = line.text[: match.start()].split()
    if len(before) < 4 + typed:
        return None
    reading = Reading(output)
    reading.take("target", match[2], words, line)
    reading.take("used_percent", match[1], number, line)
    for name, text in zip(("size_bytes", "used_bytes", "free_bytes"), before[-3:], strict=True):
        if unit == "Size":
            reading.take(name, text, size_bytes, line)
        else:
            reading.take(name, text, lambda cell: number(cell) * _UNITS[unit], line)
    if typed:
        reading.take("kind", before[-4], words, line)
    reading.take("source", " ".join(before[: -4 if typed else -3]), words, line)
    return reading.made(Mount)


PARSER = Parser("df", recognise, parse)
