"""Files of `/sys/class/net` and `/sys/class/infiniband`: interfaces and ports with their states, rates and counters."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import IbPort, NetworkLink
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import SECTION, sections
from gpuplanner.probe.values import Reading, number, whole, words

_NET = re.compile(r"^/sys/class/net/(?P<name>[\w.@-]{1,40})/(?P<file>operstate|speed|mtu|duplex)$")
_PORT = re.compile(
    r"^/sys/class/infiniband/(?P<adapter>[\w-]{1,40})/ports/(?P<port>\d{1,3})/(?P<file>(?:counters/)?\w{2,40})$"
)
_ANY = re.compile(r"/sys/class/(?:net|infiniband)/")


def recognise(output: Output) -> int:
    """By the paths."""
    if not _ANY.search(output.text):
        return NO
    paths = (match[1] for _, match in output.matching(SECTION, "==> "))
    return CERTAIN if any(_NET.match(path) or _PORT.match(path) for path in paths) else NO


def parse(output: Output) -> Parsed:
    """An interface for each name, a port for each adapter and number; without any file, none."""
    links: dict[str, dict[str, Line]] = {}
    ports: dict[tuple[str, int], dict[str, Line]] = {}
    for path, lines in sections(output):
        if not lines:
            continue
        if match := _NET.match(path):
            links.setdefault(match["name"], {})[match["file"]] = lines[0]
        elif match := _PORT.match(path):
            ports.setdefault((match["adapter"], int(match["port"])), {})[match["file"]] = lines[0]
    looked = frozenset({"network"} if links else set()) | frozenset({"ib"} if ports else set())
    return Parsed(
        Evidence(
            network=tuple(_link(output, name, files) for name, files in links.items()),
            ib_ports=tuple(_ib(output, *key, files) for key, files in ports.items()),
            looked_for=looked,
        )
    )


def _link(output: Output, name: str, files: dict[str, Line]) -> NetworkLink:
    """Speeds are in Mbit/s; the kernel writes -1 where it does not know."""
    reading = Reading(output)
    reading.put("name", name, next(iter(files.values())))
    for file, field, convert in (("operstate", "state", words), ("duplex", "duplex", words), ("mtu", "mtu", whole)):
        if file in files:
            reading.take(field, files[file].text, convert, files[file])
    if "speed" in files:
        line = files["speed"]
        if line.text.strip() == "-1":
            reading.lack("bit_per_s", Lacking.UNKNOWN, line)
        else:
            reading.take("bit_per_s", line.text, lambda text: number(text) * 1e6, line)
    return reading.made(NetworkLink)


def _ib(output: Output, adapter: str, port: int, files: dict[str, Line]) -> IbPort:
    """States are written as "4: ACTIVE", rates as "400 Gb/sec (4X NDR)"."""
    reading = Reading(output)
    first = next(iter(files.values()))
    reading.put("adapter", adapter, first)
    reading.put("port", port, first)
    for file, field in (("state", "state"), ("phys_state", "physical_state")):
        if file in files:
            reading.take(field, files[file].text.rpartition(":")[2], words, files[file])
    if "link_layer" in files:
        reading.take("link_layer", files["link_layer"].text, words, files["link_layer"])
    if "rate" in files:
        reading.take("bit_per_s", files["rate"].text, lambda text: number(text) * 1e9, files["rate"])
    counters = {}
    for file, line in files.items():
        if file.startswith("counters/") and line.text.strip().isdecimal():
            counters[file.removeprefix("counters/")] = int(line.text.strip()[:20])
    if counters:
        reading.put("counters", counters, first)
    return reading.made(IbPort)


PARSER = Parser("sysfs-net", recognise, parse)
