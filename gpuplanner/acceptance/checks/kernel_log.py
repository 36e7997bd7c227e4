"""What the kernel's log says of GPUs and switches: Xid and SXid since boot."""

from collections import Counter

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import has_switches
from gpuplanner.acceptance.saying import absent, not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.record import Absent, Lacking, Seen

_SERIOUS = frozenset(
    {46, 48, 54, 56, 57, 58, 61, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 151, 154, 155, 156, 157, 158}
)
"""The GPU, its link or its firmware is at fault, or it wants a reset."""
_PROGRAM = frozenset({8, 13, 31, 32, 43, 45, 68, 69})
"""A program did something wrong, most often; again and again and with any program it is the GPU."""
_COMMAND = "journalctl -k -b"


def _closed(asked: Asked) -> Judgement:
    """Cannot tell: the log was not read, because it is closed to others than root where that is known."""
    refused = next(
        (
            fault
            for fault in asked.evidence.faults
            if fault.kind == "no_permission" and (fault.wanted or "dmesg") in {"dmesg", "journalctl"}
        ),
        None,
    )
    if refused is None:
        return not_read(f"sudo {_COMMAND}" if asked.root is False else _COMMAND)
    seen = next(iter(refused.seen.values()), Seen(source="dmesg", line=0, text=refused.said or ""))
    return absent(Absent(reason=Lacking.NO_PERMISSION, seen=seen), f"sudo {_COMMAND}")


def xid(asked: Asked) -> Judgement | None:
    """No Xid that is the hardware's."""
    events = [event for event in asked.evidence.events if event.kind in {"xid", "off_bus"}]
    if not events:
        if "kernel_log" not in asked.evidence.looked_for:
            return _closed(asked)
        return Judgement(Verdict.PASS, msg("check.xid.none"), text("–"), text("–"))
    codes = Counter[int]()
    for event in events:
        codes[79 if event.code is None else event.code] += event.count
    measured = text(", ".join(f"{code} × {count}" if count > 1 else str(code) for code, count in sorted(codes.items())))
    serious = [event for event in events if event.kind == "off_bus" or event.code in _SERIOUS]
    if serious:
        return Judgement(
            Verdict.FAIL,
            msg("check.xid.serious"),
            text("–"),
            measured,
            msg("check.do.xid"),
            msg("check.ask.xid"),
            lines_of(serious, "code", "kind", "said"),
        )
    programs = set(codes) <= _PROGRAM
    return Judgement(
        Verdict.WARN,
        msg("check.xid.program") if programs else msg("check.xid.memory"),
        text("–"),
        measured,
        msg("check.do.watch"),
        lines=lines_of(events, "code", "kind", "said"),
    )


def sxid(asked: Asked) -> Judgement | None:
    """No SXid of a switch that ended work."""
    events = [event for event in asked.evidence.events if event.kind == "sxid"]
    if not events:
        if not has_switches(asked):
            return None
        if not asked.evidence.looked_for & {"kernel_log", "fabric_manager_log"}:
            return _closed(asked)
        return Judgement(Verdict.PASS, msg("check.sxid.none"), text("–"), text("–"))
    measured = text(", ".join(str(code) for code in sorted({event.code for event in events if event.code is not None})))
    fatal = [event for event in events if event.fatal]
    if fatal:
        return Judgement(
            Verdict.FAIL,
            msg("check.sxid.fatal"),
            text("–"),
            measured,
            msg("check.do.xid"),
            msg("check.ask.xid"),
            lines_of(fatal, "code", "said"),
        )
    return Judgement(
        Verdict.WARN,
        msg("check.sxid.some"),
        text("–"),
        measured,
        msg("check.do.watch"),
        lines=lines_of(events, "code", "said"),
    )


CHECKS = (Check("xid", xid), Check("sxid", sxid))
