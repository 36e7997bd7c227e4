"""What one tool printed, made harmless and cut into lines. Remote text is hostile: no escape sequence gets further.

Knows no tool. What launchers, logs and quotations put in front of each line is taken away by `bare`, so that no parser
has to.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from gpuplanner.messages import Message
from gpuplanner.probe.margins import bare, blocks, dedented

LARGEST_BYTES = 64_000_000
"""What is looked at of one output: a system's log of weeks. The rest is cut off and that is said."""
LONGEST_LINE = 16_000
"""Characters of a line: the header of all fields of `nvidia-smi --query-gpu` has 7,639; what is much longer is no
table but somebody's attack or a binary."""
MOST_LINES = 1_000_000
MOST_TRIED = 20_000
"""Lines with a tool's word in them that are no line of the tool; what has more of them is made to be slow."""

_ESCAPES = re.compile(
    # Colours, cursor movements, window titles and what else a terminal obeys (ECMA-48, xterm's OSC).
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\x07\x1b]{0,4000}(?:\x07|\x1b\\)?|[ -/]{0,8}[0-~])"
    r"|\x9b[0-?]{0,64}[ -/]{0,8}[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_ASCII_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n")
"""By a table: in a text without other characters than ASCII ten times as quick as the pattern."""
_PROMPT = re.compile(
    r"^(?:\([\w.-]{1,40}\) )?(?:[\w.-]{1,64}@[\w.-]{1,64}[: ][^$#\n]{0,200}[$#]|[$#]) (?P<command>[\w./-].*)$"
)


def at_line_start(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """For `Output.starting`: in a long text five times as quick as a pattern that begins with ^."""
    return re.compile(f"\n(?:{pattern})", re.MULTILINE | flags)


class Line(NamedTuple):
    """One line: its number in the output (from 1) and its text without what ends it."""

    number: int
    text: str


@dataclass(frozen=True)
class Output:
    """What was printed. `name`: of the file or the command; `command`: the argument list where it is known.

    `text` has no control characters but tabs and line feeds. `cut`: that there was more than is looked at;
    `before`: lines of the file above the text; `unread`: why nothing of a file among others could be read.
    """

    name: str
    text: str
    command: tuple[str, ...] = ()
    exit_code: int | None = None
    cut: bool = field(default=False, compare=False)
    before: int = 0
    unread: Message | None = None

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
    def bare(self) -> "Output":
        """Without what a launcher, a log or a quotation put before the lines; itself where nothing stands there."""
        text = bare(self.text)
        return self if text is self.text else replace(self, text=_clean(text))

    @cached_property
    def blocks(self) -> "tuple[tuple[Output, bool], ...]":
        """What stands between fences of Markdown and around them, and which of both; nothing where none are."""
        return tuple(
            (replace(self, text=block.text, before=self.before + block.before), block.fenced)
            for block in blocks(self.text)
        )

    @cached_property
    def dedented(self) -> "Output":
        """Without the spaces that all lines have in front; itself where one has none."""
        text = dedented(self.text)
        return self if text is self.text else replace(self, text=text)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All lines."""
        pieces = self.text.split("\n")
        if pieces and not pieces[-1]:
            pieces.pop()
        if max(map(len, pieces), default=0) > LONGEST_LINE:
            pieces = [piece[:LONGEST_LINE] for piece in pieces]
        return tuple(map(Line._make, enumerate(pieces, self.before + 1)))

    def first(self, count: int) -> tuple[Line, ...]:
        """The first lines; of a long text the others are not cut apart for it."""
        pieces = self.text.split("\n", count)
        if len(pieces) <= count and not pieces[-1]:
            # The text ends with a line's end and not with an empty line.
            pieces.pop()
        return tuple(Line(at, piece[:LONGEST_LINE]) for at, piece in enumerate(pieces[:count], self.before + 1))

    def holding(self, *words: str) -> Iterator[Line]:
        """The lines in which one of the words stands. Quick where few do: the others are not even cut apart."""
        text = self.text
        ahead = {word: text.find(word) for word in words}
        begin, number = 0, self.before + 1
        while places := [place for place in ahead.values() if place >= 0]:
            place = min(places)
            number += text.count("\n", begin, place)
            start = text.rfind("\n", begin, place) + 1 or begin
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            yield Line(number, text[start : min(end, start + LONGEST_LINE)])
            begin, number = end + 1, number + 1
            for word, known in ahead.items():
                if 0 <= known < begin:
                    ahead[word] = text.find(word, begin)

    @cached_property
    def typed(self) -> tuple[str, ...]:
        """The commands that stand behind a shell's prompt in a copied terminal, in order."""
        found = (_PROMPT.match(line.text) for line in islice(self.holding("$ ", "# "), MOST_TRIED))
        return tuple(match["command"] for match in found if match)

    def starting(self, pattern: re.Pattern[str]) -> Iterator[tuple[Line, re.Match[str]]]:
        """The lines that begin with a pattern of `at_line_start`; of the line what it matches."""
        text, begin, number = self._headed, 0, self.before
        for match in islice(pattern.finditer(text), MOST_TRIED):
            start = match.start() + 1
            number += text.count("\n", begin, start)
            begin = start
            yield Line(number, match[0][1 : LONGEST_LINE + 1]), match

    @cached_property
    def _headed(self) -> str:
        return f"\n{self.text}"

    def matching(self, pattern: re.Pattern[str], *words: str) -> Iterator[tuple[Line, re.Match[str]]]:
        """The lines in which a pattern is found; with `words` of those in which one of them stands, `MOST_TRIED`."""
        tried = islice(self.holding(*words), MOST_TRIED) if words else self.lines
        for line in tried:
            if match := pattern.search(line.text):
                yield line, match

    def has(self, pattern: re.Pattern[str], *words: str) -> bool:
        """Whether a pattern is found in a line; `words`: one of them stands in each such line."""
        return any(True for _ in self.matching(pattern, *words))


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
    if text.isascii():
        return text.encode("ascii").translate(None, _ASCII_CONTROLS).decode("ascii")
    text = _CONTROLS.sub("", text)
    hidden = {c for c in set(text) if not (c in "\t\n" or c.isprintable() or unicodedata.category(c) == "Zs")}
    return text.translate(dict.fromkeys(map(ord, hidden))) if hidden else text


def _overwritten(line: str) -> str:
    """What a terminal shows of a line that goes back to its beginning, as bars of progress do."""
    return line.rstrip("\r").rsplit("\r", 1)[-1]
