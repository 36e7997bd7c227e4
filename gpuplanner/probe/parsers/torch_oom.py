"""PyTorch's sentence about memory that it did not get, in the wording of each of its versions."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.serving_log import OutOfMemory
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, size_bytes

_SIZE = r"(?<![\d.])(\d{1,12}(?:\.\d{1,4})? (?:bytes|[KMGT]iB))"
_SENTENCE = "out of memory. Tried to allocate"
_WANTED = re.compile(rf"(?:CUDA|HIP) out of memory\. Tried to allocate {_SIZE}")
_FIELDS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (
        re.compile(rf"GPU \d{{1,4}} has a total capaci?ty of {_SIZE} of which {_SIZE} is free"),
        ("total_bytes", "free_bytes"),
    ),
    (re.compile(rf"this process has {_SIZE} memory in use"), ("process_bytes",)),
    (re.compile(rf"Of the allocated memory {_SIZE} is allocated by PyTorch"), ("allocated_bytes",)),
    (
        re.compile(rf"\(GPU \d{{1,4}}; {_SIZE} total capacity; {_SIZE} already allocated; {_SIZE} free"),
        ("total_bytes", "allocated_bytes", "free_bytes"),
    ),
    (re.compile(rf"{_SIZE} (?:reserved in total by PyTorch|cached\))"), ("reserved_bytes",)),
)
_UNALLOCATED = re.compile(rf"{_SIZE} is reserved by PyTorch but unallocated")
_GPU = re.compile(r"(?:\. |\()GPU (\d{1,4})\b")
_MOST = 1_000


def recognise(output: Output) -> int:
    """Certain by its first words."""
    return CERTAIN if _SENTENCE in output.text and output.has(_WANTED, _SENTENCE) else NO


def parse(output: Output) -> Parsed:
    """Each failed allocation once, however often a traceback repeats its sentence."""
    found: dict[str, OutOfMemory] = {}
    for line, match in output.matching(_WANTED) if _SENTENCE in output.text else ():
        sentence = line.text[match.start() :]
        if sentence not in found and len(found) < _MOST:
            found[sentence] = _read(output, line, match[1], sentence)
    return Parsed(Evidence(out_of_memory=tuple(found.values()), looked_for=frozenset({"out_of_memory"})))


def _read(output: Output, line: Line, wanted: str, sentence: str) -> OutOfMemory:
    reading = Reading(output)
    reading.take("wanted_bytes", wanted, size_bytes, line)
    if match := _GPU.search(sentence):
        reading.take("gpu_index", match[1], count, line)
    held: dict[str, float] = {}
    for pattern, fields in _FIELDS:
        if match := pattern.search(sentence):
            for field, text in zip(fields, match.groups(), strict=False):
                held.setdefault(field, size_bytes(text))
                reading.take(field, text, size_bytes, line)
    if "allocated_bytes" in held and (match := _UNALLOCATED.search(sentence)):
        # What PyTorch holds is what it gave out and what it keeps.
        reading.put("reserved_bytes", held["allocated_bytes"] + size_bytes(match[1]), line)
    return reading.made(OutOfMemory)


PARSER = Parser("torch-oom", recognise, parse)
