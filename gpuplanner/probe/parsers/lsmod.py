"""`lsmod`, and `modinfo` of one module: the kernel's modules."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import KernelModule
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading, number, whole

_HEADER = re.compile(r"^Module[ \t]{1,40}Size[ \t]{1,8}Used by[ \t]*$")
_ROW = re.compile(r"^([\w-]{1,60})[ \t]{1,60}(\d{1,12})[ \t]{1,8}(-?\d{1,6})(?:[ \t]{1,4}([\w,-]{0,2000}))?[ \t]*$")


def recognise(output: Output) -> int:
    """By its header."""
    return CERTAIN if output.has(_HEADER, "Used by") else NO


def parse(output: Output) -> Parsed:
    """A module a row, with those that need it."""
    modules = []
    below = False
    for line in output.lines:
        if _HEADER.match(line.text):
            below = True
        elif below and (match := _ROW.match(line.text)):
            reading = Reading(output)
            reading.put("name", match[1], line)
            reading.take("size_bytes", match[2], number, line)
            reading.take("used_by", match[3], whole, line)
            reading.put("holders", tuple(filter(None, (match[4] or "").split(","))), line)
            modules.append(reading.made(KernelModule))
    return Parsed(Evidence(modules=tuple(modules), looked_for=frozenset({"modules"})))


PARSER = Parser("lsmod", recognise, parse)
