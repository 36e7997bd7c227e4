"""`amd-smi … --csv`: a row a GPU, whose columns are the last words of the tree's paths. Judges nothing."""

import csv
from collections.abc import Iterator

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.output import Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.amd_values import MONITORED, device_id, mhz
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.parsers.nvidia_values import bus_id, count, each_once, mib
from gpuplanner.probe.values import Reading, number, words

_TABLE = at_line_start(r"(?:timestamp,)?gpu,[a-z][\w.,-]{1,15000}$")
_FIELDS: Fields = {
    "gpu": ("index", count),
    "gpu_bdf": ("pci_bus_id", bus_id),
    "bdf": ("pci_bus_id", bus_id),
    "gpu_uuid": ("uuid", words),
    "uuid": ("uuid", words),
    "market_name": ("name", words),
    "device_id": ("pci_device_id", device_id),
    "num_compute_units": ("multiprocessors", count),
    "target_graphics_version": ("architecture", words),
    "product_serial": ("serial", words),
    "max_pcie_width": ("pcie_width_max", count),
    "max_power": ("power_limit_max_w", number),
    "min_power": ("power_limit_min_w", number),
    "gfx_activity": ("utilization_percent", number),
    "umc_activity": ("utilization_memory_percent", number),
    "edge": ("temperature_c", number),
    "hotspot": ("temperature_c", number),
    "gfx_0_clk": ("clock_graphics_mhz", mhz),
    "mem_0_clk": ("clock_memory_mhz", mhz),
    "total_vram": ("memory_total_mib", mib),
    "used_vram": ("memory_used_mib", mib),
    "free_vram": ("memory_free_mib", mib),
    "total_correctable_count": ("ecc_corrected_volatile", count),
    "total_uncorrectable_count": ("ecc_uncorrected_volatile", count),
    "replay_count": ("pcie_replays", count),
}
"""Names that stand once in the tree. What a name such as "version" is of, a row does not tell: it is left."""
_LIMIT = {"socket_power": ("power_limit_w", number)}
_DRAW = {"socket_power": ("power_draw_w", number)}
"""`static` and `metric` have the same word for the limit and for what is drawn; only the first has `max_power`."""
_OF_METRIC = {"mem": ("temperature_memory_c", number)}
"""To `metric` "mem" is a temperature, to `monitor` a share."""
_MOST_ROWS = 100_000


def recognise(output: Output) -> int:
    """Certain by a header with names of this tool."""
    return CERTAIN if any(_known(line.text.split(",")) for line, _ in output.starting(_TABLE)) else NO


def parse(output: Output) -> Parsed:
    """GPUs by their first row; a log of polling has many."""
    gpus: dict[str, Reading] = {}
    for at, (line, cells) in enumerate(_rows(output)):
        if at >= _MOST_ROWS:
            break
        power = _LIMIT if "max_power" in cells else _DRAW
        more = MONITORED if "power_usage" in cells else _OF_METRIC if "hotspot" in cells else {}
        fields = {**_FIELDS, **power, **more}
        gpu = gpus.setdefault(cells["gpu"], Reading(output))
        for name, cell in cells.items():
            gpu.of(fields, name, cell, line)
    kept, problems = each_once(gpu.made(Gpu, vendor="amd") for gpu in gpus.values())
    return Parsed(Evidence(gpus=kept, looked_for=frozenset({"gpus"})), problems)


def _known(names: list[str]) -> bool:
    return len((_FIELDS.keys() | _DRAW.keys() | MONITORED.keys()) & set(names)) > 2


def _rows(output: Output) -> Iterator[tuple[Line, dict[str, str]]]:
    headers = {line.number for line, _ in output.starting(_TABLE) if _known(line.text.split(","))}
    names: list[str] = []
    for line in output.lines:
        if line.number in headers:
            names = line.text.split(",")
        elif names and line.text.count(",") >= len(names) - 1:
            cells = next(csv.reader([line.text]), [])
            found = dict(zip(names, (cell.strip() for cell in cells), strict=False))
            if len(cells) == len(names) and found["gpu"].isdecimal() and len(found["gpu"]) <= len("1024"):
                yield line, found
        elif not line.text.strip():
            names = []


PARSER = Parser("amd-smi", recognise, parse)
