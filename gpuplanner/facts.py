"""A fact: a value with its unit, its basis, and where and when it was published. Nothing here is computed or guessed.

Two sources that disagree are two facts of one `Known`; the catalog chooses which stands first and keeps the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gpuplanner.units import Unit


class Density(StrEnum):
    """Whether a rate counts all multiplications (dense) or those of 2:4 structured sparsity."""

    DENSE = "dense"
    SPARSE = "sparse"


class Accumulate(StrEnum):
    """The precision in which a tensor core adds up products."""

    FP16 = "fp16"
    FP32 = "fp32"


class Pipe(StrEnum):
    """Which execution units give a rate."""

    TENSOR = "tensor"
    VECTOR = "vector"


class Direction(StrEnum):
    """Whether a link's rate counts one way or adds both."""

    ONE_WAY = "one way"
    BOTH_WAYS = "both ways"


class Per(StrEnum):
    """What a figure is for one of."""

    DIE = "die"
    GPU = "GPU"
    BOARD = "board"
    PAIR = "pair"
    NODE = "node"


class MemoryKind(StrEnum):
    """Which memory size: as sold, as the driver reports it, or as a program can allocate it."""

    NOMINAL = "nominal"
    REPORTED = "reported"
    USABLE = "usable"


@dataclass(frozen=True, slots=True)
class Basis:
    """What has to be said beside a number so that it can be compared with another."""

    density: Density | None = None
    accumulate: Accumulate | None = None
    pipe: Pipe | None = None
    direction: Direction | None = None
    per: Per | None = None
    memory: MemoryKind | None = None

    def __iter__(self) -> Iterator[StrEnum]:
        parts = (self.density, self.accumulate, self.pipe, self.direction, self.per, self.memory)
        return (part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact was published. `date` is ISO (or a year, or a year and month); empty when the source states none.

    `accessed` is the day on which the figures of a source without a date were taken over. `citation_zh`: where the
    citation is a description rather than names, the same in Chinese.
    """

    id: str
    citation: str
    date: str = ""
    from_memory: bool = False
    user: bool = False
    accessed: str = ""
    citation_zh: str = ""

    def cited(self, *, chinese: bool) -> str:
        """The citation for a reader of Chinese or of English; most are names that are the same in both."""
        return self.citation_zh if chinese and self.citation_zh else self.citation


@dataclass(frozen=True, slots=True)
class Fact:
    """One published value in the base unit of `unit`."""

    value: float
    unit: Unit
    source: Source
    basis: Basis = Basis()
    note: str = ""
    note_zh: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one property: the fact that we use, and those of other sources that differ from it."""

    fact: Fact
    others: tuple[Fact, ...] = ()

    @property
    def value(self) -> float:
        """The value of the fact in use, in its base unit."""
        return self.fact.value

    @property
    def disputed(self) -> bool:
        """Whether another source gives another value on the same basis."""
        return any(o.basis == self.fact.basis and o.value != self.fact.value for o in self.others)


class MissingFactError(LookupError):
    """A computation needs a fact that the catalog does not have. Never replaced by 0, NaN or a default."""

    def __init__(self, subject: str, fact: str) -> None:
        super().__init__(subject, fact)
        self.subject = subject
        self.fact = fact
