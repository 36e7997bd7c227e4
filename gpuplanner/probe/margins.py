"""What is no tool's in a text: marks of launchers, logs and quotations before its lines, fences around it.

Knows no tool and no file. Lines keep their numbers.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

_LOOKED_AT = 2_000
"""Lines that show whether a launcher or a log marks all of them."""
_LOOKED_AT_CHARACTERS = 400_000
_DEEPEST = 4
"""Marks before marks: a log of a pod, quoted in an answer to a message."""
_LONGEST_ENTRY = 100_000
"""Characters of an entry of a log in JSON; what is longer stays as it is."""
_MOST_ENTRIES = 300_000
_DIGITS_OF_INSTANT = 17
"""Of microseconds since 1970, up to the year 5138."""

_FENCE = re.compile(r"\n[ \t]{0,12}(?:(?:`{3,8}|~{3,8})[\w +.-]{0,30}|</?(?:pre|code)>)(?=\n|$)")
_MARKS_OF_FENCES = ("```", "~~~", "<pre>", "<code>")
_MOST_FENCES = 200
_QUOTE = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7,9}Z"
_LAUNCHER = re.compile(
    r"^[ \t]{0,20}(?:\[\d{1,6},\d{1,6}\]<std(?:out|err)>:|\d{1,6}: {1,2}(?=[#\d ]))"
    r"|^\[(?:rank|default)\d{1,6}\]: ?"
    rf"|^(?:\[pod/[\w./-]{{1,300}}\] ?)?{_INSTANT}(?: std(?:out|err) [FP])?(?: |$)|^\[pod/[\w./-]{{1,300}}\](?: |$)",
    re.MULTILINE,
)
"""How mpirun, srun and torchrun mark the lines of a rank, Kubernetes those of a pod, and container and build logs the
instant (7 to 9 digits of a second and Z, which no kernel log has), the runtime's own files also the stream."""
_SERVICE = re.compile(r"^[A-Za-z][\w.-]{0,80} {1,60}\|(?: |$)", re.MULTILINE)
"""How Docker Compose marks a service's lines: its bar stands in one column."""
_ENTRY = re.compile(
    r"^(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})?"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:[+-]\d\d:?\d\d|Z)?)"
    r" (?P<by>\S{1,64} (?!kernel: )[\w@./-]{1,60}(?:\[\d{1,9}\])?):(?: |$)",
    re.MULTILINE,
)
"""The head of a line in the journal and in syslog; the kernel's own lines keep theirs, which tells when."""
_KEYS_OF_LOGS = ("MESSAGE", "log")
"""By the entry of `journalctl -o json` and of Docker's files: what holds the line."""


def bare(text: str) -> str:
    """The text without what stands before and around a tool's lines; itself where nothing does."""
    for _ in range(_DEEPEST):
        stripped = _stripped(text)
        if stripped is text:
            break
        text = stripped
    return text


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text. `before`: lines above it; `fenced`: whether it stands between fences."""

    text: str
    before: int
    fenced: bool


def blocks(text: str) -> list[Block]:
    """What stands between fences and what stands around them, in order; nothing where there are none, or too many."""
    if not any(mark in text for mark in _MARKS_OF_FENCES):
        return []
    headed = f"\n{text}"
    fences = list(islice(_FENCE.finditer(headed), _MOST_FENCES + 1))
    if not 0 < len(fences) <= _MOST_FENCES:
        return []
    found: list[Block] = []
    begin, before = 0, 0
    for at, fence in enumerate([*fences, None]):
        piece = headed[begin : fence.start() if fence else len(headed)]
        if piece.strip():
            found.append(Block(f"{piece[1:]}\n" if fence else piece[1:], before, at % 2 == 1))
        before += piece.count("\n") + 1
        begin = fence.end() if fence else begin
    return found


def dedented(text: str) -> str:
    """The text without the spaces that all its lines have in front; itself where one has none."""
    head = _head(text)
    filled = [line for line in head.split("\n") if line.strip()]
    least = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    return re.sub(rf"^ {{1,{min(least, 200)}}}", "", text, flags=re.MULTILINE) if least else text


def _head(text: str) -> str:
    return text[:_LOOKED_AT_CHARACTERS]


def _stripped(text: str) -> str:
    """The text without one kind of mark, where most of its first lines have it."""
    filled = [line for line in _head(text).split("\n") if line.strip()][:_LOOKED_AT]
    if not filled:
        return text

    def most(marked: int) -> bool:
        return marked * 2 > len(filled)

    for mark in (_QUOTE, _LAUNCHER):
        if most(sum(1 for line in filled if mark.match(line))):
            return mark.sub("", text)
    columns = Counter(match.end() for line in filled if (match := _SERVICE.match(line.rstrip() + " ")))
    if columns and most(max(columns.values())) and max(columns.values()) * 10 >= len(filled) * 9:
        return _SERVICE.sub("", text)
    writers = Counter(match["by"] for line in filled if (match := _ENTRY.match(line)))
    if writers and most(writers.most_common(1)[0][1]):
        return _ENTRY.sub(_without_head(writers.most_common(1)[0][0]), text)
    if most(sum(1 for line in filled if line.startswith("{") and line.endswith("}") and _entry(line) is not None)):
        lines = text.split("\n")
        read = (said if (said := _entry(line)) is not None else line for line in lines[:_MOST_ENTRIES])
        return "\n".join([*read, *lines[_MOST_ENTRIES:]])
    return text


def _without_head(writer: str) -> Callable[[re.Match[str]], str]:
    return lambda match: "" if match["by"] == writer else match[0]


def _entry(line: str) -> str | None:
    """What an entry of a log in JSON says, of the journal with the head that it prints; None of other JSON."""
    if len(line) > _LONGEST_ENTRY or not any(f'"{key}"' in line for key in _KEYS_OF_LOGS):
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    if "__REALTIME_TIMESTAMP" in entry and (said := _message(entry.get("MESSAGE"))) is not None:
        return f"{_head_of(entry)} {_on_one_line(said)}"
    if isinstance(said := entry.get("log"), str) and "stream" in entry:
        return _on_one_line(said.rstrip("\r\n"))
    return None


def _message(said: object) -> str | None:
    """The journal writes what is no text as the numbers of its bytes."""
    if isinstance(said, str):
        return said
    if isinstance(said, list) and said and all(isinstance(byte, int) and 0 <= byte < 256 for byte in said):
        return bytes(said).decode("utf-8", "replace")
    return None


def _on_one_line(said: str) -> str:
    """Entries keep the numbers of their lines."""
    return said.replace("\r", " ").replace("\n", " ")


def _head_of(entry: dict[str, object]) -> str:
    """As `journalctl -o short-iso-precise` writes it, in UTC."""
    digits = str(entry["__REALTIME_TIMESTAMP"])
    at = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_OF_INSTANT else 0
    when = datetime.fromtimestamp(at // 1_000_000, UTC).replace(microsecond=at % 1_000_000)
    writer, pid = entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or "?", entry.get("_PID")
    number = f"[{pid}]" if isinstance(pid, str) and writer != "kernel" else ""
    return f"{when.isoformat(timespec='microseconds')} {entry.get('_HOSTNAME') or '?'} {writer}{number}:"
