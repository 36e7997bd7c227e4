"""What the kernel's log says at boot: its command line, and how devices reach memory. Reads no other line."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import System
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading, words

_COMMAND_LINE = re.compile(r"(?:^|[\]:] )(?:Kernel c|C)ommand line: (\S.{0,2000})$")
_DOMAIN = re.compile(r"\biommu: Default domain type: (Translated|Passthrough)\b")
_ENABLED = re.compile(r"\bDMAR: (?:IOMMU enabled|Intel\(R\) Virtualization Technology for Directed I/O)")
_WORDS = ("ommand line: ", "iommu: Default domain", "DMAR: ")


def recognise(output: Output) -> int:
    """By one of the three lines."""
    if not any(word in output.text for word in _WORDS):
        return NO
    return CERTAIN if any(output.has(form, *_WORDS) for form in (_COMMAND_LINE, _DOMAIN, _ENABLED)) else NO


def parse(output: Output) -> Parsed:
    """The command line, and the default domain or that there is one."""
    system = Reading(output)
    for line, match in output.matching(_COMMAND_LINE):
        system.take("kernel_command_line", match[1], words, line)
    for line, match in output.matching(_DOMAIN):
        system.put("iommu_mode", match[1].lower(), line)
    for line, _ in output.matching(_ENABLED):
        system.put("iommu_mode", "enabled", line)
    return Parsed(Evidence(system=system.made(System) if system else None))


PARSER = Parser("dmesg", recognise, parse)
