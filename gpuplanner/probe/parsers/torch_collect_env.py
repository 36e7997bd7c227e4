"""PyTorch's `collect_env` (and vLLM's, which adds to it): versions of everything, and the GPUs' names."""

import re
from typing import Literal

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.host import System
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.parsers.nvidia_values import each_once, version
from gpuplanner.probe.values import Reading, UnreadableError, words, yes

_MARK = re.compile(r"^\s{0,40}(?:Is CUDA available|CUDA used to build PyTorch)\s{0,10}: ")
_ROW = re.compile(r"^\s{0,40}([A-Z][\w /]{1,40}?)\s{0,10}: {0,40}(.{0,200}?)\s{0,80}$")
_GPU = re.compile(r"^(?:\s{0,40}GPU models and configuration\s{0,10}: )?\s{0,40}GPU (\d{1,4}): (.{1,200}?)\s{0,80}$")
_HIP_GPU = re.compile(r"^(\S.{1,100}?) \((gfx\w{1,10})[^)]{0,60}\)$")
"""With ROCm it prints the first GPU alone, without its number."""
_CUDNN = re.compile(r"libcudnn(?:_\w{1,40})?\.so\.(\d{1,2}(?:\.\d{1,3}){1,3})(?!\d)")
_PIP = re.compile(r"^\s{0,40}\[pip\d?\] ([A-Za-z0-9_.-]{1,80})==(\S{1,60})$")
_CONDA = re.compile(r"^\s{0,40}\[conda\] ([A-Za-z0-9_.-]{1,80}) {1,60}(\d\S{0,60})")
_PLATFORM = re.compile(r"^Linux-(.{1,100}?)-(?:x86_64|aarch64|ppc64le|arm64|riscv64)-with")
_MOST_LIBRARIES = 2_000


def _torch(text: str) -> str:
    """PyTorch's version with what its builder added ("2.3.0a0+40ec155e58.nv24.03")."""
    if not text[:1].isdigit():
        raise UnreadableError(text)
    return words(text)


_SOFTWARE: Fields = {
    "PyTorch version": ("torch_version", _torch),
    "CUDA used to build PyTorch": ("torch_cuda_version", version),
    "ROCM used to build PyTorch": ("torch_rocm_version", _torch),
    "Is CUDA available": ("torch_sees_cuda", yes),
    "CUDA runtime version": ("cuda_runtime_version", version),
    "Nvidia driver version": ("driver_version", version),
    "Python version": ("python_version", version),
    "vLLM Version": ("vllm_version", _torch),
}
_LIBRARIES = {"HIP runtime version": "hip", "MIOpen runtime version": "miopen"}


def recognise(output: Output) -> int:
    """Certain by the rows that only this script prints."""
    if "PyTorch" not in output.text or "GPU models and configuration" not in output.text:
        return NO
    return CERTAIN if output.has(_MARK, "CUDA") else NO


def parse(output: Output) -> Parsed:
    """Versions, the GPUs in order with their driver, the system, and the libraries by name."""
    software, system = Reading(output), Reading(output)
    gpus: list[Reading] = []
    libraries: dict[str, str] = {}
    first_library: Line | None = None
    driver: tuple[str, Line] | None = None
    for line in output.lines:
        text = line.text
        if match := _GPU.match(text):
            gpu = Reading(output)
            gpu.put("index", int(match[1]), line)
            gpu.take("name", match[2], words, line)
            gpus.append(gpu)
        elif (match := _PIP.match(text) or _CONDA.match(text)) and len(libraries) < _MOST_LIBRARIES:
            libraries.setdefault(match[1], match[2])
            first_library = first_library or line
            if match[1].startswith("nvidia-nccl-"):
                software.take("nccl_version", match[2], version, line)
        elif match := _CUDNN.search(text):
            software.take("cudnn_version", match[1], version, line)
        elif match := _ROW.match(text):
            label, value = match.groups()
            if label == "GPU models and configuration" and value and (match := _HIP_GPU.match(value)):
                gpu = Reading(output)
                gpu.take("name", match[1], words, line)
                gpu.take("architecture", match[2], words, line)
                gpus.append(gpu)
            if label in _LIBRARIES and value[:1].isdigit():
                libraries.setdefault(_LIBRARIES[label], value)
                first_library = first_library or line
            elif label == "Nvidia driver version" and driver is None:
                driver = value, line
            _row(software, system, label, value, line)
    if libraries and first_library:
        software.put("libraries", libraries, first_library)
    for gpu in gpus:
        if driver and "driver_version" in software:
            gpu.take("driver_version", driver[0], version, driver[1])
    kept, problems = each_once(gpu.made(Gpu, vendor=_vendor(gpu)) for gpu in gpus)
    evidence = Evidence(
        gpus=kept,
        software=software.made(Software),
        system=system.made(System) if system else None,
        looked_for=frozenset({"software", "gpus"}),
    )
    return Parsed(evidence, problems)


def _row(software: Reading, system: Reading, label: str, value: str, line: Line) -> None:
    if value == "Could not collect":
        if label in _SOFTWARE:
            software.lack(_SOFTWARE[label][0], Lacking.UNKNOWN, line)
        return
    if software.of(_SOFTWARE, label, value, line):
        return
    if label == "OS":
        system.take("os", value, words, line)
    elif label == "Python platform" and (match := _PLATFORM.match(value)):
        system.put("kernel", match[1], line)


def _vendor(gpu: Reading) -> Literal["amd", "nvidia"] | None:
    """AMD where the name says so; this script lists GPUs by nvidia-smi or by rocm's own tool."""
    name = str(gpu.made(Gpu).name or "")
    if not name:
        return None
    return "amd" if name.startswith(("AMD", "Radeon")) else "nvidia"


PARSER = Parser("torch-collect-env", recognise, parse)
