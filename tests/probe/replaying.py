"""A machine that replays a recording: its tools print what the recorded ones printed, each by its arguments."""

import os
import shlex
from pathlib import Path

from gpuplanner.probe.results import Run

_NEEDED_AS_THEY_ARE = {"sh", "head", "ls", "uname", "gpuplanner-measure"}


def replaying_tools(folder: Path, run: Run) -> Path:
    """The folder, with a tool for each recorded command that is none of the system's own."""
    folder.mkdir()
    said: dict[str, list[str]] = {}
    for at, result in enumerate(run.results):
        tool, *words = result.argv
        if tool in _NEEDED_AS_THEY_ARE or result.outcome != "ended":
            continue
        out = folder / f".{at}"
        out.write_bytes(result.out)
        asked = shlex.quote(" ".join(words))
        said.setdefault(tool, []).append(f"  {asked}) /bin/cat '{out}'; exit {result.exit_code or 0};;")
    for tool, cases in said.items():
        # What was not recorded fails, as an option that a tool does not know.
        other = 'exec /bin/cat "$@"' if tool == "cat" else "exit 2"
        text = "\n".join(["#!/bin/sh", 'case "$*" in', *cases, f"  *) {other};;", "esac", ""])
        (folder / tool).write_text(text, encoding="utf-8")
        (folder / tool).chmod(0o755)
    return folder


def own_client(folder: Path, options: tuple[str, ...]) -> Path:
    """A folder with an `ssh` that reads a configuration of ours as a person's reads theirs."""
    folder.mkdir()
    real = next(path for path in map(Path, ("/usr/bin/ssh", "/usr/local/bin/ssh")) if os.access(path, os.X_OK))
    client = folder / "ssh"
    client.write_text(f'#!/bin/sh\nexec {real} {shlex.join(options)} "$@"\n', encoding="utf-8")
    client.chmod(0o755)
    return folder
