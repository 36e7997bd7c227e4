"""The tables of nccl-tests and rccl-tests: all collectives, old and new columns, also behind a launcher's marks."""

import re

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.measured import CollectiveRow, CollectiveRun
from gpuplanner.probe.evidence.record import LONGEST_QUOTE
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, number, words

_HEADER = re.compile(r"^\s{0,40}#\s{1,40}size\s{1,40}count\s{1,40}type\b.{0,80}\btime\s{1,20}algbw\s{1,20}busbw")
_START = re.compile(r"^\s{0,40}# (?:nThread \d|nccl-tests version |Collective test starting)")
_NAME = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|sendrecv|gather|scatter|hypercube)_perf"
)
_RANK = re.compile(
    r"^\s{0,40}#\s{1,20}Rank\s{1,10}(\d{1,6})\s{1,10}(?:Group\s{1,10}\d{1,6}\s{1,10})?Pid\s{1,10}\d{1,10}\s{1,10}on"
    r"\s{1,40}(\S{1,100})\s{1,10}device\s{1,10}\d{1,4}\s{1,10}\[[^\]]{1,20}\]\s{1,10}(.{1,100})$"
)
_ROW = re.compile(
    r"^\s{0,40}(?P<size>\d{1,16})\s{1,40}(?P<count>\d{1,16})\s{1,40}(?P<type>[a-z]\w{1,15})"
    r"(?:\s{1,40}(?P<operation>[a-z]\w{1,10}))?"
    r"(?P<values>(?:\s{1,40}(?:-?\d{1,12}(?:\.\d{1,6})?(?:e[-+]?\d{1,3})?|N/A|nan|inf)){4,9})\s{0,120}$"
)
_BOUNDS = re.compile(r"^\s{0,40}# Out of bounds values : (\d{1,12})")
_AVERAGE = re.compile(r"^\s{0,40}# Avg bus bandwidth\s{0,20}: (\d{1,9}(?:\.\d{1,9})?)\s{0,120}$")
_LIBRARY = re.compile(r"\bnccl-library=(\d{4,6})\b")
_VERSION = re.compile(r"\bR?NCCL version (\d{1,2}\.\d{1,3}\.\d{1,3})")
_FAILURE = re.compile(r"Test (?:NCCL|CUDA) failure \S{1,60}:\d{1,6}")
_COLUMNS = 4
MOST_ROWS = 50_000
_MOST_RUNS, _MOST_RANKS = 1_000, 100_000


def recognise(output: Output) -> int:
    """Certain by the table's header; likely by rows alone whose mean is stated."""
    if "algbw" in output.text and output.has(_HEADER, "algbw"):
        return CERTAIN
    if "# Avg bus bandwidth" in output.text or "# Out of bounds values" in output.text:
        return CERTAIN
    return LIKELY if "# nThread " in output.text and output.has(_RANK, "Rank") else NO


def parse(output: Output) -> Parsed:
    """The runs in order, each with its ranks and rows, and the failures that the tests state."""
    runs: list[_Run] = []
    faults: list[ToolFault] = []
    name: tuple[str, Line] | None = None
    rows = 0
    for line in output.lines:
        text = line.text
        if "_perf" in text and (match := _NAME.search(text)):
            name = match[1], line
        if (_START.match(text) and not (runs and runs[-1].fresh)) or (
            (_HEADER.match(text) or _RANK.match(text)) and (not runs or runs[-1].has_rows)
        ):
            if len(runs) >= _MOST_RUNS:
                break
            runs.append(_Run(output))
        if runs and name:
            runs[-1].named(*name)
        if runs and rows < MOST_ROWS:
            rows += runs[-1].take(line)
        if (match := _FAILURE.search(text)) and len(faults) < _MOST_RUNS:
            fault = Reading(output)
            fault.put("said", shortened(text.strip(), LONGEST_QUOTE), line)
            faults.append(fault.made(ToolFault, kind="other"))
    made = tuple(run.made() for run in runs)
    return Parsed(Evidence(collectives=made, faults=tuple(faults), looked_for=frozenset({"collectives"})))


class _Run:
    """What one run printed, from its first comment to the mean."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._reading = Reading(output)
        self._ranks: dict[int, tuple[str, str]] = {}
        self._rows: list[CollectiveRow] = []
        self._counts_wrong = True
        self._has_header = False

    @property
    def has_rows(self) -> bool:
        """Whether its table has begun, so that a further header is another run's."""
        return self._has_header

    @property
    def fresh(self) -> bool:
        """Whether nothing but its first comments was read: further ones belong to it."""
        return not self._ranks and not self._has_header

    def named(self, collective: str, line: Line) -> None:
        """The collective, as a command or a comment before the table named it."""
        if not self._has_header:
            self._reading.put("collective", collective, line)

    def take(self, line: Line) -> int:
        """Read a line. How many rows it is."""
        text = line.text
        if match := _RANK.match(text):
            if len(self._ranks) < _MOST_RANKS:
                self._ranks[int(match[1])] = match[2], words(match[3])
                if int(match[1]) == max(self._ranks):
                    self._last_rank = line
        elif _HEADER.match(text):
            self._has_header, self._counts_wrong = True, "#wrong" in text
        elif match := _BOUNDS.match(text):
            self._reading.take("out_of_bounds", match[1], count, line)
        elif match := _AVERAGE.match(text):
            self._reading.take("average_bus_gb_per_s", match[1], number, line)
        elif match := _LIBRARY.search(text):
            self._reading.put("nccl_version", library_version(int(match[1])), line)
        elif match := _VERSION.search(text):
            self._reading.put("nccl_version", match[1], line)
        elif match := _ROW.match(text):
            made = self._read(match, line)
            self._rows += made
            return len(made)
        return 0

    def _read(self, match: re.Match[str], line: Line) -> list[CollectiveRow]:
        """A row out of place and one in place; a table of one way has the first alone."""
        values = match["values"].split()
        # In front of the columns of the times stands the root, or not, as the collective has one.
        values = values[len(values) % _COLUMNS :]
        made = []
        for at in range(0, len(values) - _COLUMNS + 1, _COLUMNS):
            reading = Reading(self._output)
            reading.take("bytes", match["size"], number, line)
            reading.put("kind", match["type"], line)
            if match["operation"]:
                reading.put("operation", match["operation"], line)
            reading.put("in_place", at > 0, line)
            for field, text in zip(
                ("time_us", "algorithm_gb_per_s", "bus_gb_per_s"), values[at : at + _COLUMNS - 1], strict=False
            ):
                reading.take(field, text, number, line)
            if self._counts_wrong:
                reading.take("wrong", values[at + _COLUMNS - 1], count, line)
            made.append(reading.made(CollectiveRow))
        return made

    def made(self) -> CollectiveRun:
        """The record. Hosts are counted only where each rank is listed: a list that is cut off may hide some."""
        if self._ranks:
            ranks = max(self._ranks) + 1
            self._reading.put("ranks", ranks, self._last_rank)
            if len(self._ranks) == ranks:
                self._reading.put("hosts", len({host for host, _ in self._ranks.values()}), self._last_rank)
            self._reading.put(
                "gpu_names", tuple(dict.fromkeys(gpu for _, gpu in self._ranks.values())), self._last_rank
            )
        return self._reading.made(CollectiveRun, rows=tuple(self._rows))


def collective_in(text: str) -> str | None:
    """The collective that a program's name or a line names; None where it names none."""
    match = _NAME.search(text)
    return match[1] if match else None


def library_version(code: int) -> str:
    """NCCL's number of its version: 22105 is 2.21.5, before 2.9 it was 2804 for 2.8.4 (nccl.h)."""
    if code >= 10_000:
        return f"{code // 10_000}.{code % 10_000 // 100}.{code % 100}"
    return f"{code // 1000}.{code % 1000 // 100}.{code % 100}"


PARSER = Parser("nccl-tests", recognise, parse)
