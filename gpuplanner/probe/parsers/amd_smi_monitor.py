"""`amd-smi monitor`: its table, whose cells have units of their own, once or again and again. Judges nothing."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Sample
from gpuplanner.probe.output import Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_monitor import MOST_SAMPLES
from gpuplanner.probe.parsers.nvidia_values import count, each_once
from gpuplanner.probe.values import Reading, number

_COLUMNS = r"[ \t]{0,20}(?:TIMESTAMP[ \t]{1,20})?GPU(?:[ \t]{1,20}[A-Z][A-Z_%]{1,20}){2,40}[ \t]{0,40}$"
_TABLE = at_line_start(_COLUMNS)
_HEADER = re.compile(f"^{_COLUMNS}")
_CELL = re.compile(
    r"N/A|(?<![\d.])(?P<used>-?\d{1,12}(?:\.\d{1,6})?)(?![\d.])"
    r"(?:[ \t]{0,4}/[ \t]{0,8}(?P<total>\d{1,12}(?:\.\d{1,6})?)(?![\d.]))?"
    r"(?:[ \t]{0,2}(?P<unit>°?[A-Za-z%][A-Za-z/]{0,5})(?![\w/%]))?"
)
_ROW = re.compile(r"^[ \t]{0,20}\d{1,10}[ \t]{1,20}\S")
_KNOWN = frozenset(
    {"POWER", "GPU_T", "GPU_TEMP", "GFX%", "GFX_UTIL", "GFX_CLK", "GFX_CLOCK", "VRAM_USAGE", "VRAM_USED"}
)
_TO_MIB = {"GB": 1024.0, "GiB": 1024.0, "MB": 1.0, "MiB": 1.0}
"""The tool counts in powers of 1,024 and writes the units without an i."""

_Convert = Callable[[str], Any]
_OF_GPU: dict[str, tuple[str, _Convert]] = {
    "GPU": ("index", count),
    "POWER": ("power_draw_w", number),
    "PWR_CAP": ("power_limit_w", number),
    "GPU_T": ("temperature_c", number),
    "GPU_TEMP": ("temperature_c", number),
    "MEM_T": ("temperature_memory_c", number),
    "MEM_TEMP": ("temperature_memory_c", number),
    "GFX_CLK": ("clock_graphics_mhz", number),
    "GFX_CLOCK": ("clock_graphics_mhz", number),
    "MEM_CLOCK": ("clock_memory_mhz", number),
    "GFX%": ("utilization_percent", number),
    "GFX_UTIL": ("utilization_percent", number),
    "MEM%": ("utilization_memory_percent", number),
    "MEM_UTIL": ("utilization_memory_percent", number),
    "ENC%": ("utilization_encoder_percent", number),
    "DEC%": ("utilization_decoder_percent", number),
    "PCIE_REPLAY": ("pcie_replays", count),
}
_OF_SAMPLE: dict[str, tuple[str, _Convert]] = {
    "GPU": ("gpu_index", count),
    "POWER": ("power_w", number),
    "GPU_T": ("temperature_c", number),
    "GPU_TEMP": ("temperature_c", number),
    "MEM_T": ("memory_temperature_c", number),
    "MEM_TEMP": ("memory_temperature_c", number),
    "GFX_CLK": ("clock_sm_mhz", number),
    "GFX_CLOCK": ("clock_sm_mhz", number),
    "MEM_CLOCK": ("clock_memory_mhz", number),
    "GFX%": ("utilization_percent", number),
    "GFX_UTIL": ("utilization_percent", number),
    "MEM%": ("memory_percent", number),
    "MEM_UTIL": ("memory_percent", number),
    "ENC%": ("encoder_percent", number),
    "DEC%": ("decoder_percent", number),
}
_OF_MEMORY = {"VRAM_USED": "memory_used_mib", "VRAM_TOTAL": "memory_total_mib", "VRAM_FREE": "memory_free_mib"}


def recognise(output: Output) -> int:
    """Certain by a header with columns that no other tool has."""
    return CERTAIN if any(len(_names(line)) > 2 for line, _ in output.starting(_TABLE)) else NO


def parse(output: Output) -> Parsed:
    """A sample a row, the GPUs by their first; `at_s` by the time where there is one, else the number of its sample."""
    gpus: dict[int, Gpu] = {}
    samples: list[Sample] = []
    times: dict[int, int] = {}
    began = ""
    problems: tuple[Problem, ...] = ()
    for line, cells in _rows(output):
        if len(samples) == MOST_SAMPLES:
            problems = (Problem(line.number, msg("probe.nvidia.too_many_samples", count=MOST_SAMPLES)),)
            break
        gpu, sample = Reading(output), Reading(output)
        for name, cell in cells.items():
            gpu.of(_OF_GPU, name, cell[0], line)
            sample.of(_OF_SAMPLE, name, cell[0], line)
            if name in _OF_MEMORY:
                _memory(gpu, _OF_MEMORY[name], cell[0], cell[2], line)
            if name == "VRAM_USED":
                _memory(sample, "memory_used_mib", cell[0], cell[2], line)
        used, total, unit = cells.get("VRAM_USAGE", ("", None, ""))
        if total is not None:
            _memory(gpu, "memory_used_mib", used, unit, line)
            _memory(gpu, "memory_total_mib", total, unit, line)
            _memory(sample, "memory_used_mib", used, unit, line)
        index = int(cells["GPU"][0])
        gpus.setdefault(index, gpu.made(Gpu, vendor="amd"))
        time = cells.get("TIMESTAMP", ("", None, ""))[0]
        began = began or time
        at_s = float(int(time) - int(began)) if time.isdecimal() else float(times.get(index, 0))
        samples.append(sample.made(Sample, at_s=at_s))
        times[index] = times.get(index, 0) + 1
    kept, more = each_once(gpus.values())
    return Parsed(
        Evidence(gpus=kept, samples=tuple(samples), looked_for=frozenset({"gpus", "samples"})), (*problems, *more)
    )


def _memory(reading: Reading, field: str, text: str, unit: str, line: Line) -> None:
    if unit in _TO_MIB:
        reading.take(field, text, lambda number_text: number(number_text) * _TO_MIB[unit], line)


def _names(line: Line) -> list[str]:
    """The columns of a header; empty where none of them is this tool's."""
    names = line.text.split()
    return names if len(_KNOWN & set(names)) > 1 else []


def _rows(output: Output) -> Iterator[tuple[Line, dict[str, tuple[str, str | None, str]]]]:
    """Each row below a header with as many cells as that has columns: value, second value behind a slash, unit."""
    names: list[str] = []
    for line in output.lines:
        if _HEADER.match(line.text):
            names = _names(line)
        elif names and _ROW.match(line.text):
            found = list(_CELL.finditer(line.text))
            cells = [(match["used"] or match[0], match["total"], match["unit"] or "") for match in found]
            whole = not _CELL.sub("", line.text).strip()
            if whole and len(cells) == len(names) and cells[names.index("GPU")][0].isdecimal():
                row = dict(zip(names, cells, strict=True))
                if len(row["GPU"][0]) <= len("1024"):
                    yield line, row
        elif not line.text.strip():
            names = []


PARSER = Parser("amd-smi", recognise, parse)
