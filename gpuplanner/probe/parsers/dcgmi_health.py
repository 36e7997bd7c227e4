"""The table of `dcgmi health -c`: the state of the whole, of each GPU, and of each system with what was found.

Recognises no output. Two forms are known: "GPU ID: 0" with "PCIe system: Warning - …" beside it, and a tree of arrows.
"""

import re

from gpuplanner.probe.evidence.measured import Diagnostic
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.values import Reading

_ROW = re.compile(r"^\|\s{1,12}(\S.{0,60}?|)\s{0,80}\|\s{0,12}(\S.{0,300}?|)\s{0,120}\|\s{0,20}$")
_RULE = re.compile(r"^(?:[+|][-=+]{3,200}[+|]|\|\s{1,4}Health Monitor Report\s{0,120}\|)\s{0,20}$")
_WHOLE = re.compile(r"^Overall Health:?\s{0,4}(\w{2,20})?$")
_ENTITY = re.compile(r"^(?:(GPU|NvSwitch|Switch|CPU) ID: ?(\d{1,6})|-> (\d{1,6}))$")
_KIND = re.compile(r"^(GPU|NvSwitch|Switch|CPU|Link)s?$")
_SYSTEM = re.compile(r"^(?:-> )?(\w[\w /-]{0,40}? system)$")
_SAID_SYSTEM = re.compile(r"^(\w[\w /-]{0,40}? system): (\w{2,20})(?: - (.{1,300}))?$")
_STATE = re.compile(r"^(Healthy|Warning|Failure|Unknown|Pass|Fail)\b")
_MOST = 5_000
_LONGEST = 300


class Health:
    """Reads line after line of one table."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._found: list[Reading] = []
        self._kind = "GPU"
        self._entity = ""
        self._said: list[str] = []

    def read(self, line: Line) -> bool:
        """Take a line. False when the table has ended before it."""
        if _RULE.match(line.text):
            return True
        match = _ROW.match(line.text)
        if not match:
            return False
        label, value = match[1], match[2]
        if whole := _WHOLE.match(label) or _WHOLE.match(value):
            self._state("Overall Health", "", whole[1] or value, line)
        elif entity := _ENTITY.match(label):
            self._entity = f"{entity[1] or self._kind}{entity[2] or entity[3]}"
            self._state("Overall Health", self._entity, value, line)
        elif kind := _KIND.match(label):
            self._kind = kind[1]
        elif system := _SYSTEM.match(label):
            self._state(system[1], self._entity, value, line)
        elif said := _SAID_SYSTEM.match(value):
            self._state(said[1], self._entity, said[2], line)
            self._more(said[3] or "", line)
        elif not label and value:
            self._more(value, line)
        return True

    def _state(self, test: str, entity: str, state: str, line: Line) -> None:
        self._close()
        known = _STATE.match(state)
        if known is None or len(self._found) >= _MOST:
            return
        reading = Reading(self._output)
        reading.put("test", test, line)
        reading.put("result", known[1], line)
        if entity:
            reading.put("entity", entity, line)
        self._found.append(reading)

    def _more(self, said: str, line: Line) -> None:
        """A part of the sentence of the last state; sentences go over several lines."""
        self._said.append(said)
        self._line = line

    def _close(self) -> None:
        sentence = " ".join(part for part in self._said if part)
        if sentence and self._found:
            self._found[-1].put("said", sentence[:_LONGEST], self._line)
        self._said = []

    def found(self) -> tuple[Diagnostic, ...]:
        """All states in order."""
        self._close()
        return tuple(reading.made(Diagnostic, tool="dcgmi health") for reading in self._found)
