"""Files of `/sys/bus/pci/devices`: identity, NUMA node and link of each device, without any tool and without root."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import PciDevice
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import SECTION, sections
from gpuplanner.probe.values import Reading, number, whole

_PATH = re.compile(
    r"^/sys/(?:bus/pci/devices|devices/pci[\w:./-]{1,400})/"
    r"(?P<bus>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])/(?P<file>\w{2,40})$"
)
_NAMED = re.compile(r"/sys/(?:bus/pci/devices|devices/pci)")
_HEX = re.compile(r"^0x([0-9a-fA-F]{2,8})$")


def recognise(output: Output) -> int:
    """By the paths."""
    if not _NAMED.search(output.text):
        return NO
    return CERTAIN if any(_PATH.match(match[1]) for _, match in output.matching(SECTION, "==> ")) else NO


def parse(output: Output) -> Parsed:
    """A device for each bus identifier, in the order of the first file of each."""
    files: dict[str, dict[str, Line]] = {}
    for path, lines in sections(output):
        match = _PATH.match(path)
        if match and lines:
            files.setdefault(match["bus"].upper(), {})[match["file"]] = lines[0]
    devices = tuple(_device(output, bus, found) for bus, found in files.items())
    return Parsed(Evidence(pci=devices, looked_for=frozenset({"pci"})))


def _device(output: Output, bus: str, files: dict[str, Line]) -> PciDevice:
    reading = Reading(output)
    reading.put("bus_id", bus, next(iter(files.values())))
    for name, field in (("max_link_speed", "link_gt_per_s_max"), ("current_link_speed", "link_gt_per_s")):
        if name in files:
            reading.take(field, files[name].text, number, files[name])
    for name, field in (
        ("max_link_width", "link_width_max"),
        ("current_link_width", "link_width"),
        ("numa_node", "numa_node"),
    ):
        if name in files:
            reading.take(field, files[name].text, whole, files[name])
    for high, low, field in (
        ("device", "vendor", "device_id"),
        ("subsystem_device", "subsystem_vendor", "subsystem_id"),
    ):
        if high in files and low in files:
            device, vendor = _HEX.match(files[high].text.strip()), _HEX.match(files[low].text.strip())
            if device and vendor:
                reading.put(field, f"0x{device[1]}{vendor[1]}".upper().replace("0X", "0x"), files[high])
    if "class" in files and (match := _HEX.match(files["class"].text.strip())):
        reading.put("class_code", match[1][:4].lower(), files["class"])
    if "revision" in files and (match := _HEX.match(files["revision"].text.strip())):
        reading.put("revision", match[1].lower(), files["revision"])
    return reading.made(PciDevice)


PARSER = Parser("sysfs-pci", recognise, parse)
