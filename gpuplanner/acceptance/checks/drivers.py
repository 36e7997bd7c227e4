"""The driver: one version in kernel and library, new enough for CUDA, PyTorch and the GPU, and nothing in its way."""

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.compatibility import architectures, covers, version_of
from gpuplanner.acceptance.gpu_traits import gpus_on_bus, is_of_amd
from gpuplanner.acceptance.saying import named, not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg

_OPEN_NEEDED, _OPEN_IMPOSSIBLE = ("blackwell",), ("maxwell", "pascal", "volta", "kepler")


_AWAY = {"no_driver", "no_library", "mismatch", "absent"}


def _driver(asked: Asked) -> str | None:
    software = asked.evidence.software
    return (software.driver_version if software else None) or next(
        (gpu.driver_version for gpu in asked.evidence.gpus if gpu.driver_version), None
    )


def _capability(asked: Asked) -> str:
    """The lowest compute capability of the GPUs, as they say it or as the catalog says of the promised one."""
    said = [gpu.compute_capability for gpu in asked.evidence.gpus if gpu.compute_capability]
    if said:
        return min(said, key=version_of)
    return asked.promised.gpu.compute_capability if asked.promised.gpu else ""


def match(asked: Asked) -> Judgement | None:
    """The loaded kernel module and the library that programs load are of one version."""
    if is_of_amd(asked.evidence):
        return None
    evidence, software = asked.evidence, asked.evidence.software
    faults = [fault for fault in evidence.faults if fault.kind == "mismatch"]
    module = software.module_version if software else None
    library = (software.library_version if software else None) or next(
        (fault.library_version for fault in faults if fault.library_version), None
    )
    lines = (
        *lines_of(faults, "kind", "said"),
        *lines_of([software] if software else [], "module_version", "library_version", "driver_version"),
    )[:12]
    measured = text(f"{module or '–'} / {library or '–'}")
    if faults or (module and library and module != library):
        return Judgement(
            Verdict.FAIL, msg("check.driver.mismatch"), None, measured, msg("check.do.reboot"), lines=lines
        )
    answered = _driver(asked)
    if module and library:
        return Judgement(Verdict.PASS, msg("check.as_expected"), None, measured, lines=lines)
    if answered and evidence.gpus:
        if module and module != answered:
            return Judgement(
                Verdict.FAIL,
                msg("check.driver.mismatch"),
                text(module),
                text(answered),
                msg("check.do.reboot"),
                lines=lines,
            )
        return Judgement(
            Verdict.PASS,
            msg("check.driver.answers"),
            None,
            text(answered),
            lines=lines or lines_of(evidence.gpus, "driver_version"),
        )
    return not_read("cat /proc/driver/nvidia/version; nvidia-smi")


def branch(asked: Asked) -> Judgement | None:
    """The driver runs what is installed, that has code for the GPU, and PyTorch reaches it; else the wheel to pick."""
    if is_of_amd(asked.evidence):
        return None
    found, software = _newest(asked), asked.evidence.software
    if software is None or software.torch_sees_cuda is not False or software.torch_rocm_version:
        return found
    if found.verdict is Verdict.FAIL:
        return found
    built = bool(software.torch_cuda_version or _cuda_of(software.torch_version))
    expected = asked.evidence.gpus or gpus_on_bus(asked.evidence) or asked.promised.gpu or _driver(asked)
    return Judgement(
        Verdict.FAIL if expected else Verdict.WARN,
        msg("check.driver.torch_blind" if built else "check.driver.torch_cpu"),
        text("True"),
        text("False"),
        msg("check.do.torch_blind") if built else found.do or msg("check.do.torch_cpu"),
        lines=lines_of([software], "torch_sees_cuda", "torch_cuda_version", "torch_version"),
    )


def _newest(asked: Asked) -> Judgement:
    software, driver, capability = asked.evidence.software, _driver(asked), _capability(asked)
    torch = software.torch_version if software else None
    cuda = (software.torch_cuda_version if software else None) or _cuda_of(torch)
    if cuda is None and software is not None:
        cuda = software.cuda_toolkit_version or software.cuda_runtime_version
    lines = lines_of(
        [software] if software else [],
        "driver_version",
        "torch_version",
        "torch_cuda_version",
        "torch_architectures",
        "cuda_toolkit_version",
    )
    old = [fault for fault in asked.evidence.faults if fault.kind == "driver_too_old"]
    if old:
        said = next((fault.said for fault in old if fault.said), driver or "–")
        return Judgement(
            Verdict.FAIL,
            msg("check.driver.too_old"),
            None,
            text(said),
            msg("check.do.newer_driver"),
            lines=lines_of(old, "kind", "said"),
        )
    if driver is None:
        return not_read("nvidia-smi")
    if cuda is None:
        wheel = asked.compatibility.wheel_for(driver, capability)
        do = msg("check.do.wheel", torch=wheel.torch, tag=wheel.tag) if wheel else None
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.driver.no_toolkit"),
            None,
            text(driver),
            do or msg("check.do.would_tell", command="python3 -m torch.utils.collect_env"),
            lines=lines,
        )
    wheel = asked.compatibility.wheel_for(driver, capability)
    do = msg("check.do.wheel", torch=wheel.torch, tag=wheel.tag) if wheel else msg("check.do.newer_driver")
    what = f"PyTorch {torch}, CUDA {cuda}" if torch else f"CUDA {cuda}"
    measured = text(f"{driver}; {what}")
    built, ptx = architectures(software.torch_architectures) if software else ([], False)
    if capability and torch and not covers(built, capability, ptx=ptx, cuda=cuda):
        return Judgement(
            Verdict.FAIL,
            msg("check.driver.no_code", capability=capability),
            text(capability),
            measured,
            do,
            lines=lines,
        )
    toolkit = asked.compatibility.toolkit(cuda)
    if toolkit is None:
        return Judgement(Verdict.CANNOT_TELL, msg("check.driver.unknown_cuda", cuda=cuda), None, measured, lines=lines)
    number, least = version_of(driver), ".".join(map(str, toolkit.driver))
    if number >= toolkit.driver:
        return Judgement(Verdict.PASS, msg("check.driver.native"), text(f"≥ {least}"), measured, lines=lines)
    if toolkit.floor and number >= toolkit.floor:
        return Judgement(
            Verdict.WARN,
            msg("check.driver.minor"),
            text(f"≥ {least}"),
            measured,
            msg("check.do.newer_driver"),
            lines=lines,
        )
    floor = ".".join(map(str, toolkit.floor or toolkit.driver))
    return Judgement(Verdict.FAIL, msg("check.driver.too_old"), text(f"≥ {floor}"), measured, do, lines=lines)


def _cuda_of(torch: str | None) -> str | None:
    """The CUDA of a build: 12.4 of "2.5.1+cu124"."""
    tag = (torch or "").partition("+cu")[2]
    return f"{tag[:-1]}.{tag[-1]}" if len(tag) >= 3 and tag.isdigit() else None


def module_kind(asked: Asked) -> Judgement | None:
    """The kernel module is of the kind that the GPU needs: Blackwell the open one, Volta and older the other."""
    if is_of_amd(asked.evidence):
        return None
    software = asked.evidence.software
    flavour = software.module_flavour if software else None
    if flavour is None and software is None and not asked.evidence.gpus:
        return not_read("cat /proc/driver/nvidia/version")
    if flavour is None:
        return not_read("cat /proc/driver/nvidia/version; modinfo -F license nvidia")
    words = " ".join(
        [
            *(gpu.architecture or "" for gpu in asked.evidence.gpus),
            asked.promised.gpu.architecture if asked.promised.gpu else "",
        ]
    ).lower()
    lines, measured = lines_of([software] if software else [], "module_flavour"), text(flavour)
    if flavour == "proprietary" and any(word in words for word in _OPEN_NEEDED):
        return Judgement(
            Verdict.FAIL,
            msg("check.driver.needs_open"),
            text("open"),
            measured,
            msg("check.do.open_module"),
            lines=lines,
        )
    if flavour == "open" and any(word in words for word in _OPEN_IMPOSSIBLE):
        return Judgement(
            Verdict.FAIL,
            msg("check.driver.needs_closed"),
            text("proprietary"),
            measured,
            msg("check.do.closed_module"),
            lines=lines,
        )
    return Judgement(Verdict.PASS, msg("check.driver.module_fits"), None, measured, lines=lines)


def nouveau(asked: Asked) -> Judgement | None:
    """The other driver for these GPUs is not loaded."""
    if is_of_amd(asked.evidence):
        return None
    evidence = asked.evidence
    found = [module for module in evidence.modules if module.name == "nouveau"]
    devices = [device for device in gpus_on_bus(evidence) if device.kernel_driver == "nouveau"]
    if found or devices:
        return Judgement(
            Verdict.FAIL,
            msg("check.nouveau.loaded"),
            None,
            text("nouveau"),
            msg("check.do.nouveau"),
            lines=(*lines_of(found, "name", "size_bytes"), *lines_of(devices, "kernel_driver"))[:12],
        )
    if "modules" in evidence.looked_for or evidence.modules:
        return Judgement(Verdict.PASS, msg("check.nouveau.absent"))
    return not_read("lsmod")


def secure_boot(asked: Asked) -> Judgement | None:
    """Secure Boot is off, or the driver's module is signed and loaded all the same."""
    system = asked.evidence.system
    on = system.secure_boot if system else None
    if on is None:
        return not_read("mokutil --sb-state")
    lines = lines_of([system] if system else [], "secure_boot")
    if not on:
        return Judgement(Verdict.PASS, msg("check.secure_boot.off"), lines=lines)
    if _driver(asked) or any(module.name == "nvidia" for module in asked.evidence.modules):
        return Judgement(Verdict.PASS, msg("check.secure_boot.loaded"), lines=lines)
    return Judgement(Verdict.WARN, msg("check.secure_boot.missing"), do=msg("check.do.sign"), lines=lines)


def processes(asked: Asked) -> Judgement | None:
    """Nobody else computes on the GPUs."""
    evidence = asked.evidence
    away = any(
        fault.kind in _AWAY and (fault.kind != "absent" or fault.wanted == "nvidia-smi") for fault in evidence.faults
    )
    if not evidence.processes and (away or "processes" not in evidence.looked_for):
        return not_read("nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv")
    # "C+G" is how Windows lists every window.
    computing = [process for process in evidence.processes if process.kind in {None, "C"}]
    busy = [each for each in computing if each.memory_used_mib is None or each.memory_used_mib > asked.rule["most_mib"]]
    if not busy:
        return Judgement(Verdict.PASS, msg("check.processes.none"), text(0), text(len(computing)))
    used: list[str] = [
        f"{process.name or process.pid}" + (f" {process.memory_used_mib:,.0f} MiB" if process.memory_used_mib else "")
        for process in busy[:4]
    ]
    where = sorted({str(process.gpu_index) for process in busy if process.gpu_index is not None})
    reason: Message = (
        msg("check.processes.on", count=len(busy), gpus=named(where))
        if where
        else msg("check.processes.some", count=len(busy))
    )
    return Judgement(
        Verdict.WARN,
        reason,
        text(0),
        text(", ".join(used)),
        msg("check.do.processes"),
        lines=lines_of(busy, "pid", "name", "memory_used_mib"),
    )


CHECKS = (
    Check("drv.match", match),
    Check("drv.branch", branch),
    Check("drv.kmod", module_kind),
    Check("drv.nouveau", nouveau),
    Check("drv.secureboot", secure_boot),
    Check("procs", processes),
)
