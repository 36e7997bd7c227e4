"""SuperBench's STREAM on GPUs: the rate of each kernel, number format and block in a GPU's own memory."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count, each_once, version
from gpuplanner.probe.values import Reading, words

_ROW = re.compile(
    r"^STREAM_(COPY|SCALE|ADD|TRIAD)_(\w{1,12})_gpu_(\d{1,4})_buffer_(\d{1,15})_block_(\d{1,6})\s{1,20}"
    r"(\d{1,9}(?:\.\d{1,4})?)\b"
)
_DEVICE = re.compile(
    r"^Device (\d{1,4}): \"(.{1,100}?)\"\s{1,6}(\d{1,5}) SMs\((\d{1,2}\.\d)\).{0,120}?(?:ECC is (ON|OFF))?\s{0,9}$"
)
_MOST_ROWS = 50_000


def recognise(output: Output) -> int:
    """Certain by a row's name."""
    return CERTAIN if "STREAM_" in output.text and "_buffer_" in output.text and output.has(_ROW, "_buffer_") else NO


def parse(output: Output) -> Parsed:
    """GPUs and rates; STREAM counts what is read plus what is written. `bytes`: of one buffer."""
    gpus: list[Gpu] = []
    rates: list[Bandwidth] = []
    for line in output.lines:
        reading = Reading(output)
        if match := _DEVICE.match(line.text):
            reading.put("index", int(match[1]), line)
            reading.take("name", match[2], words, line)
            reading.take("multiprocessors", match[3], count, line)
            reading.take("compute_capability", match[4], version, line)
            if match[5]:
                reading.put("ecc_mode", "Enabled" if match[5] == "ON" else "Disabled", line)
            gpus.append(reading.made(Gpu, vendor="nvidia"))
        elif (match := _ROW.match(line.text)) and len(rates) < _MOST_ROWS:
            reading.put("method", f"{match[1].lower()} {match[2]} block {match[5]}", line)
            reading.put("source", int(match[3]), line)
            reading.put("bytes", float(match[4]), line)
            reading.put("gb_per_s", float(match[6]), line)
            rates.append(reading.made(Bandwidth, path="device_memory", tool="gpu-stream", counts_both=True))
    kept, problems = each_once(gpus)
    return Parsed(Evidence(gpus=kept, bandwidths=tuple(rates), looked_for=frozenset({"bandwidths"})), problems)


PARSER = Parser("gpu-stream", recognise, parse)
