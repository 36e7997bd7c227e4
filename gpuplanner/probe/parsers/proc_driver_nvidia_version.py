"""`/proc/driver/nvidia/version`: the loaded kernel module, its flavour and its version."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import version
from gpuplanner.probe.values import Reading

_LINE = re.compile(
    r"NVRM version:[ \t]{1,10}NVIDIA UNIX (Open )?(?:\S{1,20} )?Kernel Module(?: for \S{1,20})?"
    r"[ \t]{1,10}(\d[\d.]{2,20})"
)


def recognise(output: Output) -> int:
    """Certain by its first line."""
    return CERTAIN if _LINE.search(output.text) else NO


def parse(output: Output) -> Parsed:
    """The module's version and whether it is the open one."""
    reading = Reading(output)
    for line, match in output.matching(_LINE):
        reading.take("module_version", match[2], version, line)
        reading.put("module_flavour", "open" if match[1] else "proprietary", line)
    software = reading.made(Software) if reading else None
    return Parsed(Evidence(software=software, looked_for=frozenset({"driver_module"})))


PARSER = Parser("proc-driver-nvidia-version", recognise, parse)
