"""What is wrong with a file of facts: file, line and field, and a sentence that says what to do. Types only."""

from dataclasses import dataclass
from enum import StrEnum

from gpuplanner.messages import Message, msg


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
        """What, where, and what to do."""
        if not self.line:
            return msg("overlay.at.file", file=self.file, what=self.what)
        if not self.field:
            return msg("overlay.at.line", file=self.file, line=self.line, what=self.what)
        return msg("overlay.at.field", file=self.file, line=self.line, field=self.field, what=self.what)


class Refused(Exception):
    """A whole file cannot be used. Carries the problem; raised and caught inside of the catalog only."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what.id)
        self.problem = problem
