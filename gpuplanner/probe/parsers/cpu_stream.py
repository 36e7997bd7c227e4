"""STREAM on processors, McCalpin's own program: the rate of each kernel in the host's memory."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_HEADER = re.compile(r"^Function\s{1,20}Best Rate MB/s\s{1,20}Avg time")
_ROW = re.compile(r"^(Copy|Scale|Add|Triad):\s{1,40}(\d{1,12}(?:\.\d{1,4})?)\s{1,40}\d")
_ARRAY = re.compile(r"^Array size = (\d{1,15}) \(elements\)")
_ELEMENT = re.compile(r"^This system uses (\d{1,2}) bytes per array element")
_MOST_ROWS = 10_000


def recognise(output: Output) -> int:
    """Certain by the header of its table."""
    return CERTAIN if "Best Rate MB/s" in output.text and output.has(_HEADER, "Best Rate MB/s") else NO


def parse(output: Output) -> Parsed:
    """A rate for each kernel; it counts what is read plus what is written, in 10⁶ bytes. `bytes`: of one array."""
    rates: list[Bandwidth] = []
    elements, element_bytes = 0, 0
    for line in output.lines:
        if match := _ELEMENT.match(line.text):
            element_bytes = int(match[1])
        elif match := _ARRAY.match(line.text):
            elements = int(match[1])
        elif (match := _ROW.match(line.text)) and len(rates) < _MOST_ROWS:
            reading = Reading(output)
            reading.put("method", match[1].lower(), line)
            reading.put("gb_per_s", float(match[2]) / 1e3, line)
            size = float(elements * element_bytes) or None
            rates.append(reading.made(Bandwidth, path="host_memory", tool="STREAM", counts_both=True, bytes=size))
    return Parsed(Evidence(bandwidths=tuple(rates), looked_for=frozenset({"bandwidths"})))


PARSER = Parser("cpu-stream", recognise, parse)
