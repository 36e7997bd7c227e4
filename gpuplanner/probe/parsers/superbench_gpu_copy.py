"""SuperBench's gpu_copy: a rate a line between the host and GPUs and between GPUs, by SMs and by copy engines."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.evidence.measured import Path as Way
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_ROW = re.compile(
    r"^(cpu|gpu\d{1,3})_(to|and)_(cpu|gpu\d{1,3})(?:_(read|write))?_by_(sm|dma)(?:_under_numa(\d{1,3}))?"
    r"\s{1,9}(\d{1,9}(?:\.\d{1,6})?)\s{0,9}$"
)
_MOST_ROWS = 100_000


def recognise(output: Output) -> int:
    """Certain by a row's name."""
    return (
        CERTAIN
        if ("_by_sm" in output.text or "_by_dma" in output.text) and output.has(_ROW, "_by_sm", "_by_dma")
        else NO
    )


def parse(output: Output) -> Parsed:
    """Rates of one GPU with the host, with another or with itself; sums over all GPUs are no path's and are left."""
    rates: list[Bandwidth] = []
    for line, match in output.matching(_ROW):
        if len(rates) >= _MOST_ROWS:
            break
        first, joined, second, how, engine, node, rate = match.groups()
        known: dict[str, Any] = {
            "method": " ".join(part for part in (engine, how, f"numa{node}" if node else "") if part)
        }
        if first != "cpu":
            known["source"] = int(first[3:])
        if second != "cpu":
            known["target"] = int(second[3:])
        if joined == "and":
            known["both_ways"] = True
        reading = Reading(output)
        reading.put("gb_per_s", float(rate), line)
        rates.append(reading.made(Bandwidth, path=_way(first, second), tool="gpu_copy", **known))
    return Parsed(Evidence(bandwidths=tuple(rates), looked_for=frozenset({"bandwidths"})))


def _way(first: str, second: str) -> Way:
    if first == "cpu":
        return "host_to_device"
    if second == "cpu":
        return "device_to_host"
    return "device_memory" if first == second else "device_to_device"


PARSER = Parser("superbench-gpu-copy", recognise, parse)
