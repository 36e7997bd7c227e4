"""`py-spy dump`: what each thread of a Python program does at one moment. Judges nothing."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.traces import ThreadStack
from gpuplanner.probe.output import Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, words

_THREAD_LINE = (
    r"Thread (?:(?P<id>\d{1,10}|0x[0-9A-Fa-f]{1,16}) )?\((?P<state>active|idle)(?P<gil>\+gil)?\)"
    r"(?:: \"(?P<name>[^\"\n]{0,120})\")?[ \t]{0,10}$"
)
_OPENS = at_line_start(_THREAD_LINE)
_THREAD = re.compile(f"^{_THREAD_LINE}")
_PROCESS = re.compile(r"^Process (\d{1,10}): (.{1,300})$")
_FRAME = re.compile(r"^[ \t]{2,12}(\S.{0,200}? \([^()\n]{1,300}\))$")
_MOST_THREADS, _MOST_FRAMES = 5_000, 100


def recognise(output: Output) -> int:
    """Certain by a thread's line with the process's above, likely by one alone."""
    if not any(output.starting(_OPENS)):
        return NO
    return CERTAIN if output.has(_PROCESS, "Process ") else LIKELY


def parse(output: Output) -> Parsed:
    """A record a thread, its frames from the innermost out."""
    threads: list[tuple[Reading, list[str], Line]] = []
    process: tuple[str, str, Line] | None = None
    for line in output.lines:
        if match := _PROCESS.match(line.text):
            process = match[1], match[2], line
        elif match := _THREAD.match(line.text):
            if len(threads) == _MOST_THREADS:
                break
            reading = Reading(output)
            if process:
                reading.take("pid", process[0], count, process[2])
                reading.take("command", process[1], words, process[2])
            reading.put("state", match["state"], line)
            reading.put("holds_gil", bool(match["gil"]), line)
            if match["name"]:
                reading.take("name", match["name"], words, line)
            threads.append((reading, [], line))
        elif threads and (match := _FRAME.match(line.text)) and len(threads[-1][1]) < _MOST_FRAMES:
            threads[-1][1].append(words(match[1]))
            threads[-1][0].put("innermost", words(match[1]), line)
    made = tuple(reading.made(ThreadStack, frames=tuple(frames)) for reading, frames, _ in threads)
    return Parsed(Evidence(threads=made, looked_for=frozenset({"threads"})))


PARSER = Parser("py-spy", recognise, parse)
