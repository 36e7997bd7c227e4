"""What kind of GPU a record is of, by what it prints: for servers or not, divided, joined by switches. No verdict."""

import re
from collections.abc import Collection, Sequence
from typing import TypeVar

from gpuplanner.acceptance.check import Asked, lines_of
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.paths import PathMatrix, PciDevice
from gpuplanner.probe.evidence.record import Seen

G = TypeVar("G", Gpu, PciDevice)

_CONSUMER = re.compile(r"geforce|\brtx\b|quadro|titan|\bgtx\b|\bmx\d{3}|\bnvs\b|radeon", re.IGNORECASE)
_OLDER = re.compile(r"\b(?:kepler|maxwell|pascal|volta|turing)\b", re.IGNORECASE)
_MODULE = re.compile(r"SXM|HBM3|\bGB?[23]00\b|\bH[28]00\b|\bB[23]00\b", re.IGNORECASE)
_GPU_CLASSES = ("0300", "0302", "0380", "1200")
_GPU_KINDS = frozenset({"VGA compatible controller", "3D controller", "Display controller", "Processing accelerators"})
"""The same classes in the words of pci.ids, as `lspci` prints them without -nn."""
NVIDIA, AMD = "10DE", "1002"
_VENDOR_NAMES = {NVIDIA: "NVIDIA ", AMD: "Advanced Micro Devices"}
_IN_PROCESSOR = frozenset({
    "15DD", "15D8", "1636", "1638", "164C", "15E7", "163F", "1681", "164D", "1506", "164E", "13C0", "15BF", "15C8",
    "1900", "1901", "150E", "1586", "1114",
})  # fmt: skip
"""Devices of AMD that are a part of a processor, from Raven to Krackan; pci.ids, from memory."""
_PROCESSOR_NAME = re.compile(
    r"\b(?:raphael|granite ridge|phoenix|hawk point|rembrandt|cezanne|renoir|lucienne|barcelo|picasso|raven|mendocino"
    r"|van gogh|strix|krackan)\b|\bu?hd graphics\b|\biris\b",
    re.IGNORECASE,
)
"""What a part of a processor is called where its device is not told. "AMD Radeon Graphics" is no such name: a card that
a tool has no name for is called so, too.
"""
NVLINK = re.compile(r"^NV(\d{1,2})$")


def is_data_centre(gpu: Gpu) -> bool | None:
    """Whether it is a GPU made for servers; None where it has no name."""
    if gpu.name is None:
        return None
    return "server edition" in gpu.name.lower() or not _CONSUMER.search(gpu.name)


def is_before_ampere(gpu: Gpu) -> bool:
    """Whether it retires pages and does not remap rows."""
    return bool(gpu.architecture and _OLDER.search(gpu.architecture))


def is_module(gpu: Gpu) -> bool:
    """Whether it is no card but a module, whose NVLinks need no bridge; "NVL" and "PCIe" are cards."""
    name = gpu.name or ""
    return bool(_MODULE.search(name)) and not re.search(r"PCIe|NVL\b", name)


def is_divided(gpu: Gpu) -> bool:
    """Whether MIG divides it."""
    return gpu.mig_mode == "Enabled"


def is_virtual(gpu: Gpu) -> bool:
    """Whether it is a vGPU, by its driver's own words."""
    return gpu.virtualization == "VGPU"


def is_integrated(gpu: Gpu | PciDevice) -> bool:
    """Whether it is a part of the processor, which works in the host's memory."""
    identifier = (gpu.pci_device_id if isinstance(gpu, Gpu) else gpu.device_id) or ""
    if identifier.upper().endswith(AMD):
        return identifier[2:6].upper() in _IN_PROCESSOR
    return bool(gpu.name and _PROCESSOR_NAME.search(gpu.name))


def cards(gpus: Sequence[G]) -> tuple[G, ...]:
    """Those of them that are no part of the processor; all where there are no others, since then these are planned."""
    return tuple(gpu for gpu in gpus if not is_integrated(gpu)) or tuple(gpus)


def gpus_on_bus(evidence: Evidence, vendors: tuple[str, ...] = (NVIDIA, AMD)) -> tuple[PciDevice, ...]:
    """The GPUs that the PCI bus lists, those included that no longer answer."""
    return tuple(device for device in evidence.pci if _is_gpu(device) and _made_by(device, vendors))


def _is_gpu(device: PciDevice) -> bool:
    if device.class_code is not None:
        return device.class_code[:4] in _GPU_CLASSES
    return device.kind in _GPU_KINDS


def _made_by(device: PciDevice, vendors: tuple[str, ...]) -> bool:
    if device.device_id is not None:
        return device.device_id.upper().endswith(vendors)
    return (device.name or "").startswith(tuple(_VENDOR_NAMES[vendor] for vendor in vendors))


def is_of_amd(evidence: Evidence) -> bool:
    """Whether its GPUs are AMD's, so that nothing of NVIDIA's driver and tools is to be looked for."""
    if gpus_on_bus(evidence, (NVIDIA,)):
        return False
    vendors = {gpu.vendor for gpu in evidence.gpus}
    return vendors == {"amd"} or (not vendors and any(not is_integrated(gpu) for gpu in gpus_on_bus(evidence, (AMD,))))


def above(evidence: Evidence, device: PciDevice) -> list[PciDevice]:
    """The bridges over a device up to the root port, nearest first."""
    by_bus = {each.bus_id: each for each in evidence.pci if each.bus_id}
    found, seen = list[PciDevice](), {device.bus_id}
    parent = by_bus.get(device.parent or "")
    while parent is not None and parent.bus_id not in seen:
        found.append(parent)
        seen.add(parent.bus_id)
        parent = by_bus.get(parent.parent or "")
    return found


def path_matrix(evidence: Evidence) -> PathMatrix | None:
    """The matrix of paths between GPUs, where one was read."""
    return next((matrix for matrix in evidence.matrices if matrix.kind == "path" and matrix.paths), None)


def matrix_lines(matrix: PathMatrix, paths: Collection[str] = ()) -> tuple[Seen, ...]:
    """The header of a matrix and the rows of its GPUs; with `paths` only those in which one of them stands."""
    rows = [
        device
        for device, row in matrix.paths.items()
        if device.startswith("GPU") and (not paths or not set(row.values()).isdisjoint(paths))
    ]
    return lines_of([matrix], "paths", *rows)


def gpu_names(matrix: PathMatrix) -> list[str]:
    """The GPUs that a matrix has, those included whose rows are not shown."""
    return [name for name in matrix.devices or matrix.paths if name.startswith("GPU")]


def gpu_pairs(matrix: PathMatrix) -> dict[tuple[str, str], str]:
    """The path of each pair of GPUs, each pair once."""
    names = gpu_names(matrix)
    pairs = {}
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            path = matrix.paths.get(one, {}).get(other) or matrix.paths.get(other, {}).get(one)
            if path:
                pairs[one, other] = path
    return pairs


def has_switches(asked: Asked) -> bool:
    """Whether NVSwitches join the GPUs: seen in the PCI tree, in a matrix of more than four, or promised so."""
    evidence = asked.evidence
    if any("nvswitch" in (device.name or "").lower() for device in evidence.pci):
        return True
    if any(event.kind == "sxid" for event in evidence.events):
        return True
    matrix = path_matrix(evidence)
    pairs = gpu_pairs(matrix) if matrix else {}
    if len(pairs) >= 15 and all(NVLINK.match(path) for path in pairs.values()):
        return True
    promised = asked.promised.gpu
    return bool(
        promised and promised.nvlink_lanes and promised.nvlink_lanes >= 8 and not promised.link_is_bridge
        and len(evidence.gpus) >= 4 and not any(is_divided(gpu) for gpu in evidence.gpus)
        and any(is_module(gpu) for gpu in evidence.gpus)
    )  # fmt: skip


def is_guest(evidence: Evidence) -> bool | None:
    """Whether this is a virtual machine; None where nothing that was read tells."""
    system, cpu = evidence.system, evidence.cpu
    said = system.virtualization if system else None
    if said is not None:
        return said != "none"
    if cpu is not None and (cpu.hypervisor_vendor or cpu.hypervisor_flag):
        return True
    if cpu is not None and cpu.hypervisor_flag is False:
        return False
    if any(gpu.virtualization in {"Pass-Through", "VGPU"} and gpu.driver_model != "WDDM" for gpu in evidence.gpus):
        return True
    return None
