"""What kind of machine it is, its licence where it is virtual, how its GPUs are bound, and whether MIG divides them."""

import re
from datetime import date

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import gpus_on_bus, is_guest, is_virtual
from gpuplanner.acceptance.saying import absence, absent, each_gpu, not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.acceptance.virtualization import Telling, tell
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.units import percent

_SURE = 0.6
_KINDS = {
    "bare metal": msg("check.virt.kind.bare_metal"),
    "pass-through": msg("check.virt.kind.pass_through"),
    "vgpu": msg("check.virt.kind.vgpu"),
    "virtual machine": msg("check.virt.kind.virtual_machine"),
    "container": msg("check.virt.kind.container"),
    "desktop": msg("check.virt.kind.desktop"),
    "unknown": msg("check.virt.kind.unknown"),
}
_AS_GOOD = {
    "bare metal": {"bare metal"},
    "pass-through": {"pass-through", "bare metal"},
    "virtual machine": {"pass-through", "virtual machine", "bare metal"},
    "vgpu": {"vgpu", "pass-through", "bare metal", "virtual machine"},
    "container": {"vgpu", "pass-through", "bare metal", "virtual machine", "desktop"},
}
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_KEEPS_CUDA_OUT = {"nouveau", "vfio-pci", "nvidiafb"}


def kind(asked: Asked) -> Judgement | None:
    """The kind of machine that was sold."""
    told, wanted = tell(asked.evidence), asked.promised.virtualization
    expected = _KINDS[wanted] if wanted else None
    if told.kind == "unknown":
        return not_read("nvidia-smi -q; lscpu; systemd-detect-virt", expected)
    measured = _said(told)
    whole = asked.promised.said_by is not None and asked.promised.gpu_fraction in {None, 1.0}
    if wanted is None:
        if told.kind != "vgpu":
            return Judgement(Verdict.SKIPPED, msg("check.virt.nothing_promised"), None, measured, lines=told.lines)
        if whole and asked.promised.gpu is not None and asked.promised.gpu_count is not None:
            return Judgement(
                Verdict.FAIL,
                msg("check.virt.vgpu_for_whole"),
                None,
                measured,
                ask=msg("check.ask.virtual"),
                lines=told.lines,
            )
        return Judgement(
            Verdict.WARN, msg("check.virt.vgpu"), None, measured, ask=msg("check.ask.virtual"), lines=told.lines
        )
    if told.confidence < _SURE:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.virt.signs_differ"),
            expected,
            measured,
            msg("check.do.would_tell", command="lscpu; systemd-detect-virt"),
            lines=told.lines,
        )
    if told.kind in _AS_GOOD[wanted]:
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=told.lines)
    if told.kind == "desktop":
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.virt.desktop"),
            expected,
            measured,
            msg("check.do.would_tell", command="systemd-detect-virt"),
            lines=told.lines,
        )
    return Judgement(
        Verdict.FAIL, msg("check.virt.other"), expected, measured, ask=msg("check.ask.virtual"), lines=told.lines
    )


def _said(told: Telling) -> Message:
    signs: Message | None = None
    for sign in reversed(told.signs):
        signs = sign if signs is None else msg("check.both", first=sign, second=signs)
    return msg("check.virt.told", kind=_KINDS[told.kind], confidence=percent(told.confidence), signs=signs or text("–"))


def licence(asked: Asked) -> Judgement | None:
    """A vGPU has its licence, for some time to come."""
    virtual = [gpu for gpu in asked.evidence.gpus if is_virtual(gpu) or gpu.licence_status or gpu.licence_product]
    if not virtual:
        return None

    def one(gpu: Gpu) -> Judgement | None:
        said, lines = gpu.licence_status, lines_of([gpu], "licence_status", "licence_expiry", "licence_told_on")
        expected = text("Licensed")
        if said is None:
            return absent(absence(gpu, "licence_status"), "nvidia-smi -q", expected)
        measured = text(f"{said}, {gpu.licence_expiry}" if gpu.licence_expiry else said)
        if not said.lower().startswith("licensed") or "restrict" in said.lower():
            return Judgement(
                Verdict.FAIL,
                msg("check.licence.none"),
                expected,
                measured,
                msg("check.do.licence"),
                msg("check.ask.licence"),
                lines,
            )
        ends = _day(gpu.licence_expiry)
        # A saved text tells of its own day: by today's every licence of last year would have run out.
        on = _day(gpu.licence_told_on) or asked.today
        if ends is not None and on is None:
            return Judgement(
                Verdict.CANNOT_TELL,
                msg("check.licence.no_day"),
                expected,
                measured,
                msg("check.do.would_tell", command="nvidia-smi -q"),
                lines=lines,
            )
        days = (ends - on).days if ends is not None and on is not None else None
        if days is not None and days < 0:
            return Judgement(
                Verdict.FAIL,
                msg("check.licence.over"),
                expected,
                measured,
                msg("check.do.licence"),
                msg("check.ask.licence"),
                lines,
            )
        if days is not None and days < asked.rule["expiry_days"]:
            return Judgement(
                Verdict.WARN,
                msg("check.licence.soon", days=days),
                expected,
                measured,
                msg("check.do.licence"),
                lines=lines,
            )
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)

    return each_gpu(virtual, one, "nvidia-smi -q")


def _day(text: str | None) -> date | None:
    match = _DATE.search(text or "")
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match is not None else None
    except ValueError:
        return None


def bound(asked: Asked) -> Judgement | None:
    """The GPUs on the bus are bound to their vendor's driver."""
    devices = gpus_on_bus(asked.evidence)
    if not devices:
        return not_read("lspci -Dnnk -d 10de:")
    drivers = {device.kernel_driver for device in devices}
    lines = lines_of(devices, "kernel_driver", "bus_id")
    measured = text(", ".join(sorted(driver for driver in drivers if driver)) or "–")
    expected = text("nvidia")
    wrong = {driver for driver in drivers if driver in _KEEPS_CUDA_OUT}
    if wrong:
        return Judgement(
            Verdict.FAIL,
            msg("check.bound.other", driver=", ".join(sorted(wrong))),
            expected,
            measured,
            msg("check.do.driver_away"),
            lines=lines,
        )
    if None in drivers:
        answers = any(gpu.driver_version for gpu in asked.evidence.gpus)
        told = any(device.kernel_driver for device in asked.evidence.pci)
        if told and not answers:
            return Judgement(
                Verdict.FAIL, msg("check.bound.none"), expected, measured, msg("check.do.driver_away"), lines=lines
            )
        return not_read("lspci -Dnnk -d 10de:", expected)
    return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)


def host(asked: Asked) -> Judgement | None:
    """No hypervisor where bare metal was sold."""
    evidence = asked.evidence
    guest = is_guest(evidence)
    system, cpu = evidence.system, evidence.cpu
    lines = (
        *lines_of([cpu] if cpu else [], "hypervisor_vendor", "hypervisor_flag"),
        *lines_of([system] if system else [], "virtualization", "vendor", "product"),
    )[:12]
    if guest is None:
        return not_read("lscpu; systemd-detect-virt")
    modes = [gpu.virtualization for gpu in evidence.gpus if gpu.virtualization]
    said = (cpu.hypervisor_vendor if cpu else None) or (system.virtualization if system else None)
    name = said or next(iter(modes), None) or "hypervisor"
    measured = text(name) if guest else msg("check.host.none")
    if asked.promised.virtualization is None:
        return Judgement(Verdict.SKIPPED, msg("check.virt.nothing_promised"), None, measured, lines=lines)
    if asked.promised.virtualization == "bare metal" and guest:
        return Judgement(
            Verdict.FAIL,
            msg("check.host.hypervisor"),
            msg("check.host.none"),
            measured,
            ask=msg("check.ask.virtual"),
            lines=lines,
        )
    return Judgement(Verdict.PASS, msg("check.as_expected"), None, measured, lines=lines)


def container(asked: Asked) -> Judgement | None:
    """Whether this is a container, whose limits are then those that count."""
    system = asked.evidence.system
    said = system.container if system else None
    if said is None:
        if "container" in asked.evidence.looked_for:
            return Judgement(Verdict.PASS, msg("check.container.none"))
        return not_read("systemd-detect-virt -c; ls -d /.dockerenv /run/.containerenv")
    lines = lines_of([system] if system else [], "container")
    if said == "none":
        return Judgement(Verdict.PASS, msg("check.container.none"), lines=lines)
    return Judgement(Verdict.PASS, msg("check.container.inside"), None, text(said), lines=lines)


def mig(asked: Asked) -> Judgement | None:
    """MIG is on or off as ordered, and nothing waits for a reset."""
    wanted = asked.promised.mig
    slices = [each.profile for each in asked.evidence.mig_devices if each.profile]

    def one(gpu: Gpu) -> Judgement | None:
        now, pending = gpu.mig_mode, gpu.mig_mode_pending
        lines = lines_of([gpu], "mig_mode", "mig_mode_pending")
        expected = text("Enabled" if wanted else "Disabled") if wanted is not None else None
        if now is None:
            if slices:
                now = "Enabled"
            elif "mig_mode" in gpu.absent and not wanted:
                return Judgement(Verdict.SKIPPED, msg("check.mig.not_on_this"), lines=lines)
            else:
                return absent(absence(gpu, "mig_mode"), "nvidia-smi -q", expected)
        measured = text(f"{now}: {', '.join(slices[:8])}" if slices and now == "Enabled" else now)
        if pending not in {None, now}:
            return Judgement(
                Verdict.WARN,
                msg("check.mig.pending"),
                expected,
                text(f"{now} → {pending}"),
                msg("check.do.reset"),
                lines=lines,
            )
        on = now == "Enabled"
        if wanted is None and on:
            return Judgement(
                Verdict.WARN, msg("check.mig.on"), None, measured, msg("check.do.mig"), msg("check.ask.mig"), lines
            )
        if wanted is not None and on is not wanted:
            return Judgement(
                Verdict.FAIL,
                msg("check.mig.unexpected") if on else msg("check.mig.missing"),
                expected,
                measured,
                msg("check.do.mig"),
                msg("check.ask.mig"),
                lines,
            )
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q")


CHECKS = (
    Check("mig", mig),
    Check("virt.mode", kind),
    Check("virt.licence", licence),
    Check("virt.pci", bound),
    Check("virt.host", host),
    Check("virt.container", container),
)
