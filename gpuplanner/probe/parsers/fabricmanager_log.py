"""The log of NVIDIA's Fabric Manager: its version, the GPUs that it took in, and errors of switches."""

import re

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import KernelEvent, ToolFault
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.host import Service
from gpuplanner.probe.evidence.record import LONGEST_QUOTE
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import bus_id, count, each_once, version
from gpuplanner.probe.values import Reading, words

_ENTRY = re.compile(
    r"^\[([A-Z][a-z]{2} {1,2}\d{1,2} \d{4} \d{2}:\d{2}:\d{2})\] \[(INFO|WARNING|ERROR|CRITICAL|DEBUG)\] "
    r"\[tid \d{1,10}\] (.*)$"
)
_VERSION = re.compile(r"Fabric Manager version (\d[\d.]{2,20}) is running")
_GPU = re.compile(
    r"PCI Bus ID: ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]) {1,4}.{0,200}"
    r"UUID ?: ?(GPU-[0-9a-f-]{36})"
)
_ERROR = re.compile(
    r"detected NVSwitch (non-fatal|fatal) error (\d{1,6}) .{0,60}?pci bus id "
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])"
)
_MOST_EVENTS = 10_000


def recognise(output: Output) -> int:
    """Certain by an entry in this log's form; no other tool names a thread so."""
    return CERTAIN if "] [tid " in output.text and output.has(_ENTRY, "] [tid ") else NO


def parse(output: Output) -> Parsed:
    """Versions as of the last start, GPUs, SXids, and what else is logged as an error."""
    software = Reading(output)
    service = Reading(output)
    gpus: list[Gpu] = []
    events: list[KernelEvent] = []
    faults: list[ToolFault] = []
    for line, entry in output.matching(_ENTRY):
        when, level, said = entry.groups()
        if match := _VERSION.search(said):
            software, service = Reading(output), Reading(output)
            software.take("fabric_manager_version", match[1], version, line)
            service.take("version", match[1], version, line)
        elif match := _GPU.search(said):
            gpu = Reading(output)
            gpu.take("pci_bus_id", match[1], bus_id, line)
            gpu.take("uuid", match[2], words, line)
            gpus.append(gpu.made(Gpu, vendor="nvidia"))
        elif (match := _ERROR.search(said)) and len(events) < _MOST_EVENTS:
            event = Reading(output)
            event.take("code", match[2], count, line)
            event.take("pci_bus_id", match[3], bus_id, line)
            event.put("fatal", match[1] == "fatal", line)
            event.put("when", when, line)
            event.put("said", shortened(said, LONGEST_QUOTE), line)
            events.append(event.made(KernelEvent, kind="sxid"))
        elif level in {"ERROR", "CRITICAL"} and len(faults) < _MOST_EVENTS:
            fault = Reading(output)
            fault.put("said", shortened(said, LONGEST_QUOTE), line)
            faults.append(fault.made(ToolFault, kind="other"))
    kept, problems = each_once(gpus)
    evidence = Evidence(
        gpus=kept,
        services=(service.made(Service, name="nvidia-fabricmanager"),),
        software=software.made(Software) if software else None,
        events=tuple(events),
        faults=tuple(faults),
        looked_for=frozenset({"fabric_manager_log"}),
    )
    return Parsed(evidence, problems)


PARSER = Parser("fabricmanager-log", recognise, parse)
