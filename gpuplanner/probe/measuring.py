"""A short measurement of a machine over any transport: what it does, whether a person lets it, and what came of it.

What comes is kept as the output of a command, so that a recording of it is read as everything else is.
"""

import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from gpuplanner.messages import Message, msg
from gpuplanner.probe.parsers.gpuplanner_measure import HEAD
from gpuplanner.probe.results import CommandResult, Outcome, Run
from gpuplanner.probe.there import source_of
from gpuplanner.probe.there.measure import WITH_GPUS, WITHOUT_GPUS
from gpuplanner.probe.transports import Event, Hello, Told
from gpuplanner.probe.transports.local import LocalTransport
from gpuplanner.probe.transports.programs import MEASURE, Runner

MOST_SECONDS = 90
MOST_ANSWERED = 1 << 28
"""Bytes that a machine gets in all of those it asks for, to see how fast they come."""
MOST_ANSWERED_AT_ONCE = 1 << 26
MOST_FRAMES = 20_000
LONGEST_FRAME = 12_000
"""Characters: a machine's list of 16 GPUs has some 4,000; what is longer than a line that is read is left out."""
TOOL = "gpuplanner-measure"
ABOUT = '{"frame": "about", "said": "Tested against libraries with recorded values; never run on a GPU."}'
"""Stands in what is kept, so that whoever reads it later knows."""
_PIECE = 1 << 16
"""Longer than what compression looks back over."""
_KEPT = frozenset({"machine", "result", "failed", "without"})


@dataclass(frozen=True, slots=True)
class Measuring:
    """How far it is. `what`: a word of `there/measure.py`, or a tool; `share`: of all steps, 0 to 1.

    `said`: the last line that a tool printed; it is a stranger's.
    """

    what: str
    gpu: int | None
    share: float
    said: str = ""


_STEPS = frozenset({*WITH_GPUS, *WITHOUT_GPUS, "network"})


def step_name(what: str) -> Message | None:
    """What a step of the measuring program is called; None of a word that it does not have."""
    return msg(f"probe.measuring.{what}") if what in _STEPS else None


Progress: TypeAlias = Callable[[Measuring], None]


class Measured:
    """What has come of a measurement so far. `refused`: that somebody computes there, or that nobody can say it."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._began = time.time()
        self._hello: Hello | None = None
        self._lines = [f"{HEAD} 1}}", ABOUT]
        self._answered = 0
        self._freed = False
        self.refused = ""

    def hear(self, event: Event) -> None:
        """Keep who answered."""
        if isinstance(event, Hello):
            self._hello = event

    def take(self, frame: dict[str, Any]) -> Measuring | None:
        """Keep a frame of a result; how far it is where a frame says that."""
        name = frame.get("frame")
        if name == "measuring":
            what, gpu, share = frame.get("what"), frame.get("gpu"), frame.get("share")
            if isinstance(what, str) and isinstance(share, int | float) and 0 <= share <= 1:
                return Measuring(what[:100], gpu if isinstance(gpu, int) else None, float(share))
        elif name == "freed":
            self._freed = True
        elif isinstance(name, str) and name in _KEPT:
            reason = frame.get("reason")
            if name == "failed" and isinstance(reason, str) and reason in {"busy", "maybe_busy"}:
                self.refused = reason
            line = json.dumps(frame)
            if len(line) <= LONGEST_FRAME and len(self._lines) < MOST_FRAMES:
                self._lines.append(line)
        return None

    def answer(self, frame: dict[str, Any]) -> bytes | None:
        """The bytes that a frame asks for, which nothing can make shorter on their way."""
        size = frame.get("bytes")
        if frame.get("frame") != "ask" or not isinstance(size, int) or size <= 0:
            return None
        if size > min(MOST_ANSWERED_AT_ONCE, MOST_ANSWERED - self._answered):
            return None
        self._answered += size
        piece = secrets.token_bytes(min(size, _PIECE))
        return (piece * (size // len(piece) + 1))[:size]

    def run(self, *, whole: bool) -> Run:
        """The measurement as far as it came, as a run with one command."""
        hello = self._hello
        # Refused, or without anything to measure, it ended by itself too.
        outcome: Outcome = "ended" if whole or self._freed else "stopped"
        result = CommandResult(
            id="measure",
            argv=(TOOL,),
            exit_code=0 if whole else 1 if self._freed else None,
            outcome=outcome,
            out="".join(f"{line}\n" for line in self._lines).encode("utf-8"),
            err=b"",
            seconds=time.time() - self._began,
            began=self._began,
        )
        return Run(
            target=self._target,
            began=self._began,
            results=(result,),
            whole=whole,
            clock_offset_s=hello.clock_offset_s if hello else None,
            python=hello.python if hello else "",
            root=hello.root if hello else False,
            asked={"measure": (TOOL,)},
        )


async def measure(
    runner: Runner,
    told: Told,
    progress: Progress,
    measured: Measured,
    *,
    even_if_busy: bool = False,
    only: Sequence[str] = (),
    places: Sequence[str] = (),
) -> Run:
    """Measure over a transport. What came stays in `measured` also when this is cancelled. Raises InputError.

    `only`: steps of `there/measure.py`, all where it is empty. `places`: folders there whose files are read for the
    disks; without them, where large files usually lie.
    """

    def hear(event: Event) -> None:
        measured.hear(event)
        told(event)

    def take(frame: dict[str, Any]) -> bytes | None:
        if step := measured.take(frame):
            progress(step)
        return measured.answer(frame)

    job = {
        "limit_s": MOST_SECONDS, "even_if_busy": even_if_busy, "only": list(only), "places": list(places),
        "torch": source_of("torch_rates"),
        # A pipe to a process on the same machine is no way worth measuring.
        "channel": not isinstance(runner, LocalTransport),
    }  # fmt: skip
    whole = await runner.run(MEASURE, job, hear, take)
    return measured.run(whole=whole)
