"""`/proc/self/mountinfo`: what is mounted where; tells a container by what its root lies on."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Mount
from gpuplanner.probe.output import Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_BEGINS = at_line_start(r"\d{1,9} \d{1,9} \d{1,6}:\d{1,9} /[^\n]{1,4000}")
_ROW = re.compile(
    r"^\d{1,9} \d{1,9} \d{1,6}:\d{1,9} \S{1,1000} (/\S{0,1000}) (\S{1,1000}) "
    r"(?:\S{1,60} ){0,6}- (\S{1,60}) (\S{1,1000})"
)
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How the kernel writes a space in a path."""


def recognise(output: Output) -> int:
    """By the form of a row."""
    return CERTAIN if any(_ROW.match(line.text) for line, _ in output.starting(_BEGINS)) else NO


def parse(output: Output) -> Parsed:
    """A mount a row."""
    mounts = []
    for line, match in output.matching(_ROW):
        reading = Reading(output)
        for name, text in zip(("target", "options", "kind", "source"), match.groups(), strict=True):
            reading.put(name, _OCTAL.sub(lambda found: chr(int(found[1], 8)), text), line)
        mounts.append(reading.made(Mount))
    return Parsed(Evidence(mounts=tuple(mounts), looked_for=frozenset({"mounts"})))


PARSER = Parser("mountinfo", recognise, parse)
