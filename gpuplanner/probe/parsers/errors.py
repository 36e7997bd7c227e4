"""What stands there instead of an answer: a tool's error, a library's exception, a program that is absent."""

import json
import re
from collections.abc import Iterator
from itertools import islice

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import FaultKind, ToolFault
from gpuplanner.probe.evidence.record import LONGEST_QUOTE
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import MOST_TRIED, Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_faults import (
    CUDA_ERRORS,
    FIELD,
    HANDLE,
    INFOROM,
    LIBRARY_VERSION,
    NOT_ALLOWED,
    NOT_THERE,
    NVML_ERRORS,
    NVML_EXCEPTION,
    OF_A_GPU,
    OPTION,
    SENTENCES,
    WORDS,
)
from gpuplanner.probe.parsers.nvidia_values import bus_id, count
from gpuplanner.probe.values import Reading

_PROBE = re.compile(r"\"cuInit\": ?\[(\d{1,4}), ?\"(CUDA_ERROR_\w{1,60})\"\]")
_MOST_FAULTS = 500
_LONGEST_JSON = 100_000


def recognise(output: Output) -> int:
    """Certain by one of the sentences."""
    return CERTAIN if any(_fault(output, line) for line in _candidates(output)) else NO


def parse(output: Output) -> Parsed:
    """The faults in order, each once, with the bus identifier or the code where the sentence has one."""
    faults: list[ToolFault] = []
    library: Software | None = None
    for line, version in output.matching(LIBRARY_VERSION, "NVML library version"):
        reading = Reading(output)
        reading.put("library_version", version[1], line)
        library = reading.made(Software)
        break
    for line in _candidates(output):
        if len(faults) < _MOST_FAULTS and (fault := _fault(output, line)):
            faults.append(fault)
    if library and library.library_version and faults:
        faults = [
            fault.model_copy(update={"library_version": library.library_version}) if fault.kind == "mismatch" else fault
            for fault in faults
        ]
    if len(faults) == 1 and faults[0].code is None and output.exit_code:
        faults = [faults[0].model_copy(update={"code": output.exit_code})]
    evidence = Evidence(faults=tuple(faults), software=library or _cuda(output), looked_for=frozenset({"faults"}))
    return Parsed(evidence)


def _candidates(output: Output) -> Iterator[Line]:
    """Lines that may be a fault; of a log of nothing else, the first ones."""
    return islice(output.holding(*WORDS), MOST_TRIED)


def _fault(output: Output, line: Line) -> ToolFault | None:
    text = line.text.strip()
    reading = Reading(output)
    reading.put("said", shortened(text, LONGEST_QUOTE), line)
    kind = _kind(text, reading, line)
    if kind is None:
        return None
    reading.put("kind", kind, line)
    return reading.made(ToolFault)


def _kind(text: str, reading: Reading, line: Line) -> FaultKind | None:
    if match := HANDLE.search(text):
        if match[1]:
            reading.take("gpu_index", match[1], count, line)
        if match[2]:
            reading.take("pci_bus_id", match[2], bus_id, line)
        return next((kind for sentence, kind in OF_A_GPU if sentence in match[3]), "device_error")
    if match := INFOROM.search(text):
        reading.take("pci_bus_id", match[1], bus_id, line)
        return "device_error"
    if match := NVML_EXCEPTION.search(text):
        if match[2]:
            reading.take("code", match[2], count, line)
        return NVML_ERRORS.get(match[1], "other")
    if match := _PROBE.search(text):
        reading.take("code", match[1], count, line)
        return CUDA_ERRORS.get(match[2], "other")
    for pattern, kind in _WANTING:
        if match := pattern.search(text):
            reading.put("wanted", next(group for group in match.groups() if group), line)
            return kind
    return next((kind for sentence, kind in SENTENCES if sentence in text), None)


_WANTING: tuple[tuple[re.Pattern[str], FaultKind], ...] = (
    (FIELD, "unknown_option"),
    (OPTION, "unknown_option"),
    (NOT_THERE, "absent"),
    (NOT_ALLOWED, "no_permission"),
)


def _cuda(output: Output) -> Software | None:
    """The newest CUDA of the driver where a CUDA probe's JSON has it: 12040 is 12.4."""
    for line in output.holding('"driver_cuda_version"'):
        if len(line.text) > _LONGEST_JSON:
            continue
        try:
            given = json.loads(line.text).get("driver_cuda_version")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(given, int) and 1000 <= given < 1_000_000:
            reading = Reading(output)
            reading.put("cuda_driver_version", f"{given // 1000}.{given % 1000 // 10}", line)
            return reading.made(Software)
    return None


PARSER = Parser("errors", recognise, parse)
