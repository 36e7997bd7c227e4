"""`numactl -H`: the NUMA nodes with their processors, memory and distances."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu, HostMemory
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_NODES = re.compile(r"^available:[ \t]{1,4}(\d{1,5}) nodes? \(")
_CPUS = re.compile(r"^node (\d{1,5}) cpus:[ \t]{0,4}([\d ]*)$")
_SIZE = re.compile(r"^node (\d{1,5}) size:[ \t]{1,4}(\d{1,12}) MB$")
_DISTANCES = re.compile(r"^[ \t]{0,8}(\d{1,5}):((?:[ \t]{1,8}\d{1,5}){1,1024})[ \t]*$")
_MIB = 1 << 20
"""numactl's MB are of 1,024 × 1,024 bytes."""


def recognise(output: Output) -> int:
    """By its first line."""
    return CERTAIN if output.has(_NODES, "available:") else NO


def parse(output: Output) -> Parsed:
    """The nodes; one without memory or processors is there with none."""
    cpu, memory = Reading(output), Reading(output)
    cpus: dict[int, str] = {}
    sizes: dict[int, float] = {}
    distances: dict[int, tuple[int, ...]] = {}
    below = False
    for line in output.lines:
        text = line.text
        if match := _NODES.match(text):
            cpu.put("numa_nodes", int(match[1]), line)
        elif match := _CPUS.match(text):
            cpus[int(match[1])] = match[2].strip()
            cpu.put("numa_cpus", cpus, line)
        elif match := _SIZE.match(text):
            sizes[int(match[1])] = float(match[2]) * _MIB
            memory.put("node_bytes", sizes, line)
        elif text.startswith("node distances:"):
            below = True
        elif below and (match := _DISTANCES.match(text)):
            distances[int(match[1])] = tuple(int(each) for each in match[2].split())
            memory.put("node_distances", distances, line)
    looked = frozenset({"numa"})
    return Parsed(Evidence(cpu=cpu.made(Cpu), memory=memory.made(HostMemory), looked_for=looked))


PARSER = Parser("numactl", recognise, parse)
