"""Networks: interfaces, InfiniBand and RoCE ports, EFA, and whether adapters reach GPU memory by the shortest way."""

import re
from collections.abc import Sequence

from gpuplanner.acceptance.bridges import redirecting
from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.compatibility import version_of
from gpuplanner.acceptance.gpu_traits import is_guest
from gpuplanner.acceptance.saying import not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.paths import IbPort
from gpuplanner.units import percent

_NOT_REAL = re.compile(
    r"^(?:lo$|docker|veth|br-|virbr|cni|flannel|cali|tun|tap|dummy|bonding_masters|kube|vxlan|lxc|ib\d|sit\d)"
)
_WORSE = ("link_downed", "symbol_error", "link_error_recovery", "port_rcv_errors")
_DMA_BUF_KERNEL = (5, 12)
_UP = ("active", "up", "linkup")


def interface(asked: Asked) -> Judgement | None:
    """The network is as fast as promised."""
    links = [link for link in asked.evidence.network if link.name and not _NOT_REAL.match(link.name)]
    wanted = asked.promised.network_bit_per_s
    expected = text(_bits(wanted)) if wanted else None
    if not links:
        return not_read("cat /sys/class/net/*/speed; ip link", expected)
    up = [link for link in links if (link.state or "").lower() in _UP or (link.bit_per_s or 0) > 0]
    lines = lines_of(up or links, "bit_per_s", "state", "name")
    if not up:
        return Judgement(
            Verdict.FAIL,
            msg("check.net.down"),
            expected,
            text("down"),
            msg("check.do.net"),
            msg("check.ask.net"),
            lines,
        )
    rates = [link.bit_per_s for link in up if link.bit_per_s]
    measured = text(", ".join(f"{link.name} {_bits(link.bit_per_s)}" for link in up[:6]))
    if not rates:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.net.unknown_speed"),
            expected,
            measured,
            msg("check.do.would_tell", command="iperf3"),
            lines=lines,
        )
    if wanted is None:
        return Judgement(Verdict.PASS, msg("check.net.up"), None, measured, lines=lines)
    ports = sum(port.bit_per_s or 0 for port in asked.evidence.ib_ports if _is_up(port))
    if max(sum(rates), ports) >= wanted * asked.rule["pass_share"]:
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)
    return Judgement(
        Verdict.WARN,
        msg("check.less", share=percent(max(sum(rates), ports) / wanted)),
        expected,
        measured,
        msg("check.do.net"),
        msg("check.ask.net"),
        lines,
    )


def _bits(rate: float | None) -> str:
    if not rate or rate < 0:
        return "–"
    return f"{rate / 1e9:g} Gbit/s" if rate >= 1e9 else f"{rate / 1e6:g} Mbit/s"


def _is_up(port: IbPort) -> bool:
    words = [(said or "").split(":")[-1].strip().lower() for said in (port.state, port.physical_state)]
    return words[0] in _UP or (not words[0] and words[1] in _UP)


def ports(asked: Asked) -> Judgement | None:
    """All ports are up at their rate and do not go down again."""
    found = asked.evidence.ib_ports
    panics = [fault for fault in asked.evidence.faults if "ibpanic" in (fault.said or "")]
    if panics:
        return Judgement(
            Verdict.FAIL,
            msg("check.ib.panic"),
            None,
            text(panics[0].said),
            msg("check.do.ib"),
            msg("check.ask.ib"),
            lines_of(panics, "said", "kind"),
        )
    wanted = asked.promised.adapters if asked.promised.adapter_kind != "EFA" else None
    expected = text(wanted) if wanted else None
    if not found:
        if "ib" in asked.evidence.looked_for and wanted:
            return Judgement(
                Verdict.FAIL, msg("check.ib.none"), expected, text(0), msg("check.do.ib"), msg("check.ask.ib")
            )
        return not_read("ibstat; cat /sys/class/infiniband/*/ports/*/state", expected) if wanted else None
    down = [port for port in found if not _is_up(port)]
    up = [port for port in found if _is_up(port)]
    measured = text(", ".join(f"{port.adapter} {port.state or '?'} {_bits(port.bit_per_s)}" for port in found[:8]))
    enough = bool(wanted) and len(up) >= (wanted or 0)
    fabric = [port for port in down if (port.link_layer or "InfiniBand") == "InfiniBand"]

    def wrong(verdict: Verdict, reason: Message, shown: Sequence[IbPort], *fields: str) -> Judgement:
        do, ask = msg("check.do.ib"), msg("check.ask.ib")
        return Judgement(verdict, reason, expected, measured, do, ask, lines_of(shown, *fields, "adapter"))

    if wanted and not enough:
        fewer = msg("check.ib.fewer", count=len(up))
        return wrong(Verdict.FAIL, fewer, down or found, "state", "physical_state")
    if fabric and not enough:
        return wrong(Verdict.FAIL, msg("check.ib.down", count=len(fabric)), fabric, "state", "physical_state")
    rates = [port.bit_per_s for port in up if port.bit_per_s and (port.link_layer or "InfiniBand") == "InfiniBand"]
    if rates and min(rates) < max(rates):
        expected = text(_bits(max(rates)))
        slow = [port for port in up if port.bit_per_s == min(rates)]
        return wrong(Verdict.WARN, msg("check.ib.uneven"), slow, "bit_per_s")
    worn = [
        port
        for port in found
        if (port.counters or {}).get("link_downed", 0) > asked.rule["most_link_downed"]
        or any((port.counters or {}).get(name, 0) > 0 for name in _WORSE[1:])
    ]
    if worn:
        expected = None
        return wrong(Verdict.WARN, msg("check.ib.errors"), worn, "counters")
    if down:
        return wrong(Verdict.WARN, msg("check.ib.down", count=len(down)), down, "state")
    return Judgement(
        Verdict.PASS, msg("check.ib.all_up"), expected, measured, lines=lines_of(found, "state", "adapter")
    )


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
    if not evidence.ib_ports and not asked.promised.adapters:
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


CHECKS = (
    Check("net.link", interface),
    Check("ib", ports),
    Check("efa", efa),
    Check("gdr", direct),
    Check("acs", access_control),
)
