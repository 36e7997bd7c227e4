"""`nvidia-smi --version`: the versions of the tool, its library and the driver."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import Head

_LINE = re.compile(
    r"^[ \t]{0,20}(NVIDIA-SMI|NVML|DRIVER|KMD|CUDA|CUDA UMD) [Vv]ersion[ \t]{0,40}:[ \t]{0,20}(\S.{0,80}?)[ \t]{0,40}$"
)


def recognise(output: Output) -> int:
    """Certain by the tool's own version."""
    mine = "NVIDIA-SMI" in output.text and any(
        match[1] == "NVIDIA-SMI" for _, match in output.matching(_LINE, "NVIDIA-SMI")
    )
    return CERTAIN if mine else NO


def parse(output: Output) -> Parsed:
    """The software's versions; a line that only points to its new name counts for nothing."""
    head = Head(output)
    for line, match in output.matching(_LINE):
        head.take(f"{match[1]} version", match[2], line)
    return Parsed(Evidence(software=head.software(), looked_for=frozenset({"software"})))


PARSER = Parser("nvidia-smi-version", recognise, parse)
