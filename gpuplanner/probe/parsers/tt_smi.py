"""`tt-smi -s`: Tenstorrent's boards as JSON."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.host import System
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.parsers.nvidia_values import bus_id, count, each_once
from gpuplanner.probe.values import Reading, number, words

_MARK = re.compile(r'"board_info"[ \t]{0,4}:')
_FIELDS: tuple[tuple[str, str, str, Any], ...] = (
    ("board_info", "board_type", "name", words),
    ("board_info", "board_id", "serial", words),
    ("board_info", "bus_id", "pci_bus_id", bus_id),
    ("board_info", "pcie_speed", "pcie_gen_current", count),
    ("board_info", "pcie_width", "pcie_width_current", count),
    ("telemetry", "power", "power_draw_w", number),
    ("telemetry", "asic_temperature", "temperature_c", number),
    ("telemetry", "aiclk", "clock_graphics_mhz", number),
    ("limits", "tdp_limit", "power_limit_w", number),
    ("limits", "thm_limit", "temperature_max_operating_c", number),
    ("limits", "asic_fmax", "clock_max_graphics_mhz", number),
)
_SYSTEM = {"Distro": "os", "Kernel": "kernel", "Hostname": "hostname"}


def recognise(output: Output) -> int:
    """Certain by the names of its blocks."""
    return CERTAIN if '"device_info"' in output.text and output.has(_MARK, '"board_info"') else NO


def parse(output: Output) -> Parsed:
    """Boards in the tool's order, and the host where it is described."""
    content = content_of(output)
    places = Places(output)
    system = Reading(output)
    gpus: list[Gpu] = []
    blocks: dict[str, Any] = content if isinstance(content, dict) else {}
    host = blocks.get("host_info")
    host = host if isinstance(host, dict) else {}
    for key, field in _SYSTEM.items():
        if isinstance(value := host.get(key), str) and value.strip():
            system.take(field, value, words, places.of(key, value))
    driver = host.get("Driver")
    boards = blocks.get("device_info")
    for index, board in enumerate(boards if isinstance(boards, list) else ()):
        if not isinstance(board, dict):
            continue
        gpu = Reading(output)
        for block, key, field, convert in _FIELDS:
            held = board.get(block)
            value = held.get(key) if isinstance(held, dict) else None
            if isinstance(value, str | int | float):
                gpu.take(field, str(value).strip(), convert, places.of(key, value))
        gpus.append(
            gpu.made(Gpu, index=index, vendor="tenstorrent", driver_version=driver if isinstance(driver, str) else None)
        )
    kept, problems = each_once(gpus)
    evidence = Evidence(gpus=kept, system=system.made(System) if system else None, looked_for=frozenset({"gpus"}))
    return Parsed(evidence, problems)


PARSER = Parser("tt-smi", recognise, parse)
