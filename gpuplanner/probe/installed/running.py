"""Finds the installed tools of a machine and runs them there, over any transport. Knows no tool by name."""

import asyncio
from collections.abc import Sequence
from typing import Any

from gpuplanner.messages import InputError, msg
from gpuplanner.probe.installed.tools import FIO, FIO_FILE_BYTES, TOOLS, InstalledCommand, There
from gpuplanner.probe.measuring import Measuring, Progress
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import Collected
from gpuplanner.probe.transports import Event, Told
from gpuplanner.probe.transports.frames import job as job_of
from gpuplanner.probe.transports.programs import Program, Runner

LOOK = Program(("collect", "nvml", "installed"), "look")
RUN = Program(("collect", "nvml", "installed"), "run_installed")
LOOK_LIMIT_S = 60.0
MOST_GPUS = 64
LONGEST_PATH = 1000


async def look(runner: Runner, told: Told) -> There:
    """Which tools are there, and how many GPUs. Raises InputError where the machine cannot be reached."""
    paths: dict[str, str] = {}
    gpus: int | None = None

    def take(frame: dict[str, Any]) -> None:
        nonlocal gpus
        tool, path, count = frame.get("tool"), frame.get("path"), frame.get("count")
        if frame.get("frame") == "found" and tool in known and isinstance(path, str):
            # It is run as it stands: nothing that a terminal or a person would read otherwise.
            if path.isprintable() and len(path) <= LONGEST_PATH:
                paths[str(tool)] = path
        elif frame.get("frame") == "gpus" and isinstance(count, int) and 0 <= count <= MOST_GPUS:
            gpus = count

    known = {tool.id for tool in (*TOOLS, FIO)}
    tools = [{"id": tool.id, "names": tool.names, "places": tool.places} for tool in (*TOOLS, FIO)]
    try:
        async with asyncio.timeout(LOOK_LIMIT_S):
            await runner.run(LOOK, {"tools": tools}, told, take)
    except TimeoutError:
        raise InputError(msg("probe.installed.silent", target=runner.name, seconds=f"{LOOK_LIMIT_S:.0f}")) from None
    return There(paths, gpus)


class Installed:
    """What has come of the tools so far. `refused`: that somebody computes there, or that nobody can say it."""

    def __init__(self, target: str, commands: Sequence[InstalledCommand]) -> None:
        self.commands = tuple(commands)
        self.refused = ""
        self._collected = Collected(target, [each.command for each in commands])

    def hear(self, event: Event) -> None:
        """Keep what an event brings."""
        self._collected.hear(event)

    def take(self, frame: dict[str, Any]) -> Measuring | None:
        """How far it is, where a frame says that."""
        what, share, said = frame.get("what"), frame.get("share"), frame.get("said")
        if frame.get("frame") == "measuring" and isinstance(what, str) and isinstance(share, int | float):
            if 0 <= share <= 1:
                return Measuring(what[:100], None, float(share), said[:200] if isinstance(said, str) else "")
        elif frame.get("frame") == "failed" and frame.get("reason") in {"busy", "maybe_busy"}:
            self.refused = str(frame["reason"])
        return None

    def run(self, *, whole: bool) -> Run:
        """The run as far as it came."""
        return self._collected.run(whole=whole)


async def run_installed(
    runner: Runner, told: Told, progress: Progress, installed: Installed, *, even_if_busy: bool = False
) -> Run:
    """Run the commands there. What came stays in `installed` also when this is cancelled. Raises InputError."""

    def hear(event: Event) -> None:
        installed.hear(event)
        told(event)

    def take(frame: dict[str, Any]) -> None:
        if step := installed.take(frame):
            progress(step)

    commands = [
        {**job, "usual_s": each.usual_s, "loads_gpus": each.loads_gpus, "file": each.file, "file_bytes": FIO_FILE_BYTES}
        for each, job in zip(installed.commands, job_of([each.command for each in installed.commands]), strict=True)
    ]
    whole = await runner.run(RUN, {"commands": commands, "even_if_busy": even_if_busy}, hear, take)
    return installed.run(whole=whole)
