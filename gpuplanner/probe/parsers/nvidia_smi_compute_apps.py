"""`nvidia-smi --query-compute-apps=… --format=csv`: the processes that compute, and the GPUs they are on."""

import re

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, Process
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_csv import Table, asked_for, tables
from gpuplanner.probe.parsers.nvidia_query_names import APP_NAMES, GPU_NAMES
from gpuplanner.probe.parsers.nvidia_values import each_once
from gpuplanner.probe.values import Reading

_SWITCH = "--query-compute-apps"
_OF_WINDOWS = re.compile(r"[A-Za-z]:\\")
_UUID = re.compile(r"(?:GPU|MIG)-[\w/-]{1,80}$")
_MOST_PROCESSES = 20_000
_OF_GPU = ("gpu_name", "gpu_uuid", "gpu_bus_id", "gpu_serial")


def recognise(output: Output) -> int:
    """Certain by a header with `pid` and a name that only this query has, or by the command."""
    if asked_for(output, _SWITCH):
        return CERTAIN
    return (
        CERTAIN
        if "," in output.text and "pid" in output.text and any(table.header for table in _tables(output))
        else NO
    )


def parse(output: Output) -> Parsed:
    """Processes with their GPU's identifiers and memory; a header without rows says that none computes.

    So does silence of a query without a header; a shell's or the tool's own refusal says nothing about processes, nor
    does a row that names neither a process nor a GPU, whatever a broken program has printed there.
    """
    processes: list[Process] = []
    gpus: list[Gpu] = []
    cut: tuple[Problem, ...] = ()
    odd = False
    found = _tables(output)
    for table in found:
        for line, cells in table.rows:
            if len(processes) == _MOST_PROCESSES:
                cut = (Problem(line.number, msg("probe.nvidia.too_many_samples", count=_MOST_PROCESSES)),)
                break
            process, gpu = Reading(output), Reading(output)
            for column, cell in zip(table.names, cells, strict=True):
                if column in _OF_GPU:
                    gpu.of(GPU_NAMES, column, cell, line)
                process.of(APP_NAMES, column, cell, line)
            if not _names_a_process(cells[table.names.index("pid")], process, gpu):
                odd = True
                continue
            # On Windows the query lists what draws as well, and does not say which is which.
            name = cells[table.names.index("process_name")] if "process_name" in table.names else ""
            if (one := process.made(Process, kind=None if _OF_WINDOWS.match(name) else "C")).seen:
                processes.append(one)
            if gpu:
                gpus.append(gpu.made(Gpu, vendor="nvidia"))
    kept, problems = each_once(gpus)
    silent = not output.text.strip() and not output.exit_code
    answered = silent or bool(processes) or (not odd and any(table.header for table in found))
    looked_for = frozenset({"processes"}) if answered else frozenset[str]()
    evidence = Evidence(gpus=kept, processes=tuple(processes), looked_for=looked_for)
    return Parsed(evidence, (*cut, *problems))


def _names_a_process(pid: str, row: Reading, gpu: Reading) -> bool:
    """Whether a row has a process's number, the tool's word for why there is none, or the GPU of one."""
    no_number = row.lacks("pid") in {Lacking.NOT_SUPPORTED, Lacking.NO_PERMISSION}
    return pid.isdecimal() or no_number or "pci_bus_id" in gpu or bool(_UUID.match(str(gpu.get("uuid"))))


def _tables(output: Output) -> list[Table]:
    known = {*APP_NAMES, *_OF_GPU, "timestamp"}
    return [table for table in tables(output, known, _SWITCH, wide="process_name", word="pid") if "pid" in table.names]


PARSER = Parser("nvidia-smi-compute-apps", recognise, parse)
