"""`rocm-smi`: its JSON, its CSV, its rows of `-a`, and its table of all GPUs."""

import csv
import re
from collections.abc import Iterator
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.amd_values import device_id, generation, mhz, mib_of_bytes, width
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.parsers.nvidia_values import bus_id, count, each_once
from gpuplanner.probe.values import Reading, UnreadableError, number, words

_CARD = re.compile(r'"card(\d{1,4})"[ \t]{0,4}:')
_CARD_KEY = re.compile(r"^card(\d{1,4})$")
_TITLE = re.compile(r"ROCm System Management Interface")
_CSV = re.compile(r"^device,.{1,4000}\((?:C|W|%|B)\)")
_ROW = re.compile(r"^GPU\[(\d{1,4})\]\s{1,10}: (.{1,80}?)(?::\s{1,10}| {0,2}\t{1,4})(.{1,200}?)\s{0,40}$")
_TABLE_ROW = re.compile(r"^(\d{1,4})\s{1,20}(?=.{0,120}(?:\d(?:°C|c|W)\s|0x[0-9a-f]{4},))(.{10,200})$")
_MODEL = re.compile(r"\[?(0x[0-9a-f]{4})\b(?: :|,)")
_TEMPERATURE = re.compile(r"(\d{1,3}(?:\.\d{1,2})?)°?[cC](?=\s)")
_POWER = re.compile(r"(\d{1,5}(?:\.\d{1,2})?)W(?=\s)")
_CLOCK = re.compile(r"(\d{1,5})M[Hh]z(?=\s)")
_BUSY = re.compile(r"\s(\d{1,3})%\s{0,40}$")
_NAME_BELOW = re.compile(r"^\s{2,20}(\S.{1,60}?)\s{0,100}$")


def _name(text: str) -> str:
    """A product's name; where the tool knows none it prints a PCI identifier in its place. Raises UnreadableError."""
    if text.strip().lower().startswith("0x"):
        raise UnreadableError(text)
    return words(text)


_FIELDS: Fields = {
    "Card series": ("name", _name),
    "Card Series": ("name", _name),
    "Device Name": ("name", _name),
    "Device ID": ("pci_device_id", device_id),
    "GPU ID": ("pci_device_id", device_id),
    "Unique ID": ("uuid", words),
    "Serial Number": ("serial", words),
    "VBIOS version": ("vbios", words),
    "PCI Bus": ("pci_bus_id", bus_id),
    "Temperature (Sensor edge) (C)": ("temperature_c", number),
    "Temperature (Sensor junction) (C)": ("temperature_c", number),
    "Temperature (Sensor memory) (C)": ("temperature_memory_c", number),
    "Average Graphics Package Power (W)": ("power_draw_w", number),
    "Current Socket Graphics Package Power (W)": ("power_draw_w", number),
    "Max Graphics Package Power (W)": ("power_limit_w", number),
    "sclk clock speed:": ("clock_graphics_mhz", mhz),
    "mclk clock speed:": ("clock_memory_mhz", mhz),
    "Fan speed (%)": ("fan_percent", number),
    "GPU use (%)": ("utilization_percent", number),
    "PCIe Replay Count": ("pcie_replays", count),
    "VRAM Total Memory (B)": ("memory_total_mib", mib_of_bytes),
    "VRAM Total Used Memory (B)": ("memory_used_mib", mib_of_bytes),
    "GFX Version": ("architecture", words),
    "(Topology) Numa Node": ("numa_node", count),
}


def recognise(output: Output) -> int:
    """Certain by the title, by "card0" in JSON beside one of its labels, or by the CSV's header."""
    if _TITLE.search(output.text) or output.has(_CSV, "device,") or output.has(_ROW, "GPU["):
        return CERTAIN
    labelled = "(Sensor " in output.text or "VRAM Total" in output.text or "GPU use (%)" in output.text
    return CERTAIN if labelled and output.has(_CARD, '"card') else NO


def parse(output: Output) -> Parsed:
    """GPUs by their number, in whichever of the forms; the driver's version where it stands."""
    gpus: dict[int, Reading] = {}
    driver = Reading(output)
    for index, label, text, line in _pairs(output):
        if index < 0:
            if label == "Driver version":
                driver.take("driver_version", text, words, line)
            continue
        gpu = gpus.setdefault(index, Reading(output))
        gpu.put("index", index, line)
        if label == "pcie clock level":
            gpu.take("pcie_gen_current", text, generation, line)
            gpu.take("pcie_width_current", text, width, line)
        else:
            gpu.of(_FIELDS, label, text, line)
    _table(output, gpus)
    made = driver.made(Software) if driver else None
    kept, problems = each_once(
        gpu.made(Gpu, vendor="amd", driver_version=made.driver_version if made else None) for gpu in gpus.values()
    )
    return Parsed(Evidence(gpus=kept, software=made, looked_for=frozenset({"gpus"})), problems)


def _pairs(output: Output) -> Iterator[tuple[int, str, str, Line]]:
    """Each label with its value and the GPU that it is of; -1 for the system's."""
    if output.has(_CARD):
        content = content_of(output)
        places = Places(output)
        for key, card in content.items() if isinstance(content, dict) else ():
            match = _CARD_KEY.match(key)
            if isinstance(card, dict) and (match or key == "system"):
                for label, value in card.items():
                    yield int(match[1]) if match else -1, label, _plain(value), places.of(label, value)
    header: list[str] = []
    for line in output.lines:
        if _CSV.match(line.text):
            header = next(csv.reader([line.text]), [])
        elif header and line.text.startswith("card"):
            cells = next(csv.reader([line.text]), [])
            match = _CARD_KEY.match(cells[0])
            for label, text in zip(header[1:], cells[1:], strict=False) if match else ():
                yield int(match[1]) if match else -1, label, text, line
        elif line.text.startswith("GPU[") and (match := _ROW.match(line.text)):
            yield int(match[1]), match[2], match[3], line
        elif line.text.startswith("Driver version: "):
            yield -1, "Driver version", line.text.partition(": ")[2], line


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _table(output: Output, gpus: dict[int, Reading]) -> None:
    """The table: what is known by its unit is taken; of the two powers the first is drawn and the second the cap."""
    if not output.has(_TITLE):
        return
    last: Reading | None = None
    for line in output.lines:
        if match := _TABLE_ROW.match(line.text):
            last = gpu = gpus.setdefault(int(match[1]), Reading(output))
            gpu.put("index", int(match[1]), line)
            row = match[2] + " "
            if model := _MODEL.search(row):
                gpu.take("pci_device_id", model[1], device_id, line)
            for pattern, fields in (
                (_TEMPERATURE, ("temperature_c",)),
                (_POWER, ("power_draw_w", "power_limit_w")),
                (_CLOCK, ("clock_graphics_mhz", "clock_memory_mhz")),
            ):
                found = pattern.findall(row)
                # Only a full set says which is which: what is not known stands as N/A, without its unit.
                for field, text in zip(fields, found, strict=False) if len(found) == len(fields) else ():
                    gpu.take(field, text, number, line)
            if busy := _BUSY.search(row):
                gpu.take("utilization_percent", busy[1], number, line)
        elif last is not None and (match := _NAME_BELOW.match(line.text)):
            last.take("name", match[1], words, line)
            last = None
        else:
            last = None


PARSER = Parser("rocm-smi", recognise, parse)
