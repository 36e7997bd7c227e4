"""The machine that gpuplanner itself runs on: commands are run from threads of ours, other programs in a process.

What speaks to a driver is never loaded into our own process: a driver that crashes or hangs takes its caller with it.
"""

import asyncio
import contextlib
import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplanner.messages import msg
from gpuplanner.probe.commands import Command
from gpuplanner.probe.there.collect import collect
from gpuplanner.probe.transports import Lost, Told
from gpuplanner.probe.transports.frames import event_of, frames_in, job
from gpuplanner.probe.transports.programs import READER, Heard, Program

PATIENCE_S = 30.0
BEAT_S = 5.0
LEAVE_S = 1.8
"""How long a program may take to leave before it is killed."""
LONGEST_LINE = 16_000_000


class LocalTransport:
    """The machine that gpuplanner runs on."""

    name = "localhost"

    async def collect(self, commands: Sequence[Command], told: Told) -> bool:
        """Run the commands in threads; events are told in the thread of the event loop."""
        loop = asyncio.get_running_loop()
        stop = threading.Event()
        whole = False

        def tell(frame: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(hear, frame)

        def hear(frame: dict[str, Any]) -> None:
            nonlocal whole
            whole = whole or bool(frame.get("whole"))
            if event := event_of(frame):
                told(event)

        running = asyncio.ensure_future(asyncio.to_thread(collect, job(commands), tell, stop))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            await running
            raise
        # What the threads told last still waits in the loop.
        await asyncio.sleep(0)
        return whole

    async def run(self, program: Program, work: Mapping[str, Any], told: Told, heard: Heard) -> bool:
        """Run a program in a process of its own, spoken to as over SSH."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-u", "-c", READER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, limit=LONGEST_LINE, start_new_session=True,
        )  # fmt: skip
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process was started without its pipes")
        mark = f"gpuplanner-{secrets.token_hex(12)}"
        beating = asyncio.ensure_future(_beat(process.stdin, program.text(mark, PATIENCE_S, work)))
        try:
            async for line in process.stdout:
                frame = frames_in(line, mark.encode("ascii") + b" ")
                if event := event_of(frame):
                    told(event)
                elif isinstance(frame, dict):
                    if frame.get("frame") == "end":
                        return frame.get("whole") is True
                    if answer := heard(frame):
                        process.stdin.write(answer)
                        await process.stdin.drain()
            told(Lost(msg("probe.local.ended")))
            return False
        finally:
            beating.cancel()
            await asyncio.shield(_left(process))


async def _beat(to: asyncio.StreamWriter, text: bytes) -> None:
    """Send the program, and then signs of life."""
    with contextlib.suppress(OSError):
        to.write(text)
        while True:
            await to.drain()
            await asyncio.sleep(BEAT_S)
            to.write(b"\n")


async def _left(process: asyncio.subprocess.Process) -> None:
    """Closing its input ends the program; one that does not is killed."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), LEAVE_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    # What is still on the way would keep the pipe open beyond the loop.
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(_drained(process.stdout), LEAVE_S)


async def _drained(stream: asyncio.StreamReader | None) -> None:
    while stream is not None and await stream.read(1 << 16):
        pass
