"""The InfiniBand perftest tools (ib_write_bw, ib_read_bw, ib_send_lat…): rates and latencies by message size."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading, number

_TITLE = re.compile(
    r"^\s{1,40}((?:RDMA_Write|RDMA_Read|Send|Atomic_\w{1,20}) (?:Bidirectional )?(?:BW|Latency)) Test\s{0,20}$"
)
_RATES = re.compile(
    r"^\s{0,10}#bytes\s{1,10}#iterations\s{1,10}BW peak\[(MB|Gb)/sec\]\s{1,10}BW average\[(?:MB|Gb)/sec\]"
)
_LATENCIES = re.compile(
    r"^\s{0,10}#bytes\s{1,10}#iterations\s{1,10}t_min\[usec\]\s{1,10}t_max\[usec\]\s{1,10}t_typical\[usec\]"
)
_DEVICE = re.compile(r"\bDevice\s{1,20}: ([\w.-]{1,40})")
_ROW = re.compile(r"^\s{0,10}(\d{1,14})\s{1,20}(\d{1,12})((?:\s{1,20}\d{1,9}(?:\.\d{1,9})?){2,9})\s{0,20}$")
_PER_UNIT = {"MB": 2.0**20 / 1e9, "Gb": 1 / 8.0}
"""perftest's MB are of 2²⁰ bytes; with --report_gbits it prints 10⁹ bits."""
_MOST_ROWS = 50_000


def recognise(output: Output) -> int:
    """Certain by the header of its table."""
    return (
        CERTAIN
        if "#bytes" in output.text and (output.has(_RATES, "#bytes") or output.has(_LATENCIES, "#bytes"))
        else NO
    )


def parse(output: Output) -> Parsed:
    """A rate for each size. Client and server print the same row where both run here: it counts once."""
    rates: dict[tuple[str, str], Bandwidth] = {}
    title, device, unit, latencies = "", "", "MB", False
    for line in output.lines:
        if match := _TITLE.match(line.text):
            title = match[1]
        elif match := _RATES.match(line.text):
            unit, latencies = match[1], False
        elif _LATENCIES.match(line.text):
            latencies = True
        elif match := _ROW.match(line.text):
            cells = match[3].split()
            reading = Reading(output)
            reading.take("bytes", match[1], number, line)
            if latencies and len(cells) > 2:  # the third column is the typical one
                reading.take("latency_us", cells[2], number, line)
            else:
                reading.put("gb_per_s", float(cells[1]) * _PER_UNIT[unit], line)
            if "Bidirectional" in title:
                reading.put("both_ways", True, line)
            if len(rates) < _MOST_ROWS:
                rates.setdefault(
                    (title, " ".join(line.text.split())),
                    reading.made(Bandwidth, path="network", tool=title or "perftest", method=device or None),
                )
        elif match := _DEVICE.search(line.text):
            device = match[1]
    return Parsed(Evidence(bandwidths=tuple(rates.values()), looked_for=frozenset({"bandwidths"})))


PARSER = Parser("ib-perftest", recognise, parse)
