"""`/proc/cpuinfo`, whole or the lines of it that somebody searched for: the processors and what they can do."""

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu
from gpuplanner.probe.output import MOST_TRIED, Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, words

_ROW = at_line_start(
    r"(?P<label>processor|model name|vendor_id|physical id|cpu cores|siblings|flags|hypervisor)\t{1,2}: ?"
    r"(?P<value>[^\n]{0,8000})"
)


def recognise(output: Output) -> int:
    """Certain by a processor's name or number with the tabs that only this file has."""
    if "model name\t" not in output.text and "processor\t" not in output.text:
        return NO
    return CERTAIN if any(match["label"] in {"model name", "processor"} for _, match in output.starting(_ROW)) else NO


def parse(output: Output) -> Parsed:
    """One record: what all processors have in common, and how many there are.

    They are counted by their numbers; where only their names were searched for, by those.
    """
    reading = Reading(output)
    found: dict[str, list[tuple[str, Line]]] = {}
    for line, match in output.starting(_ROW):
        found.setdefault(match["label"], []).append((match["value"].strip(), line))
    numbered = [row for row in found.get("processor", []) if row[0].isdecimal()]
    counted = numbered or [row for row in found.get("model name", []) if row[0]]
    if counted and sum(map(len, found.values())) < MOST_TRIED:
        reading.put("cpus", len(counted), counted[-1][1])
    for label, field in (("model name", "model"), ("vendor_id", "vendor")):
        for text, line in found.get(label, [])[:1]:
            reading.take(field, text, words, line)
    for text, line in found.get("cpu cores", [])[:1]:
        reading.take("cores_per_socket", text, count, line)
    sockets = found.get("physical id", [])
    if sockets:
        reading.put("sockets", len({text for text, _ in sockets}), sockets[-1][1])
    for text, line in found.get("flags", [])[:1]:
        flags = tuple(text.split())
        reading.put("flags", flags, line)
        reading.put("hypervisor_flag", "hypervisor" in flags, line)
    return Parsed(Evidence(cpu=reading.made(Cpu), looked_for=frozenset({"cpu"})))


PARSER = Parser("proc-cpuinfo", recognise, parse)
