"""What came of a command, whatever brought it here, and a whole run of them. Runs nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from gpuplanner.probe.output import Output

Outcome = Literal["ended", "not_found", "no_permission", "timed_out", "cut", "stopped", "failed", "lost"]
OUTCOMES: Mapping[str, Outcome] = {name: name for name in get_args(Outcome)}
"""Every outcome by its word."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """One command's outputs. `outcome`: "ended" also where its exit code is not 0; "lost" when the network went.

    `argv`: as it ran, with names of files in place of patterns. `began`: seconds since 1970 by the clock there.
    """

    id: str
    argv: tuple[str, ...]
    exit_code: int | None
    outcome: Outcome
    out: bytes = field(repr=False)
    err: bytes = field(repr=False)
    seconds: float
    began: float

    def output(self) -> Output:
        """What it printed, cleaned; errors behind the rest, since some tools say there why there is nothing."""
        whole = (
            self.out
            if not self.err
            else self.out + (b"" if self.out.endswith(b"\n") or not self.out else b"\n") + self.err
        )
        return Output.of(whole, " ".join(self.argv)[:200] or self.id, self.argv, self.exit_code)


@dataclass(frozen=True, slots=True)
class Run:
    """A probe of one machine. `target`: what the person called it; `whole`: that nothing was lost or stopped.

    `clock_offset_s`: the clock there less the clock here, half the round trip allowed for; None where nobody looked.
    """

    target: str
    began: float
    results: tuple[CommandResult, ...]
    whole: bool = True
    clock_offset_s: float | None = None
    python: str = ""
    root: bool = False
    recorded: bool = False
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The commands of the run by id as they were asked for, those without a result too."""
