"""Networks: interfaces, and InfiniBand and RoCE ports, in number and rate."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuplanner.acceptance.check import MOST_LINES, Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.saying import not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.paths import IbPort, NetworkLink
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.units import percent

_NOT_REAL = re.compile(
    r"^(?:lo$|docker|veth|br-|virbr|cni|flannel|cali|tun|tap|dummy|bonding_masters|kube|vxlan|lxc|ib\d|sit\d)"
)
_BUNDLE = re.compile(r"^(?:bond|team)\d|.*\.\d+(?:@.*)?$")
_WORSE = ("link_downed", "symbol_error", "link_error_recovery", "port_rcv_errors")
_INFINIBAND_CLASS = "0207"
_UP = ("active", "up", "linkup")


def network(asked: Asked) -> Judgement | None:
    """The network is as fast as promised, and no optics report that light is missing or that they fail."""
    found = interface(asked)
    alarms = [
        each
        for each in asked.evidence.diagnostics
        if each.tool == "ethtool" and each.result == "On" and (each.test or "").endswith("alarm")
    ]
    if not alarms or (found is not None and found.verdict is Verdict.FAIL):
        return found
    lines = lines_of(alarms, "result", "test")
    reason = msg("check.net.optics", alarms=", ".join((each.test or "?") for each in alarms[:4]))
    do, ask = msg("check.do.optics"), msg("check.ask.net")
    if found is None or found.verdict is not Verdict.WARN:
        return Judgement(Verdict.WARN, reason, None, msg("check.net.alarms", count=len(alarms)), do, ask, lines)
    both = (*found.lines[: MOST_LINES - len(lines)], *lines)[:MOST_LINES]
    return replace(found, reason=msg("check.both", first=found.reason, second=reason), do=do, lines=both)


def interface(asked: Asked) -> Judgement | None:
    """The network is as fast as promised, by its interfaces or by the ports of its adapters, whichever carry more.

    A port that speaks Ethernet is an interface, too, so the two are never added up.
    """
    links = _apart([link for link in asked.evidence.network if link.name and not _NOT_REAL.match(link.name)])
    wanted = asked.promised.network_bit_per_s
    each, count = asked.promised.interface_bit_per_s, asked.promised.interfaces
    expected = text(_of(count, each) if count and each else _bits(wanted)) if wanted else None
    found, ethernet = asked.evidence.ib_ports, asked.promised.network_is_ethernet
    ports = [
        port for port in found if _is_up(port) and port.bit_per_s and not (ethernet and _layer(port) != "Ethernet")
    ]
    up = [link for link in links if (link.state or "").lower() in _UP or (link.bit_per_s or 0) > 0]
    lines = lines_of(up or links, "bit_per_s", "state", "name")
    rates = [link.bit_per_s for link in up if link.bit_per_s and link.bit_per_s > 0]
    by_ports = [port.bit_per_s or 0.0 for port in ports]
    carried, shown = sum(rates), text(", ".join(f"{link.name} {_bits(link.bit_per_s)}" for link in up[:6]))
    if wanted and sum(by_ports) > carried:
        rates, carried = by_ports, sum(by_ports)
        lines, shown = lines_of(ports, "bit_per_s", "adapter"), text(_listed(ports))
    if not links and not (wanted and ports):
        return not_read("cat /sys/class/net/*/speed; ip link", expected)
    if links and not up and not ports:
        return Judgement(
            Verdict.FAIL,
            msg("check.net.down"),
            expected,
            text("down"),
            msg("check.do.net"),
            msg("check.ask.net"),
            lines,
        )
    if not rates:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.net.unknown_speed"),
            expected,
            shown,
            msg("check.do.would_tell", command="iperf3"),
            lines=lines,
        )
    if wanted is None:
        return Judgement(Verdict.PASS, msg("check.net.up"), None, shown, lines=lines)
    share = carried / wanted
    enough = asked.rule["pass_share"]
    at_rate = sum(rate >= (each or 0) * enough for rate in rates)
    if share >= enough and at_rate >= (count or 0):
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, shown, lines=lines)
    unread = not links or not (ethernet or found or _has_no_infiniband(asked))
    silent = unread or any(not link.bit_per_s for link in up)
    reason = (
        msg("check.net.each", count=at_rate)
        if share >= enough
        else msg("check.net.others_unknown", share=percent(share))
        if silent
        else msg("check.less", share=percent(share))
    )
    if share < enough and not links:
        do = msg("check.do.would_tell", command="cat /sys/class/net/*/speed; ip link")
        return Judgement(Verdict.CANNOT_TELL, reason, expected, shown, do, lines=lines)
    return Judgement(
        # Below half it is another network, unless an interface that says no speed may carry the rest.
        Verdict.FAIL if share < asked.rule["fail_share"] and not silent else Verdict.WARN,
        reason,
        expected,
        shown,
        msg("check.do.net"),
        msg("check.ask.net"),
        lines,
    )


def _has_no_infiniband(asked: Asked) -> bool:
    """Whether ports were looked for in vain, or the bus was read and has no such controller."""
    pci = asked.evidence.pci
    on_bus = any((device.class_code or _INFINIBAND_CLASS).startswith(_INFINIBAND_CLASS) for device in pci)
    return "ib" in asked.evidence.looked_for or (bool(pci) and not on_bus)


def _apart(links: Sequence[NetworkLink]) -> list[NetworkLink]:
    """The interfaces without those that only bundle or divide others, which would count the same cable twice."""
    cables = [link for link in links if not _BUNDLE.match(link.name or "")]
    return cables if any((link.bit_per_s or 0) > 0 for link in cables) else list(links)


def _of(count: int, each: float | None) -> str:
    return f"{count} × {_bits(each)}" if each else str(count)


def _bits(rate: float | None) -> str:
    if not rate or rate < 0:
        return "–"
    return f"{rate / 1e9:g} Gbit/s" if rate >= 1e9 else f"{rate / 1e6:g} Mbit/s"


def _is_up(port: IbPort) -> bool:
    words = [(said or "").split(":")[-1].strip().lower() for said in (port.state, port.physical_state)]
    return words[0] in _UP or (not words[0] and words[1] in _UP)


def _layer(port: IbPort) -> str:
    """What a port speaks. Tools that do not say it are older than adapters that speak Ethernet."""
    return port.link_layer or "InfiniBand"


def _listed(ports: Sequence[IbPort]) -> str:
    """Ports counted by what they do and speak, those that are down first; one that is down alone by its name."""
    down: dict[tuple[str, str], list[str]] = {}
    for port in ports:
        if not _is_up(port):
            down.setdefault((port.state or "?", _layer(port)), []).append(port.adapter or "?")
    up = Counter((port.bit_per_s or 0.0, _layer(port)) for port in ports if _is_up(port))
    return ", ".join(
        [
            *(
                f"{names[0] if len(names) == 1 else f'{len(names)} ×'} {state} {layer}"
                for (state, layer), names in down.items()
            ),
            *(f"{count} × {_bits(rate)} {layer}" for (rate, layer), count in sorted(up.items(), reverse=True)),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The ports of a promise: how many, what each carries, what they carry together; each None where nobody said it.

    `kind`: "InfiniBand", "RoCE" or nothing, where any will do.
    """

    kind: str
    count: int | None
    each: float | None
    together: float | None

    @classmethod
    def of(cls, asked: Asked) -> "_Wanted | None":
        promised = asked.promised
        wanted = promised.adapters, promised.adapter_bit_per_s, promised.adapters_bit_per_s
        return cls(promised.adapter_kind, *wanted) if promised.adapter_kind != "EFA" and any(wanted) else None

    def said(self) -> str:
        rate = _of(self.count or 1, self.each) if self.count or self.each else _bits(self.together)
        return f"{rate} {self.kind}".strip()

    def takes(self, port: IbPort) -> bool:
        """Whether a port is of the kind: InfiniBand is none that speaks Ethernet, and RoCE none that does not."""
        layer = {"InfiniBand": "InfiniBand", "RoCE": "Ethernet"}.get(self.kind)
        return layer is None or port.link_layer is None or port.link_layer == layer


@dataclass(frozen=True, slots=True)
class _Missing:
    """What ports lack of a promise, and the ports and their fields that show it."""

    verdict: Verdict
    reason: Message
    ports: tuple[IbPort, ...]
    fields: tuple[str, ...]

    def lines(self) -> tuple[Seen, ...]:
        return lines_of(self.ports, *self.fields, "adapter")


def _missing(wanted: _Wanted, found: Sequence[IbPort], pass_share: float) -> _Missing | None:
    """Number, rate of each and rate together against a promise of any of them; None where all is there."""
    mine = [port for port in found if wanted.takes(port)]
    up = [port for port in mine if _is_up(port)]
    need = wanted.count or 1
    if len(up) < need:
        shown = [port for port in mine if not _is_up(port)] or mine or list(found)
        fewer = (
            msg("check.ib.fewer_of", count=len(up), kind=wanted.kind)
            if wanted.kind
            else msg("check.ib.fewer", count=len(up))
        )
        fields = ("state", "physical_state") if mine else ("link_layer",)
        return _Missing(Verdict.FAIL, fewer, tuple(shown), fields)
    silent = [port for port in up if not port.bit_per_s]
    carried = sum(port.bit_per_s or 0 for port in up)
    short = wanted.together is not None and carried < wanted.together * pass_share
    slow = [port for port in up if port.bit_per_s and port.bit_per_s < (wanted.each or 0) * pass_share]
    fast = len(up) - len(slow) - len(silent)
    lacking = wanted.each is not None and fast < need
    if not short and not lacking:
        return None
    if silent and (not lacking or fast + len(silent) >= need):
        unsaid = msg("check.ib.rate_unknown", count=len(silent))
        return _Missing(Verdict.CANNOT_TELL, unsaid, tuple(silent), ("bit_per_s", "state"))
    if lacking and wanted.together is not None and not short:
        split = msg("check.ib.split", count=fast)
        return _Missing(Verdict.WARN, split, tuple(slow), ("bit_per_s", "link_layer"))
    if lacking:
        few = msg("check.ib.slow", count=fast)
        return _Missing(Verdict.FAIL, few, tuple(slow), ("bit_per_s", "link_layer"))
    less = msg("check.less", share=percent(carried / (wanted.together or 1)))
    return _Missing(Verdict.FAIL, less, tuple(up), ("bit_per_s", "link_layer"))


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
    wanted = _Wanted.of(asked)
    expected = text(wanted.said()) if wanted else None
    if not found:
        if "ib" in asked.evidence.looked_for and wanted:
            return Judgement(
                Verdict.FAIL, msg("check.ib.none"), expected, text(0), msg("check.do.ib"), msg("check.ask.ib")
            )
        return not_read("ibstat; cat /sys/class/infiniband/*/ports/*/state", expected) if wanted else None
    down = [port for port in found if not _is_up(port)]
    up = [port for port in found if _is_up(port)]
    measured = text(_listed(found))
    fabric = [port for port in down if _layer(port) == "InfiniBand"]

    def wrong(verdict: Verdict, reason: Message, shown: Sequence[IbPort], *fields: str) -> Judgement:
        do, ask = msg("check.do.ib"), msg("check.ask.ib")
        return Judgement(verdict, reason, expected, measured, do, ask, lines_of(shown, *fields, "adapter"))

    if wanted:
        missing = _missing(wanted, found, asked.rule["pass_share"])
        if missing is not None and missing.verdict is Verdict.CANNOT_TELL:
            do = msg("check.do.would_tell", command="cat /sys/class/infiniband/*/ports/*/{link_layer,rate}")
            return Judgement(missing.verdict, missing.reason, expected, measured, do, lines=missing.lines())
        if missing is not None:
            return wrong(missing.verdict, missing.reason, missing.ports, *missing.fields)
    elif fabric:
        return wrong(Verdict.FAIL, msg("check.ib.down", count=len(fabric)), fabric, "state", "physical_state")
    rates = [port.bit_per_s for port in up if port.bit_per_s and _layer(port) == "InfiniBand"]
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


CHECKS = (Check("net.link", network), Check("ib", ports))
