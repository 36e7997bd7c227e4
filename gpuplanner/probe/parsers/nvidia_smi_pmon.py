"""`nvidia-smi pmon`: a row a process and moment. A process's record has the first value of each column."""

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, Process
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_labels import Convert
from gpuplanner.probe.parsers.nvidia_monitor import MOST_SAMPLES, has_table, rows
from gpuplanner.probe.parsers.nvidia_values import count, each_once
from gpuplanner.probe.values import Reading, lacking, number, words

_COLUMNS: dict[str, tuple[str, Convert]] = {
    "gpu": ("gpu_index", count),
    "pid": ("pid", count),
    "type": ("kind", words),
    "sm": ("sm_percent", number),
    "mem": ("memory_percent", number),
    "enc": ("encoder_percent", number),
    "dec": ("decoder_percent", number),
    "fb": ("memory_used_mib", number),
    "command": ("name", words),
}


def recognise(output: Output) -> int:
    """Certain by a header of GPUs with processes."""
    return CERTAIN if "pid" in output.text and has_table(output, processes=True) else NO


def parse(output: Output) -> Parsed:
    """Processes and the indices of their GPUs; a GPU without a process is a row of dashes."""
    processes: dict[tuple[str, str], Reading] = {}
    gpus: dict[str, Gpu] = {}
    for at, row in enumerate(rows(output, processes=True)):
        if at == MOST_SAMPLES:
            break
        index, pid = row.cells.get("gpu", ""), row.cells.get("pid", "")
        if index not in gpus:
            gpu = Reading(output)
            gpu.take("index", index, count, row.line)
            gpus[index] = gpu.made(Gpu, vendor="nvidia")
        if lacking(pid) is not None:
            continue
        reading = processes.setdefault((index, pid), Reading(output))
        for column, cell in row.cells.items():
            reading.of(_COLUMNS, column, cell, row.line)
    kept, problems = each_once(gpus.values())
    running = tuple(reading.made(Process) for reading in processes.values())
    return Parsed(Evidence(gpus=kept, processes=running, looked_for=frozenset({"processes"})), problems)


PARSER = Parser("nvidia-smi-pmon", recognise, parse)
