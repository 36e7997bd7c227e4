"""What GCM's hardware checks read of a machine, as JSON: files of /sys by their path, and `ip -j address`."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import IbPort, NetworkLink, PciDevice
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.values import Reading, number, whole, words

_LINK = re.compile(
    r"^/sys/(?:class/pci_bus|bus/pci|devices)/[\w:./-]{0,200}?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/"
    r"((?:current|max)_link_(?:speed|width))$"
)
_PORT = re.compile(r"^/sys/[\w:./-]{0,200}?/infiniband/(\w{1,40})/ports/(\d{1,3})/(state|phys_state|rate|link_layer)$")
_NET = re.compile(r"^/sys/[\w:./-]{0,200}?/net/([\w.-]{1,40})/(operstate|mtu|speed)$")
_LINK_FIELDS = {
    "current_link_speed": ("link_gt_per_s", number),
    "max_link_speed": ("link_gt_per_s_max", number),
    "current_link_width": ("link_width", whole),
    "max_link_width": ("link_width_max", whole),
}
_PORT_FIELDS = {"state": "state", "phys_state": "physical_state", "link_layer": "link_layer"}
_MOST = 20_000


def recognise(output: Output) -> int:
    """Certain by paths of /sys as keys; likely by interfaces as `ip` lists them."""
    if '"/sys/' in output.text and isinstance(content := content_of(output), dict):
        return CERTAIN if any(isinstance(key, str) and key.startswith("/sys/") for key in content) else NO
    if '"ifname"' in output.text and '"operstate"' in output.text:
        return CERTAIN if '"intf_status"' in output.text else LIKELY
    return NO


def parse(output: Output) -> Parsed:
    """Devices with their links, ports, and interfaces."""
    content = content_of(output)
    places = Places(output)
    pci: dict[str, Reading] = {}
    ports: dict[tuple[str, int], Reading] = {}
    links: dict[str, Reading] = {}
    for path, value in content.items() if isinstance(content, dict) else ():
        if not isinstance(value, str) or len(pci) + len(ports) + len(links) > _MOST:
            continue
        line, text = places.of(path, value), value.strip()
        if match := _LINK.match(path):
            device = pci.setdefault(match[1].upper(), Reading(output))
            device.put("bus_id", match[1].upper(), line)
            field, convert = _LINK_FIELDS[match[2]]
            device.take(field, text, convert, line)
        elif match := _PORT.match(path):
            port = ports.setdefault((match[1], int(match[2])), Reading(output))
            port.put("adapter", match[1], line)
            port.put("port", int(match[2]), line)
            if match[3] == "rate":
                port.take("bit_per_s", text, lambda rate: number(rate) * 1e9, line)
            else:
                port.take(_PORT_FIELDS[match[3]], text.rpartition(":")[2], words, line)
        elif match := _NET.match(path):
            link = links.setdefault(match[1], Reading(output))
            link.put("name", match[1], line)
            if match[2] == "operstate":
                link.take("state", text, words, line)
            elif match[2] == "mtu":
                link.take("mtu", text, whole, line)
    rows = content.get("intf_status") if isinstance(content, dict) else content
    _interfaces(output, places, rows, links)
    evidence = Evidence(
        pci=tuple(device.made(PciDevice) for device in pci.values()),
        ib_ports=tuple(port.made(IbPort) for port in ports.values()),
        network=tuple(link.made(NetworkLink) for link in links.values()),
        looked_for=frozenset(name for name, held in (("pci", pci), ("ib", ports), ("network", links)) if held),
    )
    return Parsed(evidence)


def _interfaces(output: Output, places: Places, rows: Any, links: dict[str, Reading]) -> None:
    for row in rows[:_MOST] if isinstance(rows, list) else ():
        name = row.get("ifname") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name.strip():
            continue
        link = links.setdefault(name, Reading(output))
        link.take("name", name, words, places.of("ifname", name))
        if isinstance(row.get("mtu"), int):
            link.take("mtu", str(row["mtu"]), whole, places.of("mtu", row["mtu"]))
        if isinstance(row.get("operstate"), str):
            link.take("state", row["operstate"].lower(), words, places.of("operstate", row["operstate"]))


PARSER = Parser("gcm-hw", recognise, parse)
