"""A recorded run, replayed: the same events in the same order, at once or in the time that they took."""

import asyncio
from collections.abc import Sequence

from gpuplanner.probe.commands import Command
from gpuplanner.probe.results import Run
from gpuplanner.probe.transports import Began, Ended, Hello, Told


class RecordedTransport:
    """A machine that is not at hand. `pace`: 1 replays in real time, 0 at once."""

    def __init__(self, run: Run, pace: float = 0.0) -> None:
        self._run = run
        self._pace = pace

    @property
    def name(self) -> str:
        """The machine's name when it was recorded."""
        return self._run.target

    async def collect(self, commands: Sequence[Command], told: Told) -> bool:
        """Tell the recorded results of the commands that are asked for; the others have none."""
        wanted = {command.id for command in commands}
        recorded = [result for result in self._run.results if result.id in wanted]
        told(Hello(self._run.python, "", "", self._run.root, self._run.clock_offset_s))
        for result in recorded:
            told(Began(result.id))
            await asyncio.sleep(self._pace * result.seconds)
            told(Ended(result))
        return self._run.whole and wanted <= {result.id for result in recorded}
