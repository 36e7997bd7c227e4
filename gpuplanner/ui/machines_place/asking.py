"""Questions on the way to a machine (host keys, passwords, codes, busy GPUs): put to the window, answered from it.

Holds no widget. An answer is handed on and kept nowhere.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpuplanner.probe.installed.tools import InstalledCommand
from gpuplanner.probe.transports.askpass import Question


@dataclass(frozen=True, slots=True)
class Busy:
    """Somebody computes on the GPUs, or nobody can say whether: measure all the same? `sure`: that somebody does."""

    sure: bool


@dataclass(frozen=True, slots=True)
class ToolsFound:
    """These commands of tools that are installed there would run: run them?"""

    commands: tuple[InstalledCommand, ...]


@dataclass(eq=False, slots=True)
class Pending:
    """A question that waits. `future` belongs to the loop of the work that asks."""

    question: Question | Busy | ToolsFound
    future: "asyncio.Future[str | None]"

    def answer(self, text: str | None) -> None:
        """Give the answer, None to give up. Called in the loop; one that nobody waits for any more is dropped."""
        if not self.future.done():
            self.future.set_result(text)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nobody waits for an answer any more."""

    pending: Pending


class Asker:
    """Asks for one piece of work: tells a question to the window, and waits for its answer."""

    def __init__(self, tell: Callable[[Any], None]) -> None:
        self._tell = tell

    async def answer(self, question: Question) -> str | None:
        """An `Answerer` of the transports."""
        return await self._put(question)

    async def measure_all_the_same(self, reason: str) -> bool:
        """Whether a person wants to measure although `reason` ("busy", "maybe_busy") speaks against it."""
        return await self._put(Busy(reason == "busy")) is not None

    async def run_tools(self, commands: tuple[InstalledCommand, ...]) -> bool:
        """Whether a person wants these commands to run, who sees them first."""
        return await self._put(ToolsFound(commands)) is not None

    async def _put(self, question: Question | Busy | ToolsFound) -> str | None:
        pending = Pending(question, asyncio.get_running_loop().create_future())
        self._tell(pending)
        try:
            return await pending.future
        finally:
            self._tell(Withdrawn(pending))
