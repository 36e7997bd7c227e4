"""`nvidia-smi --query-gpu=… --format=csv`, with and without units and header. Judges nothing.

Without a header and without the command the columns have no names: then only what says itself what it is (a product's
name, a UUID, a bus identifier) is read, and that the rest cannot be told is said.
"""

import re
from collections.abc import Callable
from typing import Any

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_csv import Table, asked_for, cells_of, tables
from gpuplanner.probe.parsers.nvidia_query_names import GPU_NAMES, OTHER_FAMILIES
from gpuplanner.probe.parsers.nvidia_tree import GpuTree
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS, Head, bus_id, each_once, version
from gpuplanner.probe.values import Reading, lacking, words

_SWITCH = "--query-gpu"
_PRODUCT = re.compile(r"(?:NVIDIA|Tesla|Quadro|GeForce|GRID) [\w .()+/-]{1,80}$")
_EVIDENT: tuple[tuple[str, re.Pattern[str], Callable[[str], Any]], ...] = (
    ("name", _PRODUCT, words),
    ("uuid", re.compile(r"GPU-[0-9a-f]{8}-[0-9a-f-]{20,30}$"), words),
    ("pci_bus_id", re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]$"), bus_id),
    ("pstate", re.compile(r"P\d{1,2}$"), words),
    ("driver_version", re.compile(r"\d{3}\.\d{2,3}\.\d{2}$"), version),
)
_NAMING = frozenset({"index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial"})
_MOST_ROWS_OF_FORM = 20_000


def recognise(output: Output) -> int:
    """Certain by a header of known names or the command, likely by rows that name products and nothing else."""
    if "," not in output.text:
        return NO if not _one_column(output) else LIKELY
    if asked_for(output, _SWITCH) or any(table.header and not _of_apps(table) for table in _tables(output)):
        return CERTAIN
    return LIKELY if _headless(output) else NO


def parse(output: Output) -> Parsed:
    """GPUs of all tables; the versions; what cannot be told."""
    trees: list[GpuTree] = []
    problems: list[Problem] = []
    for table in _tables(output):
        if _of_apps(table):
            continue
        trees += _once(output, table)
        last = output.lines[-1].number
        for line, cells in table.odd:
            if line.number == last and 1 < len(cells) < len(table.names):
                trees.append(_gpu(output, table, line, cells[:-1]))
                problems.append(Problem(line.number, msg("probe.nvidia.cut_row", columns=len(table.names))))
    gpus = [tree.made(None, Head(output))[0] for tree in trees]
    if not trees:
        rows = _headless(output)
        gpus = [_evident(output, line, at, cells) for at, (line, cells) in enumerate(rows)]
        unknown = max((len(cells) - len(gpu.read()) + 1 for (_, cells), gpu in zip(rows, gpus, strict=True)), default=0)
        if unknown:
            problems.append(Problem(rows[0][0].number, msg("probe.nvidia.no_header", columns=unknown)))
    kept, more = each_once(gpu for gpu in gpus if gpu.read() or gpu.absent)
    evidence = Evidence(gpus=kept, software=_software(kept), looked_for=frozenset({"gpus"}))
    return Parsed(evidence, (*problems, *more))


def _once(output: Output, table: Table) -> list[GpuTree]:
    """The first row of each GPU, by what names it; a query in a loop prints one many times.

    Of the later rows only that it no longer answers is taken.
    """
    naming = [at for at, column in enumerate(table.names) if column in _NAMING]
    trees: dict[tuple[str, ...], GpuTree] = {}
    for line, cells in table.rows:
        key = tuple(cells[at] for at in naming) if naming else (str(line.number),)
        if key in trees:
            trees[key].answered(line.text, line)
        elif len(trees) <= MOST_GPUS:
            trees[key] = _gpu(output, table, line, cells)
    return list(trees.values())


def _tables(output: Output) -> list[Table]:
    return tables(output, GPU_NAMES, _SWITCH)


def _of_apps(table: Table) -> bool:
    """Whether the rows are of processes: then the parser of those reads them."""
    return "pid" in table.names


def _one_column(output: Output) -> bool:
    return any(table.header and table.rows for table in _tables(output))


def _gpu(output: Output, table: Table, line: Line, cells: list[str]) -> GpuTree:
    tree = GpuTree(output, "", line)
    for column, cell in zip(table.names, cells, strict=False):
        family = column.split(".", 1)[0]
        if column in GPU_NAMES:
            tree.reading.of(GPU_NAMES, column, cell, line)
            tree.answered(cell, line)
        elif family in OTHER_FAMILIES:
            tree.take(column.split("."), cell, line)
    return tree


def _software(gpus: tuple[Gpu, ...]) -> Software | None:
    for gpu in gpus:
        if gpu.driver_version and (seen := gpu.seen.get("driver_version")):
            return Software(driver_version=gpu.driver_version, seen={"driver_version": seen})
    return None


def _headless(output: Output) -> list[tuple[Line, list[str]]]:
    """Rows of which each has as many cells as the others and one that names a product; none when any line differs."""
    rows: list[tuple[Line, list[str]]] = []
    for line in output.first(_MOST_ROWS_OF_FORM):
        if not line.text.strip():
            continue
        cells = cells_of(line)
        if len(cells) < 2 or (rows and len(cells) != len(rows[0][1])):
            return []
        if not any(_PRODUCT.match(cell) for cell in cells):
            return []
        rows.append((line, cells))
    return rows[:MOST_GPUS]


def _evident(output: Output, line: Line, at: int, cells: list[str]) -> Gpu:
    reading = Reading(output)
    if cells[0] == str(at) and _PRODUCT.match(cells[1]):
        reading.put("index", at, line)
    for cell in cells:
        for field, pattern, convert in _EVIDENT:
            if lacking(cell) is None and pattern.match(cell):
                reading.take(field, cell, convert, line)
                break
    return reading.made(Gpu, vendor="nvidia")


PARSER = Parser("nvidia-smi-query-gpu", recognise, parse)
