"""The machine that a command names, and the questions that reaching it may raise, answered at the terminal."""

import asyncio
import getpass
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from gpuplanner.cli.columns import safe
from gpuplanner.cli.context import Context
from gpuplanner.probe.commands import Command
from gpuplanner.probe.connecting import ConnectionTest, StepState
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import Collected, probe
from gpuplanner.probe.transports import Began, Event, Lost, Transport
from gpuplanner.probe.transports.askpass import Answerer, Asked, Question
from gpuplanner.probe.transports.local import LocalTransport
from gpuplanner.probe.transports.ssh import SshTransport
from gpuplanner.probe.transports.ssh_client import Sockets

T = TypeVar("T")

HERE = frozenset({"localhost", ".", "here"})
"""What a person may call this machine; `ssh localhost` is asked for as `user@localhost`."""


def transport_to(target: str, sockets: Sockets | None = None) -> LocalTransport | SshTransport:
    """The way to a machine by the name that the command line gives. `sockets`: one login for several errands."""
    if target in HERE:
        return LocalTransport()
    return SshTransport(target, _answerer() if sys.stdin is not None and sys.stdin.isatty() else None, sockets)


def test_connection(target: str, told: Callable[[StepState], None]) -> bool:
    """Try each step on the way to a machine; whether it can be used."""
    answerer = _answerer() if sys.stdin is not None and sys.stdin.isatty() else None
    return asyncio.run(ConnectionTest(target, told).run(answerer))


def run_probe(transport: Transport, commands: Sequence[Command], context: Context) -> Run:
    """Probe a machine, saying on stderr what runs. An interrupt ends it and keeps what came."""
    collected = Collected(transport.name, commands)
    shown = {command.id: command.shown for command in commands}

    def told(event: Event) -> None:
        line = _line(event, shown, context)
        if line:
            print(line, file=sys.stderr)

    run = until_interrupted(probe(transport, commands, told, collected))
    return collected.run(whole=False) if run is None else run


def until_interrupted(work: Coroutine[Any, Any, T]) -> T | None:
    """Do the work; an interrupt ends it, also what runs on the machine, and gives None."""

    async def main() -> T | None:
        task = asyncio.ensure_future(work)
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return None

    return asyncio.run(main())


def _line(event: Event, shown: dict[str, str], context: Context) -> str:
    if isinstance(event, Began) and event.id in shown:
        return f"$ {shown[event.id]}"
    if isinstance(event, Lost):
        return f"gpuplanner: {context.text(event.why)}"
    return ""


def _answerer() -> Answerer:
    async def answer(question: Question) -> str | None:
        for line in question.text.splitlines():
            print(safe(line), file=sys.stderr)
        if question.kind is Asked.TOUCH:
            await asyncio.Event().wait()
        return await _typed(getpass.getpass if question.secret else input)

    return answer


async def _typed(read: Callable[[str], str]) -> str | None:
    """A line of the terminal; None at its end. The thread that waits for it is left behind when nobody wants it."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str | None] = loop.create_future()

    def give(text: str | None) -> None:
        if not line.done():
            line.set_result(text)

    def wait() -> None:
        try:
            text: str | None = read("> ")
        except (EOFError, OSError):
            text = None
        with suppress(RuntimeError):  # the loop has ended in between
            loop.call_soon_threadsafe(give, text)

    threading.Thread(target=wait, daemon=True).start()
    return await line
