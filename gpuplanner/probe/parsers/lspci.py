"""`lspci` in its forms: `-nn`, `-k`, `-v` to `-vvv`, `-t` and `-tv`, also only some lines of it."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import PciDevice
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.output import Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.lspci_tree import TREE_ROOT, Tree
from gpuplanner.probe.values import Reading, number, size_bytes, whole, words, yes

_DEVICE = re.compile(
    r"^(?P<bus>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]) "
    r"(?:(?P<bare_class>[0-9a-f]{4})|(?P<kind>[A-Z0-9][\w /,-]{2,60}?)(?: \[(?P<class>[0-9a-f]{4})\])?)"
    r": (?P<rest>.{1,400})$"
)
_DEVICE_BEGINS = at_line_start(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7] [^\n]{1,600}")
_ROOTS = ("]-",)
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_BARE_IDS = re.compile(r"^([0-9a-f]{4}):([0-9a-f]{4})\b")
_REVISION = re.compile(r"\(rev ([0-9a-f]{2})\)")
_NAME_ENDS = re.compile(r" (?:\[[0-9a-f]{4}:[0-9a-f]{4}\]|\(rev [0-9a-f]{2}\)|\(prog-if )")
_KINDS = re.compile(
    r"(?:controller|[Bb]ridge|peripheral|accelerators?|device|counters|interface|SMBus|PIC|IOMMU|processor|memory"
    r"|Co-processor|encryption|Class|class|Encryption|Instrumentation|adapter)"
)
_CAP = re.compile(r"^\s{1,40}LnkCap:\s{0,8}.{0,40}?Speed ([^,]{1,30}), Width x(\d{1,3})")
_STATE = re.compile(r"^\s{1,40}LnkSta:\s{0,8}Speed ([^,(]{1,30}?)(?: \(\w{1,20}\))?, Width x(\d{1,3})")
_ACS = re.compile(r"^\s{1,40}ACSCtl:\s{0,8}(SrcValid([+-]) [\w+ -]{1,150})$")
_BUSES = re.compile(r"^\s{1,40}Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}),")
_REGION = re.compile(r"^\s{1,40}Region \d: Memory at .{1,100}\[size=(\d{1,6}[KMGT]?)\]")
_BAR = re.compile(r"^\s{1,40}BAR \d: current size: (\d{1,6}[KMGT]B)")
_ROW = re.compile(
    r"^\s{1,40}(Subsystem|DeviceName|Kernel driver in use|Kernel modules|NUMA node|Capabilities): {0,4}(.{1,300})$"
)
_DENIED = "<access denied>"
_LINK_FIELDS = ("link_gt_per_s_max", "link_width_max", "link_gt_per_s", "link_width", "acs_flags")
_MOST_DEVICES = 20_000
_MIB = 2.0**20


def recognise(output: Output) -> int:
    """Certain by a device's line with its class, a tree's root, or the lines of a link or of access control."""
    for line, _ in output.starting(_DEVICE_BEGINS):
        match = _DEVICE.match(line.text)
        if match and (match["class"] or match["bare_class"] or _KINDS.search(match["kind"] or "")):
            return CERTAIN
    if output.has(TREE_ROOT, *_ROOTS) or output.has(_ACS, "ACSCtl:") or output.has(_STATE, "LnkSta:"):
        return CERTAIN
    return LIKELY if output.has(_CAP, "LnkCap:") else NO


def parse(output: Output) -> Parsed:
    """Devices by bus identifier in the order in which they stand; lines of no device make records without one."""
    devices = _Devices(output)
    for line in output.lines:
        devices.take(line)
    return Parsed(Evidence(pci=devices.made(), looked_for=frozenset({"pci"})))


class _Devices:
    """The devices of an output, each once, also where a tree and a list both have it."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._named: dict[str, Reading] = {}
        self._all: list[Reading] = []
        self._sizes: dict[str, dict[str, tuple[float, Line]]] = {}
        self._bridges: dict[str, str] = {}
        self._tree = Tree()
        self._bus: str | None = None
        self._current: Reading | None = None

    def take(self, line: Line) -> None:
        """Read a line: a device, a detail of the one above, or a part of a tree."""
        text = line.text
        if match := _DEVICE.match(text):
            self._begin(match, line)
        elif text[:1] in {" ", "\t"} and text.lstrip()[:1] not in {"|", "+", "\\", "-"}:
            self._detail(line)
        else:
            for node in self._tree.nodes(text):
                reading = self._of(node.bus_id, line)
                if reading is not None and node.parent:
                    reading.put("parent", node.parent, line)
                if reading is not None and node.name:
                    reading.take("name", node.name, words, line)
            self._current = None

    def _of(self, bus_id: str, line: Line) -> Reading | None:
        if bus_id not in self._named:
            if len(self._all) >= _MOST_DEVICES:
                return None
            self._named[bus_id] = Reading(self._output)
            self._named[bus_id].put("bus_id", bus_id, line)
            self._all.append(self._named[bus_id])
        return self._named[bus_id]

    def _begin(self, match: re.Match[str], line: Line) -> None:
        bus = match["bus"].upper()
        self._bus = bus if bus.count(":") == 2 else f"0000:{bus}"
        self._current = reading = self._of(self._bus, line)
        if reading is None:
            return
        rest = match["rest"]
        if code := match["class"] or match["bare_class"]:
            reading.put("class_code", code, line)
        if match["kind"]:
            reading.put("kind", match["kind"], line)
        ids = _BARE_IDS.match(rest) if match["bare_class"] else _last(_IDS, rest)
        if ids:
            reading.put("device_id", _id(ids), line)
        if not match["bare_class"]:
            ends = _NAME_ENDS.search(rest)
            reading.take("name", rest[: ends.start()] if ends else rest, words, line)
        if revision := _REVISION.search(rest):
            reading.put("revision", revision[1], line)

    def _detail(self, line: Line) -> None:
        text = line.text
        stripped = text.lstrip()
        if not stripped.startswith(_DETAILS):
            return
        link = _CAP.match(text) or _STATE.match(text)
        acs = _ACS.match(text)
        if self._current is None or (self._bus is None and acs):
            # Lines that were picked out of a list, as by grep: each of access control is of another device.
            if not (link or acs) or len(self._all) >= _MOST_DEVICES:
                return
            self._current, self._bus = Reading(self._output), None
            self._all.append(self._current)
        reading = self._current
        if link:
            of_state = stripped.startswith("LnkSta")
            reading.take("link_gt_per_s" if of_state else "link_gt_per_s_max", link[1], number, line)
            reading.take("link_width" if of_state else "link_width_max", link[2], whole, line)
        elif acs:
            reading.put("acs_flags", acs[1].strip(), line)
            reading.take("acs_source_validation", "yes" if acs[2] == "+" else "no", yes, line)
        elif match := _BUSES.match(text):
            if self._bus:
                self._bridges.setdefault(f"{self._bus.rsplit(':', 2)[0]}:{match[1].upper()}", self._bus)
        elif match := _REGION.match(text) or _BAR.match(text):
            self._size("resizable_bar_mib" if stripped.startswith("BAR") else "largest_bar_mib", match[1], line)
        elif match := _ROW.match(text):
            self._row(reading, match[1], match[2], line)

    def _size(self, field: str, text: str, line: Line) -> None:
        held = self._sizes.setdefault(self._bus or "", {})
        mib = size_bytes(text) / _MIB
        if field not in held or held[field][0] < mib:
            held[field] = (mib, line)

    @staticmethod
    def _row(reading: Reading, label: str, text: str, line: Line) -> None:
        if label == "Subsystem":
            ids = _last(_IDS, text)
            reading.take("subsystem", text[: ids.start()] if ids and ids.start() else text, words, line)
            if ids:
                reading.put("subsystem_id", _id(ids), line)
        elif label == "Kernel driver in use":
            reading.take("kernel_driver", text, words, line)
        elif label == "Kernel modules":
            reading.put("kernel_modules", tuple(part.strip() for part in text.split(",") if part.strip()), line)
        elif label == "NUMA node":
            reading.take("numa_node", text, whole, line)
        elif label == "Capabilities" and text.strip() == _DENIED:
            for field in _LINK_FIELDS:
                reading.lack(field, Lacking.NO_PERMISSION, line)

    def made(self) -> tuple[PciDevice, ...]:
        """The records, with the largest of the memory windows, and the bridge above by the buses that bridges name."""
        for bus, held in self._sizes.items():
            for field, (mib, line) in held.items():
                if bus in self._named:
                    self._named[bus].put(field, mib, line)
        devices = []
        for reading in self._all:
            device = reading.made(PciDevice)
            above = self._bridges.get(device.bus_id.rsplit(":", 1)[0]) if device.bus_id and not device.parent else None
            devices.append(device.model_copy(update={"parent": above}) if above else device)
        return tuple(devices)


_DETAILS = (
    "LnkCap:",
    "LnkSta:",
    "ACSCtl:",
    "Bus:",
    "Region ",
    "BAR ",
    "Subsystem",
    "Kernel ",
    "NUMA",
    "Capabilities: <",
)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return found[-1] if found else None


def _id(ids: re.Match[str]) -> str:
    return f"0x{ids[2]}{ids[1]}".upper().replace("0X", "0x")


PARSER = Parser("lspci", recognise, parse)
