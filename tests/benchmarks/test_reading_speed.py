"""How long all parsers take to say that a long text is of no tool, against one plain search line after line.

Both are timed in the same run on the same text, in time of the processor: their ratio says how many such searches it
costs to know some eighty tools, on any machine. The texts are what somebody would make to keep the program busy.
"""

import random
import re
import time
from collections.abc import Callable

import pytest

from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import parsers
from tests.benchmarks.measuring import least_seconds

pytestmark = pytest.mark.benchmark(timer=time.process_time)

SIZE = 3_000_000
SEED = 7
LINE = re.compile(r"^[ \t]{0,40}GPU (\d{4}): nothing")
BAIT = [
    "GPU 0: x",
    "Link 0: a",
    "Bus",
    "NVIDIA",
    "UUID:",
    "MIG",
    "# size",
    "algbw",
    "Address",
    "[0.1]",
    "kernel:",
    "Xid",
    "01:00.0 x",
    "memory",
    "MemTotal",
    "total",
    "/dev/sda",
    "limit",
    "open files",
    "N/A",
    "+---+",
    "GB/s",
    "driver",
    "Driver Version",
    "CUDA",
    "error",
    "Error",
    "failed",
    "model",
    "cpu",
    "cgroup",
    "max",
    "NUMA",
    "node",
    "device",
    "Size",
    "Name:",
    "status",
    "x16",
    "LnkSta",
    "eth0:",
    "fio",
    "index, nothing",
]
"""Words that parsers look for, in lines that no tool prints."""


def short_lines(chance: random.Random) -> str:
    letters = "GPU0:|# \tMIGNVL,=[]()abcdef-./"
    return "".join(f"{''.join(chance.choices(letters, k=chance.randint(1, 20)))}\n" for _ in range(50_000))


def words(chance: random.Random) -> str:
    return "".join(f"{' '.join(chance.choices(BAIT, k=chance.randint(1, 3)))}\n" for _ in range(50_000))


def wide_lines(chance: random.Random) -> str:
    letters = "GPU0:|# \tMIGNVL,=[]()abcdefghijklmnopqrstuvwxyz-./0123456789"
    return "".join(f"{''.join(chance.choices(letters, k=63))}\n" for _ in range(20_000))


@pytest.mark.parametrize(("kind", "most"), [(short_lines, 12.0), (words, 18.0), (wide_lines, 38.0)])
def test_a_text_of_no_tool_costs_few_searches(kind: Callable[[random.Random], str], most: float) -> None:
    block = kind(random.Random(SEED))
    content = (block * (SIZE // len(block) + 1))[:SIZE].encode()
    text = content.decode()
    output = Output.of(content, "text")

    def recognise() -> None:
        fresh = Output(output.name, output.text)
        for parser in parsers():
            parser.recognise(fresh)

    def search() -> None:
        sum(1 for line in text.split("\n") if LINE.match(line))

    ratio = least_seconds(recognise, 2) / least_seconds(search, 5)
    assert ratio < most
