"""What one tool printed, made harmless and cut into lines. Remote text is hostile: no escape sequence gets further.

Knows no tool. What several tools' launchers put in front of each line (mpirun's rank, a shell's prompt) is taken away
here, so that no parser has to.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

LARGEST_BYTES = 64_000_000
"""What is looked at of one output: a system's log of weeks. The rest is cut off and that is said."""
LONGEST_LINE = 16_000
"""Characters of a line: the header of all fields of `nvidia-smi --query-gpu` has 7,639; what is much longer is no
table but somebody's attack or a binary."""
MOST_LINES = 1_000_000
_LOOKED_AT = 2_000
"""Lines that show whether a launcher marks all of them."""

_ESCAPES = re.compile(
    # Colours, cursor movements, window titles and what else a terminal obeys (ECMA-48, xterm's OSC).
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\x07\x1b]{0,4000}(?:\x07|\x1b\\)?|[ -/]{0,8}[0-~])"
    r"|\x9b[0-?]{0,64}[ -/]{0,8}[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_RANK = re.compile(
    r"^[ \t]{0,20}(?:\[\d{1,6},\d{1,6}\]<std(?:out|err)>:|\d{1,6}: {1,2}(?=[#\d ]))"
    r"|^(?:\[pod/[\w./-]{1,300}\] ?)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7,9}Z(?: |$)|^\[pod/[\w./-]{1,300}\](?: |$)"
)
"""How mpirun and srun mark the lines of a rank, Kubernetes those of a pod, and container and build logs the instant
(7 to 9 digits of a second and Z, which no kernel log has); only where most lines have such a mark is it one."""
_PROMPT = re.compile(
    r"^(?:\([\w.-]{1,40}\) )?(?:[\w.-]{1,64}@[\w.-]{1,64}[: ][^$#\n]{0,200}[$#]|[$#]) (?P<command>[\w./-].*)$"
)


class Line(NamedTuple):
    """One line: its number in the output (from 1) and its text without what ends it."""

    number: int
    text: str


@dataclass(frozen=True)
class Output:
    """What was printed. `name`: of the file or the command; `command`: the argument list where it is known.

    `text` has no control characters but tabs and line feeds. `cut`: that there was more than is looked at.
    """

    name: str
    text: str
    command: tuple[str, ...] = ()
    exit_code: int | None = None
    cut: bool = field(default=False, compare=False)

    @classmethod
    def of(
        cls, content: bytes | str, name: str, command: tuple[str, ...] = (), exit_code: int | None = None
    ) -> "Output":
        """Decode and clean what a tool printed or a file holds; nothing in it can make this fail."""
        cut = len(content) > LARGEST_BYTES
        content = content[:LARGEST_BYTES]
        text = _decoded(content) if isinstance(content, bytes) else content
        end = _end_of_lines(text)
        return cls(name, _clean(text if end is None else text[:end]), command, exit_code, cut or end is not None)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All lines, without the marks of a launcher in front of them."""
        pieces = self.text.split("\n")
        if pieces and not pieces[-1]:
            pieces.pop()
        filled = [piece for piece in pieces[:_LOOKED_AT] if piece.strip()]
        marked = sum(1 for piece in filled if _RANK.match(piece))
        if marked * 2 > len(filled):
            pieces = [_RANK.sub("", piece) for piece in pieces]
        return tuple(Line(at, piece[:LONGEST_LINE]) for at, piece in enumerate(pieces, 1))

    @cached_property
    def typed(self) -> tuple[str, ...]:
        """The commands that stand behind a shell's prompt in a copied terminal, in order."""
        found = (_PROMPT.match(line.text) for line in self.lines)
        return tuple(match["command"] for match in found if match)

    def matching(self, pattern: re.Pattern[str]) -> Iterator[tuple[Line, re.Match[str]]]:
        """The lines in which a pattern is found."""
        for line in self.lines:
            if match := pattern.search(line.text):
                yield line, match

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is found in a line."""
        return any(True for _ in self.matching(pattern))


def _decoded(content: bytes) -> str:
    """UTF-8, or UTF-16 as PowerShell writes into a file; what is neither keeps its readable characters."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    if content[:400].count(0) > len(content[:400]) // 3 and content[1:2] == b"\0":
        return content.decode("utf-16-le", "replace")
    return content.decode("utf-8-sig", "replace")


def _end_of_lines(text: str) -> int | None:
    """Where a text of more than `MOST_LINES` lines is cut off."""
    if text.count("\n") <= MOST_LINES:
        return None
    end = 0
    for _ in range(MOST_LINES):
        end = text.index("\n", end) + 1
    return end


def _clean(text: str) -> str:
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(map(_overwritten, text.replace("\r\n", "\n").split("\n")))
    text = _CONTROLS.sub("", text)
    if text.isascii():
        return text
    hidden = {c for c in set(text) if not (c in "\t\n" or c.isprintable() or unicodedata.category(c) == "Zs")}
    return text.translate(dict.fromkeys(map(ord, hidden))) if hidden else text


def _overwritten(line: str) -> str:
    """What a terminal shows of a line that goes back to its beginning, as bars of progress do."""
    return line.rstrip("\r").rsplit("\r", 1)[-1]
