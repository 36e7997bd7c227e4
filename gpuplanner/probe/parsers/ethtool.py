"""`ethtool`: a link's settings, its driver (`-i`), its counters of errors (`-S`), the alarms of its optics (`-m`)."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Diagnostic
from gpuplanner.probe.evidence.paths import NetworkLink
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import bus_id
from gpuplanner.probe.values import Reading, UnreadableError, number, words, yes

_SETTINGS = re.compile(r"^Settings for ([\w.@-]{1,60}):\s{0,20}$")
_STATISTICS = re.compile(r"^NIC statistics:\s{0,20}$")
_DRIVER = re.compile(r"^driver: (\S{1,60})\s{0,20}$")
_MODULE = re.compile(r"^\s{0,20}Identifier\s{1,60}: 0x[0-9a-f]{2} \(")
_ROW = re.compile(r"^\s{0,20}([A-Za-z][\w .,()/-]{1,70}?)\s{0,60}: {0,20}(\S.{0,200}?)\s{0,20}$")
_ALARM = re.compile(r"(?:alarm|warning)$")
_ERRORS = re.compile(r"err|drop|discard|crc|symbol|link_down|timeout", re.IGNORECASE)
_MOST = 5_000


def recognise(output: Output) -> int:
    """Certain by the settings, the counters, or a module's identifier; likely by a driver's rows."""
    text = output.text
    if "Settings for " in text and output.has(_SETTINGS, "Settings for "):
        return CERTAIN
    if "NIC statistics:" in text and output.has(_STATISTICS, "NIC statistics:"):
        return CERTAIN
    if "Identifier" in text and "Transceiver" in text and output.has(_MODULE, "Identifier"):
        return CERTAIN
    return LIKELY if "firmware-version: " in text and "bus-info: " in text and output.has(_DRIVER, "driver: ") else NO


def parse(output: Output) -> Parsed:
    """A link a block, and of optics that watch themselves each alarm and warning with On or Off."""
    links: list[Reading] = []
    alarms: list[Diagnostic] = []
    errors: dict[str, int] = {}
    first_error: Line | None = None
    counting = False
    for line in output.lines:
        text = line.text
        if match := _SETTINGS.match(text):
            links.append(Reading(output))
            links[-1].put("name", match[1], line)
            counting = False
        elif _STATISTICS.match(text):
            counting = True
        elif match := _ROW.match(text):
            label, value = match.groups()
            if _ALARM.search(label) and value in {"On", "Off"}:
                if len(alarms) < _MOST:
                    alarms.append(_alarm(output, label, value, line))
            elif counting and value.isdecimal() and _ERRORS.search(label) and len(errors) < _MOST:
                errors[label] = int(value[:20])
                first_error = first_error or line
            elif label in _FIELDS:
                if not links:
                    links.append(Reading(output))
                field, convert = _FIELDS[label]
                if value.startswith("Unknown!"):
                    links[-1].lack(field, Lacking.UNKNOWN, line)
                else:
                    links[-1].take(field, value, convert, line)
    if errors and first_error:
        if not links:
            links.append(Reading(output))
        links[-1].put("errors", errors, first_error)
    made = tuple(link.made(NetworkLink) for link in links[:_MOST])
    looked = frozenset({"network"} if made else {"diagnostics"} if alarms else ())
    return Parsed(Evidence(network=made, diagnostics=tuple(alarms), looked_for=looked))


def _alarm(output: Output, label: str, value: str, line: Line) -> Diagnostic:
    reading = Reading(output)
    reading.take("test", label, words, line)
    reading.put("result", value, line)
    return reading.made(Diagnostic, tool="ethtool")


def _rate(text: str) -> float:
    """Bit/s of "40000Mb/s". Raises UnreadableError."""
    if not text.endswith("Mb/s"):
        raise UnreadableError(text)
    return number(text) * 1e6


_FIELDS = {
    "Speed": ("bit_per_s", _rate),
    "Duplex": ("duplex", words),
    "Link detected": ("state", lambda text: "up" if yes(text) else "down"),
    "driver": ("driver", words),
    "version": ("driver_version", words),
    "firmware-version": ("firmware", words),
    "bus-info": ("pci_bus_id", bus_id),
}


PARSER = Parser("ethtool", recognise, parse)
