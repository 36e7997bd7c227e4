"""ROCm's bandwidth test as SuperBench runs it: rates by size between the host's memory and a GPU's."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.evidence.measured import Path as Way
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_ROW = re.compile(
    r"^\s{1,40}([HD]2[HD])_Bandwidth_?(\w{1,20})\s{1,20}\+?(\d{1,10})(By|kB)\s{1,20}GB/sec\s{1,20}"
    r"(\d{1,9}(?:\.\d{1,6})?)\b"
)
_WAYS: dict[str, Way] = {"H2D": "host_to_device", "D2H": "device_to_host", "D2D": "device_to_device"}
_BYTES = {"By": 1.0, "kB": 1024.0}
"""The sizes go in powers of two: 524288kB is the last of them."""
_MOST_ROWS = 10_000


def recognise(output: Output) -> int:
    """Certain by a row's name with its unit."""
    return (
        CERTAIN if "_Bandwidth_" in output.text and "GB/sec" in output.text and output.has(_ROW, "_Bandwidth_") else NO
    )


def parse(output: Output) -> Parsed:
    """The median rate of each size."""
    rates: list[Bandwidth] = []
    for line, match in output.matching(_ROW):
        if match[1] in _WAYS and len(rates) < _MOST_ROWS:
            reading = Reading(output)
            reading.put("method", match[2], line)
            reading.put("bytes", float(match[3]) * _BYTES[match[4]], line)
            reading.put("gb_per_s", float(match[5]), line)
            rates.append(reading.made(Bandwidth, path=_WAYS[match[1]], tool="rocm-bandwidth"))
    return Parsed(Evidence(bandwidths=tuple(rates), looked_for=frozenset({"bandwidths"})))


PARSER = Parser("rocm-bandwidth", recognise, parse)
