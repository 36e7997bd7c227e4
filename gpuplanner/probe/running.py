"""Probes one machine over any transport and keeps what comes, also when the way to it breaks in between."""

import time
from collections.abc import Sequence

from gpuplanner.probe.commands import Command
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.probe.inspecting import Inspection, inspect
from gpuplanner.probe.merging import merged
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.probe.transports import Ended, Event, Hello, Told, Transport


class Collected:
    """What has come of a run so far; it is a whole run only when it ended so."""

    def __init__(self, target: str, commands: Sequence[Command]) -> None:
        self._target = target
        self._began = time.time()
        self._asked = {command.id: command.argv for command in commands}
        self._results: dict[str, CommandResult] = {}
        self._hello: Hello | None = None

    def hear(self, event: Event) -> None:
        """Keep what an event brings."""
        if isinstance(event, Ended) and event.result.id in self._asked:
            self._results.setdefault(event.result.id, event.result)
        elif isinstance(event, Hello):
            self._hello = event

    def run(self, *, whole: bool) -> Run:
        """The run as far as it came, results in the order in which they were asked for."""
        hello = self._hello
        return Run(
            target=self._target,
            began=self._began,
            results=tuple(self._results[id_] for id_ in self._asked if id_ in self._results),
            whole=whole,
            clock_offset_s=hello.clock_offset_s if hello else None,
            python=hello.python if hello else "",
            root=hello.root if hello else False,
            asked=self._asked,
        )


async def probe(transport: Transport, commands: Sequence[Command], told: Told, collected: Collected) -> Run:
    """Run the commands over a transport. What came stays in `collected` also when this is cancelled."""

    def hear(event: Event) -> None:
        collected.hear(event)
        told(event)

    whole = await transport.collect(commands, hear)
    return collected.run(whole=whole)


def read(run: Run) -> tuple[Evidence, tuple[Inspection, ...]]:
    """What a run says: all its outputs read and joined, and a fault for each command that did not answer."""
    inspections = tuple(inspect(result.output()) for result in run.results if result.out or result.err)
    faults = [fault for result in run.results if (fault := _fault(result))]
    parts = [inspection.evidence for inspection in inspections]
    return merged([*parts, Evidence(faults=tuple(faults))]), inspections


def _fault(result: CommandResult) -> ToolFault | None:
    kind = {"not_found": "absent", "no_permission": "no_permission"}.get(result.outcome)
    if kind is None and result.outcome == "ended":
        return None
    shown = " ".join(result.argv)[:200]
    seen = {"kind": Seen(source=shown, line=0, text=result.outcome)}
    return ToolFault(kind=kind or "other", wanted=result.argv[0], said=result.outcome, seen=seen)
