"""What the shell program there prints, as events: a machine without Python answers in plain text between marks."""

import shlex
import time
from collections.abc import Sequence
from contextlib import suppress

from gpuplanner.probe.commands import Command
from gpuplanner.probe.results import CommandResult, Outcome
from gpuplanner.probe.there import source_of
from gpuplanner.probe.transports import Began, Ended, Event, Hello


def program(commands: Sequence[Command], mark: str) -> bytes:
    """The whole text for `sh -s`: the functions, then a line a command, run in the background."""
    lines = [f"MARK={shlex.quote(mark)}", source_of("collect.sh"), "{", "hello"]
    for command in commands:
        words = [part if command.expand and "*" in part else shlex.quote(part) for part in command.argv]
        lines.append(f"run {command.id} {command.limit_s:.0f} {command.limit_bytes} {' '.join(words)}")
    lines += ["say end", "} &", "trap 'trap - TERM; kill -TERM 0' EXIT HUP INT PIPE", ""]
    return "\n".join(lines).encode("utf-8")


class ShStream:
    """Takes the lines of the stream one by one and gives what each of them completes."""

    def __init__(self, commands: Sequence[Command], mark: bytes, sent_at: float) -> None:
        self._commands = {command.id: command for command in commands}
        self._mark = mark
        self._sent_at = sent_at
        self._id = ""
        self._late = False
        self._began = 0.0
        self._lines: list[bytes] = []
        self._size = 0
        self.ended = False

    def take(self, line: bytes) -> Event | None:
        """One line, with its line feed."""
        if not line.startswith(self._mark + b" "):
            self._keep(line)
            return None
        words = line[len(self._mark) :].decode("ascii", "replace").split()
        if not words:
            return None
        match words[0]:
            case "hello":
                return self._hello(words[1:])
            case "end":
                self.ended = True
                return self._finished("cut", None)
            case "late":
                self._late = True
            case "began" if len(words) == 2:
                cut = self._finished("cut", None)
                self._id, self._began, self._late = words[1], time.time(), False
                self._lines, self._size = [], 0
                return cut or Began(words[1])
            case "ended" if len(words) == 4 and words[1] == self._id:
                code = int(words[3]) if words[3].isdecimal() else None
                if words[2] == "not_found":
                    return self._finished("not_found", None)
                return self._finished("timed_out" if self._late else "ended", None if self._late else code)
        return None

    def _keep(self, line: bytes) -> None:
        command = self._commands.get(self._id)
        if command and self._size < command.limit_bytes:
            self._lines.append(line[: command.limit_bytes - self._size])
            self._size += len(line)

    def _finished(self, outcome: Outcome, code: int | None) -> Event | None:
        """The result of the command that runs; one that printed too much is cut off with its last line."""
        command = self._commands.get(self._id)
        if command is None:
            return None
        out = b"".join(self._lines)
        if outcome != "cut":
            # The line feed in front of the mark is ours.
            out = out.removesuffix(b"\n")
        self._id = ""
        return Ended(
            CommandResult(command.id, command.argv, code, outcome, out, b"", time.time() - self._began, self._began)
        )

    def _hello(self, words: Sequence[str]) -> Hello:
        offset = None
        with suppress(ValueError, IndexError):
            offset = float(words[0]) + 0.5 - (self._sent_at + time.time()) / 2
        padded = [*words, "", "", "", ""]
        return Hello("", padded[1], padded[3], padded[2] == "0", offset)
