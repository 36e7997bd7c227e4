"""The user's SSH client asks its questions here: host keys, passwords, one-time codes, touches of a key.

OpenSSH runs the program of SSH_ASKPASS for each question; ours hands the question over a socket in a folder that only
this user can enter, and prints the answer. Answers are kept nowhere.
"""

import asyncio
import hmac
import json
import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeAlias

from gpuplanner.messages import shortened, without_controls
from gpuplanner.probe.transports.ssh_client import SHORT_TEMPORARY

LONGEST_QUESTION = 4_000


class Asked(StrEnum):
    """What kind of answer is wanted."""

    HOST_KEY = "host_key"
    PASSWORD = "password"
    PASSPHRASE = "passphrase"
    CODE = "code"
    CONFIRM = "confirm"
    TOUCH = "touch"
    """Nothing is to be typed: the key waits to be touched. The question goes away by itself."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the client puts it, in its own words, without control characters."""

    kind: Asked
    text: str
    target: str

    @property
    def secret(self) -> bool:
        """Whether the answer must not be shown while it is typed."""
        return self.kind in {Asked.PASSWORD, Asked.PASSPHRASE, Asked.CODE}


Answerer: TypeAlias = Callable[[Question], Awaitable[str | None]]
"""Gives the answer ("yes" or a fingerprint for a host key), or None to give up. Cancelled when nobody waits for it."""


_OF_WHOM = re.compile(r"'s password:\s*$")
_BEFORE = re.compile(r"^\([^()]{1,300}@[^()]{1,300}\) ")
"""What OpenSSH itself puts in front: names, whose "otp" or "code" says nothing of the question."""


def kind_of(text: str, hint: str) -> Asked:
    """What a client's question asks for. `hint`: its SSH_ASKPASS_PROMPT."""
    lowered = text.lower()
    if "continue connecting" in lowered or "please type 'yes'" in lowered:
        return Asked.HOST_KEY
    if hint == "none" or "confirm user presence" in lowered:
        return Asked.TOUCH
    if hint == "confirm":
        return Asked.CONFIRM
    if "passphrase" in lowered or "enter pin" in lowered:
        return Asked.PASSPHRASE
    if _OF_WHOM.search(lowered):
        return Asked.PASSWORD
    lowered = _BEFORE.sub("", lowered)
    if "code" in lowered or "otp" in lowered or "token" in lowered or "one-time" in lowered:
        return Asked.CODE
    return Asked.PASSWORD


class AskServer:
    """Lives as long as one connection; `environment` is what the SSH client needs to ask here."""

    def __init__(self, target: str, answerer: Answerer) -> None:
        self._target = target
        self._answerer = answerer
        self._token = secrets.token_hex(16)
        self._folder = Path()
        self._server: asyncio.Server | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self.waiting = 0
        """Questions that a person has not answered yet: no time limit of ours runs meanwhile."""

    async def __aenter__(self) -> Self:
        # Folders of `mkdtemp` are this user's alone.
        self._folder = Path(tempfile.mkdtemp(prefix="gpuplanner-ask-", dir=SHORT_TEMPORARY))
        self._server = await asyncio.start_unix_server(self._serve, str(self._folder / "s"))
        program = self._folder / "ask"
        program.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I {shlex.quote(str(_PROGRAM))} "$@"\n', encoding="utf-8"
        )
        program.chmod(0o700)
        return self

    async def __aexit__(self, *_fault: object) -> None:
        if self._server:
            self._server.close()
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        """Variables for the client. Older clients ask only where there is a DISPLAY, so there always is one."""
        return {
            "SSH_ASKPASS": str(self._folder / "ask"),
            "SSH_ASKPASS_REQUIRE": "force",
            "DISPLAY": os.environ.get("DISPLAY") or "none:0",
            "GPUPLANNER_ASK": str(self._folder / "s"),
            "GPUPLANNER_ASK_TOKEN": self._token,
        }

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        # A task that ends as cancelled here makes asyncio print what a person should not see.
        with suppress(asyncio.CancelledError):
            await self._ask(reader, writer)
        writer.close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError, asyncio.IncompleteReadError):
            asked = json.loads(await reader.readline())
            if not hmac.compare_digest(str(asked["token"]), self._token):
                return
            text = "\n".join(without_controls(line) for line in str(asked["text"]).split("\n"))
            question = Question(
                kind_of(text, str(asked.get("hint", ""))), shortened(text, LONGEST_QUESTION), self._target
            )
            answer = await self._answered(question, reader)
            writer.write(json.dumps({"answer": answer}).encode("utf-8") + b"\n")
            await writer.drain()

    async def _answered(self, question: Question, reader: asyncio.StreamReader) -> str | None:
        """The answer; None when the client goes away before there is one."""
        answering = asyncio.ensure_future(self._answerer(question))
        leaving = asyncio.ensure_future(reader.read(1))
        self.waiting += 1
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            return answering.result() if answering.done() and not answering.cancelled() else None
        finally:
            self.waiting -= 1
            for task in (answering, leaving):
                task.cancel()


_PROGRAM = Path(__file__).with_name("askpass_program.py")
