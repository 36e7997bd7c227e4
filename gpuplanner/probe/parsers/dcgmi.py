"""`dcgmi`: the tables of `diag`, `discovery -l`, `topo` and `health -c`."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Diagnostic
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.dcgmi_health import Health
from gpuplanner.probe.parsers.nvidia_values import bus_id, each_once, version
from gpuplanner.probe.values import Reading, words

_CELLS = re.compile(r"^\|\s{1,4}(.{0,60}?)\s{0,80}\|\s{1,4}(.{1,300}?)\s{0,120}\|\s{0,20}$")
_DIAG = re.compile(r"^\|\s{1,4}Diagnostic\s{1,60}\|\s{1,4}Result\s")
_DISCOVERY = re.compile(r"^\|\s{1,4}GPU ID\s{1,20}\|\s{1,4}Device Information\s")
_HEALTH = re.compile(r"^\|\s{1,4}(?:Group \d{1,6}\s{1,60}\|\s{1,4})?(?:Health Monitor Report|Overall Health)\b")
_TOPO = re.compile(r"^\|\s{1,4}Topology Information\s")
_RESULT = re.compile(
    r"^(?:(GPU ?\d{1,4}): )?(Pass|Fail|Skip|Skipped|Warn|Warning|Info|Error|Not Run|Healthy|Failure)\b"
    r"(?:(?: - |: )(.{0,240}))?"
)
_ENTITIES = re.compile(r"^(?:All|GPUs?:? ?\d{1,4}(?:, ?\d{1,4}){0,64})$")
_VERSIONS = {"DCGM Version": "dcgm_version", "Driver Version Detected": "driver_version"}
_MOST_TESTS = 5_000


def recognise(output: Output) -> int:
    """Certain by the header of one of the tables."""
    if output.has(_HEALTH, "Health Monitor Report", "Overall Health"):
        return CERTAIN
    return (
        CERTAIN
        if output.has(_DIAG, "Diagnostic")
        or output.has(_DISCOVERY, "Device Information")
        or output.has(_TOPO, "Topology")
        else NO
    )


def parse(output: Output) -> Parsed:
    """Each test with its result as printed, and for each GPU where it is said; the GPUs that are listed."""
    tests: list[Diagnostic] = []
    software = Reading(output)
    gpus: list[Reading] = []
    table, test = "", ""
    health = Health(output)
    for line in output.lines:
        if _DIAG.match(line.text):
            table, test = "diag", ""
        elif _DISCOVERY.match(line.text):
            table = "discovery"
        elif _TOPO.match(line.text):
            table = "topo"
        elif table != "health" and _HEALTH.match(line.text):
            table = "health"
            health = Health(output)
            health.read(line)
        elif table == "health":
            if not health.read(line):
                table = ""
        elif table and (match := _CELLS.match(line.text)):
            label, value = match[1].strip(), match[2].strip()
            if table == "discovery":
                _gpu(output, gpus, label, value, line)
            elif label in _VERSIONS:
                software.take(_VERSIONS[label], value, version, line)
            elif len(tests) < _MOST_TESTS:
                test = label or test
                if diagnostic := _test(output, table, test, value, line):
                    tests.append(diagnostic)
        elif line.text.endswith("found.") or (line.text.startswith("| ") and "ID |" in line.text):
            # What follows the GPUs are switches, processors and adapters, in tables of the same form.
            table = ""
    kept, problems = each_once(gpu.made(Gpu, vendor="nvidia") for gpu in gpus)
    evidence = Evidence(
        gpus=kept,
        software=software.made(Software) if software else None,
        diagnostics=(*tests, *health.found()),
        looked_for=frozenset({"gpus"} if kept else {"diagnostics"}),
    )
    return Parsed(evidence, problems)


def _test(output: Output, table: str, test: str, value: str, line: Line) -> Diagnostic | None:
    reading = Reading(output)
    reading.take("test", test, words, line)
    if table == "topo":
        reading.take("result", value, words, line)
        return reading.made(Diagnostic, tool="dcgmi topo")
    match = _RESULT.match(value)
    if match is None:
        return None
    reading.put("result", match[2], line)
    said = (match[3] or "").strip()
    if match[1]:
        reading.put("entity", match[1].replace(" ", ""), line)
    elif _ENTITIES.match(said):
        reading.put("entity", said, line)
        said = ""
    if said:
        reading.put("said", said, line)
    return reading.made(Diagnostic, tool="dcgmi diag")


def _gpu(output: Output, gpus: list[Reading], label: str, value: str, line: Line) -> None:
    if label.isdecimal() and len(label) <= len("1024"):
        gpus.append(Reading(output))
        gpus[-1].put("index", int(label), line)
    if not gpus or (label and not label.isdecimal()):
        return
    name, _, text = value.partition(": ")
    if name == "Name":
        gpus[-1].take("name", text, words, line)
    elif name == "PCI Bus ID":
        gpus[-1].take("pci_bus_id", text, bus_id, line)
    elif name == "Device UUID":
        gpus[-1].take("uuid", text, words, line)


PARSER = Parser("dcgmi", recognise, parse)
