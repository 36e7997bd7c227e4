"""`bandwidthTest` of the CUDA samples: rates by size between the host's memory and a GPU's, and inside the GPU."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.evidence.measured import Path as Way
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import each_once
from gpuplanner.probe.values import Reading, number, words

_MARK = re.compile(r"^\[CUDA Bandwidth Test\]")
_DEVICE = re.compile(r"^ Device (\d{1,4}): (.{1,100}?)\s{0,20}$")
_ROW = re.compile(
    r"^bandwidthTest-([HD]2[HD])(?:-(\w{1,20}))?, Bandwidth = (\d{1,9}(?:\.\d{1,6})?) (GB|MB)/s, "
    r".{0,60}Size = (\d{1,16}) bytes"
)
_TITLE = re.compile(r"^ (Host|Device) to (Host|Device) Bandwidth, \d{1,4} Device\(s\)")
_MEMORY = re.compile(r"^ (PINNED|PAGEABLE|WRITE-COMBINED PINNED) Memory Transfers")
_COLUMNS = re.compile(r"^ {3}Transfer Size \(Bytes\)\s{1,20}Bandwidth\((GB|MB)/s\)")
_CELLS = re.compile(r"^ {3}(\d{1,16})\s{1,20}(\d{1,9}(?:\.\d{1,6})?)\s{0,20}$")
_WAYS: dict[str, Way] = {"H2D": "host_to_device", "D2H": "device_to_host", "D2D": "device_memory"}
_MOST_ROWS = 50_000


def recognise(output: Output) -> int:
    """Certain by its title or its rows."""
    if "[CUDA Bandwidth Test]" in output.text and output.has(_MARK, "[CUDA Bandwidth Test]"):
        return CERTAIN
    return CERTAIN if "bandwidthTest-" in output.text and output.has(_ROW, "bandwidthTest-") else NO


def parse(output: Output) -> Parsed:
    """A rate for each size. Inside a GPU the test counts what is read plus what is written."""
    gpus: list[Gpu] = []
    rates: list[Bandwidth] = []
    way, method, scale = "", "", 1.0
    for line in output.lines[: _MOST_ROWS * 2]:
        text = line.text
        if match := _DEVICE.match(text):
            gpu = Reading(output)
            gpu.put("index", int(match[1]), line)
            gpu.take("name", match[2], words, line)
            gpus.append(gpu.made(Gpu, vendor="nvidia"))
            continue
        if match := _TITLE.match(text):
            way, method = f"{match[1][0]}2{match[2][0]}", ""
        elif match := _MEMORY.match(text):
            method = match[1].lower()
        elif match := _COLUMNS.match(text):
            scale = 1.0 if match[1] == "GB" else 1e-3
        reading = Reading(output)
        if match := _ROW.match(text):
            way, method, scale = match[1], (match[2] or "").lower(), 1.0 if match[4] == "GB" else 1e-3
            size, rate = match[5], match[3]
        elif way and (match := _CELLS.match(text)):
            size, rate = match[1], match[2]
        else:
            continue
        if way not in _WAYS or len(rates) >= _MOST_ROWS:
            continue
        reading.take("bytes", size, number, line)
        reading.put("gb_per_s", number(rate) * scale, line)
        known: dict[str, Any] = {"method": method} if method else {}
        if len(gpus) == 1:
            known["source" if way[0] == "D" else "target"] = gpus[0].index
        if way == "D2D":
            known["counts_both"] = True
        rates.append(reading.made(Bandwidth, path=_WAYS[way], tool="bandwidthTest", **known))
    kept, problems = each_once(gpus)
    return Parsed(Evidence(gpus=kept, bandwidths=tuple(rates), looked_for=frozenset({"bandwidths"})), problems)


PARSER = Parser("cuda-bandwidthTest", recognise, parse)
