"""A run as a file, for another day or another person: lines of JSON that an editor shows. Runs nothing.

The first line says what the file is; each other one is a command's result. Output that is no UTF-8 is in base64.
"""

import base64
import binascii
import json
import math
from collections.abc import Sequence
from typing import Any

from gpuplanner.messages import InputError, msg, on_one_line, shortened
from gpuplanner.probe.results import OUTCOMES, CommandResult, Run

FORMAT = "gpurun/1"
LARGEST_BYTES = 256_000_000
MOST_RESULTS = 2_000
"""Commands of a run: many times those of all tiers."""


def written(run: Run) -> str:
    """The run as text, a line a result."""
    head = {
        "format": FORMAT,
        "target": run.target,
        "began": run.began,
        "whole": run.whole,
        "clock_offset_s": run.clock_offset_s,
        "python": run.python,
        "root": run.root,
        "asked": {id_: list(argv) for id_, argv in run.asked.items()},
    }
    lines = [head, *(_row(result) for result in run.results)]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


def is_recording(text: str) -> bool:
    """Whether a text begins as a recording does, of any version."""
    return text.lstrip("\ufeff \n").startswith('{"format":"gpurun/')


def read_recording(text: str, name: str) -> Run:
    """The run of a recording. Raises InputError naming the file and what is wrong with it.

    A recording whose end is missing gives what is there, and is not whole.
    """
    lines = text.lstrip("\ufeff \n").split("\n")
    head = _object(lines[0])
    if head is None or not str(head.get("format", "")).startswith("gpurun/"):
        raise InputError(msg("probe.recording.none", file=name))
    if head["format"] != FORMAT:
        raise InputError(
            msg("probe.recording.newer", file=name, format=shortened(on_one_line(str(head["format"])), 40))
        )
    rows = [line for line in lines[1:] if line.strip()]
    if len(rows) > MOST_RESULTS:
        raise InputError(msg("probe.recording.too_many", file=name, count=len(rows), limit=MOST_RESULTS))
    results = []
    for at, row in enumerate(rows, 2):
        try:
            results.append(_result(_object(row)))
        except (KeyError, TypeError, ValueError, OverflowError, binascii.Error):
            if at == len(rows) + 1:
                return _run(head, results, name, whole=False)
            raise InputError(msg("probe.recording.line", file=name, line=at)) from None
    return _run(head, results, name, whole=head.get("whole") is True)


def _run(head: dict[str, Any], results: Sequence[CommandResult], name: str, *, whole: bool) -> Run:
    try:
        offset = head.get("clock_offset_s")
        return Run(
            target=str(head["target"])[:300],
            began=_finite(head["began"]),
            results=tuple(results),
            whole=whole,
            clock_offset_s=None if offset is None else _finite(offset),
            python=str(head.get("python", ""))[:100],
            root=head.get("root") is True,
            recorded=True,
            asked={str(id_): _words(argv) for id_, argv in dict(head.get("asked", {})).items()},
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(msg("probe.recording.line", file=name, line=1)) from None


def _object(line: str) -> dict[str, Any] | None:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _row(result: CommandResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "argv": list(result.argv),
        "exit_code": result.exit_code,
        "outcome": result.outcome,
        "seconds": round(result.seconds, 6),
        "began": result.began,
        **_text("out", result.out),
        **_text("err", result.err),
    }


def _text(name: str, content: bytes) -> dict[str, str]:
    try:
        return {name: content.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(content).decode("ascii")}


def _content(row: dict[str, Any], name: str) -> bytes:
    if name in row:
        if not isinstance(row[name], str):
            raise TypeError(row[name])
        return str(row[name]).encode("utf-8")
    return base64.b64decode(row[f"{name}_base64"], validate=True)


def _result(row: dict[str, Any] | None) -> CommandResult:
    if row is None or row["outcome"] not in OUTCOMES:
        raise ValueError
    code = row["exit_code"]
    return CommandResult(
        id=str(row["id"]),
        argv=_words(row["argv"]),
        exit_code=code if isinstance(code, int) else None,
        outcome=row["outcome"],
        out=_content(row, "out"),
        err=_content(row, "err"),
        seconds=_finite(row["seconds"]),
        began=_finite(row["began"]),
    )


def _words(argv: Any) -> tuple[str, ...]:
    """An argument list. Raises TypeError where it is none."""
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        raise TypeError(argv)
    return tuple(argv)


def _finite(value: Any) -> float:
    """A number that clocks give. Raises ValueError, TypeError or OverflowError where it is none."""
    number = float(value)
    if isinstance(value, str) or not math.isfinite(number):
        raise ValueError(value)
    return number
