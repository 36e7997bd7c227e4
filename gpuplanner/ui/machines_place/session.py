"""One machine in the window: what runs there, what came of it, what was asked on the way. Knows no widget."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.probe.commands import READ_ONLY, Command
from gpuplanner.probe.connecting import STEPS, Step, StepState
from gpuplanner.probe.installed.tools import PREFIX
from gpuplanner.probe.measuring import Measuring
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.probe.transports import Began, Ended, Hello, Lost
from gpuplanner.ui.machines_place.asking import Asker, Pending, Withdrawn
from gpuplanner.ui.machines_place.errands import Fault, Stop, Tier, ToolsRun, Ways, joined, run_tiers
from gpuplanner.ui.machines_place.shown import Kind, Shown
from gpuplanner.ui.probing import Probe, Probing

CommandWord = Literal["queued", "running"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A machine of the list. `name`: what the list says; `own`: that a person added it and can take it out."""

    target: str
    kind: Kind
    name: str
    own: bool = False


@dataclass(slots=True)
class CommandState:
    """Where a command of the run stands; `result` when it has ended."""

    command: Command
    state: CommandWord = "queued"
    since: float = 0.0
    result: CommandResult | None = None


class MachineSession(QObject):
    """What the window knows of one machine. All signals come in the GUI thread, the many gathered."""

    changed = Signal()
    """What the list says of it, or what runs, is another."""
    progressed = Signal()
    """A step or a command is further."""
    asked = Signal()
    """`pending` is another."""
    ran = Signal()
    """There is a new `run`, whole or as far as it came."""

    def __init__(self, entry: Entry, probing: Probing, ways: Ways, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.entry = entry
        self.shown = Shown(entry.target, entry.kind)
        self.run: Run | None = None
        self.tiers: tuple[Tier, ...] = ()
        self.steps: dict[Step, StepState] = {}
        self.commands = [CommandState(command) for command in READ_ONLY]
        self.measuring: Measuring | None = None
        self.pending: list[Pending] = []
        self.problem: Message | None = None
        self.unreachable = False
        self.judging = False
        self.last_verdict = ""
        """Of the latest run that is kept of it, as long as nothing else is known."""
        self.began = 0.0
        self.seconds = 0.0
        self._probing = probing
        self._ways = ways
        self._probe: Probe[Any] | None = None
        self._stop: Stop | None = None

    @property
    def busy(self) -> bool:
        """Whether something runs there now, or has ended and was not heard yet."""
        return self._probe is not None

    @property
    def may_run(self) -> bool:
        """Whether anything can be run there: nothing in files that somebody saved."""
        return self.entry.kind in {"ssh", "here"}

    @property
    def testing(self) -> bool:
        """Whether that is the connection test."""
        return self.busy and not self.tiers

    # --- Acting -------------------------------------------------------------------------------------------------------

    def test(self) -> None:
        """Try each step on the way."""
        if self.busy or self.entry.kind != "ssh":
            return
        self._begin(())
        self.steps = {step: StepState(step) for step in STEPS}
        target = self.entry.target
        self._probe = self._probing.start(
            lambda tell: self._ways.test(target, tell, Asker(tell).answer), self._heard, self._tested, self._failed
        )
        self._tell_all()

    def start(self, tiers: Sequence[Tier], commands: Sequence[Command] = READ_ONLY) -> None:
        """Run the tiers; of the first one these commands, where a part of them is to run again."""
        if self.busy or not self.may_run or not tiers:
            return
        self._begin(tuple(tiers))
        again = {command.id for command in commands}
        if Tier.C in tiers:
            self.commands = self._reading()
        for state in self.commands:
            if Tier.A in tiers and state.command.id in again:
                state.state, state.result = "queued", None
        stop = self._stop = Stop()
        target = self.entry.target

        async def work(tell: Any) -> Run:
            asker = Asker(tell)
            return await run_tiers(self._ways.to(target, asker.answer), target, tiers, asker, tell, stop, commands)

        part = self.run if len(commands) < len(READ_ONLY) else None
        self._probe = self._probing.start(work, self._heard, partial(self._ran, part), self._failed)
        self._tell_all()

    def again(self, command_id: str) -> None:
        """Run one command again; its result takes the place of the one before."""
        command = next((each for each in READ_ONLY if each.id == command_id), None)
        if command is not None and self.run is not None:
            self.start((Tier.A,), (command,))

    def stop(self) -> None:
        """End what runs there. Of a run what came is kept."""
        if self._probe is None:
            return
        if self._stop is not None and self.tiers:
            self._probing.call(self._stop.now)
            return
        self._probe.cancel()
        self._probe = None
        self._withdraw()
        for step, state in self.steps.items():
            if state.state == "running":
                self.steps[step] = StepState(step)
        self._tell_all()

    def answer(self, pending: Pending, text: str | None) -> None:
        """Answer a question, with None give up."""
        if pending in self.pending:
            self.pending.remove(pending)
            self._probing.call(lambda: pending.answer(text))
            self.asked.emit()

    def show(self, shown: Shown) -> None:
        """What is known of it now."""
        self.shown = shown
        self.judging = False
        self.changed.emit()

    def take(self, run: Run) -> None:
        """A run that was kept is looked at again."""
        self.run = run
        results = {result.id: result for result in run.results}
        for state in self.commands:
            state.state, state.result = "queued", results.get(state.command.id)
        self.seconds = sum(result.seconds for result in run.results if result.id == "measure")
        self.progressed.emit()

    # --- What comes ---------------------------------------------------------------------------------------------------

    def _begin(self, tiers: tuple[Tier, ...]) -> None:
        self.tiers = tiers
        self.problem = None
        self.unreachable = False
        self.measuring = None
        self.began = time.monotonic()

    def _heard(self, said: list[Any]) -> None:
        asked = False
        for each in said:
            if isinstance(each, Pending):
                self.pending.append(each)
                asked = True
            elif isinstance(each, Withdrawn):
                asked = self._drop(each.pending) or asked
            else:
                self._take_event(each)
        if asked:
            self.asked.emit()
        self.progressed.emit()

    def _take_event(self, event: Any) -> None:
        if isinstance(event, StepState):
            self.steps[event.step] = event
        elif isinstance(event, Began):
            for state in self.commands:
                if state.command.id == event.id:
                    state.state, state.since = "running", time.monotonic()
        elif isinstance(event, Ended):
            for state in self.commands:
                if state.command.id == event.result.id:
                    state.result = event.result
        elif isinstance(event, Measuring):
            self.measuring = event
        elif isinstance(event, ToolsRun):
            self.commands = [*(CommandState(each.command) for each in event.commands), *self._reading()]
        elif isinstance(event, Lost | Fault):
            self.problem = event.why
        elif not isinstance(event, Hello):
            raise TypeError(event)

    def _reading(self) -> list[CommandState]:
        """The commands that only read, without those of installed tools."""
        return [state for state in self.commands if not state.command.id.startswith(PREFIX)]

    def _tested(self, usable: bool) -> None:
        self.unreachable = not usable
        self._ended()

    def _ran(self, part: Run | None, run: Run) -> None:
        self.seconds = time.monotonic() - self.began
        for state in self.commands:
            if state.result is None:
                state.state = "queued"
        self.measuring = None
        if run.results:
            self.run = run if part is None else joined((part, run))
            self.judging = True
        elif self.problem is None:
            self.problem = msg("machinesui.nothing_came")
        self._ended()
        if run.results:
            self.ran.emit()

    def _failed(self, fault: Exception) -> None:
        if not isinstance(fault, InputError):
            raise fault
        self.problem = fault.message
        self.unreachable = True
        self.measuring = None
        self._ended()

    def _ended(self) -> None:
        self._probe = self._stop = None
        self._withdraw()
        self._tell_all()

    def _withdraw(self) -> None:
        if self.pending:
            self.pending = []
            self.asked.emit()

    def _drop(self, pending: Pending) -> bool:
        if pending not in self.pending:
            return False
        self.pending.remove(pending)
        return True

    def _tell_all(self) -> None:
        self.progressed.emit()
        self.changed.emit()
