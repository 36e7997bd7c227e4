"""The fabric of NVSwitches: its manager, its state, and the export of memory between nodes."""

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import has_switches, is_guest
from gpuplanner.acceptance.saying import absence, absent, each_gpu, not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.host import Service

_MANAGER, _IMEX = "nvidia-fabricmanager", "nvidia-imex"
_STARTING_S = 600
"""A fabric that is still being set up so long after boot will not come up by itself."""


def _service(asked: Asked, name: str) -> Service | None:
    return next((each for each in asked.evidence.services if each.name.removesuffix(".service") == name), None)


def _is_rack(asked: Asked) -> bool:
    """GB200 and GB300 racks keep the manager of their switches outside the node."""
    names = [gpu.name or "" for gpu in asked.evidence.gpus]
    promised = asked.promised.gpu
    return any("GB200" in name or "GB300" in name for name in [*names, promised.name if promised else ""])


def manager(asked: Asked) -> Judgement | None:
    """Fabric Manager runs and is of the driver's version, where switches need it."""
    service, software = _service(asked, _MANAGER), asked.evidence.software
    driver = (software.driver_version if software else None) or next(
        (gpu.driver_version for gpu in asked.evidence.gpus if gpu.driver_version), None
    )
    version = (software.fabric_manager_version if software else None) or (service.version if service else None)
    needed = has_switches(asked) and not _is_rack(asked)
    lines = (
        *lines_of([service] if service else [], "state", "version", "name"),
        *lines_of([software] if software else [], "fabric_manager_version", "driver_version"),
    )[:12]
    expected, measured = (
        text(f"active, {driver or '–'}"),
        text(f"{(service.state if service else None) or '–'}, {version or '–'}"),
    )
    do, ask = msg("check.do.fabric"), msg("check.ask.fabric")
    if version and driver and version != driver:
        return Judgement(Verdict.FAIL, msg("check.fabric.other_version"), expected, measured, do, ask, lines)
    state = service.state if service else None
    if not needed:
        return None
    if state is None:
        return not_read(f"systemctl is-active {_MANAGER}", expected)
    if state == "active":
        if version and driver:
            return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)
        return Judgement(
            Verdict.WARN,
            msg("check.fabric.version_unknown"),
            expected,
            measured,
            msg("check.do.would_tell", command="nv-fabricmanager --version"),
            lines=lines,
        )
    if state == "absent" and is_guest(asked.evidence):
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.fabric.host_runs_it"),
            expected,
            measured,
            msg("check.do.would_tell", command="nvidia-smi -q | grep -A4 Fabric"),
            lines=lines,
        )
    return Judgement(Verdict.FAIL, msg("check.fabric.not_running"), expected, measured, do, ask, lines)


def fabric(asked: Asked) -> Judgement | None:
    """Every GPU has joined the fabric, and nothing in it is ill."""
    evidence = asked.evidence
    needed = has_switches(asked) or _is_rack(asked)
    if not needed and all(gpu.fabric_state is None for gpu in evidence.gpus):
        return None
    up = evidence.system.uptime_s if evidence.system else None

    def one(gpu: Gpu) -> Judgement | None:
        state, status = gpu.fabric_state, gpu.fabric_status
        lines = lines_of([gpu], "fabric_state", "fabric_status", "fabric_health")
        expected, measured = text("Completed, Success"), text(f"{state}, {status or '–'}")
        do, ask = msg("check.do.fabric"), msg("check.ask.fabric")
        if state is None:
            return absent(absence(gpu, "fabric_state"), "nvidia-smi -q", expected) if needed else None
        ill = [
            f"{name}: {said}"
            for name, said in (gpu.fabric_health or {}).items()
            if said.strip().lower() in {"true", "yes", "unhealthy", "degraded"}
        ]
        word = state.lower().replace("_", " ")
        if ill:
            return Judgement(
                Verdict.FAIL, msg("check.fabric.unhealthy"), expected, text(", ".join(ill)), do, ask, lines
            )
        if word == "completed" and (status is None or status.lower() in {"success", "nvml_success"}):
            if status is None:
                return absent(absence(gpu, "fabric_status"), "nvidia-smi -q", expected)
            return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)
        if word.replace(" ", "") == "inprogress":
            late = up is not None and up > _STARTING_S
            return Judgement(
                Verdict.FAIL if late else Verdict.WARN,
                msg("check.fabric.stuck") if late else msg("check.fabric.starting"),
                expected,
                measured,
                do,
                ask,
                lines,
            )
        return Judgement(Verdict.FAIL, msg("check.fabric.not_joined"), expected, measured, do, ask, lines)

    return each_gpu(evidence.gpus, one, "nvidia-smi -q")


def imex(asked: Asked) -> Judgement | None:
    """Memory can be exported between the nodes of a rack, where several are used together."""
    service = _service(asked, _IMEX)
    rack = _is_rack(asked)
    if not rack and (service is None or service.state in {"absent", "inactive", None}):
        return None
    if service is None or service.state is None:
        return not_read(f"systemctl is-active {_IMEX}", text("active"))
    lines, measured = lines_of([service], "state", "name"), text(service.state)
    if service.state == "active":
        return Judgement(Verdict.PASS, msg("check.as_expected"), text("active"), measured, lines=lines)
    if (asked.promised.nodes or 1) > 1:
        return Judgement(
            Verdict.FAIL,
            msg("check.fabric.no_imex"),
            text("active"),
            measured,
            msg("check.do.imex"),
            msg("check.ask.fabric"),
            lines,
        )
    return Judgement(
        Verdict.WARN, msg("check.fabric.no_imex"), text("active"), measured, msg("check.do.imex"), lines=lines
    )


CHECKS = (Check("fabric.fm", manager), Check("fabric.state", fabric), Check("imex", imex))
