"""JSON that a tool printed, and where in the output a value of it stands."""

import json
from typing import Any

from gpuplanner.probe.output import Line, Output

DEEPEST = 40


def content_of(output: Output) -> Any:
    """The JSON of an output, also behind lines that are none; None where there is none."""
    text = output.text
    for start in (0, text.find("{"), text.find("[")):
        if start < 0:
            continue
        try:
            return json.JSONDecoder().raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
    return None


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
