"""The kernel's sentences that bear on a GPU, a switch, a link or the machine's health. Recognises no output."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpuplanner.probe.parsers.nvidia_values import bus_id, count
from gpuplanner.probe.values import words

Kind = Literal["xid", "sxid", "aer", "oom", "off_bus", "nvrm", "link", "thermal", "mce", "io_error", "flap", "crash"]

_BUS = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?"
MODULE = re.compile(
    r"NVRM: loading NVIDIA UNIX (Open )?(?:\S{1,20} )?Kernel Module(?: for \S{1,20})?[ \t]{1,10}(\d[\d.]{2,20})"
)


@dataclass(frozen=True, slots=True)
class Event:
    """What a line is: the fields to take from it as (field, text, converter), and whether it says that it was fatal."""

    kind: Kind
    taken: tuple[tuple[str, str, Callable[[str], Any]], ...] = ()
    fatal: bool | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """What an event's line looks like. `words`: one of them stands in each such line; looked for first, being quick."""

    kind: Kind
    words: tuple[str, ...]
    pattern: re.Pattern[str]


_XID = re.compile(
    rf"NVRM: Xid \((?:PCI:)?(?P<bus>{_BUS})\): (?P<code>\d{{1,9}})\b"
    r"(?:, pid=(?P<pid>[^,\n]{1,40}))?(?:, name=(?P<process>[^,\n]{1,120}))?"
)
_XID_SEVERITY = re.compile(r"\b(Nonfatal|Fatal) {1,8}XC\d")
"""As Xids 144 to 150 of NVLink print it."""
_SXID = re.compile(rf"SXid \(PCI:(?P<bus>{_BUS})\): (?P<code>\d{{1,9}})\b(?:, (?P<severity>Non-fatal|Fatal)\b)?")
_SENDER = re.compile(rf"(?:received|from|agent)[: ]{{1,3}}({_BUS})")
_FIRST_BUS = re.compile(rf"(?<![\w:])({_BUS})(?![\w.:]*:\d)|PCI:({_BUS})")
_KILLED = re.compile(r"Kill(?:ed)? process (?P<pid>\d{1,10})(?!\d)(?:,? \((?P<process>[^)\n]{1,120})\))?")

EVENTS: tuple[Sentence, ...] = (
    Sentence("xid", ("NVRM: Xid (",), _XID),
    Sentence("sxid", ("SXid (",), _SXID),
    Sentence("off_bus", ("fallen off the bus",), re.compile(r"(?:NVRM: )?.{0,200}fallen off the bus")),
    Sentence(
        "nvrm",
        ("NVRM:",),
        re.compile(
            r"NVRM: .{0,300}(?:RmInitAdapter|mismatch|failed|[Ff]ailure|\berror|\bERROR|[Ii]nvalid|[Tt]imeout|No NVIDIA"
            r"|None of the NVIDIA|not supported by|GPU is lost|probe routine)"
        ),
    ),
    Sentence(
        "nvrm", ("nvidia-peermem", "nvidia_peermem"), re.compile(r"nvidia[-_]peermem .{0,200}\b(?:ERROR|error)\b")
    ),
    Sentence(
        "sxid", ("SXid",), re.compile(r"nvidia-nvswitch\d{1,3}: SXid (?:\([^)]{1,40}\): .{0,60})?(?:error|Fatal)")
    ),
    Sentence(
        "aer",
        ("AER:", "PCIe Bus Error", "DPC: containment"),
        re.compile(
            r"AER: .{0,40}(?:Corrected|Uncorrect(?:ed|able)|Correctable)\b.{0,40}\b(?:error|message)"
            r"|PCIe Bus Error: severity=|DPC: containment event"
        ),
    ),
    Sentence("oom", ("ut of memory: Kill", "OOM: Kill"), _KILLED),
    Sentence(
        "io_error",
        (
            "I/O error",
            "I/O Error",
            "Medium Error",
            "timeout, ",
            "reset controller",
            "EXT4-fs error",
            "is down; will reset",
        ),
        re.compile(
            r"I/O [Ee]rror|Medium Error|nvme\S{0,20}: I/O .{0,60}timeout, |nvme\S{0,20}: .{0,60}reset controller"
            r"|EXT4-fs error|nvme\S{0,20}: controller is down; will reset"
        ),
    ),
    Sentence(
        "mce",
        ("[Hardware Error]", "Machine check", "EDAC"),
        re.compile(r"\[Hardware Error\]|Machine check events logged|EDAC \S{1,20} ?\d{1,3}: \d{1,9} (?:CE|UE)\b"),
    ),
    Sentence(
        "crash",
        ("Kernel panic", "BUG:", "kernel BUG at", "Oops", "general protection fault", "Panic#"),
        re.compile(
            r"Kernel panic - not syncing|BUG: (?:unable to handle|kernel NULL pointer)|kernel BUG at "
            r"|Oops: .{0,60}\[#\d|general protection fault.{0,120}\[#\d|^(?:Panic|Oops)#\d{1,4} Part\d"
        ),
    ),
    Sentence(
        "thermal",
        ("temperature above threshold", "ritical temperature reached"),
        re.compile(r"temperature above threshold|[Cc]ritical temperature reached"),
    ),
    Sentence(
        "flap",
        ("Link down", "ink is Down", "ink is down", "NIC Link is", "Lost carrier", "lost carrier"),
        re.compile(r"\bLink down\b|\b[Ll]ink is [Dd]own\b|[Ll]ost carrier"),
    ),
    Sentence(
        "link",
        ("limited by", "nvidia-nvlink", "insufficient power on the PCIe slot", "able unplugged"),
        re.compile(
            r"available PCIe bandwidth, limited by|nvidia-nvlink: .{0,200}\b(?:error|ERROR|fail)"
            r"|Detected insufficient power on the PCIe slot"
        ),
    ),
)
"""In the order in which a line is tried: what is surest first."""


def read_event(text: str, wanted: Sequence[Sentence]) -> Event | None:
    """The event that a line is, by the first sentence that it has; None where it has none."""
    for sentence in wanted:
        if any(word in text for word in sentence.words) and (match := sentence.pattern.search(text)):
            return _read(sentence, text, match)
    return None


def _read(sentence: Sentence, text: str, match: re.Match[str]) -> Event:
    taken: list[tuple[str, str, Callable[[str], Any]]] = []
    fatal = None
    named = match.groupdict()
    if bus := named.get("bus") or _bus(sentence.kind, text):
        taken.append(("pci_bus_id", bus if "." in bus else f"{bus}.0", bus_id))
    if named.get("code"):
        taken.append(("code", named["code"], count))
    if named.get("pid"):
        taken.append(("pid", named["pid"].strip("'\" "), count))
    if named.get("process"):
        taken.append(("process", named["process"].strip(), words))
    if sentence.kind == "xid" and (severity := _XID_SEVERITY.search(text)):
        fatal = severity[1] == "Fatal"
    elif sentence.kind == "sxid" and named.get("severity"):
        fatal = named["severity"] == "Fatal"
    elif sentence.kind == "aer":
        fatal = _aer_is_fatal(text)
    return Event(sentence.kind, tuple(taken), fatal)


def _bus(kind: Kind, text: str) -> str | None:
    """The device that a sentence is of: of an error that a port received, the one that it came from."""
    if kind == "aer" and (match := _SENDER.search(text)):
        return match[1]
    if kind in {"oom", "mce", "thermal", "io_error", "crash"}:
        return None
    match = _FIRST_BUS.search(text)
    return (match[1] or match[2]) if match else None


def _aer_is_fatal(text: str) -> bool | None:
    """Whether an error took its link down; None where the sentence says neither."""
    lowered = text.lower()
    if (
        "non-fatal" in lowered
        or "nonfatal" in lowered
        or "severity=corrected" in lowered
        or "aer: corrected" in lowered
    ):
        return False
    return True if "(fatal)" in lowered or "severity=fatal" in lowered else None
