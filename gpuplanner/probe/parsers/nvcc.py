"""`nvcc --version`: the CUDA toolkit that is installed."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import version
from gpuplanner.probe.values import Reading

_RELEASE = re.compile(r"Cuda compilation tools, release (\d{1,3}\.\d{1,2})(?:, V(\d{1,3}\.\d{1,2}\.\d{1,5}))?")


def recognise(output: Output) -> int:
    """Certain by the line of its release."""
    return CERTAIN if "Cuda compilation tools" in output.text and output.has(_RELEASE, "Cuda compilation tools") else NO


def parse(output: Output) -> Parsed:
    """The toolkit's version, with its build where that is printed."""
    software = Reading(output)
    for line, match in output.matching(_RELEASE):
        software.take("cuda_toolkit_version", match[2] or match[1], version, line)
    return Parsed(Evidence(software=software.made(Software), looked_for=frozenset({"software"})))


PARSER = Parser("nvcc", recognise, parse)
