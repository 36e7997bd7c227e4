"""What a name was resolved to. Values only."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from gpuplanner.messages import Message


class Kind(StrEnum):
    """What a name can stand for."""

    GPU = "gpu"
    INSTANCE = "instance"
    MODEL = "model"


class Technology(StrEnum):
    """How a GPU was divided: MIG in hardware; vGPU shares time; vGPU on a MIG slice; one die of a board."""

    MIG = "mig"
    VGPU = "vgpu"
    VGPU_ON_MIG = "vgpu on mig"
    DIE = "die"


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a GPU that a name stands for. `compute` is None where time is shared and nothing says how."""

    compute: Fraction | None
    memory: Fraction


@dataclass(frozen=True, slots=True)
class Slice:
    """How a divided GPU was named. `series` is the vGPU series letter."""

    technology: Technology
    profile: str
    series: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry of the catalog that may have been meant."""

    kind: Kind
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer to a name. `id` is None when it was refused or is ambiguous; `reason` says why, for people.

    `count`: how many, where the text says so ("8x H100"). `parts`: the answers to each name of a list.
    """

    query: str
    kind: Kind | None
    id: str | None
    name: str | None
    reason: Message
    fraction: Share | None = None
    candidates: tuple[Candidate, ...] = ()
    slice: Slice | None = None
    count: int | None = None
    parts: tuple["Resolution", ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The answer in the shape that the command line prints as JSON; what tells nothing of its kind is "gpu"."""
        share = self.fraction
        return {
            "query": self.query,
            "kind": (self.kind or Kind.GPU).value,
            "id": self.id,
            "name": self.name,
            "fraction": None
            if share is None
            else {
                "compute": None if share.compute is None else float(share.compute),
                "memory": float(share.memory),
            },
            "candidates": [candidate.id for candidate in self.candidates],
        }
