"""`nvme smart-log`: JSON of each version, and the text."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Disk
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import Fields, rows
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, number, whole, words

_HEAD = re.compile(r"^Smart Log for NVME device:\s{0,4}(?:/dev/)?(\w{1,30}) namespace-id:")
_FROM_KELVIN = 273.0
"""As the tool itself turns the log's whole kelvins into degrees."""

_TEXT: Fields = {
    "critical_warning": ("critical_warning", whole),
    "temperature": ("temperature_c", number),
    "available_spare": ("spare_percent", count),
    "available_spare_threshold": ("spare_threshold_percent", count),
    "percentage_used": ("used_percent", count),
    "power_on_hours": ("power_on_hours", count),
    "media_errors": ("media_errors", count),
}
_JSON: Fields = {
    "critical_warning": ("critical_warning", count),
    "temperature": ("temperature_c", lambda text: number(text) - _FROM_KELVIN),
    "avail_spare": ("spare_percent", count),
    "spare_thresh": ("spare_threshold_percent", count),
    "percent_used": ("used_percent", count),
    "power_on_hours": ("power_on_hours", count),
    "media_errors": ("media_errors", count),
}


def recognise(output: Output) -> int:
    """Certain by the head of the text, or by the names of its fields in JSON."""
    text = output.text
    if '"avail_spare"' in text and '"percent_used"' in text and '"critical_warning"' in text:
        return CERTAIN
    return CERTAIN if "Smart Log for NVME" in text and output.has(_HEAD, "Smart Log for NVME") else NO


def parse(output: Output) -> Parsed:
    """One disk an output; JSON does not say which."""
    content = content_of(output) if '"avail_spare"' in output.text else None
    reading = Reading(output)
    if isinstance(content, dict):
        places = Places(output)
        for key, value in content.items():
            # Newer versions break the warning up into its bits.
            nested = value.get("value") if isinstance(value, dict) else None
            plain: Any = value if nested is None else nested
            if isinstance(plain, str | int | float):
                reading.of(_JSON, key, str(plain), places.of(key if nested is None else "value", plain))
    else:
        for line, match in output.matching(_HEAD):
            reading.take("name", match[1], words, line)
        for line, label, text in rows(output):
            reading.of(_TEXT, label, text, line)
    return Parsed(Evidence(disks=(reading.made(Disk),), looked_for=frozenset({"smart"})))


PARSER = Parser("nvme-cli", recognise, parse)
