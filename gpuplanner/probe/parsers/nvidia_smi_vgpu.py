"""`nvidia-smi vgpu` on a host: the types that a GPU supports (-s, -c), its table, and the vGPUs in use (-q)."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, VirtualGpu
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_labels import Convert
from gpuplanner.probe.parsers.nvidia_values import (
    MOST_GPUS,
    Head,
    bus_id,
    count,
    each_once,
    mib,
    plain_label,
    version,
)
from gpuplanner.probe.values import Reading, words

_GPU = re.compile(r"^[ \t]{0,20}GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])[ \t]{0,10}$")
_TYPE = re.compile(r"^[ \t]{1,20}((?:GRID|NVIDIA|Tesla|Quadro) [\w .+-]{1,50}-\d{1,3}[ABCQ]\d{0,2})[ \t]{0,20}$")
_LEAF = re.compile(r"^[ \t]{1,40}([A-Za-z][\w ]{1,40}?)[ \t]{0,40}: ?(.{0,200})$")
_HEAD = re.compile(r"NVIDIA-SMI[ \t]{1,40}(\S{1,20})[ \t]{1,60}(Driver Version|KMD Version):[ \t]{0,20}(\S{1,20})")
_ROW = re.compile(
    r"^[ \t]{0,20}\|[ \t]{1,10}(\d{1,4})[ \t]{1,10}(\S[^|]{0,60}?)[ \t]{0,60}\|[ \t]{0,20}"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])[ \t]{0,60}\|"
)
_VROW = re.compile(
    r"^[ \t]{0,20}\|[ \t]{1,20}(\d{5,12})[ \t]{1,20}(\S[^|]{0,60}?)[ \t]{0,60}\|[ \t]{0,20}\S{1,40}[ \t]{1,20}"
    r"(\S[^|]{0,60}?)[ \t]{0,60}\|"
)
_MOST_VGPUS = 10_000
_LEAVES: dict[str, tuple[str, Convert]] = {
    "vgpu_name": ("name", words),
    "vgpu_uuid": ("uuid", words),
    "vm_name": ("vm_name", words),
    "guest_driver_version": ("guest_driver_version", version),
    "license_status": ("licence_status", words),
    "total": ("memory_total_mib", mib),
    "used": ("memory_used_mib", mib),
}


def recognise(output: Output) -> int:
    """Certain by a GPU's line with a vGPU's type or the word for them below, or by the table's heading."""
    text = output.text
    if "vGPU ID" in text and ("Active vGPUs" in text or _HEAD.search(text)):
        return CERTAIN
    if "GPU " not in text or not output.has(_GPU, "GPU "):
        return NO
    return CERTAIN if "Active vGPUs" in text or output.has(_TYPE, "GRID ", "NVIDIA ", "Tesla ", "Quadro ") else NO


def parse(output: Output) -> Parsed:
    """GPUs with the types they support, and the vGPUs in use."""
    host = _Host(output)
    for line in output.lines:
        host.read(line)
    return host.parsed()


class _Host:
    """Reads line after line; a type or a vGPU is of the GPU above it."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._head = Head(output)
        self._gpus: list[Reading] = []
        self._types: list[list[str]] = []
        self._owner: tuple[int | None, str | None] = (None, None)
        self._vgpus: list[tuple[Reading, tuple[int | None, str | None]]] = []
        self._section = ""

    def read(self, line: Line) -> None:
        if len(self._gpus) > MOST_GPUS or len(self._vgpus) > _MOST_VGPUS:
            return
        if gpu := _GPU.match(line.text):
            self._new_gpu(None, gpu[1], line)
        elif kind := _TYPE.match(line.text):
            if self._types:
                self._types[-1].append(kind[1])
        elif head := _HEAD.search(line.text):
            self._head.take("nvidia_smi", head[1], line)
            self._head.take(head[2], head[3], line)
        elif row := _ROW.match(line.text):
            self._new_gpu(row[1], row[3], line)
            self._gpus[-1].take("name", row[2], words, line)
        elif row := _VROW.match(line.text):
            vgpu = self._new_vgpu(row[1], line)
            vgpu.take("name", row[2], words, line)
            vgpu.take("vm_name", row[3], words, line)
        elif leaf := _LEAF.match(line.text):
            self._leaf(plain_label(leaf[1]), leaf[2].strip(), line)
        else:
            self._section = plain_label(line.text[:60])

    def _new_gpu(self, index: str | None, given_bus_id: str, line: Line) -> None:
        reading = Reading(self._output)
        if index is not None:
            reading.take("index", index, count, line)
        reading.take("pci_bus_id", given_bus_id, bus_id, line)
        self._gpus.append(reading)
        self._types.append([])
        self._owner = (int(index) if index is not None else None, bus_id(given_bus_id))

    def _new_vgpu(self, number: str, line: Line) -> Reading:
        reading = Reading(self._output)
        reading.take("vgpu_id", number, count, line)
        self._vgpus.append((reading, self._owner))
        return reading

    def _leaf(self, label: str, value: str, line: Line) -> None:
        if label == "vgpu_id":
            self._new_vgpu(value, line)
            self._section = ""
        elif self._vgpus and (label not in {"total", "used"} or self._section == "fb_memory_usage"):
            self._vgpus[-1][0].of(_LEAVES, label, value, line)

    def parsed(self) -> Parsed:
        gpus = []
        for reading, types in zip(self._gpus, self._types, strict=True):
            self._head.give(reading)
            gpus.append(reading.made(Gpu, vendor="nvidia", vgpu_types=tuple(types)))
        kept, problems = each_once(gpus)
        vgpus = tuple(
            reading.made(VirtualGpu, gpu_index=owner[0], gpu_bus_id=owner[1]) for reading, owner in self._vgpus
        )
        evidence = Evidence(gpus=kept, vgpus=vgpus, software=self._head.software(), looked_for=frozenset({"vgpus"}))
        return Parsed(evidence, problems)


PARSER = Parser("nvidia-smi-vgpu", recognise, parse)
