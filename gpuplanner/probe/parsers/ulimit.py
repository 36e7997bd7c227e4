"""The limits of a process: `ulimit -a` of a shell, and `/proc/self/limits` with its soft limit."""

import re
from functools import partial
from itertools import islice

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Limits
from gpuplanner.probe.output import MOST_TRIED, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading, number

UNLIMITED = -1.0
_SHELL = re.compile(
    r"^(?P<name>[a-z][\w -]{2,40}?)[ \t]{1,40}\((?:(?P<unit>[\w -]{1,20}), )?-(?P<flag>\w)\)"
    r"[ \t]{1,8}(?P<value>\S{1,24})$"
)
_PROCESS = re.compile(
    r"^Max (?P<name>[a-z][\w ]{2,24}?)[ \t]{2,40}(?P<value>unlimited|\d{1,20})[ \t]{1,40}(?:unlimited|\d{1,20})"
)
_FLAGS = {"l": "locked_bytes", "n": "open_files", "u": "processes", "s": "stack_bytes"}
_NAMES = {
    "locked memory": "locked_bytes",
    "open files": "open_files",
    "processes": "processes",
    "stack size": "stack_bytes",
}
_UNITS = {"kbytes": 1024.0, "512 bytes": 512.0, "bytes": 1.0, "blocks": 1024.0}


def recognise(output: Output) -> int:
    """By two rows or more of either form."""
    rows = islice(output.holding("Max ", ", -", "(-"), MOST_TRIED)
    found = (line for line in rows if _SHELL.match(line.text) or _PROCESS.match(line.text))
    return CERTAIN if len(list(islice(found, 2))) > 1 else NO


def parse(output: Output) -> Parsed:
    """Bytes and counts; -1 is "unlimited"."""
    reading = Reading(output)
    for line in output.lines:
        if match := _SHELL.match(line.text):
            name, factor = _FLAGS.get(match["flag"]), _UNITS.get(match["unit"] or "", 1.0)
        elif match := _PROCESS.match(line.text):
            name, factor = _NAMES.get(match["name"].strip()), 1.0
        else:
            continue
        if name is None:
            continue
        if match["value"] == "unlimited":
            reading.put(name, UNLIMITED, line)
        else:
            reading.take(name, match["value"], partial(_scaled, factor), line)
    return Parsed(Evidence(limits=reading.made(Limits), looked_for=frozenset({"limits"})))


def _scaled(factor: float, text: str) -> float:
    return number(text) * factor


PARSER = Parser("ulimit", recognise, parse)
