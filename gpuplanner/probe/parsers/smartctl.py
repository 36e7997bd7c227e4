"""`smartctl`: JSON of `-j`, and the text of `-a`: what a disk is and how it says it fares."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Disk
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import Fields, rows
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, UnreadableError, number, whole, words

_HEAD = re.compile(r"^smartctl \d{1,2}\.\d{1,2} .{0,40}\[\S{1,80}\]")
_CAPACITY = re.compile(r"^([\d,]{1,24}) (?:bytes )?\[")
_LOG = "nvme_smart_health_information_log"


def _passed(text: str) -> bool:
    """The disk's own verdict. Raises UnreadableError."""
    if text.startswith(("PASSED", "OK")):
        return True
    if text.startswith("FAILED"):
        return False
    raise UnreadableError(text)


def _capacity(text: str) -> float:
    """Bytes of "3,840,755,982,336 [3.84 TB]". Raises UnreadableError."""
    match = _CAPACITY.match(text)
    if not match:
        raise UnreadableError(text)
    return number(match[1])


_TEXT: Fields = {
    "Device Model": ("model", words),
    "Model Number": ("model", words),
    "Product": ("model", words),
    "Serial Number": ("serial", words),
    "Serial number": ("serial", words),
    "User Capacity": ("size_bytes", _capacity),
    "Total NVM Capacity": ("size_bytes", _capacity),
    "SMART overall-health self-assessment test result": ("healthy", _passed),
    "SMART Health Status": ("healthy", _passed),
    "Critical Warning": ("critical_warning", whole),
    "Temperature": ("temperature_c", number),
    "Current Drive Temperature": ("temperature_c", number),
    "Available Spare": ("spare_percent", count),
    "Available Spare Threshold": ("spare_threshold_percent", count),
    "Percentage Used": ("used_percent", count),
    "Power On Hours": ("power_on_hours", count),
    "Media and Data Integrity Errors": ("media_errors", count),
}
_JSON: tuple[tuple[tuple[str, ...], str, Any], ...] = (
    (("model_name",), "model", words),
    (("serial_number",), "serial", words),
    (("user_capacity", "bytes"), "size_bytes", number),
    (("nvme_total_capacity",), "size_bytes", number),
    (("temperature", "current"), "temperature_c", number),
    (("power_on_time", "hours"), "power_on_hours", count),
    ((_LOG, "critical_warning"), "critical_warning", count),
    ((_LOG, "temperature"), "temperature_c", number),
    ((_LOG, "available_spare"), "spare_percent", count),
    ((_LOG, "available_spare_threshold"), "spare_threshold_percent", count),
    ((_LOG, "percentage_used"), "used_percent", count),
    ((_LOG, "power_on_hours"), "power_on_hours", count),
    ((_LOG, "media_errors"), "media_errors", count),
)


def recognise(output: Output) -> int:
    """Certain by the head of the text, or by its block in JSON."""
    if '"smartctl"' in output.text and '"json_format_version"' in output.text:
        return CERTAIN
    return CERTAIN if "smartctl " in output.text and output.has(_HEAD, "smartctl ") else NO


def parse(output: Output) -> Parsed:
    """One disk an output."""
    content = content_of(output) if '"smartctl"' in output.text else None
    disk = _of_json(output, content) if isinstance(content, dict) else _of_text(output)
    return Parsed(Evidence(disks=(disk,), looked_for=frozenset({"smart"})))


def _of_text(output: Output) -> Disk:
    reading = Reading(output)
    for line, label, text in rows(output):
        reading.of(_TEXT, label, text, line)
        if label == "Rotation Rate":
            reading.put("rotational", not text.startswith("Solid State"), line)
    return reading.made(Disk)


def _of_json(output: Output, content: dict[str, Any]) -> Disk:
    reading = Reading(output)
    places = Places(output)
    device = content.get("device")
    if isinstance(device, dict):
        for key, field in (("name", "name"), ("protocol", "transport")):
            named = device.get(key)
            if isinstance(named, str) and named:
                text = named.removeprefix("/dev/") if key == "name" else named.lower()
                reading.take(field, text, words, places.of(key, named))
    for path, field, convert in _JSON:
        value: Any = content
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str | int | float):
            reading.take(field, str(value), convert, places.of(path[-1], value))
    status = content.get("smart_status")
    if isinstance(status, dict) and isinstance(status.get("passed"), bool):
        reading.put("healthy", status["passed"], places.of("passed", status["passed"]))
    rate = content.get("rotation_rate")
    if isinstance(rate, int):
        reading.put("rotational", rate > 0, places.of("rotation_rate", rate))
    return reading.made(Disk)


PARSER = Parser("smartctl", recognise, parse)
