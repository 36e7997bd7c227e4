"""`amd-smi`: `static`, `metric` and `list` as its tree and as JSON, `monitor` as JSON, GPUs that usage texts list."""

import re
from collections.abc import Iterator
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.output import Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.amd_values import MONITORED, device_id, generation, mhz
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.parsers.json_lines import DEEPEST, Places, content_of
from gpuplanner.probe.parsers.nvidia_values import bus_id, count, each_once, mib
from gpuplanner.probe.values import Reading, number, words

_GPU = re.compile(r"^GPU: (\d{1,4})\s{0,20}$")
_TREE = at_line_start(
    r"GPU: \d{1,4}[ \t]{0,20}\n {4}(?:ASIC|BUS|BDF|USAGE|POWER|VBIOS|DRIVER|MEM_USAGE|UUID|TEMPERATURE):"
)
_OTHER = re.compile(r"^[A-Z]\w{1,20}: ")
_ROW = re.compile(r"^( {4,40})([A-Z][\w /]{0,60}):(?: (.{0,200}?))?\s{0,40}$")
_JSON = re.compile(r'"(?:asic|bus|vbios|mem_usage|bdf|usage|power_usage|vram_total)"[ \t]{0,4}:')
_LISTED = re.compile(r"ID: (\d{1,4}) \| BDF: ([0-9A-Fa-f:.]{7,16}) \| UUID: ([0-9a-fA-F-]{8,40})")

_FIELDS: Fields = {
    "bdf": ("pci_bus_id", bus_id),
    "uuid": ("uuid", words),
    "asic.market_name": ("name", words),
    "asic.device_id": ("pci_device_id", device_id),
    "asic.num_compute_units": ("multiprocessors", count),
    "asic.target_graphics_version": ("architecture", words),
    "board.product_serial": ("serial", words),
    "board.model_number": ("part_number", words),
    "bus.bdf": ("pci_bus_id", bus_id),
    "bus.max_pcie_width": ("pcie_width_max", count),
    "bus.max_pcie_speed": ("pcie_gen_max", generation),
    "vbios.version": ("vbios", words),
    "driver.name": ("kernel_driver", words),
    "driver.version": ("driver_version", words),
    "limit.max_power": ("power_limit_max_w", number),
    "limit.min_power": ("power_limit_min_w", number),
    "limit.socket_power": ("power_limit_w", number),
    "limit.slowdown_hotspot_temperature": ("temperature_slowdown_c", number),
    "limit.shutdown_hotspot_temperature": ("temperature_shutdown_c", number),
    "numa.node": ("numa_node", count),
    "vram.size": ("memory_total_mib", mib),
    "usage.gfx_activity": ("utilization_percent", number),
    "usage.umc_activity": ("utilization_memory_percent", number),
    "power.socket_power": ("power_draw_w", number),
    "temperature.edge": ("temperature_c", number),
    "temperature.hotspot": ("temperature_c", number),
    "temperature.mem": ("temperature_memory_c", number),
    "pcie.width": ("pcie_width_current", count),
    "pcie.speed": ("pcie_gen_current", generation),
    "pcie.replay_count": ("pcie_replays", count),
    "mem_usage.total_vram": ("memory_total_mib", mib),
    "mem_usage.used_vram": ("memory_used_mib", mib),
    "mem_usage.free_vram": ("memory_free_mib", mib),
    "ecc.total_correctable_count": ("ecc_corrected_volatile", count),
    "ecc.total_uncorrectable_count": ("ecc_uncorrected_volatile", count),
    "clock.gfx_0.clk": ("clock_graphics_mhz", mhz),
    "clock.mem_0.clk": ("clock_memory_mhz", mhz),
    **MONITORED,
}
"""By the path of the label in the tree, in lower case. The tool counts memory in units of 2²⁰ and prints them as MB."""


def recognise(output: Output) -> int:
    """Certain by a GPU's line with one of its blocks below, by the list of GPUs, or by such blocks in JSON."""
    if " | BDF: " in output.text and output.has(_LISTED, " | BDF: "):
        return CERTAIN
    if any(output.starting(_TREE)):
        return CERTAIN
    if '"gpu"' in output.text and _JSON.search(output.text) and _gpus_of(content_of(output)):
        return CERTAIN
    return NO


def parse(output: Output) -> Parsed:
    """GPUs by their number."""
    gpus: dict[int, Reading] = {}
    for index, path, text, line in (*_listed(output), *_tree(output), *_json(output)):
        gpu = gpus.setdefault(index, Reading(output))
        gpu.put("index", index, line)
        gpu.of(_FIELDS, path, text, line)
    kept, problems = each_once(gpu.made(Gpu, vendor="amd") for gpu in gpus.values())
    return Parsed(Evidence(gpus=kept, looked_for=frozenset({"gpus"})), problems)


def _listed(output: Output) -> Iterator[tuple[int, str, str, Line]]:
    for line, match in output.matching(_LISTED) if " | BDF: " in output.text else ():
        yield int(match[1]), "bdf", match[2], line
        yield int(match[1]), "uuid", match[3], line


def _tree(output: Output) -> Iterator[tuple[int, str, str, Line]]:
    """Rows with the labels above them, by their indentation of four spaces a step."""
    index: int | None = None
    above: list[str] = []
    for line in output.lines:
        if match := _GPU.match(line.text):
            index, above = int(match[1]), []
        elif _OTHER.match(line.text):
            index = None
        elif index is not None and (match := _ROW.match(line.text)):
            above = [*above[: len(match[1]) // 4 - 1], match[2].lower()]
            if match[3]:
                yield index, ".".join(above), match[3], line


def _gpus_of(content: Any) -> list[dict[str, Any]]:
    rows = content.get("gpu_data") if isinstance(content, dict) else content
    return (
        [row for row in rows if isinstance(row, dict) and isinstance(row.get("gpu"), int)]
        if isinstance(rows, list)
        else []
    )


def _json(output: Output) -> Iterator[tuple[int, str, str, Line]]:
    if '"gpu"' not in output.text:
        return
    places = Places(output)
    for row in _gpus_of(content_of(output)):
        for path, key, value in _flat(row, ()):
            if isinstance(value, dict):
                line = places.of("value", value.get("value"))
                yield row["gpu"], path, f"{value.get('value')} {value.get('unit', '')}".strip(), line
            elif isinstance(value, str | int | float):
                yield row["gpu"], path, str(value), places.of(key, value)


def _flat(row: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, str, Any]]:
    """The leaves by their path; `{"value": 550, "unit": "W"}` is one."""
    for key, value in row.items():
        if isinstance(value, dict) and "value" not in value and len(above) < DEEPEST:
            yield from _flat(value, (*above, key.lower()))
        else:
            yield ".".join((*above, key.lower())), key, value


PARSER = Parser("amd-smi", recognise, parse)
