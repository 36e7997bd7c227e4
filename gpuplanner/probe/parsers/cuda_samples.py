"""p2pBandwidthLatencyTest and topologyQuery of the CUDA samples, and ROCm's rocminfo."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.evidence.paths import PathMatrix
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.amd_values import AMD_PCI_VENDOR
from gpuplanner.probe.parsers.number_grid import Grid
from gpuplanner.probe.parsers.nvidia_values import count, each_once
from gpuplanner.probe.values import Reading, number, whole, words

_ACCESS = re.compile(r"^Device=(\d{1,4}) (CAN|CANNOT) Access Peer Device=(\d{1,4})\s{0,20}$")
_TITLE = re.compile(
    r"^(?:(Uni|Bi)directional )?P2P=(Enabled|Disabled) (Bandwidth|Latency)(?: \(P2P (?:Writes|Reads)\))? Matrix"
)
_PAIR = re.compile(r"^GPU(\d{1,4}) <-> (?:GPU(\d{1,4})|CPU):?\s{0,20}$")
_ATOMIC = re.compile(r"^ {2}\* Atomic Supported: (yes|no)")
_AGENT = re.compile(r"^Agent (\d{1,4})\s{0,40}$")
_ROCM_ROW = re.compile(
    r"^ {2}(Name|Uuid|Marketing Name|Device Type|Chip ID|BDFID|Compute Unit|Max Clock Freq\. \(MHz\))"
    r": {1,30}(.{1,100}?)\s{0,40}$"
)
_POOL = re.compile(r"^ {6}Size: {1,30}(\d{1,14})\(0x[0-9a-f]{1,12}\) KB")
_CHIP = re.compile(r"\(0x([0-9a-f]{4})\)")
_MOST_CELLS = 70_000
_TOOL = "p2pBandwidthLatencyTest"


def recognise(output: Output) -> int:
    """Certain by a matrix's title, a pair's line with its rank, or rocminfo's list of agents."""
    text = output.text
    if " Matrix" in text and output.has(_TITLE, " Matrix"):
        return CERTAIN
    if "Access Peer Device=" in text and output.has(_ACCESS, "Access Peer Device="):
        return CERTAIN
    if "HSA Agents" in text and output.has(_AGENT, "Agent "):
        return CERTAIN
    return CERTAIN if "Atomic Supported:" in text and output.has(_PAIR, " <-> ") else NO


def parse(output: Output) -> Parsed:
    """Rates and latencies of each pair, who reaches whom, and the GPUs that rocminfo lists."""
    paths: dict[str, dict[str, str]] = {}
    for _, match in output.matching(_ACCESS):
        paths.setdefault(f"GPU{match[1]}", {})[f"GPU{match[3]}"] = "OK" if match[2] == "CAN" else "NS"
    matrices = [PathMatrix(kind="p2p", devices=tuple(paths), paths=paths)] if paths else []
    if atomics := _atomics(output):
        matrices.append(PathMatrix(kind="p2p atomics", devices=tuple(atomics), paths=atomics))
    gpus, problems = each_once(_agents(output))
    evidence = Evidence(
        gpus=gpus,
        matrices=tuple(matrices),
        bandwidths=tuple(_rates(output)),
        looked_for=frozenset({"gpus"} if gpus else {"matrices"}),
    )
    return Parsed(evidence, problems)


def _rates(output: Output) -> list[Bandwidth]:
    """The cells. On the diagonal stands a GPU's own memory, where the test counts what is read plus written."""
    rates: list[Bandwidth] = []
    grid = Grid()
    title: re.Match[str] | None = None
    for line in output.lines:
        if match := _TITLE.match(line.text):
            title = match
            grid.begin()
        elif title is None or line.text.lstrip().startswith("CPU"):
            # Latency as the processor sees it follows the GPU's own.
            title = None
        elif len(rates) < _MOST_CELLS:
            for row, column, text in grid.cells(line):
                rates.append(_rate(output, line, title, row, column, text))
    return rates


def _rate(output: Output, line: Line, title: re.Match[str], row: int, column: int, text: str) -> Bandwidth:
    reading = Reading(output)
    reading.put("source", row, line)
    reading.put("target", column, line)
    reading.put("p2p_enabled", title[2] == "Enabled", line)
    if title[3] == "Latency":
        reading.take("latency_us", text, number, line)
    else:
        reading.put("both_ways", title[1] == "Bi", line)
        reading.take("gb_per_s", text, number, line)
    known: dict[str, Any] = {"counts_both": True} if row == column and title[3] != "Latency" else {}
    path = "device_memory" if row == column else "device_to_device"
    return reading.made(Bandwidth, path=path, tool=_TOOL, **known)


def _atomics(output: Output) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    pair: tuple[str, str] | None = None
    for line in output.lines:
        if match := _PAIR.match(line.text):
            pair = f"GPU{match[1]}", f"GPU{match[2]}" if match[2] else "CPU"
        elif pair and (match := _ATOMIC.match(line.text)):
            found.setdefault(pair[0], {})[pair[1]] = "OK" if match[1] == "yes" else "NS"
    return found


def _agents(output: Output) -> list[Gpu]:
    """Rocminfo's agents that are GPUs, numbered in their order."""
    if "HSA Agents" not in output.text:
        return []
    agents: list[tuple[Reading, bool]] = []
    reading: Reading | None = None
    for line in output.lines:
        if _AGENT.match(line.text):
            reading = Reading(output)
            agents.append((reading, False))
        elif reading is not None and (match := _ROCM_ROW.match(line.text)):
            if match[1] == "Device Type" and match[2] == "GPU":
                agents[-1] = reading, True
            _agent_row(reading, match[1], match[2], line)
        elif reading is not None and (match := _POOL.match(line.text)):
            reading.take("memory_total_mib", match[1], lambda text: number(text) / 1024.0, line)
    gpus = [reading for reading, is_gpu in agents if is_gpu]
    return [gpu.made(Gpu, index=at, vendor="amd") for at, gpu in enumerate(gpus)]


def _agent_row(reading: Reading, label: str, text: str, line: Line) -> None:
    if label == "Name":
        reading.take("architecture", text, words, line)
    elif label == "Marketing Name":
        reading.take("name", text, words, line)
    elif label == "Uuid":
        reading.take("uuid", text, words, line)
    elif label == "Compute Unit":
        reading.take("multiprocessors", text, count, line)
    elif label.startswith("Max Clock"):
        reading.take("clock_max_sm_mhz", text, number, line)
    elif label == "Chip ID" and (match := _CHIP.search(text)):
        reading.put("pci_device_id", f"0x{match[1].upper()}{AMD_PCI_VENDOR}", line)
    elif label == "BDFID":
        reading.take("pci_bus_id", text, _place, line)


def _place(text: str) -> str:
    """The identifier of a place on the bus as one number: the bus, 5 bits of the device, 3 of the function."""
    value = whole(text)
    return f"{value >> 16:08X}:{value >> 8 & 0xFF:02X}:{value >> 3 & 0x1F:02X}.{value & 7:X}"


PARSER = Parser("cuda-samples", recognise, parse)
