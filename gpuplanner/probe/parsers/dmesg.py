"""The kernel's log as dmesg, the journal, syslog, kmsg and pstore write it: what bears on GPUs, links and health."""

import re
from dataclasses import dataclass
from itertools import islice

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import KernelEvent
from gpuplanner.probe.evidence.record import LONGEST_QUOTE
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.kernel_events import EVENTS, MODULE, Event, Sentence, read_event
from gpuplanner.probe.parsers.nvidia_values import version
from gpuplanner.probe.values import Reading

_ISO = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:[+-]\d{2}:?\d{2}|Z)?"
_SYSLOG = (
    r"(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d{2}:\d{2}:\d{2}(?:\.\d{1,9})?"
    r"|[A-Z][a-z]{2} \d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d{1,9})? [A-Z]{1,5})"
)
_KERNEL = re.compile(
    rf"^(?:<\d{{1,3}}>|[a-z]{{3,8}} {{0,3}}:[a-z]{{3,6}} {{0,3}}: )?"
    rf"(?:\[ {{0,12}}(?P<seconds>\d{{1,12}}\.\d{{6}})\](?:\[ {{0,4}}[TC]\d{{1,8}}\])? "
    rf"|\[(?P<date>[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} {{1,2}}\d{{1,2}} \d{{2}}:\d{{2}}:\d{{2}} \d{{4}})\] "
    rf"|(?P<iso>{_ISO}) (?!\S{{1,64}} [\w.-]{{1,40}}(?:\[\d{{1,9}}\])?: )"
    rf"|(?P<logged>{_ISO}|{_SYSLOG}) \S{{1,64}} kernel: (?:\[ {{0,12}}\d{{1,12}}\.\d{{6}}\] )?"
    rf"|\d{{1,4}},\d{{1,12}},(?P<microseconds>\d{{1,16}}),[-c+];)"
)
_OF_DAEMON = re.compile(rf"^(?P<logged>{_ISO}|{_SYSLOG}) \S{{1,64}} [\w@./-]{{1,60}}(?:\[\d{{1,9}}\])?: ")
_MARKED = re.compile(
    r"^(?:<\d>|[a-z]{3,8} {0,3}:[a-z]{3,6} {0,3}: |\[ {0,12}\d{1,12}\.\d{6}\] |\d{1,4},\d{1,12},\d{1,16},[-c+];)"
)
"""What only the kernel's ring buffer has before its lines, not a program's own log."""
_LOOKED_AT = 400
_NO_ENTRIES = "-- No entries --"
"""What the journal says where nothing was found, or where it may not be read."""
_BEGINS = re.compile(r"Linux version \d")
"""What the kernel says first, and what no search for a device's name in its log leaves at the top."""
_BEGINS_WITHIN = 10
_MOST_EVENTS = 10_000
_FEW = 3


@dataclass(slots=True)
class _Counted:
    event: KernelEvent
    times: int = 1


def recognise(output: Output) -> int:
    """Certain by an Xid's line or by several lines with the kernel's own marks; likely by a system's log."""
    if "Xid (" in output.text and _has_xid(output):
        return CERTAIN
    looked_at = [line.text for line in output.first(_LOOKED_AT) if line.text.strip()]
    marked = sum(1 for text in looked_at if _MARKED.match(text) or (" kernel: " in text[:130] and _KERNEL.match(text)))
    if marked and (marked >= _FEW or marked * 2 >= len(looked_at)):
        return CERTAIN
    logged = sum(1 for text in looked_at if _OF_DAEMON.match(text))
    nothing = looked_at[-1:] == [_NO_ENTRIES]
    return LIKELY if nothing or (logged and logged * 2 > len(looked_at)) else NO


def parse(output: Output) -> Parsed:
    """The events in order, those that differ in their time alone counted, and the driver's module as last loaded.

    A system's log without a single line of the kernel says nothing of the kernel; one that begins in the middle says
    nothing of what was before: only a log from the kernel's first words on tells what there is since boot.
    """
    counted = _counted(output)
    events = tuple(
        each.event if each.times == 1 else each.event.model_copy(update={"count": each.times})
        for each in counted.values()
    )
    first = list(islice((line.text for line in output.lines if _KERNEL.match(line.text)), _BEGINS_WITHIN))
    looked_for = {"kernel_log"} if events or first else set()
    if any(_BEGINS.search(text) for text in first):
        looked_for.add("kernel_log_since_boot")
    return Parsed(
        Evidence(
            events=events,
            software=_software(output),
            looked_for=frozenset(looked_for),
        )
    )


def _counted(output: Output) -> dict[str, _Counted]:
    """The events by what their lines say without the time. Nothing is read of a line that repeats one or is too many.

    A flood of one Xid is a million such lines: looking its words up costs a tenth of reading them.
    """
    wanted = _wanted(output)
    looked_for = tuple(word for sentence in wanted for word in sentence.words)
    counted: dict[str, _Counted] = {}
    for line in output.lines if wanted else ():
        if not any(word in line.text for word in looked_for):
            continue
        stamp = _KERNEL.match(line.text) or _OF_DAEMON.match(line.text)
        said = shortened(line.text[stamp.end() if stamp else 0 :].strip(), LONGEST_QUOTE)
        if (known := counted.get(said)) is not None:
            known.times += 1
        elif len(counted) < _MOST_EVENTS and (event := read_event(line.text, wanted)) is not None:
            counted[said] = _Counted(_event(output, line, event, stamp, said))
    return counted


def _wanted(output: Output) -> list[Sentence]:
    """Only what stands somewhere in the output is looked for in each line."""
    return [event for event in EVENTS if any(word in output.text for word in event.words)]


def _has_xid(output: Output) -> bool:
    wanted = _wanted(output)
    found = (read_event(line.text, wanted) for line in output.holding("Xid ("))
    return any(event is not None and event.kind in {"xid", "sxid"} for event in found)


def _event(output: Output, line: Line, event: Event, stamp: re.Match[str] | None, said: str) -> KernelEvent:
    reading = Reading(output)
    if stamp and (when := next((group for group in stamp.groups() if group), None)):
        reading.put("when", when, line)
    for field, text, convert in event.taken:
        reading.take(field, text, convert, line)
    if event.fatal is not None:
        reading.put("fatal", event.fatal, line)
    reading.put("said", said, line)
    return reading.made(KernelEvent, kind=event.kind)


def _software(output: Output) -> Software | None:
    if "loading NVIDIA UNIX" not in output.text:
        return None
    software = None
    for line, match in output.matching(MODULE):
        reading = Reading(output)
        reading.take("module_version", match[2], version, line)
        reading.put("module_flavour", "open" if match[1] else "proprietary", line)
        software = reading.made(Software)
    return software


PARSER = Parser("dmesg", recognise, parse)
