"""What stands between GPUs and network adapters: EFA, direct reads and writes of GPU memory, access control."""

import re

from gpuplanner.acceptance.bridges import redirecting
from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.compatibility import version_of
from gpuplanner.acceptance.gpu_traits import is_guest
from gpuplanner.acceptance.saying import not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import msg

_DMA_BUF_KERNEL = (5, 12)


def efa(asked: Asked) -> Judgement | None:
    """As many EFA adapters as the type of instance has."""
    wanted = asked.promised.adapters if asked.promised.adapter_kind == "EFA" else None
    found = [
        device
        for device in asked.evidence.pci
        if (device.device_id or "").endswith("1D0F") and "efa" in f"{device.name} {device.kernel_driver}".lower()
    ]
    if wanted is None:
        return None
    if not asked.evidence.pci:
        return not_read("lspci -nn -d 1d0f:", text(wanted))
    lines, measured = lines_of(found, "bus_id", "name"), text(len(found))
    if len(found) < wanted:
        return Judgement(
            Verdict.FAIL,
            msg("check.efa.fewer"),
            text(wanted),
            measured,
            msg("check.do.efa"),
            msg("check.ask.ib"),
            lines,
        )
    return Judgement(Verdict.PASS, msg("check.as_expected"), text(wanted), measured, lines=lines)


def direct(asked: Asked) -> Judgement | None:
    """Adapters may read and write GPU memory without a stop in main memory."""
    evidence = asked.evidence
    promised = asked.promised
    if not evidence.ib_ports and not (promised.adapters or promised.adapter_bit_per_s or promised.adapters_bit_per_s):
        return None
    peer = [module for module in evidence.modules if module.name in {"nvidia_peermem", "nv_peer_mem"}]
    if peer:
        return Judgement(Verdict.PASS, msg("check.gdr.loaded"), None, text(peer[0].name), lines=lines_of(peer, "name"))
    if "modules" not in evidence.looked_for and not evidence.modules:
        return not_read("lsmod | grep peermem")
    kernel = version_of(evidence.system.kernel or "")[:2] if evidence.system else ()
    flavour = evidence.software.module_flavour if evidence.software else None
    if kernel >= _DMA_BUF_KERNEL and flavour == "open":
        return Judgement(Verdict.PASS, msg("check.gdr.dma_buf"))
    if kernel and (kernel < _DMA_BUF_KERNEL or flavour == "proprietary"):
        several = (asked.promised.nodes or 1) > 1
        return Judgement(
            Verdict.FAIL if several else Verdict.WARN,
            msg("check.gdr.none"),
            text("nvidia_peermem"),
            text("–"),
            msg("check.do.gdr"),
            msg("check.ask.ib"),
        )
    return Judgement(
        Verdict.CANNOT_TELL,
        msg("check.gdr.perhaps"),
        text("nvidia_peermem"),
        text("–"),
        msg("check.do.would_tell", command="uname -r; cat /proc/driver/nvidia/version"),
    )


def access_control(asked: Asked) -> Judgement | None:
    """Nothing sends traffic between GPUs up to the processor: access control services are off on bare metal."""
    evidence = asked.evidence
    if is_guest(evidence):
        return Judgement(Verdict.SKIPPED, msg("check.acs.guest"))
    known = [device for device in evidence.pci if device.acs_source_validation is not None]
    on = redirecting(evidence)
    if on:
        return Judgement(
            Verdict.WARN,
            msg("check.acs.on", count=len(on)),
            text("SrcValid-"),
            text("SrcValid+"),
            msg("check.do.acs"),
            msg("check.ask.acs"),
            lines_of(on, "acs_flags", "acs_source_validation"),
        )
    line = evidence.system.kernel_command_line if evidence.system else None
    lines = lines_of([evidence.system] if evidence.system else [], "kernel_command_line")
    translating = line is not None and re.search(r"(?:intel|amd)_iommu=on", line) and "iommu=pt" not in line
    if translating:
        return Judgement(
            Verdict.WARN, msg("check.acs.iommu"), text("iommu=pt"), text(line), msg("check.do.iommu"), lines=lines
        )
    elsewhere = [device for device in known if device.acs_source_validation]
    if elsewhere:
        return Judgement(
            Verdict.PASS,
            msg("check.acs.elsewhere", count=len(elsewhere)),
            lines=lines_of(elsewhere, "acs_flags", "acs_source_validation"),
        )
    if known:
        return Judgement(
            Verdict.PASS,
            msg("check.acs.off"),
            text("SrcValid-"),
            text("SrcValid-"),
            lines=lines_of(known, "acs_flags", "acs_source_validation"),
        )
    return not_read("sudo lspci -vvv | grep ACSCtl")


CHECKS = (Check("efa", efa), Check("gdr", direct), Check("acs", access_control))
