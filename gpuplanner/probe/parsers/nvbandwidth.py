"""`nvbandwidth`: a matrix for each of its tests, by copy engines or by SMs, as text and as JSON (`-j`)."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.evidence.measured import Path as Way
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.parsers.number_grid import Grid
from gpuplanner.probe.parsers.nvidia_values import bus_id, each_once, version
from gpuplanner.probe.values import Reading, number, words

_RUNNING = re.compile(r"^Running (\w{5,80})\.\s{0,20}$")
_TITLE = re.compile(r"^memcpy (?:(CE|SM) )?.{0,80}\bbandwidth \(GB/s\)")
_DEVICE = re.compile(r"^Device (\d{1,4}): (.{1,100}?) \(([0-9a-fA-F:]{5,14})(?:\.\d)?\)")
_LISTED = re.compile(r"^(\d{1,4}): (.{1,100}?) \(([0-9a-fA-F:]{5,14})(?:\.\d)?\)")
_DRIVER = re.compile(r"^Driver Version: (\d[\d.]{2,20})")
_CUDA = re.compile(r"^CUDA (Runtime|Driver) Version: (\d{4,6})\s{0,20}$")
_MOST_CELLS = 70_000


def recognise(output: Output) -> int:
    """Certain by its version with a test that ran, or by its block in JSON with one."""
    if '"nvbandwidth"' in output.text and '"testcases"' in output.text:
        return CERTAIN
    return CERTAIN if "nvbandwidth Version" in output.text and output.has(_RUNNING, "Running ") else NO


def parse(output: Output) -> Parsed:
    """GPUs, versions and rates. Of a test of both ways at once only the matrix of their sum is taken."""
    content = content_of(output) if '"testcases"' in output.text else None
    if isinstance(content, dict) and isinstance(block := content.get("nvbandwidth"), dict):
        return _of_json(output, block)
    software = Reading(output)
    gpus: list[Gpu] = []
    rates: list[Bandwidth] = []
    grid = Grid()
    test, title = "", ""
    for line in output.lines:
        text = line.text
        if match := _RUNNING.match(text):
            test, title = match[1], ""
        elif _TITLE.match(text):
            title = text
            grid.begin()
        elif match := _DEVICE.match(text):
            gpu = Reading(output)
            gpu.put("index", int(match[1]), line)
            gpu.take("name", match[2], words, line)
            gpu.take("pci_bus_id", f"{match[3]}.0", bus_id, line)
            gpus.append(gpu.made(Gpu, vendor="nvidia"))
        elif match := _DRIVER.match(text):
            software.take("driver_version", match[1], version, line)
        elif match := _CUDA.match(text):
            field = "cuda_runtime_version" if match[1] == "Runtime" else "cuda_driver_version"
            software.put(field, f"{int(match[2]) // 1000}.{int(match[2]) % 1000 // 10}", line)
        elif title and len(rates) < _MOST_CELLS:
            for row, column, cell in grid.cells(line):
                rate = _rate(output, line, test, title, row, column, cell)
                if rate is not None:
                    rates.append(rate)
    kept, problems = each_once(gpus)
    evidence = Evidence(
        gpus=kept,
        software=software.made(Software) if software else None,
        bandwidths=tuple(rates),
        looked_for=frozenset({"bandwidths"}),
    )
    return Parsed(evidence, problems)


def _of_json(output: Output, block: dict[str, Any]) -> Parsed:
    """Each test's matrix. Of tests of both ways at once JSON joins several matrices into one: they are left."""
    places = Places(output)
    software = Reading(output)
    driver = block.get("Driver Version")
    if isinstance(driver, str):
        software.take("driver_version", driver, version, places.of("Driver Version", driver))
    gpus: list[Gpu] = []
    listed = block.get("GPU Device list")
    for entry in listed if isinstance(listed, list) else ():
        match = _LISTED.match(entry) if isinstance(entry, str) else None
        if match:
            gpu = Reading(output)
            line = next((line for line in output.lines if str(entry) in line.text), output.lines[0])
            gpu.put("index", int(match[1]), line)
            gpu.take("name", match[2], words, line)
            gpu.take("pci_bus_id", f"{match[3]}.0", bus_id, line)
            gpus.append(gpu.made(Gpu, vendor="nvidia"))
    rates: list[Bandwidth] = []
    tests = block.get("testcases")
    for test in tests if isinstance(tests, list) else ():
        name, title = (test.get("name"), test.get("bandwidth_description")) if isinstance(test, dict) else (None, None)
        if isinstance(name, str) and isinstance(title, str) and "<->" not in title and _TITLE.match(title):
            line = places.of("name", name)
            rates += _matrix(output, line, name, title, test.get("bandwidth_matrix"))[: _MOST_CELLS - len(rates)]
    kept, problems = each_once(gpus)
    made = software.made(Software) if software else None
    looked_for = frozenset({"bandwidths"})
    return Parsed(Evidence(gpus=kept, software=made, bandwidths=tuple(rates), looked_for=looked_for), problems)


def _matrix(output: Output, line: Line, test: str, title: str, rows: Any) -> list[Bandwidth]:
    cells = [
        (at, column, cell)
        for at, row in enumerate(rows if isinstance(rows, list) else ())
        for column, cell in enumerate(row if isinstance(row, list) else ())
        if isinstance(cell, str)
    ]
    made = (_rate(output, line, test, title, at, column, cell) for at, column, cell in cells)
    return [rate for rate in made if rate is not None]


def _rate(output: Output, line: Line, test: str, title: str, row: int, column: int, cell: str) -> Bandwidth | None:
    both = "<->" in title
    if cell == "N/A" or (both and "Total" not in title):
        return None
    way = _way(test)
    if way is None:
        return None
    reading = Reading(output)
    reading.take("gb_per_s", cell, number, line)
    known: dict[str, Any] = {"method": match[1].lower()} if (match := _TITLE.match(title)) and match[1] else {}
    if both:
        known["both_ways"] = True
    if way == "device_to_device":
        known["source"], known["target"] = (column, row) if "<- " in title else (row, column)
    elif way == "host_to_device":
        known["target"] = column
    else:
        known["source"] = column
    return reading.made(Bandwidth, path=way, tool=f"nvbandwidth {test}", **known)


def _way(test: str) -> Way | None:
    """Of a test between two places; those from all to one or one to all have a sum of several links in each cell."""
    if test.startswith("device_local"):
        return "device_memory"
    for way in ("host_to_device", "device_to_host", "device_to_device"):
        if test.startswith(way):
            return way
    return None


PARSER = Parser("nvbandwidth", recognise, parse)
