"""The table of `nvidia-smi`, in all its widths: GPUs, MIG slices and processes. Judges nothing."""

import re

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, MigDevice, Process
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS, Head, bus_id, count, each_once, mib, set_or_not
from gpuplanner.probe.values import Reading, lacking, number, words

_HEAD = re.compile(
    r"NVIDIA-SMI[ \t]{1,40}(\S{1,20})[ \t]{1,60}(Driver Version|KMD Version):[ \t]{0,20}(\S{1,20})"
    r"(?:[ \t]{1,60}(CUDA Version|CUDA UMD Version):[ \t]{0,20}(\S{1,20}))?"
)
_ROW = re.compile(r":[0-9A-Fa-f]{2}\.[0-9A-Fa-f][ \t]{1,20}(?:On|Off|N/A|ERR!)[ \t]{1,20}\|")
_FIRST = re.compile(r"(\d{1,4})[ \t]{1,20}(\S.{0,80}?)(?:[ \t]{1,60}(On|Off|N/A|ERR!|WDDM|TCC|MCDM))?$")
_PLACE = re.compile(
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]|N/A|ERR!)[ \t]{1,20}(On|Off|N/A|ERR!)$"
)
_SECOND = re.compile(
    r"(\S{1,8})[ \t]{1,20}(\S{1,8})[ \t]{1,20}(\S{1,8})[ \t]{1,40}(\S{1,24})[ \t]{0,10}/[ \t]{0,10}(\S{1,24})$"
)
_MEMORY = re.compile(r"(\d{1,12}[ \t]?M(?:iB|B))[ \t]{0,10}/[ \t]{0,10}(\d{1,12}[ \t]?M(?:iB|B))$")
_USE = re.compile(r"(\S{1,8})[ \t]{1,20}(\S.{0,30})$")
_SLICE = re.compile(r"(\d{1,4})[ \t]{1,10}(\d{1,4})[ \t]{1,10}(\d{1,4})[ \t]{1,10}(\d{1,4})$")
_PROCESS = re.compile(
    r"\|[ \t]{1,20}(\d{1,4})(?:[ \t]{1,20}(N/A|\d{1,4})[ \t]{1,20}(N/A|\d{1,4}))?[ \t]{1,40}(\d{1,10})"
    r"(?:[ \t]{1,20}([CGM](?:\+[CGM])?))?[ \t]{1,40}(\S.{0,200}?)[ \t]{1,80}(\d{1,10}M(?:iB|B)|N/A)[ \t]{0,20}\|?$"
)
_MOST_PARTS = 20_000
"""Slices and processes that are read."""
_OF_A_HOST = "vGPU ID"
"""The table of `nvidia-smi vgpu` has the same head."""
_COMPUTE_MODES = {"E. Process": "Exclusive_Process", "E. Thread": "Exclusive_Thread"}
"""What the table has room for, and the name that the longer outputs give it."""


def recognise(output: Output) -> int:
    """Certain by the head of the table, or by a row of a GPU where the head was cut off."""
    if _OF_A_HOST in output.text and not _ROW.search(output.text):
        return NO
    return CERTAIN if _HEAD.search(output.text) or _ROW.search(output.text) else NO


def parse(output: Output) -> Parsed:
    """GPUs with the driver of their table, slices, processes, and the software's versions."""
    table = _Table(output)
    for line in output.lines:
        table.read(line)
    return table.parsed()


class _Table:
    """Reads line after line; the two or three rows of a GPU belong to the row that gave its index.

    A table printed again and again, as by a loop, counts once.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._head = Head(output)
        self._gpu: Reading | None = None
        self._gpus: dict[tuple[str, str], Reading] = {}
        self._slices: list[MigDevice] = []
        self._processes: list[Process] = []
        self._software: Software | None = None
        self._processes_shown = False
        self._half: Line | None = None

    def read(self, line: Line) -> None:
        text = line.text.strip().lstrip("#> \t")
        if head := _HEAD.search(text):
            self._new_table(head, line)
            return
        if not text.startswith("|"):
            return
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if len(cells) == 1:
            self._process(text, line)
        elif len(cells) == 4:
            self._slice(cells, line)
        elif len(cells) == 3 and (first := _FIRST.match(cells[0])) and (place := _PLACE.match(cells[1])):
            self._new_gpu(first, place, cells[2], line)
        elif len(cells) == 3 and self._gpu is not None:
            self._row(self._gpu, cells, line)

    def _new_table(self, head: re.Match[str], line: Line) -> None:
        smi, label, driver, cuda_label, cuda = head.groups()
        self._gpu = None
        self._head = Head(self._output)
        self._head.take("NVIDIA-SMI", smi, line)
        self._head.take(label, driver, line)
        if cuda_label:
            self._head.take(cuda_label, cuda, line)
        self._software = self._software or self._head.software()

    def _new_gpu(self, first: re.Match[str], place: re.Match[str], ecc: str, line: Line) -> None:
        key = (first[1], place[1])
        if key in self._gpus or len(self._gpus) > MOST_GPUS:
            self._gpu = None
            return
        gpu = self._gpu = self._gpus[key] = Reading(self._output)
        self._half = line
        gpu.take("index", first[1], count, line)
        gpu.take("name", first[2], words, line)
        if first[3] in {"WDDM", "TCC", "MCDM"}:
            gpu.take("driver_model", first[3], words, line)
        elif first[3]:
            gpu.take("persistence_mode", first[3], set_or_not, line)
        gpu.take("pci_bus_id", place[1], bus_id, line)
        gpu.take("display_active", place[2], set_or_not, line)
        if ecc.isdecimal():
            gpu.put("ecc_mode", "Enabled", line)
            gpu.take("ecc_uncorrected_volatile", ecc, count, line)
        else:
            gpu.take("ecc_mode", ecc, set_or_not, line)
        self._head.give(gpu)

    def _row(self, gpu: Reading, cells: list[str], line: Line) -> None:
        if second := _SECOND.match(cells[0]):
            fan, temperature, state, draw, limit = second.groups()
            gpu.take("fan_percent", fan, number, line)
            gpu.take("temperature_c", temperature, number, line)
            gpu.take("pstate", state, words, line)
            gpu.take("power_draw_w", draw, number, line)
            gpu.take("power_limit_w", limit, number, line)
            if {lacking(temperature), lacking(state)} == {Lacking.ERROR}:
                gpu.put("state", "error", line)
            self._memory_and_use(gpu, cells, line)
            self._half = None
        elif not cells[0] and not cells[1] and cells[2]:
            gpu.take("mig_mode", cells[2], set_or_not, line)

    @staticmethod
    def _memory_and_use(gpu: Reading, cells: list[str], line: Line) -> None:
        memory = _MEMORY.match(cells[1])
        used, total = memory.groups() if memory else (cells[1], cells[1])
        gpu.take("memory_used_mib", used, mib, line)
        gpu.take("memory_total_mib", total, mib, line)
        if use := _USE.match(cells[2]):
            gpu.take("utilization_percent", use[1], number, line)
            gpu.take("compute_mode", _COMPUTE_MODES.get(use[2].strip(), use[2]), words, line)

    def _slice(self, cells: list[str], line: Line) -> None:
        if len(self._slices) == _MOST_PARTS or not (place := _SLICE.match(cells[0])):
            return
        part = Reading(self._output)
        for field, text in zip(
            ("gpu_index", "gpu_instance_id", "compute_instance_id", "device_index"), place.groups(), strict=True
        ):
            part.take(field, text, count, line)
        if memory := _MEMORY.match(cells[1]):
            part.take("memory_used_mib", memory[1], mib, line)
            part.take("memory_total_mib", memory[2], mib, line)
        if use := _USE.match(cells[2]):
            part.take("multiprocessors", use[1], count, line)
        self._slices.append(part.made(MigDevice))

    def _process(self, text: str, line: Line) -> None:
        if "Processes:" in text:
            self._processes_shown = True
            self._gpu = None
        elif self._processes_shown and len(self._processes) < _MOST_PARTS and (row := _PROCESS.match(text)):
            index, instance, compute, pid, kind, program, memory = row.groups()
            process = Reading(self._output)
            process.take("gpu_index", index, count, line)
            process.take("pid", pid, count, line)
            process.take("name", program, words, line)
            process.take("memory_used_mib", memory, mib, line)
            for field, given, convert in (
                ("gpu_instance_id", instance, count),
                ("compute_instance_id", compute, count),
                ("kind", kind, words),
            ):
                if given:
                    process.take(field, given, convert, line)
            self._processes.append(process.made(Process))

    def parsed(self) -> Parsed:
        gpus, problems = each_once(gpu.made(Gpu, vendor="nvidia") for gpu in self._gpus.values())
        looked_for = {"gpus"} | ({"processes"} if self._processes_shown else set())
        evidence = Evidence(
            gpus=gpus,
            mig_devices=tuple(self._slices),
            processes=tuple(self._processes),
            software=self._software,
            looked_for=frozenset(looked_for),
        )
        if self._half is not None:
            problems = (*problems, Problem(self._half.number, msg("probe.nvidia.half_a_row")))
        return Parsed(evidence, problems)


PARSER = Parser("nvidia-smi", recognise, parse)
