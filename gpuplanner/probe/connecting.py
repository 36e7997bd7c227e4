"""The connection test: name, port, host key, login, shell and driver, each as soon as it is known."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from gpuplanner.messages import InputError, Message, msg, on_one_line, shortened
from gpuplanner.probe.commands import Command, Topic
from gpuplanner.probe.transports import Ended, Event, Hello, Lost
from gpuplanner.probe.transports.askpass import Answerer
from gpuplanner.probe.transports.ssh import SshTransport
from gpuplanner.probe.transports.ssh_client import Sockets

_LIST = Command("smi.list", Topic.GPUS, ("nvidia-smi", "-L"))


class Step(StrEnum):
    """What has to work, one after another."""

    NAME = "name"
    PORT = "port"
    HOST_KEY = "host_key"
    LOGIN = "login"
    SHELL = "shell"
    DRIVER = "driver"


STEPS = tuple(Step)
State = Literal["waiting", "running", "done", "failed", "cannot tell"]

_SAYS: tuple[tuple[re.Pattern[str], Step], ...] = (
    # In words of OpenSSH's `-v`; a client that says them otherwise leaves a step to the next one that is known.
    (re.compile(r"^debug1: Connecting to (.{1,260}?)\.?$"), Step.NAME),
    (
        re.compile(r"^debug1: (Connection established|fd \d+ clearing O_NONBLOCK|Local version string .{1,60})"),
        Step.PORT,
    ),
    (re.compile(r"^debug1: Host '.{1,260}' is known and matches the (.{1,80})\.?$"), Step.HOST_KEY),
    (re.compile(r"^Authenticated to .{1,300} using \"(.{1,60})\""), Step.LOGIN),
)
_KEY = re.compile(r"^debug1: Server host key: (\S{1,60} SHA256:\S{20,60})")


@dataclass(frozen=True, slots=True)
class StepState:
    """Where a step stands. `detail`: what was found, in the client's or the machine's words; `seconds`: its time."""

    step: Step
    state: State = "waiting"
    detail: str = ""
    why: Message | None = None
    seconds: float = 0.0


class ConnectionTest:
    """One test of one machine; `told` hears each change of a step."""

    def __init__(self, target: str, told: Callable[[StepState], None]) -> None:
        self._target = target
        self._told = told
        self._since = time.monotonic()
        self._key = ""
        self.states = {step: StepState(step) for step in STEPS}

    async def run(
        self, answerer: Answerer | None = None, sockets: Sockets | None = None, extra: tuple[str, ...] = ()
    ) -> bool:
        """Whether the machine can be used; the driver need not be there for that."""
        self._set(Step.NAME, "running")
        transport = SshTransport(self._target, answerer, sockets, ("-v", *extra), self._hear)
        try:
            await transport.collect((_LIST,), self._event)
        except InputError as fault:
            self._fail(fault.message)
            return False
        return self.states[Step.SHELL].state == "done"

    def _hear(self, line: str) -> None:
        if match := _KEY.match(line):
            self._key = match[1]
        for pattern, step in _SAYS:
            if match := pattern.match(line):
                detail = self._key if step is Step.HOST_KEY else "" if step is Step.PORT else match[1]
                self._reach(step, shortened(on_one_line(detail), 160))

    def _event(self, event: Event) -> None:
        if isinstance(event, Hello):
            told = f"{event.user} · {event.system} · Python {event.python}" if event.python else event.system
            self._reach(Step.SHELL, shortened(on_one_line(told), 160))
        elif isinstance(event, Ended):
            self._driver(event)
        elif isinstance(event, Lost):
            self._fail(event.why)

    def _driver(self, event: Ended) -> None:
        lines = [line.text for line in event.result.output().lines if line.text.strip()]
        first = shortened(on_one_line(lines[0]), 160) if lines else ""
        if event.result.outcome == "ended" and event.result.exit_code == 0:
            gpus = sum(line.startswith("GPU ") for line in lines)
            self._set(Step.DRIVER, "done", str(gpus) if gpus != 1 else first)
        elif event.result.outcome == "not_found":
            self._set(Step.DRIVER, "cannot tell", why=msg("probe.connect.no_driver"))
        else:
            self._set(Step.DRIVER, "failed", first, msg("probe.connect.driver_says", said=first))

    def _reach(self, step: Step, detail: str) -> None:
        """A step is done, and so are those before it that the client said nothing of."""
        reached = self.states[step]
        if reached.state == "done" and detail in {"", reached.detail}:
            return
        at = STEPS.index(step)
        for earlier in STEPS[:at]:
            if self.states[earlier].state in {"waiting", "running"}:
                self._set(earlier, "done")
        self._set(step, "done", detail)
        if at + 1 < len(STEPS) and self.states[STEPS[at + 1]].state == "waiting":
            self._set(STEPS[at + 1], "running")

    def _fail(self, why: Message) -> None:
        running = next((step for step in STEPS if self.states[step].state in {"running", "waiting"}), Step.DRIVER)
        self._set(running, "failed", why=why)

    def _set(self, step: Step, state: State, detail: str = "", why: Message | None = None) -> None:
        now = time.monotonic()
        seconds = now - self._since if state in {"done", "failed", "cannot tell"} else 0.0
        self._since = now
        self.states[step] = replace(
            self.states[step], state=state, detail=detail or self.states[step].detail, why=why, seconds=seconds
        )
        self._told(self.states[step])
