"""An answer as data: one sentence, its figures, a table where there are several cases, and what is not known. Types."""

from dataclasses import dataclass

from gpuplanner.figures import Figure
from gpuplanner.messages import Message


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of an answer; None is not known. Text: `name`, else message `answers.line.<id>`."""

    id: str
    figure: Figure | None = None
    name: Message | None = None


Cell = Figure | Message | None
"""What stands in a table; None: not known."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case of a table: what it is called, and a cell for each column but the first. `best`: the one to choose."""

    name: Message
    cells: tuple[Cell, ...]
    best: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Several cases beside each other. Heads: messages `answers.column.<id>`, the first that of the names."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question. `says`: the answer in a sentence. `unknown`: what it lacks, never counted as 0."""

    question: str
    says: Message
    lines: tuple[Line, ...] = ()
    table: Table | None = None
    unknown: tuple[Message, ...] = ()
    remarks: tuple[Message, ...] = ()
    good: bool = True


HOLDERS = (Answer, Line, Row, Table)
"""The types of an answer that hold figures."""
