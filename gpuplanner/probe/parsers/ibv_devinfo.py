"""`ibv_devinfo`, also with `-v`: the ports of RDMA adapters as the verbs library sees them."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import IbPort
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.values import Reading, words

_ADAPTER = re.compile(r"^\s{0,20}hca_id:\s{1,20}([\w.-]{1,60})\s{0,20}$")
_PORT = re.compile(r"^\s{1,40}port:\s{1,20}(\d{1,3})\s{0,20}$")
_ROW = re.compile(r"^\s{1,40}([a-z]\w{1,30}):\s{1,40}(\S.{0,80}?)\s{0,20}$")
_SPEED = re.compile(r"^(\d{1,4}(?:\.\d)?) Gbps")
_WIDTH = re.compile(r"^(\d{1,2})X\b")
_NOTE = re.compile(r" \(\d{1,3}\)$")
_MOST_PORTS = 10_000


def _named(text: str) -> str:
    """A state's name without the number behind it: "PORT_ACTIVE (4)" is "ACTIVE". Raises UnreadableError."""
    return words(_NOTE.sub("", text).removeprefix("PORT_").replace("LINK_UP", "LinkUp"))


_ABOVE: Fields = {"fw_ver": ("firmware", words)}
_OF_PORT: Fields = {
    "state": ("state", _named),
    "phys_state": ("physical_state", _named),
    "link_layer": ("link_layer", words),
}


def recognise(output: Output) -> int:
    """Certain by an adapter's line with a port's below."""
    return (
        CERTAIN if "hca_id:" in output.text and output.has(_ADAPTER, "hca_id:") and output.has(_PORT, "port:") else NO
    )


def parse(output: Output) -> Parsed:
    """A record a port; with `-v` its rate, which is that of a lane times the lanes."""
    ports: list[Reading] = []
    above: list[tuple[str, str, Line]] = []
    name: tuple[str, Line] | None = None
    in_port = False
    lane: float | None = None
    lanes: int | None = None
    for line in output.lines:
        text = line.text
        if match := _ADAPTER.match(text):
            name, above, in_port = (match[1], line), [], False
        elif name and (match := _PORT.match(text)) and len(ports) < _MOST_PORTS:
            in_port, lane, lanes = True, None, None
            ports.append(Reading(output))
            ports[-1].put("adapter", *name)
            ports[-1].put("port", int(match[1]), line)
            for label, value, at in above:
                ports[-1].of(_ABOVE, label, value, at)
        elif match := _ROW.match(text):
            label, value = match.groups()
            if not in_port:
                above.append((label, value, line))
                continue
            ports[-1].of(_OF_PORT, label, value, line)
            if label == "active_speed" and (found := _SPEED.match(value)):
                lane = float(found[1])
            elif label == "active_width" and (found := _WIDTH.match(value)):
                lanes = int(found[1])
            if lane and lanes:
                ports[-1].put("bit_per_s", lane * lanes * 1e9, line)
    made = tuple(port.made(IbPort) for port in ports)
    return Parsed(Evidence(ib_ports=made, looked_for=frozenset({"ib"})))


PARSER = Parser("ibv_devinfo", recognise, parse)
