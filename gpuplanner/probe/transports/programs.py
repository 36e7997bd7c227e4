"""Programs of ours as a machine gets them: one text on standard input, with the job that it is to do. Runs nothing."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from gpuplanner.probe.there import bundle
from gpuplanner.probe.transports import Told

Heard: TypeAlias = Callable[[dict[str, Any]], bytes | None]
"""Gets the frames of a program that are no events of a transport. They are a stranger's: any value may be in them.

What it gives back is sent there.
"""

READER = "import sys;exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))"
"""What a Python there is started with: reads the length of the text in a line, then the text, and runs it."""


@dataclass(frozen=True, slots=True)
class Program:
    """`parts`: the files of `there` that make it up. `work`: the function that does the job, none for commands."""

    parts: tuple[str, ...]
    work: str | None

    def text(self, mark: str, patience_s: float, job: Mapping[str, Any]) -> bytes:
        """The text with its length before it. `mark`: before each frame; `patience_s`: how long it hears nobody."""
        told = json.dumps(json.dumps({"mark": mark, "patience_s": patience_s, **job}))
        text = f"{bundle(*self.parts)}\nmain(json.loads({told}), {self.work})\n".encode()
        return b"%d\n" % len(text) + text


COLLECT = Program(("collect",), None)
MEASURE = Program(
    (
        "collect", "nvml", "conditions", "kernels", "cuda", "libraries", "lt", "report", "alone", "together", "disk",
        "channel", "torch_part", "measure",
    ),
    "measure",
)  # fmt: skip
SAMPLE = Program(("collect", "nvml", "host", "faults", "sample"), "sample")


class Runner(Protocol):
    """A way to a machine on which programs of ours can run."""

    @property
    def name(self) -> str:
        """What a person calls the machine."""

    async def run(self, program: Program, work: Mapping[str, Any], told: Told, heard: Heard) -> bool:
        """Run a program there; whether it came to its end.

        Cancelling the task that awaits this ends it within two seconds.
        Raises InputError where the machine cannot be reached, or has no Python.
        """
