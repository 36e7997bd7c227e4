"""What the kernel's log says of GPUs, of switches and of itself: Xid and SXid since boot, and whether it crashed."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gpuplanner.acceptance.check import MOST_LINES, Asked, Check, CheckRule, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import has_switches
from gpuplanner.acceptance.saying import absent, in_a_row, not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.events import KernelEvent
from gpuplanner.probe.evidence.record import Absent, Lacking, Seen

_OFF_BUS = 79
_RECOVERY = 154
_RECOVERED = "to 0x0 (None)"
"""How the line of Xid 154 ends once nothing is to be done any more."""
_MOST_CODES = 4
"""Different codes that a sentence explains; `measured` has all of them."""
_COMMAND = "journalctl -k -b"
_HEADING = re.compile(r"(?:Panic|Oops)#\d")
_NONE = msg("check.expected.none")


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


def _none(asked: Asked, reason: Message, logs: frozenset[str]) -> Judgement:
    """No event: a pass where the log was read from boot on, and else only that there is none in a part of it."""
    if "kernel_log_since_boot" in asked.evidence.looked_for:
        return Judgement(Verdict.PASS, reason, _NONE, _NONE)
    if not asked.evidence.looked_for & logs:
        return _closed(asked)
    command = f"sudo {_COMMAND}" if asked.root is False else _COMMAND
    do = msg("check.do.would_tell", command=command)
    return Judgement(Verdict.CANNOT_TELL, msg("check.xid.none_in_part"), _NONE, do=do)


def xid(asked: Asked) -> Judgement | None:
    """No Xid that is the hardware's, and no crash of the kernel that its log holds."""
    crashes = [event for event in asked.evidence.events if event.kind == "crash"]
    found = _xid(asked)
    if not crashes:
        return found
    first = first_crash(crashes)
    crashed, lines = msg("check.xid.crashed"), lines_of([first, *crashes], "said")
    if found.verdict in {Verdict.FAIL, Verdict.WARN}:
        measured = in_a_row([found.measured or _NONE, crashed])
        return replace(found, measured=measured, lines=(*found.lines[: MOST_LINES - 1], lines[0]))
    reason = msg("check.xid.crash", said=first.said or "–")
    return Judgement(Verdict.WARN, reason, _NONE, crashed, msg("check.do.crash"), lines=lines)


def first_crash(crashes: Sequence[KernelEvent]) -> KernelEvent:
    """What ended the kernel, among the lines of its crashes, else what they begin with, else the heading of a dump."""
    said = [event.said or "" for event in crashes]
    sentences = [at for at, text in enumerate(said) if not _HEADING.match(text)]
    panics = [at for at in sentences if "Kernel panic" in said[at]]
    return crashes[(panics or sentences or [0])[0]]


def _xid(asked: Asked) -> Judgement:
    events = [event for event in asked.evidence.events if event.kind in {"xid", "off_bus"}]
    if not events:
        return _none(asked, msg("check.xid.none"), frozenset({"kernel_log"}))
    codes = Counter[int]()
    for event in events:
        codes[_code(event)] += event.count
    measured = text(", ".join(f"{code} × {count}" if count > 1 else str(code) for code, count in sorted(codes.items())))
    serious = [event for event in events if _is_serious(event, asked.rule)]
    if serious:
        return Judgement(
            Verdict.FAIL,
            msg("check.xid.serious", what=_meanings(serious, asked.rule)),
            _NONE,
            measured,
            msg("check.do.xid"),
            msg("check.ask.xid"),
            lines_of(serious, "code", "kind", "said"),
        )
    programs = set(codes) <= asked.rule.codes["program"]
    return Judgement(
        Verdict.WARN,
        msg("check.xid.program" if programs else "check.xid.handled", what=_meanings(events, asked.rule)),
        _NONE,
        measured,
        msg("check.do.watch"),
        lines=lines_of(events, "code", "kind", "said"),
    )


def _code(event: KernelEvent) -> int:
    return _OFF_BUS if event.code is None else event.code


def _is_serious(event: KernelEvent, rule: CheckRule) -> bool:
    """The GPU, its link or its firmware is at fault, or wants a reset."""
    code = _code(event)
    if code in rule.codes["link"]:
        return event.fatal is not False
    if code == _RECOVERY and _RECOVERED in (event.said or ""):
        return False
    return code in rule.codes["gpu"]


def _meanings(events: Sequence[KernelEvent], rule: CheckRule) -> Message:
    """What the codes of some events mean."""
    codes = sorted({_code(event) for event in events})
    listed = frozenset[int]().union(*rule.codes.values())
    parts = [
        msg("check.xid.code", code=code, meaning=msg(f"xid.{code}" if code in listed else "xid.unlisted"))
        for code in codes[:_MOST_CODES]
    ]
    if len(codes) > _MOST_CODES:
        parts[-1] = msg("check.and_more", first=parts[-1], count=len(codes) - _MOST_CODES)
    return in_a_row(parts)


def sxid(asked: Asked) -> Judgement | None:
    """No SXid of a switch that ended work."""
    events = [event for event in asked.evidence.events if event.kind == "sxid"]
    if not events:
        if not has_switches(asked):
            return None
        return _none(asked, msg("check.sxid.none"), frozenset({"kernel_log", "fabric_manager_log"}))
    measured = text(", ".join(str(code) for code in sorted({event.code for event in events if event.code is not None})))
    fatal = [event for event in events if event.fatal]
    if fatal:
        return Judgement(
            Verdict.FAIL,
            msg("check.sxid.fatal"),
            _NONE,
            measured,
            msg("check.do.xid"),
            msg("check.ask.xid"),
            lines_of(fatal, "code", "said"),
        )
    return Judgement(
        Verdict.WARN,
        msg("check.sxid.some"),
        _NONE,
        measured,
        msg("check.do.watch"),
        lines=lines_of(events, "code", "said"),
    )


CHECKS = (Check("xid", xid), Check("sxid", sxid))
