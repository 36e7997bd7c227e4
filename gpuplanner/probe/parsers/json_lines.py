"""JSON that a tool printed, and where in the output a value of it stands."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from gpuplanner.probe.output import Line, Output, at_line_start

DEEPEST = 40
_OPENS = at_line_start(r"[ \t]{0,40}[\[{]")
_LONGEST_TRY = 1_000_000
"""Characters that were JSON before a fault: what is so long and cut off is not tried again from its second bracket."""
_MOST_STARTS = 20
"""Lines that may be where the JSON begins: a text before it may have brackets, too."""


def content_of(output: Output) -> Any:
    """The JSON of an output, also behind lines that are none; None where there is none."""
    text = output.text
    starts = sorted({text.find("{"), text.find("["), *(match.end() - 2 for _, match in _first(output))} - {-1})
    for start in starts:
        try:
            found = json.JSONDecoder().raw_decode(text, start)[0]
        except json.JSONDecodeError as fault:
            if fault.pos - start > _LONGEST_TRY:
                return None
            continue
        except (ValueError, RecursionError):
            continue
        if (isinstance(found, list) and any(isinstance(each, dict) for each in found)) or isinstance(found, dict):
            return found
    return None


def _first(output: Output) -> Iterator[tuple[Line, re.Match[str]]]:
    return islice(output.starting(_OPENS), _MOST_STARTS)


class Places:
    """Finds the line in which `"key": value` stands, the first one at or after the last that was found."""

    def __init__(self, output: Output) -> None:
        self._lines: dict[str, list[Line]] = {}
        self._first = output.lines[0] if output.lines else Line(1, "")
        for line in output.lines:
            pair = line.text.strip().rstrip(",").replace('" : ', '": ', 1)
            self._lines.setdefault(pair, []).append(line)
        self._at = 0

    def of(self, key: str, value: Any) -> Line:
        """The line of a pair; the first line of the output where JSON stands in one line."""
        try:
            wanted = self._lines.get(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}", [])
        except (TypeError, ValueError, RecursionError):
            return self._first
        line = next((line for line in wanted if line.number >= self._at), wanted[-1] if wanted else self._first)
        self._at = max(self._at, line.number)
        return line
