"""`nvtop --snapshot`: a JSON list of GPUs of any vendor."""

import json
import re
from typing import Any, Literal

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_labels import Convert
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS
from gpuplanner.probe.values import Reading, number, words

_DEVICE = re.compile(r"\"device_name\"[ \t]{0,4}:")
_OURS = re.compile(r"\"(?:gpu_clock|mem_clock|gpu_util|mem_util)\"[ \t]{0,4}:")


def _mib(text: str) -> float:
    return number(text) / 2**20


_FIELDS: dict[str, tuple[str, Convert]] = {
    "device_name": ("name", words),
    "gpu_clock": ("clock_graphics_mhz", number),
    "mem_clock": ("clock_memory_mhz", number),
    "temp": ("temperature_c", number),
    "fan_speed": ("fan_percent", number),
    "power_draw": ("power_draw_w", number),
    "gpu_util": ("utilization_percent", number),
    "encode": ("utilization_encoder_percent", number),
    "decode": ("utilization_decoder_percent", number),
    "mem_total": ("memory_total_mib", _mib),
    "mem_used": ("memory_used_mib", _mib),
    "mem_free": ("memory_free_mib", _mib),
}


def recognise(output: Output) -> int:
    """Certain by the names of a device and of its clocks."""
    return CERTAIN if _DEVICE.search(output.text) and _OURS.search(output.text) else NO


def parse(output: Output) -> Parsed:
    """GPUs in the list's order; a problem where the JSON is damaged."""
    text = output.text
    places = [line for line, _ in output.matching(_DEVICE)]
    try:
        listed = json.loads(text[text.index("[") : text.rindex("]") + 1])
    except (ValueError, RecursionError):
        return Parsed(Evidence(), (Problem(places[0].number if places else 1, msg("probe.nvidia.broken_json")),))
    devices = [device for device in listed if isinstance(device, dict) and "device_name" in device]
    gpus = tuple(_gpu(output, device, line) for device, line in zip(devices, places, strict=False))[:MOST_GPUS]
    return Parsed(Evidence(gpus=gpus, looked_for=frozenset({"gpus"})))


def _gpu(output: Output, device: dict[str, Any], line: Line) -> Gpu:
    reading = Reading(output)
    for key, given in device.items():
        if isinstance(given, str | int | float):
            reading.of(_FIELDS, key, str(given)[:200], line)
    return reading.made(Gpu, vendor=_vendor(str(device["device_name"])))


def _vendor(product: str) -> Literal["nvidia", "amd", "intel"] | None:
    lowered = product.lower()
    for word, vendor in _WORDS:
        if word in lowered:
            return vendor
    return None


_WORDS: tuple[tuple[str, Literal["nvidia", "amd", "intel"]], ...] = (
    ("nvidia", "nvidia"),
    ("geforce", "nvidia"),
    ("tesla", "nvidia"),
    ("amd", "amd"),
    ("radeon", "amd"),
    ("instinct", "amd"),
    ("intel", "intel"),
)


PARSER = Parser("nvtop", recognise, parse)
