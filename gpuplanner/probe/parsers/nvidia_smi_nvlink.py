"""`nvidia-smi nvlink` with -s, -e, -c, -p, -R or -gt d: the links of each GPU. Judges nothing.

Where a GPU's links are not listed, one record without a number says so: all inactive, or why it is not known.
"""

import re

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, NvLink
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_values import bus_id, count, each_once
from gpuplanner.probe.values import Reading, number, words, yes

_GPU = re.compile(r"^[ \t]{0,40}GPU (\d{1,4}): (.{1,120}?)(?: \(UUID: ([\w-]{1,80})\))?[ \t]{0,20}$")
_LINK = re.compile(r"^[ \t]{0,40}Link (\d{1,3})(?::|,) ?(.{0,120})$")
_RATE = re.compile(r"(\d{1,5}(?:\.\d{1,6})?) GB/s$")
_REMOTE = re.compile(
    r"(?:Remote Device )?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])(?:: Link (\d{1,3}))?$"
)
_COUNTER = re.compile(r"(Replay Errors|Recovery Errors|CRC Errors|Data Tx|Data Rx|Raw Tx|Raw Rx): ?(\S.{0,40})$")
_OTHER_COUNTER = re.compile(r"([A-Z][\w ]{1,40}(?:[Ee]rrors|[Ee]vents|packets|bytes)(?: - \d{1,3})?): ?(\d{1,20}|N/A)$")
_PLACE = re.compile(r"^[ \t]{0,40}GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])[ \t]{0,20}$")
_CAPABILITY = re.compile(r"([A-Z][\w ]{2,40}?) (?:is )?supported: ?(true|false)$")
_COUNTERS = {
    "Replay Errors": ("replay_errors", count),
    "Recovery Errors": ("recovery_errors", count),
    "CRC Errors": ("crc_errors", count),
    "Data Tx": ("sent_kib", number),
    "Data Rx": ("received_kib", number),
}
_ALL_INACTIVE = re.compile(r"all links are inactive", re.IGNORECASE)
_NOT_HERE = re.compile(r"Device does not have or support Nvlink|Nvlink queries are not supported", re.IGNORECASE)
_NONE = ("does not have or support", "queries are not supported")
_NO_ANSWER = re.compile(r"^[ \t]{0,20}NVML: (?:Unable to|Failed to|Error)", re.IGNORECASE)
_LEFT_OUT = re.compile(r"^[ \t]{0,40}(?:\[?\.\.\.\]?|\[snip\])[ \t]{0,20}$")

_Owner = tuple[int | None, str | None, str | None]
"""A GPU by its index, UUID and bus identifier, as far as they are printed."""


def recognise(output: Output) -> int:
    """Certain by a line of a link, or by one that says why there is none."""
    text = output.text
    if "Link" not in text and "Nvlink" not in text:
        return NO
    if "Link " in text and any(_known(match[2]) for _, match in output.matching(_LINK, "Link ")):
        return CERTAIN
    return CERTAIN if output.has(_ALL_INACTIVE, "nactive", "nActive") or output.has(_NOT_HERE, *_NONE) else NO


def parse(output: Output) -> Parsed:
    """GPUs and their links; a problem where an excerpt leaves links out."""
    reader = _Links(output)
    for line in output.lines:
        reader.read(line)
    return reader.parsed()


def _known(said: str) -> bool:
    said = said.strip()
    return said == "<inactive>" or any(
        known.match(said) for known in (_RATE, _REMOTE, _COUNTER, _OTHER_COUNTER, _CAPABILITY)
    )


class _Links:
    """Reads line after line; a link is of the GPU above it."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._gpus: list[Gpu] = []
        self._owner: _Owner = (None, None, None)
        self._links: dict[tuple[_Owner, int], Reading] = {}
        self._capabilities: dict[tuple[_Owner, int], dict[str, bool]] = {}
        self._counters: dict[tuple[_Owner, int], dict[str, int]] = {}
        self._unlisted: list[NvLink] = []
        self._problems: list[Problem] = []

    def read(self, line: Line) -> None:
        if gpu := _GPU.match(line.text):
            self._new_gpu(gpu, line)
        elif place := _PLACE.match(line.text):
            self._owner = (None, None, bus_id(place[1]))
            reading = Reading(self._output)
            reading.take("pci_bus_id", place[1], bus_id, line)
            self._gpus.append(reading.made(Gpu, vendor="nvidia"))
        elif link := _LINK.match(line.text):
            self._link(int(link[1]), link[2].strip(), line)
        elif _ALL_INACTIVE.search(line.text):
            self._none_listed(line, False)
        elif _NOT_HERE.search(line.text) or _NO_ANSWER.match(line.text):
            self._none_listed(line, None)
        elif self._links and _LEFT_OUT.match(line.text) and not self._problems:
            self._problems.append(Problem(line.number, msg("probe.nvidia.left_out")))

    def _new_gpu(self, match: re.Match[str], line: Line) -> None:
        reading = Reading(self._output)
        reading.take("index", match[1], count, line)
        reading.take("name", match[2], words, line)
        if match[3]:
            reading.take("uuid", match[3], words, line)
        self._owner = (int(match[1]), match[3], None)
        self._gpus.append(reading.made(Gpu, vendor="nvidia"))

    def _link(self, link: int, said: str, line: Line) -> None:
        if not _known(said):
            return
        key = (self._owner, link)
        reading = self._links.setdefault(key, Reading(self._output))
        reading.put("link", link, line)
        if rate := _RATE.match(said):
            reading.put("active", True, line)
            reading.take("gb_per_s", rate[1], number, line)
        elif said == "<inactive>":
            reading.put("active", False, line)
        elif remote := _REMOTE.match(said):
            reading.put("active", True, line)
            reading.take("remote", remote[1], bus_id, line)
            if remote[2]:
                reading.take("remote_link", remote[2], count, line)
        elif counter := _COUNTER.match(said):
            reading.of(_COUNTERS, counter[1], counter[2], line)
        elif counter := _OTHER_COUNTER.match(said):
            if counter[2].isdecimal():
                self._counters.setdefault(key, {}).setdefault(counter[1], int(counter[2]))
        elif capability := _CAPABILITY.match(said):
            self._capabilities.setdefault(key, {}).setdefault(capability[1].removesuffix(" is"), yes(capability[2]))

    def _none_listed(self, line: Line, active: bool | None) -> None:
        reading = Reading(self._output)
        if active is None:
            reading.lack("active", Lacking.NOT_SUPPORTED if _NOT_HERE.search(line.text) else Lacking.ERROR, line)
        else:
            reading.put("active", active, line)
        index, uuid, place = self._owner
        self._unlisted.append(reading.made(NvLink, gpu_index=index, gpu_uuid=uuid, gpu_bus_id=place))

    def parsed(self) -> Parsed:
        links = [
            reading.made(
                NvLink,
                gpu_index=owner[0],
                gpu_uuid=owner[1],
                gpu_bus_id=owner[2],
                capabilities=self._capabilities.get((owner, link)),
                counters=self._counters.get((owner, link)),
            )
            for (owner, link), reading in self._links.items()
        ]
        gpus, problems = each_once(self._gpus)
        evidence = Evidence(gpus=gpus, nvlinks=(*links, *self._unlisted), looked_for=frozenset({"nvlinks"}))
        return Parsed(evidence, (*self._problems, *problems))


PARSER = Parser("nvidia-smi-nvlink", recognise, parse)
