"""What a workload kind gives to the search: its ways of running, in blocks, and the best of them. Types only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gpuplanner.engine.machine import Machine
from gpuplanner.engine.search.checks import Array, Check
from gpuplanner.engine.search.result import Candidate


@dataclass(frozen=True, slots=True)
class Prepared:
    """The ways of one machine before they are computed: how many there are, and what the space needs of them.

    `kin`: machines that are equal in it share much of the work where they stand in one block.
    """

    machine: Machine
    rows: int
    ways: Any
    kin: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Computed:
    """The ways of one machine: the constraints of work and hardware, nodes of each way, seconds of the job if it ends.

    `results`: what the space needs to make a candidate of one of them. Of kinds whose steps can be measured it has
    `corrected(place, factors)`: the same, with one way as it was measured.
    """

    checks: Sequence[Check]
    nodes: Array
    job_s: Array | None
    results: Any


class Space(Protocol):
    """The ways of running of one workload kind: how they are laid out, computed in blocks, and which is best.

    `block_rows`: about so many ways are computed at once. Measured over the presets: arrays that leave the second-level
    cache cost more than the calls that larger blocks save.
    """

    block_rows: int

    def prepare(self, machine: Machine) -> Prepared | None:
        """The ways of one machine; None when none can be laid out. Raises MissingFactError or InputError."""
        ...

    def compute(self, block: Sequence[Prepared]) -> Sequence[Computed]:
        """The ways of several machines as one block."""
        ...

    def best(self, computed: Computed, passing: Array) -> int:
        """The place of the best of the ways that pass, whatever they cost."""
        ...

    def candidate(self, machine: Machine, computed: Computed, place: int) -> Candidate:
        """One of the ways on this offer."""
        ...
