"""Tells bare metal, pass-through, vGPU and WSL apart, with a confidence and the signs. No sign alone is enough.

Passes no verdict: what was promised is not looked at.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.gpu_traits import is_guest
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Seen

Told = Literal["bare metal", "pass-through", "vgpu", "virtual machine", "desktop", "unknown"]

_VGPU_NAME = re.compile(r"^GRID |[A-Z0-9]-\d{1,3}(?:-\d{1,2})?[QCAB]\b")
"""A vGPU's type at the end of its name, "A40-8Q", "A100-4-20C"."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What kind of machine it is by the evidence; `confidence` from 0 to 1, our own weighing of the signs."""

    kind: Told
    confidence: float
    signs: tuple[Message, ...]
    lines: tuple[Seen, ...]


def tell(evidence: Evidence) -> Telling:
    """What the GPUs and the machine around them say together."""
    gpus, system, cpu = evidence.gpus, evidence.system, evidence.cpu
    modes: set[str] = {gpu.virtualization for gpu in gpus if gpu.virtualization}
    guest = is_guest(evidence)
    named = any(gpu.name and _VGPU_NAME.search(gpu.name) for gpu in gpus)
    licensed = any(gpu.licence_status for gpu in gpus)
    kernel = (system.kernel or "") if system else ""
    wsl = "microsoft" in kernel.lower() or bool(system and system.virtualization == "wsl")
    windows = any(gpu.driver_model == "WDDM" for gpu in gpus)
    signs = [msg("check.virt.sign.mode", mode=mode) for mode in sorted(modes)]
    signs += [msg("check.virt.sign.name")] if named else []
    signs += [msg("check.virt.sign.licence")] if licensed else []
    signs += [msg("check.virt.sign.windows")] if windows or wsl else []
    hypervisor = (cpu.hypervisor_vendor if cpu else None) or (system.virtualization if system else None)
    if hypervisor and hypervisor != "none":
        signs.append(msg("check.virt.sign.hypervisor", name=hypervisor))
    elif cpu and cpu.hypervisor_flag:
        signs.append(msg("check.virt.sign.flag"))
    elif guest is False:
        signs.append(msg("check.virt.sign.no_hypervisor"))
    lines = (
        *(line for shown in _speaking(gpus) for line in shown),
        *lines_of([cpu] if cpu else [], "hypervisor_vendor", "hypervisor_flag"),
        *lines_of([system] if system else [], "virtualization", "vendor", "kernel"),
    )[:12]
    kind, confidence = _weighed(modes, guest, vgpu=int(named) + int(licensed), desktop=windows or wsl)
    return Telling(kind, confidence, tuple(signs), lines)


def _speaking(gpus: Sequence[Gpu]) -> Iterator[tuple[Seen, ...]]:
    """The lines of GPUs that are a sign, one of each that says something else, so that they hide no other sign."""
    yield from (lines_of([gpu], "virtualization") for gpu in _distinct(gpus, "virtualization"))
    called = [gpu for gpu in gpus if gpu.name and _VGPU_NAME.search(gpu.name)]
    yield from (lines_of([gpu], "name") for gpu in _distinct(called, "name")[:2])
    yield from (lines_of([gpu], "licence_status") for gpu in _distinct(gpus, "licence_status"))
    yield from (lines_of([gpu], "driver_model") for gpu in _distinct(gpus, "driver_model"))


def _distinct(gpus: Sequence[Gpu], field: str) -> list[Gpu]:
    first: dict[str, Gpu] = {}
    for gpu in gpus:
        if value := getattr(gpu, field):
            first.setdefault(value, gpu)
    return list(first.values())


def _weighed(modes: set[str], guest: bool | None, *, vgpu: int, desktop: bool) -> tuple[Told, float]:
    if "VGPU" in modes or vgpu:
        strength = 2 * ("VGPU" in modes) + vgpu
        return "vgpu", min(0.99, 0.6 + 0.13 * strength)
    if desktop:
        # Windows' own hypervisor makes the driver report pass-through on any desktop.
        return "desktop", 0.9
    if "Pass-Through" in modes:
        return "pass-through", 0.97 if guest else 0.5 if guest is False else 0.85
    if modes & {"None", "Host VGPU", "Host VSGA"}:
        return ("virtual machine", 0.6) if guest else ("bare metal", 0.97 if guest is False else 0.8)
    if guest:
        return "virtual machine", 0.9
    return ("bare metal", 0.75) if guest is False else ("unknown", 0.0)
