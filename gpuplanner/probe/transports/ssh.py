"""A machine over the user's own SSH client: one connection, one program on its standard input, frames back."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.probe.commands import Command
from gpuplanner.probe.output import Output
from gpuplanner.probe.transports import Hello, Lost, Told
from gpuplanner.probe.transports.askpass import Answerer, AskServer
from gpuplanner.probe.transports.frames import LONGEST_FRAME, event_of, frames_in, job
from gpuplanner.probe.transports.programs import COLLECT, READER, Heard, Program
from gpuplanner.probe.transports.sh_stream import ShStream, program
from gpuplanner.probe.transports.ssh_client import Sockets, arguments, can_ask, checked, configuration, environment
from gpuplanner.probe.transports.ssh_faults import fault_of, program_ended

P = TypeVar("P")

BEAT_S = 5.0
"""How often we give a sign of life; the program there ends when none came for `PATIENCE_S`."""
PATIENCE_S = 30.0
SILENCE_S = 60.0
"""How long nothing may come before the machine counts as lost: twice the longest limit of one command."""
LOGIN_S = 90.0
"""How long it may take until the shell there answers, questions to a person not counted."""
_SILENT = b"\nTimeout, server not responding.\n"
_ASKED_FOR = frozenset({"probe.ssh.denied", "probe.ssh.host_key_unknown"})
"""What may fail only since nobody was asked."""
LEAVE_S = 1.0
"""How long the client may take to end when it was asked to."""
LONGEST_SAID = 64_000
MOST_NOISE = 4_000_000
"""Bytes that may come from around our program, such as what a login shell prints, before it is a flood."""

CHECK_S = 10
"""How long `python3` there may take to tell its version."""
_CHECK_LATE_S = CHECK_S + 10.0
"""When we no longer wait for the machine to say so itself."""


def shell_line(check_s: int) -> str:
    """What the login shell there is given, with a place for the mark; `check_s`: for `python3` to tell its version.

    POSIX sh, whatever the login shell is: quotes like these mean the same in all of them. A `python3` that hangs, such
    as one on a lost network drive, is ended with all that came of it: the process group is this session's own.
    Python keeps nothing compiled there (`-B`).
    """
    return (
        "sh -c 'echo; echo {mark} shell; "
        'python3 -B -c "import sys;sys.exit(sys.version_info<(3,6))" </dev/null >/dev/null 2>&1 & p=$!; '
        # Whoever ends the watch in time ends its sleep with it.
        f'(trap "kill \\$!; exit" TERM; sleep {check_s} >/dev/null & '
        "wait $! && {{ echo; echo {mark} hangs; kill -9 0; }}) </dev/null 2>/dev/null & g=$!; "
        "if wait $p 2>/dev/null; then c=python; else c=sh; fi; "
        "{{ kill $g; wait $g; }} 2>/dev/null; echo; echo {mark} $c; "
        f'if [ $c = python ]; then exec python3 -B -u -c "{READER}"; else exec sh -s; fi\''
    )


_SHELL = shell_line(CHECK_S)


@dataclass(frozen=True, slots=True)
class SshTransport:
    """A machine by the name that the user's SSH client knows it by.

    `answerer`: who answers the client's questions; without one the client may only do what needs no question.
    `sockets`: where connections are kept for reuse, None to open one each time. `extra`: options in front of the name.
    `said`: hears what the client itself says, line by line.
    """

    name: str
    answerer: Answerer | None = None
    sockets: Sockets | None = None
    extra: tuple[str, ...] = ()
    said: Callable[[str], None] | None = None

    async def collect(self, commands: Sequence[Command], told: Told) -> bool:
        """Run the commands there. Raises InputError with the reason where the machine cannot be reached."""
        return await self._session(_Errand(COLLECT, {"commands": job(commands)}, commands), told)

    async def run(self, program: Program, work: Mapping[str, Any], told: Told, heard: Heard) -> bool:
        """Run a program of ours there, whose frames `heard` gets. Raises InputError, also where there is no Python."""
        return await self._session(_Errand(program, work, heard=heard), told)

    async def _session(self, errand: "_Errand", told: Told) -> bool:
        settings = await configuration(checked(self.name), self.extra)
        may_ask = self.answerer is not None and can_ask()
        asking = AskServer(self.name, self.answerer) if self.answerer and may_ask else contextlib.nullcontext()
        async with asking as server:
            words = arguments(self.name, settings, sockets=self.sockets, may_ask=server is not None, extra=self.extra)
            mark = f"gpuplanner-{secrets.token_hex(12)}"
            process = await asyncio.create_subprocess_exec(
                *words, _SHELL.format(mark=mark), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, env=environment(server.environment if server else {}),
                # Without a terminal of ours a client that is too old for SSH_ASKPASS_REQUIRE asks through it too.
                start_new_session=True,
            )  # fmt: skip
            session = _Session(self.name, process, errand, told, mark.encode("ascii"), server, self.said)
            try:
                return await session.run()
            except InputError as fault:
                if self.answerer is not None and not may_ask and fault.message.id in _ASKED_FOR:
                    raise InputError(msg("probe.ssh.cannot_ask", target=self.name)) from None
                raise


@dataclass(frozen=True, slots=True)
class _Errand:
    """What a session is for: a program and its job. `commands`: what a shell runs where there is no Python."""

    program: Program
    job: Mapping[str, Any]
    commands: Sequence[Command] | None = None
    heard: Heard | None = None


class _Session:
    """One run of the client, from its start until nothing of it is left."""

    def __init__(
        self, target: str, process: asyncio.subprocess.Process, errand: _Errand, told: Told, mark: bytes,
        server: AskServer | None, heard: Callable[[str], None] | None,
    ) -> None:  # fmt: skip
        self._target = target
        self._process = process
        self._in, self._out, self._errors = _there(process.stdin), _there(process.stdout), _there(process.stderr)
        self._errand = errand
        self._told = told
        self._mark = mark
        self._server = server
        self._heard = heard
        self._said = b""
        self._answered = False
        self._checking = False
        self._ended_there = False

    async def run(self) -> bool:
        """Whether everything ran to its end; what went wrong after the login is told as `Lost`."""
        errors = asyncio.ensure_future(self._listen_to_errors())
        beating = asyncio.ensure_future(self._beat())
        try:
            whole = await self._converse()
            if not whole:
                await self._end()
                await errors
                self._fail()
            return whole
        finally:
            beating.cancel()
            await asyncio.shield(self._end())
            errors.cancel()
            await asyncio.gather(errors, beating, return_exceptions=True)

    def _fail(self) -> None:
        said = Output.of(self._said, "ssh").text
        why = fault_of(self._target, said)
        if not self._answered:
            # Let in, and then no shell: the client itself has nothing to complain about.
            raise InputError(msg("probe.ssh.no_shell", target=self._target) if why.id == "probe.ssh.other" else why)
        if why.id == "probe.ssh.other" and self._ended_there:
            # The client has nothing to complain about, so the connection held: it brought back how our program ended.
            why = program_ended(self._target, self._process.returncode, said)
            self._told(Lost(why))
        else:
            self._told(Lost(_lost(self._target, why)))

    def _hangs(self) -> InputError:
        return InputError(msg("probe.ssh.python_hangs", target=self._target, seconds=CHECK_S))

    async def _converse(self) -> bool:
        """Read until the end of the run, the end of the stream, or silence."""
        began = time.time()
        shell: ShStream | None = None
        noise = 0
        async for line in self._lines():
            noise += 0 if shell or line.startswith(self._mark) else len(line)
            if noise > MOST_NOISE:
                return False
            if shell is not None:
                if event := shell.take(line):
                    self._told(event)
                if shell.ended:
                    return True
            elif not self._answered:
                began = time.time()
                shell = await self._begin(line, began)
            else:
                frame = frames_in(line, self._mark + b" ")
                event = event_of(frame, began)
                if isinstance(event, Hello):
                    began = time.time()
                if event is not None:
                    self._told(event)
                elif not await self._answer(frame):
                    return False
                if isinstance(frame, dict) and frame.get("frame") == "end":
                    return frame.get("whole") is True
        return False

    async def _begin(self, line: bytes, now: float) -> ShStream | None:
        """What a line of the login shell asks for: nothing yet, our program in Python, or the shell's."""
        match line[len(self._mark) :].strip() if line.startswith(self._mark + b" ") else b"":
            case b"shell":
                self._checking = True
            case b"hangs":
                raise self._hangs()
            case b"python":
                self._answered = True
                await self._send(self._errand.program.text(self._mark.decode("ascii"), PATIENCE_S, self._errand.job))
            case b"sh":
                self._answered = True
                commands = self._errand.commands
                if commands is None:
                    raise InputError(msg("probe.ssh.no_python", target=self._target))
                await self._send(program(commands, self._mark.decode("ascii")))
                return ShStream(commands, self._mark, now)
        return None

    async def _answer(self, frame: Any) -> bool:
        """Let the errand hear a frame of its own and send what it gives back. False where nobody takes that."""
        heard = self._errand.heard
        if not isinstance(frame, dict) or heard is None or not (answer := heard(frame)):
            return True
        try:
            # `wait_for` of Python 3.11 loses a cancellation that comes with the end of what it waits for.
            async with asyncio.timeout(SILENCE_S):
                await self._send(answer)
        except TimeoutError:
            # It asked for this, and takes none of it.
            self._said += _SILENT
            return False
        return True

    async def _send(self, content: bytes) -> None:
        with contextlib.suppress(OSError):
            self._in.write(content)
            await self._in.drain()

    async def _lines(self) -> AsyncIterator[bytes]:
        """Lines as they come, until one grows beyond any frame: that is a flood, which need never end."""
        held = bytearray()
        while True:
            piece = await self._piece()
            if not piece:
                return
            *ended, rest = piece.split(b"\n")
            for part in ended:
                held += part
                yield bytes(held) + b"\n"
                held.clear()
            held += rest
            if len(held) > (LONGEST_FRAME if self._answered else MOST_NOISE):
                return

    async def _piece(self) -> bytes:
        """The next bytes; none at the end, or when the machine has said nothing for too long."""
        reading = asyncio.ensure_future(self._out.read(1 << 16))
        waited = 0.0
        try:
            while True:
                done, _ = await asyncio.wait({reading}, timeout=1.0)
                if done:
                    self._ended_there = not reading.result()
                    return reading.result()
                waited += 0.0 if self._server and self._server.waiting else 1.0
                if self._checking and not self._answered:
                    if waited >= _CHECK_LATE_S:
                        raise self._hangs()
                elif waited >= (SILENCE_S if self._answered else LOGIN_S):
                    self._said += _SILENT
                    return b""
        finally:
            reading.cancel()

    async def _listen_to_errors(self) -> None:
        line = b""
        heard = 0
        while piece := await self._errors.read(1 << 14):
            heard += len(piece)
            if MOST_NOISE < heard <= MOST_NOISE + len(piece):
                # A flood beside the results, which need never end either.
                with contextlib.suppress(ProcessLookupError):
                    self._process.terminate()
            self._said = (self._said + piece)[-LONGEST_SAID:]
            *ended, line = (line + piece)[-LONGEST_SAID:].split(b"\n")
            for each in ended:
                if self._heard is not None:
                    self._heard(Output.of(each, "ssh").text)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            if self._answered:
                await self._send(b"\n")

    async def _end(self) -> None:
        """Let the client go: closing its input ends what runs there; then it is asked, and at last made, to end."""
        self._in.close()
        for step in (None, self._process.terminate, self._process.kill):
            if self._process.returncode is not None:
                break
            with contextlib.suppress(ProcessLookupError):
                if step:
                    step()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), LEAVE_S / 2)
        # What is still on the way would keep the pipe open.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._drain(), LEAVE_S / 2)
        # A connection that stays for reuse keeps the pipe of the errors open, and asyncio closes it in no other way.
        self._process._transport.close()  # type: ignore[attr-defined]  # the stubs hide it

    async def _drain(self) -> None:
        while await self._out.read(1 << 20):
            pass


def _there(pipe: P | None) -> P:
    """A pipe that was asked for when the client was started."""
    if pipe is None:
        raise RuntimeError("the client was started without its pipes")
    return pipe


def _lost(target: str, why: Message) -> Message:
    return msg("probe.ssh.lost_between", target=target, why=why)
