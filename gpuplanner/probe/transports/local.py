"""The machine that gpuplanner itself runs on: the program that is sent to others runs in threads of ours."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from gpuplanner.probe.commands import Command
from gpuplanner.probe.there.collect import collect
from gpuplanner.probe.transports import Told
from gpuplanner.probe.transports.frames import event_of, job


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
