"""What is done on a machine from the window, as coroutines: the connection test, and runs of one or more tiers.

No widget, no thread. What came before a stop or a fault is kept.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.probe.commands import READ_ONLY, Command
from gpuplanner.probe.connecting import ConnectionTest
from gpuplanner.probe.installed.running import Installed, look, run_installed
from gpuplanner.probe.installed.tools import InstalledCommand
from gpuplanner.probe.installed.tools import commands as commands_there
from gpuplanner.probe.measuring import Measured, measure
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import Collected, probe
from gpuplanner.probe.transports import Transport
from gpuplanner.probe.transports.askpass import Answerer
from gpuplanner.probe.transports.local import LocalTransport
from gpuplanner.probe.transports.programs import Runner
from gpuplanner.probe.transports.ssh import SshTransport
from gpuplanner.probe.transports.ssh_client import Sockets
from gpuplanner.ui.machines_place.asking import Asker
from gpuplanner.ui.machines_place.shown import HERE

T = TypeVar("T")
Tell = Callable[[Any], None]


class Tier(StrEnum):
    """What a run does: reads only, measures, runs the tools for measuring that are installed there."""

    A = "a"
    B = "b"
    C = "c"


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of a run could not be done; the rest stands."""

    why: Message


@dataclass(frozen=True, slots=True)
class ToolsRun:
    """These commands of installed tools run now, one after the other."""

    commands: tuple[InstalledCommand, ...]


class Machine(Transport, Runner, Protocol):
    """A way to a machine that reads and measures."""


class Ways:
    """The ways to machines. `extra`: options in front of a name, for an SSH configuration other than the user's."""

    def __init__(self, extra: tuple[str, ...] = ()) -> None:
        self._extra = extra
        self._sockets: Sockets | None = None

    def to(self, target: str, answerer: Answerer) -> Machine:
        """The way to one machine."""
        if target == HERE:
            return LocalTransport()
        return SshTransport(target, answerer, self._kept(), self._extra)

    async def test(self, target: str, tell: Tell, answerer: Answerer) -> bool:
        """Try each step on the way; whether the machine can be used. The connection is kept for the run after it."""
        return await ConnectionTest(target, tell).run(answerer, self._kept(), self._extra)

    def close(self) -> None:
        """Forget the connections that were kept."""
        if self._sockets is not None:
            self._sockets.close()
            self._sockets = None

    def _kept(self) -> Sockets:
        if self._sockets is None:
            self._sockets = Sockets()
        return self._sockets


class Stop:
    """Ends work early while its caller goes on."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def now(self) -> None:
        """Stop. Called in the loop."""
        self._event.set()

    @property
    def asked(self) -> bool:
        """Whether it was asked for."""
        return self._event.is_set()

    async def before_end(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of the work, None where it was stopped; it has ended on the machine either way."""
        task = asyncio.ensure_future(work)
        waiting = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            return None
        finally:
            waiting.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
                with suppress(asyncio.CancelledError, InputError):
                    task.result()


async def run_tiers(
    way: Machine,
    target: str,
    tiers: Sequence[Tier],
    asker: Asker,
    tell: Tell,
    stop: Stop,
    commands: Sequence[Command] = READ_ONLY,
) -> Run:
    """Read, then measure, then run what is installed. Raises InputError where the machine cannot be reached at all."""
    parts: list[Run] = []
    try:
        if Tier.A in tiers:
            collected = Collected(target, commands)
            run = await stop.before_end(probe(way, commands, tell, collected))
            parts.append(run or collected.run(whole=False))
        if Tier.B in tiers and not stop.asked and all(part.whole for part in parts):
            parts.append(await _measured(way, target, asker, tell, stop))
        if Tier.C in tiers and not stop.asked and all(part.whole for part in parts):
            parts.append(await _with_tools(way, target, asker, tell, stop))
    except InputError as fault:
        if not parts:
            raise
        tell(Fault(fault.message))
    return joined(parts)


async def _measured(way: Machine, target: str, asker: Asker, tell: Tell, stop: Stop) -> Run:
    measured = Measured(target)
    run = await stop.before_end(measure(way, tell, tell, measured))
    if measured.refused and not stop.asked:
        agreed = await stop.before_end(asker.measure_all_the_same(measured.refused))
        if agreed:
            measured = Measured(target)
            run = await stop.before_end(measure(way, tell, tell, measured, even_if_busy=True))
    return run or measured.run(whole=False)


async def _with_tools(way: Machine, target: str, asker: Asker, tell: Tell, stop: Stop) -> Run:
    """Look which tools are there, and run those that a person has seen and agreed to."""
    there = await stop.before_end(look(way, tell))
    found = commands_there(there) if there is not None else ()
    if there is not None and not found:
        tell(Fault(msg("machinesui.tools.none")))
    if not found or not await stop.before_end(asker.run_tools(found)):
        return Installed(target, ()).run(whole=not stop.asked)
    tell(ToolsRun(found))
    installed = Installed(target, found)
    run = await stop.before_end(run_installed(way, tell, tell, installed))
    if installed.refused and not stop.asked:
        agreed = await stop.before_end(asker.measure_all_the_same(installed.refused))
        if agreed:
            installed = Installed(target, found)
            run = await stop.before_end(run_installed(way, tell, tell, installed, even_if_busy=True))
    return run or installed.run(whole=False)


def joined(parts: Sequence[Run]) -> Run:
    """Several runs of one machine as one; of a command that ran twice the later result counts."""
    first, *others = parts
    for part in others:
        again = {result.id: result for result in part.results}
        kept = tuple(again.pop(result.id, result) for result in first.results)
        first = replace(
            first,
            results=(*kept, *again.values()),
            whole=first.whole and part.whole,
            clock_offset_s=part.clock_offset_s if first.clock_offset_s is None else first.clock_offset_s,
            python=first.python or part.python,
            root=first.root or part.root,
            asked={**first.asked, **part.asked},
        )
    return first
