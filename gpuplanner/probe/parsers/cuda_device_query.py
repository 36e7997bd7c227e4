"""`deviceQuery` of the CUDA samples, and its twin for HIP: what the runtime says of each GPU, and who reaches whom."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.paths import PathMatrix
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.parsers.nvidia_values import count, each_once, set_or_not, version
from gpuplanner.probe.values import Reading, number, words

_DEVICE = re.compile(r"^Device (\d{1,4}): \"(.{1,100})\"\s{0,20}$")
_HIP = re.compile(r"^\[GPU (\d{1,4})\] (.{1,200})$")
_HIP_ROW = re.compile(r"^(\S{1,60}): (.{1,120})$")
_HIP_MARK = "Number of multi-processors(Compute Units"
_ROW = re.compile(r"^ {2}(\S.{1,60}?):?\s{2,60}(\S.{0,120}?)\s{0,20}$")
_VERSIONS = re.compile(r"^ {2}CUDA Driver Version / Runtime Version\s{1,40}(\d{1,3}\.\d{1,2}) / (\d{1,3}\.\d{1,2})")
_MEMORY = re.compile(r"^ {2}Total amount of global memory:\s{1,40}\d{1,9} M?i?B\w{0,6} \((\d{1,16}) bytes\)")
_CORES = re.compile(r"^ {2}\((\d{1,5})\) Multiprocessors, ")
_PLACE = re.compile(
    r"^ {2}Device PCI Domain ID / Bus ID / location ID:\s{1,20}(\d{1,6}) / (\d{1,3}) / (\d{1,2})\s{0,20}$"
)
_PEER = re.compile(r"^> Peer access from .{1,100} \(GPU(\d{1,4})\) -> .{1,100} \(GPU(\d{1,4})\) : (Yes|No)")
_MOST_DEVICES = 256

_FIELDS: Fields = {
    "CUDA Capability Major/Minor version number": ("compute_capability", version),
    "GPU Max Clock rate": ("clock_max_sm_mhz", number),
    "Memory Clock rate": ("clock_max_memory_mhz", number),
    "Device has ECC support": ("ecc_mode", set_or_not),
}
_HIP_FIELDS: Fields = {
    "Max clock frequency of the multi-processors in MHz": ("clock_max_sm_mhz", number),
    "Number of multi-processors(Compute Units: CUs)": ("multiprocessors", count),
    "Total Global Memory (MB)": ("memory_total_mib", number),
    "UUID of this device": ("uuid", words),
}


def recognise(output: Output) -> int:
    """Certain by a device's line with its versions below, or by the rows of HIP's twin."""
    if "CUDA Driver Version / Runtime Version" in output.text and output.has(_DEVICE, "Device "):
        return CERTAIN
    return CERTAIN if _HIP_MARK in output.text and output.has(_HIP, "[GPU ") else NO


def parse(output: Output) -> Parsed:
    """GPUs in the runtime's order, the versions, and the matrix of peer access where it is printed."""
    gpus: dict[int, Reading] = {}
    places: dict[int, dict[str, tuple[int, Line]]] = {}
    software = Reading(output)
    peers: dict[str, dict[str, str]] = {}
    current: Reading | None = None
    for line in output.lines:
        text = line.text
        if match := _DEVICE.match(text):
            current = _new(output, gpus, int(match[1]), line)
            current.take("name", match[2], words, line)
        elif match := _HIP.match(text):
            index = int(match[1])
            _hip(gpus.get(index) or _new(output, gpus, index, line), match[2], line, places.setdefault(index, {}))
        elif match := _PEER.match(text):
            if len(peers) < _MOST_DEVICES:
                row = peers.setdefault(f"GPU{match[1]}", {})
                row[f"GPU{match[2]}"] = "OK" if match[3] == "Yes" else "NS"
        elif current is not None:
            _row(current, software, line)
    for index, held in places.items():
        if len(held) == len(_HIP_PLACES):
            domain, bus, device = (held[label][0] for label in _HIP_PLACES)
            gpus[index].take("pci_bus_id", _bus_id(domain, bus, device), words, held["PCI Bus ID"][1])
    kept, problems = each_once(
        gpu.made(Gpu, vendor="amd" if index in places else "nvidia") for index, gpu in gpus.items()
    )
    evidence = Evidence(
        gpus=kept,
        matrices=(PathMatrix(kind="p2p", devices=tuple(peers), paths=peers),) if peers else (),
        software=software.made(Software) if software else None,
        looked_for=frozenset({"gpus"}),
    )
    return Parsed(evidence, problems)


def _new(output: Output, gpus: dict[int, Reading], index: int, line: Line) -> Reading:
    reading = Reading(output)
    reading.put("index", index, line)
    return gpus.setdefault(index, reading) if len(gpus) < _MOST_DEVICES else reading


def _row(gpu: Reading, software: Reading, line: Line) -> None:
    text = line.text
    if match := _VERSIONS.match(text):
        gpu.take("cuda_version", match[1], version, line)
        software.take("cuda_driver_version", match[1], version, line)
        software.take("cuda_runtime_version", match[2], version, line)
    elif match := _MEMORY.match(text):
        gpu.take("memory_total_mib", match[1], lambda size: int(size) / 2.0**20, line)
    elif match := _CORES.match(text):
        gpu.take("multiprocessors", match[1], count, line)
    elif match := _PLACE.match(text):
        gpu.take("pci_bus_id", _bus_id(int(match[1]), int(match[2]), int(match[3])), words, line)
    elif match := _ROW.match(text):
        gpu.of(_FIELDS, match[1], match[2], line)


_HIP_PLACES = ("PCI Domain ID", "PCI Bus ID", "PCI Device ID")


def _hip(gpu: Reading, text: str, line: Line, places: dict[str, tuple[int, Line]]) -> None:
    match = _HIP_ROW.match(text)
    if match is None:
        gpu.take("name", text, words, line)
        return
    value, label = match.groups()
    if label == "AMD GCN Arch Name":
        gpu.take("architecture", value.partition(":")[0], words, line)
    elif label in _HIP_PLACES:
        if value.isdecimal() and len(value) < len("10000000"):
            places[label] = int(value), line
    else:
        gpu.of(_HIP_FIELDS, label, value, line)


def _bus_id(domain: int, bus: int, device: int) -> str:
    """The runtime counts in decimals; the field is hexadecimal."""
    return f"{domain:08X}:{bus:02X}:{device:02X}.0"


PARSER = Parser("cuda-deviceQuery", recognise, parse)
