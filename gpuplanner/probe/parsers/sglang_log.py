"""SGLang's start-up lines: weights, the cache, graphs, what it asked for, and why it refused. One GPU's, the first.

Its GB are of 2³⁰ bytes.
"""

import re
from collections.abc import Callable
from typing import Any

from gpuplanner.messages import shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.record import LONGEST_QUOTE
from gpuplanner.probe.evidence.serving_log import ServerStart
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, number, words

_GIB = 2.0**30
_N = r"(?<![\d.])(\d{1,12}(?:\.\d{1,6})?)(?![\d.])"


def _gib(text: str) -> float:
    """Bytes of its GB. Raises UnreadableError."""
    return number(text) * _GIB


_TAKEN: tuple[tuple[str, re.Pattern[str], tuple[tuple[str, Callable[[str], Any]], ...]], ...] = (
    ("ServerArgs(", re.compile(r"ServerArgs\(.{0,60}?model_path='([^']{1,300})'"), (("model", words),)),
    ("ServerArgs(", re.compile(r"\btp_size=(\d{1,5})\b"), (("tensor_parallel", count),)),
    ("ServerArgs(", re.compile(r"\bmem_fraction_static=(0\.\d{1,6}|1(?:\.0)?)\b"), (("memory_share", number),)),
    ("ServerArgs(", re.compile(r"\bpage_size=(\d{1,6})\b"), (("block_tokens", count),)),
    ("Load weight end.", re.compile(rf"mem usage={_N} GB"), (("weight_bytes", _gib),)),
    ("Load weight end.", re.compile(rf"elapsed={_N} s\b"), (("load_seconds", number),)),
    ("KV Cache is allocated", re.compile(r"#tokens: (\d{1,12})(?!\d)"), (("kv_tokens", count),)),
    ("KV Cache is allocated", re.compile(rf"\bKV size: {_N} GB"), (("kv_bytes", _gib),)),
    ("uda graph end.", re.compile(rf"mem usage={_N} GB"), (("graph_bytes", _gib),)),
    ("max_total_num_tokens=", re.compile(r"\bmax_total_num_tokens=(\d{1,12})(?!\d)"), (("kv_tokens", count),)),
    ("max_total_num_tokens=", re.compile(r"\bcontext_len=(\d{1,12})(?!\d)"), (("max_model_len", count),)),
    ("max_total_num_tokens=", re.compile(r"\bmax_running_requests=(\d{1,9})(?!\d)"), (("max_requests", count),)),
)
"""A word that stands in each such line, looked for first; the line; and what its groups are."""
_HALVES = re.compile(rf"\bK size: {_N} GB, V size: {_N} GB")
_REFUSED = "Not enough memory. Please try to increase --mem-fraction-static"
_SURE = ("Load weight end. ", "KV Cache is allocated", "max_total_num_tokens=", "server_args=ServerArgs(")
_WORDS = (*_SURE, "uda graph end.", _REFUSED)
_MARKS = re.compile(r"Load weight end\. |KV Cache is allocated\.|\bmax_total_num_tokens=\d|\bserver_args=ServerArgs\(")


def recognise(output: Output) -> int:
    """Certain by a line that no other server prints."""
    return CERTAIN if output.has(_MARKS, *_SURE) else NO


def parse(output: Output) -> Parsed:
    """The first start in the log, and each time that it refused."""
    reading = Reading(output)
    faults: dict[str, ToolFault] = {}
    for line in output.holding(*_WORDS):
        for word, pattern, taken in _TAKEN:
            if word in line.text and (match := pattern.search(line.text)):
                for (field, convert), text in zip(taken, match.groups(), strict=True):
                    reading.take(field, text, convert, line)
        if "KV Cache is allocated" in line.text and (match := _HALVES.search(line.text)):
            reading.put("kv_bytes", _gib(match[1]) + _gib(match[2]), line)
        if _REFUSED in line.text and not faults:
            fault = Reading(output)
            fault.put("said", shortened(line.text.strip(), LONGEST_QUOTE), line)
            faults[line.text] = fault.made(ToolFault, kind="out_of_memory")
    server = (reading.made(ServerStart, server="SGLang"),) if reading else ()
    return Parsed(Evidence(servers=server, faults=tuple(faults.values()), looked_for=frozenset({"servers"})))


PARSER = Parser("sglang-log", recognise, parse)
