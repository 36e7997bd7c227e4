"""`watch`: samples of a machine as they come, a line a sample and GPU, until the time is over or Ctrl-C."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from gpuplanner.cli.columns import safe
from gpuplanner.cli.context import Context
from gpuplanner.cli.machine_target import transport_to, until_interrupted
from gpuplanner.cli.watch_lines import HELD, header, json_line, row
from gpuplanner.machines.low_utilization import Cause, explain
from gpuplanner.machines.no_gpus import no_gpus
from gpuplanner.probe.telemetry import Mark, Reading, Telemetry, readings, reasons_of
from gpuplanner.probe.transports import Event, Lost
from gpuplanner.probe.transports.programs import SAMPLE
from gpuplanner.units import percent


def watch_machine(options: argparse.Namespace, context: Context) -> int:
    """Watch a machine. Exit code 1 where the way to it broke, or it shows no GPU; an interrupt is a normal end."""
    watching = Watching(context, as_json=options.json)
    runner = transport_to(options.target)
    job = {"interval_s": options.interval, "seconds": options.seconds}
    whole = until_interrupted(runner.run(SAMPLE, job, watching.told, watching.heard))
    watching.explained()
    if whole is False:
        return 1
    return 0 if watching.saw_gpus else 1


class Watching:
    """Prints what comes. Keeps no more than the last state of each GPU."""

    def __init__(self, context: Context, *, as_json: bool) -> None:
        self._context = context
        self._as_json = as_json
        self._telemetry = Telemetry()
        self._headed = as_json
        self.saw_gpus = False

    def told(self, event: Event) -> None:
        """Say that the machine is lost."""
        if isinstance(event, Lost):
            print(f"gpuplanner: {self._context.text(event.why)}", file=sys.stderr)

    def heard(self, frame: dict[str, Any]) -> None:
        """A frame of the sampling program: who is there, what is not, or a sample."""
        match frame.get("frame"):
            case "without" if frame.get("what") == "xid":
                print(f"gpuplanner: {self._context.text('liveui.no_xid')}", file=sys.stderr)
            case "without":
                reason = safe(str(frame.get("reason", "")))
                print(f"gpuplanner: {self._context.text(no_gpus(reason))}", file=sys.stderr)
            case "machine":
                if not self._as_json:
                    for line in _named(frame):
                        print(line)
            case "sample":
                self._sample(frame)

    def explained(self) -> None:
        """Say at the end how much the GPUs worked, and the likeliest cause where that is little."""
        told = explain(self._telemetry)
        if told.cause in {Cause.NO_GPU, Cause.TOO_SHORT}:
            return
        text = self._context.text
        if self._as_json:
            print(json.dumps({
                "cause": told.cause.value,
                "utilization_percent": told.utilization_percent,
                "signs": [text(sign) for sign in told.signs],
                "others": [other.value for other in told.others],
                "not_sampled": [text(each) for each in told.unseen],
            }))  # fmt: skip
            return
        joint = text("live.said.and")
        cause = text(f"live.cause.{told.cause}")
        signs = joint.join(text(sign) for sign in told.signs)
        if told.utilization_percent is not None:
            print(text("live.said.seen", percent=percent(told.utilization_percent / 100)))
        print(text("live.said.because", signs=signs, cause=cause) if signs else cause)
        if told.cause is not Cause.NONE:
            print(text(f"live.advice.{told.cause}"))
        if told.unseen:
            print(text("live.said.unseen", what=joint.join(text(each) for each in told.unseen)))

    def _sample(self, frame: dict[str, Any]) -> None:
        if not self._headed:
            print(header(self._context))
            self._headed = True
        marks = self._telemetry.take(frame)
        lines = []
        for reading in readings(frame):
            self.saw_gpus |= reading.gpu is not None
            lines.append(json_line(reading) if self._as_json else self._row(reading))
        if not self._as_json:
            lines += [self._mark(mark) for mark in marks]
        if lines:
            # A sample at once: eighty writes a second cost more than the samples do.
            print("\n".join(lines), flush=True)

    def _row(self, reading: Reading) -> str:
        series = self._telemetry.series
        held = {
            name: last
            for name in HELD
            if (reading.gpu, name) in series and (last := series[reading.gpu, name].last) is not None
        }
        return row(reading, held, self._context)

    def _mark(self, mark: Mark) -> str:
        text = self._context.text
        if mark.xid is not None:
            return f"GPU {mark.gpu}: Xid {mark.xid}"
        if not mark.reasons:
            return text("cli.watch.not_throttled", gpu=mark.gpu)
        names = ", ".join(text(f"cli.watch.reason.{name}") for name in reasons_of(mark.reasons))
        return text("cli.watch.throttled", gpu=mark.gpu, reasons=names)


def _named(frame: dict[str, Any]) -> Iterator[str]:
    gpus = frame.get("gpus")
    for gpu in (gpus if isinstance(gpus, list) else [])[:64]:
        if isinstance(gpu, dict):
            yield f"GPU {safe(str(gpu.get('index', '?')))}: {safe(str(gpu.get('name', '–')))}"
