"""`dmidecode`: who made the machine."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import System
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import rows
from gpuplanner.probe.values import Reading, words

_MARK = re.compile(r"^# dmidecode \d|^Handle 0x[0-9A-Fa-f]{4}, DMI type \d")
_FIELDS = {
    "System Information": {"Manufacturer": "vendor", "Product Name": "product"},
    "Base Board Information": {"Product Name": "board"},
    "BIOS Information": {"Version": "bios"},
}


def recognise(output: Output) -> int:
    """By its head or a handle."""
    return CERTAIN if output.has(_MARK, "# dmidecode ", "DMI type ") else NO


def parse(output: Output) -> Parsed:
    """Vendor, product, board and firmware; of the first structure of each kind."""
    reading = Reading(output)
    part = ""
    labelled = {line.number: (label, value) for line, label, value in rows(output)}
    for line in output.lines:
        if line.text and not line.text[0].isspace():
            part = line.text.strip()
        elif line.number in labelled:
            label, value = labelled[line.number]
            field = _FIELDS.get(part, {}).get(label)
            if field:
                reading.take(field, value, words, line)
    return Parsed(Evidence(system=reading.made(System)))


PARSER = Parser("dmidecode", recognise, parse)
