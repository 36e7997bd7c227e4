"""`/proc/stat`: how the processors spent their time; printed twice, between the two moments, else since the start."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.values import Reading

_ALL = re.compile(r"^cpu[ \t]{1,4}(\d{1,20}(?:[ \t]\d{1,20}){6,9})[ \t]*$")
_STEAL, _IDLE, _WAITING = 7, 3, 4
"""Columns of proc(5): user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice."""


def recognise(output: Output) -> int:
    """By the row of all processors together."""
    return CERTAIN if output.has(_ALL, "cpu ", "cpu\t") else NO


def parse(output: Output) -> Parsed:
    """The share of time that the hypervisor gave to others, and the share that was worked."""
    found = [(line, [int(each) for each in match[1].split()]) for line, match in output.matching(_ALL)]
    line, last = found[-1]
    ticks = [now - before for now, before in zip(last, found[0][1], strict=False)] if len(found) > 1 else last
    # Guests' time is already in user and nice.
    total = sum(ticks[:8])
    reading = Reading(output)
    if total > 0 and min(ticks) >= 0:
        if len(ticks) > _STEAL:
            reading.put("steal_share", ticks[_STEAL] / total, line)
        reading.put("busy_share", 1 - (ticks[_IDLE] + ticks[_WAITING]) / total, line)
    looked = frozenset({"steal"}) if len(found) > 1 else frozenset[str]()
    return Parsed(Evidence(cpu=reading.made(Cpu) if reading else None, looked_for=looked))


PARSER = Parser("proc-stat", recognise, parse)
