"""The frames that the program there writes, one a line, out of a stream that others may write into as well."""

import base64
import binascii
import json
import time
from collections.abc import Sequence
from typing import Any

from gpuplanner.probe.commands import Command
from gpuplanner.probe.results import OUTCOMES, CommandResult
from gpuplanner.probe.transports import Began, Ended, Event, Hello

LONGEST_FRAME = 100_000_000
"""Bytes of a line: the largest output allowed, in base64."""


def job(commands: Sequence[Command]) -> list[dict[str, Any]]:
    """The commands as the program there takes them."""
    return [
        {
            "id": command.id,
            "argv": list(command.argv),
            "limit_s": command.limit_s,
            "limit_bytes": command.limit_bytes,
            "expand": command.expand,
        }
        for command in commands
    ]


def event_of(frame: Any, sent_at: float | None = None) -> Event | None:
    """What a frame tells; None when it tells nothing that we know. `sent_at`: when we asked, by our clock."""
    if not isinstance(frame, dict):
        return None
    try:
        match frame.get("frame"):
            case "hello":
                offset = None
                if sent_at is not None:
                    now = time.time()
                    offset = float(frame["time"]) - (sent_at + now) / 2
                said = [str(frame.get(name, ""))[:100] for name in ("python", "system", "user")]
                return Hello(said[0], said[1], said[2], frame.get("root") is True, offset)
            case "began":
                return Began(str(frame["id"])[:100])
            case "ended":
                return Ended(_result(frame))
    except (KeyError, TypeError, ValueError, binascii.Error, OverflowError):
        return None
    return None


def frames_in(line: bytes, mark: bytes) -> Any:
    """The frame of a line; None of a line that is none, such as a banner's."""
    if not line.startswith(mark) or len(line) > LONGEST_FRAME:
        return None
    try:
        return json.loads(line[len(mark) :])
    except (ValueError, RecursionError):
        return None


def _result(frame: dict[str, Any]) -> CommandResult:
    code = frame.get("code")
    return CommandResult(
        id=str(frame["id"])[:100],
        argv=tuple(str(part)[:4096] for part in list(frame["argv"])[:4096]),
        exit_code=code if isinstance(code, int) else None,
        outcome=OUTCOMES[str(frame["outcome"]).removesuffix("_alive")],
        out=base64.b64decode(frame["out"]),
        err=base64.b64decode(frame["err"]),
        seconds=float(frame["seconds"]),
        began=float(frame["began"]),
    )
