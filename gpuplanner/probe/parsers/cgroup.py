"""The limits of a control group, of version 1 or 2: what of the machine a container may use.

As `head -v` or `cat` print the files; one that is not there means that this version, or this place, has no such limit.
"""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu, HostMemory
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import cpus_in, sections
from gpuplanner.probe.values import Reading, UnreadableError, whole

_FILE = re.compile(r"/sys/fs/cgroup/(?:cpu\.max|memory\.max|cpu/|memory/|cpuset)")
_CPU_MAX = re.compile(r"^(max|\d{1,18}) (\d{1,18})$")
_ENDLESS = 1 << 60
"""Version 1 writes "no limit" as a number near 2⁶³."""


def recognise(output: Output) -> int:
    """By the paths of its files; the bare content of `cpu.max` is known by its form."""
    if output.has(_FILE, "/sys/fs/cgroup/"):
        return CERTAIN
    begin = output.first(2)
    return CERTAIN if len(begin) == 1 and _CPU_MAX.match(begin[0].text) else NO


def parse(output: Output) -> Parsed:
    """Processors as a count that may be broken, memory in bytes; "max" is no limit."""
    cpu, memory = Reading(output), Reading(output)
    quota: tuple[int, Line] | None = None
    period = None
    files = list(sections(output)) or [("/cpu.max", (line,)) for line in output.lines if _CPU_MAX.match(line.text)]
    for path, lines in files:
        if not lines or not lines[0].text.strip():
            continue
        line = lines[0]
        text = line.text.strip()
        name = path.rsplit("/", 1)[-1]
        if name == "cpu.max" and (match := _CPU_MAX.match(text)):
            _quota(cpu, None if match[1] == "max" else int(match[1]), int(match[2]), line)
        elif name == "cpu.cfs_quota_us" and re.fullmatch(r"-?\d{1,18}", text):
            quota = (int(text), line)
        elif name == "cpu.cfs_period_us" and text.isdecimal():
            period = int(text[:18])
        elif name in {"memory.max", "memory.limit_in_bytes"}:
            _limit(memory, text, line)
        elif name in {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"}:
            cpu.take("allowed_cpus", text, _cpus, line)
    if quota and period:
        _quota(cpu, None if quota[0] < 0 else quota[0], period, quota[1])
    sections_ = {"cpu": cpu.made(Cpu) if cpu else None, "memory": memory.made(HostMemory) if memory else None}
    return Parsed(Evidence(**sections_, looked_for=frozenset({"cgroup"})))


def _cpus(text: str) -> int:
    try:
        return cpus_in(text)
    except ValueError:
        raise UnreadableError(text) from None


def _quota(cpu: Reading, quota: int | None, period: int, line: Line) -> None:
    if quota is None:
        cpu.put("quota_unlimited", True, line)
    elif period > 0:
        cpu.put("quota_unlimited", False, line)
        cpu.put("quota_cpus", quota / period, line)


def _limit(memory: Reading, text: str, line: Line) -> None:
    endless = text == "max" or (text.isdecimal() and int(text[:20]) >= _ENDLESS)
    memory.put("cgroup_unlimited", endless, line)
    if not endless:
        memory.take("cgroup_limit_bytes", text, whole, line)


PARSER = Parser("cgroup", recognise, parse)
