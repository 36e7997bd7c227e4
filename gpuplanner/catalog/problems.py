"""What is wrong with a file of facts: file, line and field, and a sentence that says what to do. Types only."""

from dataclasses import dataclass
from enum import StrEnum

from gpuplanner.messages import Message, MessageValue, msg

LONGEST_VALUE = 160
"""Characters of a value in a sentence: enough for a list of fields, not for a file that was put into one cell."""


class Severity(StrEnum):
    """Whether what a problem is about was left out (error) or taken over as it stands (warning)."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in one file. `message` is the whole sentence, the place included; `what` is it without the place.

    `line` counts from 1; it is 0, and `field` empty, where the problem is with the whole file.
    """

    file: str
    line: int
    field: str
    what: Message
    severity: Severity = Severity.ERROR

    @property
    def message(self) -> Message:
        """What, where, and what to do, on one line whatever the file contains."""
        file, field, what = shown(self.file), shown(self.field), _readable(self.what)
        if not self.line:
            return msg("overlay.at.file", file=file, what=what)
        if not self.field:
            return msg("overlay.at.line", file=file, line=self.line, what=what)
        return msg("overlay.at.field", file=file, line=self.line, field=field, what=what)


class Refused(Exception):
    """A whole file cannot be used. Carries the problem; raised and caught inside of the catalog only."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what.id)
        self.problem = problem


def shown(text: str, longest: int = 80) -> str:
    """A value as it can stand in a sentence: short, on one line, without control characters."""
    line = "".join(c if c.isprintable() else " " for c in text[:longest])
    return line if len(text) <= longest else f"{line[: longest - 20]}…"


def _readable(message: Message) -> Message:
    return Message(message.id, {name: _readable_value(value) for name, value in message.values.items()})


def _readable_value(value: MessageValue) -> MessageValue:
    if isinstance(value, Message):
        return _readable(value)
    return shown(value, LONGEST_VALUE) if isinstance(value, str) else value
