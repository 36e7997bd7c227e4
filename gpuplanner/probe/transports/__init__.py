"""The ways to a machine: this one, SSH, files that somebody saved, a recording. All of them bring the same results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from gpuplanner.messages import Message
from gpuplanner.probe.commands import Command
from gpuplanner.probe.results import CommandResult


@dataclass(frozen=True, slots=True)
class Hello:
    """The machine answers. `clock_offset_s`: its clock less ours; None where nobody could look."""

    python: str
    system: str
    user: str
    root: bool
    clock_offset_s: float | None


@dataclass(frozen=True, slots=True)
class Began:
    """A command runs now."""

    id: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A command's result is here."""

    result: CommandResult


@dataclass(frozen=True, slots=True)
class Lost:
    """The way to the machine broke. What came before stays."""

    why: Message


Event: TypeAlias = Hello | Began | Ended | Lost
Told: TypeAlias = Callable[[Event], None]


class Transport(Protocol):
    """A way to one machine."""

    @property
    def name(self) -> str:
        """What a person calls the machine."""

    async def collect(self, commands: Sequence[Command], told: Told) -> bool:
        """Run the commands there and tell what happens. Whether all of them were run to an end.

        Cancelling the task that awaits this ends all that runs there within two seconds.
        Raises InputError where the machine cannot be reached at all.
        """
