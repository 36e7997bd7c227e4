"""`lscpu`, as text of any age or as JSON."""

import json
import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import rows
from gpuplanner.probe.values import Reading, number, size_bytes, whole, words

_MARK = re.compile(
    r"^[ \t]{0,12}(?:CPU op-mode\(s\)|On-line CPU\(s\) list|Thread\(s\) per core|NUMA node0 CPU\(s\)|BogoMIPS):"
)
_MARKS = ("CPU op-mode(s)", "On-line CPU(s) list", "Thread(s) per core", "NUMA node0 CPU(s)", "BogoMIPS")
_JSON = re.compile(r'^[ \t]{0,12}"lscpu"[ \t]{0,4}:')
_NODE = re.compile(r"^NUMA node(\d{1,5}) CPU\(s\)$")

FIELDS = {
    "Architecture": ("architecture", words),
    "Vendor ID": ("vendor", words),
    "Model name": ("model", words),
    "CPU(s)": ("cpus", whole),
    "On-line CPU(s) list": ("online", words),
    "Thread(s) per core": ("threads_per_core", whole),
    "Core(s) per socket": ("cores_per_socket", whole),
    "Socket(s)": ("sockets", whole),
    "NUMA node(s)": ("numa_nodes", whole),
    "CPU max MHz": ("max_mhz", number),
    "L3 cache": ("l3_bytes", size_bytes),
    "L3": ("l3_bytes", size_bytes),
    "Hypervisor vendor": ("hypervisor_vendor", words),
    "Virtualization type": ("virtualization_type", words),
}


def recognise(output: Output) -> int:
    """By rows that no other tool prints."""
    return CERTAIN if output.has(_MARK, *_MARKS) or output.has(_JSON, '"lscpu"') else NO


def parse(output: Output) -> Parsed:
    """The processors, the list of those of each NUMA node, and whether the flags name a hypervisor."""
    reading = Reading(output)
    nodes: dict[int, str] = {}
    for line, label, value in _json_rows(output) or rows(output):
        if match := _NODE.match(label):
            nodes[int(match[1])] = value
            reading.put("numa_cpus", nodes, line)
        elif label == "Flags":
            flags = tuple(value.split())
            reading.put("flags", flags, line)
            reading.put("hypervisor_flag", "hypervisor" in flags, line)
        else:
            reading.of(FIELDS, label, value, line)
    return Parsed(Evidence(cpu=reading.made(Cpu), looked_for=frozenset({"cpu"})))


def _json_rows(output: Output) -> list[tuple[Any, str, str]]:
    """The rows of `lscpu -J`, those below others too; each with the line that it stands in."""
    if not output.has(_JSON):
        return []
    try:
        content = json.loads(output.text)
    except (ValueError, RecursionError):
        return []
    found: list[tuple[Any, str, str]] = []
    lines = {line.text.strip().rstrip(","): line for line in reversed(output.lines)}
    first = output.lines[0]
    waiting = list(content.get("lscpu", [])) if isinstance(content, dict) else []
    while waiting:
        row = waiting.pop(0)
        if not isinstance(row, dict):
            continue
        label, value = str(row.get("field", "")), row.get("data")
        if isinstance(value, str):
            found.append((lines.get(f'"data": {json.dumps(value)}', first), label.rstrip(":"), value))
        children = row.get("children")
        waiting = [*(children if isinstance(children, list) else []), *waiting]
    return found


PARSER = Parser("lscpu", recognise, parse)
