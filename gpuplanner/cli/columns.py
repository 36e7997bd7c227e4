"""Text made safe for a terminal, in columns that line up where a character takes two cells."""

import unicodedata
from collections.abc import Sequence

from gpuplanner.messages import on_one_line, shortened
from gpuplanner.probe.evidence.record import Seen

_QUOTED = 100
"""Characters shown of a line of a machine's output."""


def cells(text: str) -> int:
    """How many terminal cells a text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = (), gap: str = "  ") -> list[str]:
    """The rows with their columns padded to the same width; those with an index in `right` are right-aligned."""
    if not rows:
        return []
    widths = [max(cells(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        parts: list[str] = []
        for index, (text, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - cells(text))
            parts.append(space + text if index in right else text + space)
        lines.append(gap.join(parts).rstrip())
    return lines


def safe(text: str) -> str:
    """Foreign text, short and without control characters, so that it cannot speak to the terminal."""
    return on_one_line(shortened(text))


def evidence_line(seen: Seen) -> str:
    """A line of a machine's output that shows something, with where it stands; tabs are spaces."""
    return f"    | {safe(seen.source)}:{seen.line}: {safe(shortened(' '.join(seen.text.split()), _QUOTED))}"
