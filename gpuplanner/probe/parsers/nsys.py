"""The summary of an Nsight Systems export, as `probe.nsight.summary` writes it. Judges nothing."""

import re
from collections.abc import Callable
from typing import get_args

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.traces import GpuTrace, IdleCause, WaitingFor
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS, count
from gpuplanner.probe.values import Reading, whole, words

_HEAD = re.compile(r"^Nsight Systems export, summed up by gpuplanner \(nsight/1\)$")
_GPU = re.compile(r"^GPU (\d{1,6}): (.{1,200})$")
_TIME = re.compile(r"^  (span|busy|in kernels|in copies|idle): (\d{1,20}) ns$")
_COUNT = re.compile(r"^  (kernels|copies|gaps): (\d{1,20})(?:, median (\d{1,20}) ns)?(?:, longest (\d{1,20}) ns)?$")
_CAUSE = re.compile(r"^  idle in (\w{3,30}): (\d{1,20}) ns(?:, most in (.{1,200}))?$")
_RANGE = re.compile(r"^  idle in range: (\d{1,20}) ns (.{1,200})$")
_CUT_ROWS = re.compile(r"^Cut: after (\d{1,12}) rows of (\w{1,100})$")
_CUT_TIME = re.compile(r"^Cut: after (\d{1,6}) s in (\w{1,100})$")
_UNREADABLE = re.compile(r"^Cannot be read: (.{1,200})$")
_TIMES = {
    "span": "span_seconds",
    "busy": "busy_seconds",
    "in kernels": "kernel_seconds",
    "in copies": "copy_seconds",
    "idle": "idle_seconds",
}
_WAITING = get_args(WaitingFor)
_MOST_CAUSES = 100


def _scaled(divisor: float) -> Callable[[str], float]:
    return lambda text: whole(text) / divisor


_seconds, _microseconds = _scaled(1e9), _scaled(1e3)


def recognise(output: Output) -> int:
    """Certain by the first line of our own."""
    return CERTAIN if output.has(_HEAD, "(nsight/1)") else NO


def parse(output: Output) -> Parsed:
    """A trace for each GPU, with the causes of its idle time; what was left out is a problem."""
    gpus: list[_Gpu] = []
    problems: list[Problem] = []
    inside = False
    for line in output.lines:
        if _HEAD.match(line.text):
            inside = True
        elif not inside:
            continue
        elif match := _CUT_ROWS.match(line.text):
            problems.append(Problem(line.number, msg("probe.nsight.cut.rows", count=int(match[1]), table=match[2])))
        elif match := _CUT_TIME.match(line.text):
            problems.append(Problem(line.number, msg("probe.nsight.cut.time", seconds=match[1], table=match[2])))
        elif match := _UNREADABLE.match(line.text):
            problems.append(Problem(line.number, msg("probe.nsight.unreadable", reason=match[1])))
        elif (match := _GPU.match(line.text)) and len(gpus) < MOST_GPUS:
            gpus.append(_Gpu(output, match, line))
        elif gpus and line.text.startswith("  "):
            gpus[-1].read(line)
        else:
            inside = False
    traces = tuple(gpu.made() for gpu in gpus)
    return Parsed(Evidence(traces=traces, looked_for=frozenset({"traces"} if traces else ())), tuple(problems))


class _Gpu:
    """The lines below a GPU's."""

    def __init__(self, output: Output, match: re.Match[str], line: Line) -> None:
        self._output = output
        self._reading = Reading(output)
        self._reading.take("gpu_index", match[1], count, line)
        if match[2] != "?":
            self._reading.take("gpu_name", match[2], words, line)
        self._causes: list[IdleCause] = []
        self._ranges: dict[str, float] = {}

    def read(self, line: Line) -> None:
        if match := _TIME.match(line.text):
            self._reading.take(_TIMES[match[1]], match[2], _seconds, line)
        elif match := _COUNT.match(line.text):
            self._reading.take(match[1], match[2], count, line)
            kind = match[1].removesuffix("s")
            for name, text in ((f"{kind}_median_us", match[3]), (f"{kind}_longest_us", match[4])):
                if text and name in GpuTrace.model_fields:
                    self._reading.take(name, text, _microseconds, line)
        elif (match := _RANGE.match(line.text)) and len(self._ranges) < _MOST_CAUSES:
            self._ranges.setdefault(words(match[2]), _seconds(match[1]))
            self._reading.put("ranges", self._ranges, line)
        elif (match := _CAUSE.match(line.text)) and match[1] in _WAITING and len(self._causes) < _MOST_CAUSES:
            cause = Reading(self._output)
            cause.put("waiting_for", match[1], line)
            cause.take("seconds", match[2], _seconds, line)
            if match[3]:
                cause.take("name", match[3], words, line)
            self._causes.append(cause.made(IdleCause))

    def made(self) -> GpuTrace:
        """The record."""
        return self._reading.made(GpuTrace, causes=tuple(self._causes))


PARSER = Parser("nsys", recognise, parse)
