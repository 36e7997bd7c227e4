"""`amd-smi` without a command: two rows a GPU, versions above them and processes below (ROCm 7 and later)."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, Process
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS, bus_id, count, each_once
from gpuplanner.probe.values import Reading, UnreadableError, number, size_bytes, words

_HEAD = re.compile(
    r"^\s{0,20}\|\s{1,4}AMD-SMI (\S{1,40})\s{1,40}amdgpu version:\s{1,4}(\S{1,40})\s{1,40}"
    r"ROCm version:\s{1,4}(\S{1,40})"
)
_VBIOS = re.compile(r"^\s{0,20}\|\s{1,4}VBIOS version: (\S{1,60})\s{1,80}\|")
_TITLE = re.compile(r"^\s{0,20}\|\s{1,4}BDF\s{1,40}GPU-Name\s{1,4}\|\s{1,4}Mem-Uti\s{1,8}Temp\s{1,8}UEC")
_FIRST = re.compile(
    r"^\s{0,20}\|\s{1,4}(?P<bus>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s{1,20}(?P<name>\S[^|]{0,60}?)"
    r"\s{1,20}\|\s{1,4}(?P<memory>N/A|\d{1,3} %)\s{1,12}(?P<temperature>N/A|\d{1,3} .?C)\s{1,12}"
    r"(?P<errors>N/A|\d{1,12})\s{1,30}"
    r"(?P<draw>N/A|\d{1,5})/(?P<limit>N/A|\d{1,5}) W\s{1,4}\|"
)
_SECOND = re.compile(
    r"^\s{0,20}\|\s{1,10}(?P<index>\d{1,4})\s{1,12}(?:N/A|\d{1,4})\s{1,12}(?:N/A|\d{1,4})\s{1,20}\S{1,20}\s{1,4}"
    r"\|\s{1,4}(?P<busy>N/A|\d{1,3} %)\s{1,12}(?P<fan>N/A|\d{1,3}(?:\.\d{1,3})?)(?: %)?\s{1,30}"
    r"(?P<used>N/A|\d{1,10})/(?P<total>N/A|\d{1,10}) MB\s{1,4}\|"
)
_PROCESSES = re.compile(r"^\s{0,20}\|\s{1,4}GPU\s{1,20}PID\s{1,8}Process Name\s{1,30}GTT_MEM\s{1,4}VRAM_MEM")
_PROCESS = re.compile(
    r"^\s{0,20}\|\s{1,8}(\d{1,4})\s{1,20}(\d{1,10})\s{1,8}(\S[^|]{0,60}?)\s{1,40}(?:N/A|[\d.]{1,12} [KMGT]?B)\s{1,8}"
    r"(N/A|[\d.]{1,12} [KMGT]?B)\s{1,8}(?:N/A|[\d.]{1,12} [KMGT]?B)\s"
)
_NOTHING = re.compile(r"^\s{0,20}\|\s{1,4}No running processes found\s")
_MOST_PROCESSES = 20_000


def recognise(output: Output) -> int:
    """Certain by the titles of its columns or by its head."""
    return CERTAIN if output.has(_TITLE, "GPU-Name") or output.has(_HEAD, "AMD-SMI ") else NO


def parse(output: Output) -> Parsed:
    """GPUs with memory, power and errors that were not corrected; versions; processes."""
    gpus: list[Reading] = []
    processes: list[Process] = []
    software, vbios = Reading(output), Reading(output)
    in_processes = answered = False
    for line in output.lines:
        if match := _FIRST.match(line.text):
            in_processes = False
            if len(gpus) <= MOST_GPUS:
                gpus.append(_first(output, match, line))
        elif gpus and (match := _SECOND.match(line.text)):
            _second(gpus[-1], match, line)
        elif match := _HEAD.match(line.text):
            software.take("smi_version", match[1], words, line)
            software.take("rocm_version", match[3], words, line)
            vbios.take("driver_version", match[2], words, line)
        elif match := _VBIOS.match(line.text):
            vbios.take("vbios", match[1], words, line)
        elif _PROCESSES.match(line.text):
            in_processes = True
        elif in_processes and _NOTHING.match(line.text):
            answered = True
        elif in_processes and len(processes) < _MOST_PROCESSES and (match := _PROCESS.match(line.text)):
            processes.append(_process(output, match, line))
    given = vbios.made(Gpu)
    # The versions are stated once and are of all GPUs; a card's own firmware only where there is one card.
    fields = ("driver_version", "vbios") if len(gpus) == 1 else ("driver_version",)
    for gpu in gpus:
        for field in fields:
            if (value := getattr(given, field)) is not None and value != "Linuxver":
                seen = given.seen[field]
                gpu.put(field, value, Line(seen.line, seen.text))
    kept, problems = each_once(gpu.made(Gpu, vendor="amd") for gpu in gpus)
    evidence = Evidence(
        gpus=kept,
        processes=tuple(processes),
        software=software.made(Software) if software else None,
        looked_for=frozenset({"gpus", "processes"} if processes or answered else {"gpus"}),
    )
    return Parsed(evidence, problems)


def _first(output: Output, match: re.Match[str], line: Line) -> Reading:
    reading = Reading(output)
    for field, text, convert in (
        ("pci_bus_id", match["bus"], bus_id),
        ("name", match["name"], words),
        ("utilization_memory_percent", match["memory"], number),
        ("temperature_c", match["temperature"], number),
        ("ecc_uncorrected_volatile", match["errors"], count),
        ("power_draw_w", match["draw"], number),
        ("power_limit_w", match["limit"], _limit),
    ):
        reading.take(field, text, convert, line)
    return reading


def _limit(text: str) -> float:
    """Watts; integrated GPUs print a limit of nought, which is none. Raises UnreadableError."""
    value = number(text)
    if value <= 0:
        raise UnreadableError(text)
    return value


def _second(reading: Reading, match: re.Match[str], line: Line) -> None:
    for field, text, convert in (
        ("index", match["index"], count),
        ("utilization_percent", match["busy"], number),
        ("fan_percent", match["fan"], number),
        ("memory_used_mib", match["used"], number),
        ("memory_total_mib", match["total"], number),
    ):
        reading.take(field, text, convert, line)


def _process(output: Output, match: re.Match[str], line: Line) -> Process:
    reading = Reading(output)
    reading.take("gpu_index", match[1], count, line)
    reading.take("pid", match[2], count, line)
    reading.take("name", match[3], words, line)
    reading.take("memory_used_mib", match[4], lambda text: size_bytes(text) / 2.0**20, line)
    return reading.made(Process)


PARSER = Parser("amd-smi", recognise, parse)
