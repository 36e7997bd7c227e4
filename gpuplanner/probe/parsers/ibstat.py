"""`ibstat` and `ibstatus`: the ports of InfiniBand and RoCE adapters."""

import re

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.paths import IbPort
from gpuplanner.probe.evidence.record import LONGEST_QUOTE
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.values import Reading, number, words

_ADAPTER = re.compile(r"^CA '([\w.-]{1,60})'\s{0,20}$")
_PORT = re.compile(r"^\s{1,20}Port (\d{1,3}):\s{0,20}$")
_STATUS = re.compile(r"^Infiniband device '([\w.-]{1,60})' port (\d{1,3}) status:\s{0,20}$")
_ROW = re.compile(r"^\s{1,20}([A-Za-z][\w ]{1,30}):\s{1,20}(\S.{0,120}?)\s{0,20}$")
_PANIC = re.compile(r"^(?:ibpanic|ibwarn): ")
_MOST_PORTS = 10_000


def _of_numbered(text: str) -> str:
    """The state of "4: ACTIVE". Raises UnreadableError where nothing stands there."""
    return words(text.rpartition(":")[2])


_ABOVE: Fields = {"CA type": ("adapter_type", words), "Firmware version": ("firmware", words)}
_OF_PORT: Fields = {
    "State": ("state", words),
    "Physical state": ("physical_state", words),
    "Rate": ("bit_per_s", lambda text: number(text) * 1e9),
    "Link layer": ("link_layer", words),
    "Port GUID": ("guid", words),
    "state": ("state", _of_numbered),
    "phys state": ("physical_state", _of_numbered),
    "rate": ("bit_per_s", lambda text: number(text) * 1e9),
    "link_layer": ("link_layer", words),
}


def recognise(output: Output) -> int:
    """Certain by an adapter's line with a port, or by its panic."""
    text = output.text
    if ("CA '" in text and output.has(_ADAPTER, "CA '")) or (
        "Infiniband device '" in text and output.has(_STATUS, "Infiniband device '")
    ):
        return CERTAIN
    return CERTAIN if "ibpanic: " in text and output.has(_PANIC, "ibpanic: ") else NO


def parse(output: Output) -> Parsed:
    """A record for each port with its adapter's type and firmware; what the tool says instead of an answer."""
    ports: list[IbPort] = []
    faults: list[ToolFault] = []
    adapter: list[tuple[str, str, Line]] = []
    name: tuple[str, Line] | None = None
    port: Reading | None = None
    for line in output.lines:
        text = line.text
        if match := _ADAPTER.match(text):
            ports, port = _closed(ports, port)
            name, adapter = (match[1], line), []
        elif (match := _STATUS.match(text)) or (name and (match := _PORT.match(text))):
            ports, port = _closed(ports, port)
            port = Reading(output)
            held = (match[1], line) if match.re is _STATUS else name
            if held:
                port.put("adapter", *held)
            port.put("port", int(match[match.re.groups]), line)
            for label, value, above in adapter:
                port.of(_ABOVE, label, value, above)
        elif text.lstrip().startswith("Port ") and text.rstrip().endswith(":"):
            # A port whose number cannot be read: what follows is not of the port above.
            ports, port = _closed(ports, port)
            name, adapter = None, []
        elif match := _ROW.match(text):
            if port is None and name:
                adapter.append((match[1], match[2], line))
            elif port is not None:
                port.of(_OF_PORT, match[1], match[2], line)
        elif _PANIC.match(text) and len(faults) < _MOST_PORTS:
            fault = Reading(output)
            fault.put("said", shortened(text.strip(), LONGEST_QUOTE), line)
            faults.append(fault.made(ToolFault, kind="device_error"))
    ports, _ = _closed(ports, port)
    evidence = Evidence(ib_ports=tuple(ports[:_MOST_PORTS]), faults=tuple(faults), looked_for=frozenset({"ib"}))
    return Parsed(evidence)


def _closed(ports: list[IbPort], port: Reading | None) -> tuple[list[IbPort], None]:
    if port is not None and len(ports) < _MOST_PORTS:
        ports.append(port.made(IbPort))
    return ports, None


PARSER = Parser("ibstat", recognise, parse)
