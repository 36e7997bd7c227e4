"""`/proc/meminfo`: main memory and swap."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import HostMemory
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import read_rows
from gpuplanner.probe.values import Reading, size_bytes

_MARK = re.compile(r"^(?:MemTotal|MemAvailable|HugePages_Total|SwapTotal):[ \t]{1,40}\d")
FIELDS = {
    "MemTotal": ("total_bytes", size_bytes),
    "MemAvailable": ("available_bytes", size_bytes),
    "SwapTotal": ("swap_total_bytes", size_bytes),
    "SwapFree": ("swap_free_bytes", size_bytes),
    "Hugetlb": ("huge_page_bytes", size_bytes),
    "Mlocked": ("locked_bytes", size_bytes),
}


def recognise(output: Output) -> int:
    """By its rows."""
    return CERTAIN if output.has(_MARK, "MemTotal:", "MemAvailable:", "HugePages_Total:", "SwapTotal:") else NO


def parse(output: Output) -> Parsed:
    """Sizes in bytes; the kernel's "kB" are 1,024 bytes."""
    reading = Reading(output)
    read_rows(output, FIELDS, reading)
    return Parsed(Evidence(memory=reading.made(HostMemory), looked_for=frozenset({"memory", "swap"})))


PARSER = Parser("meminfo", recognise, parse)
