"""vLLM's start-up lines of its old and its new engine: weights, activations, the cache, and why it refused."""

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
_N = r"(?<![\d.])(\d{1,12}(?:\.\d{1,6})?)(?!\d)"


def _gib(text: str) -> float:
    """Bytes; the old engine's GB were of 2³⁰ too. Raises UnreadableError."""
    return number(text) * _GIB


_TAKEN: tuple[tuple[str, re.Pattern[str], tuple[tuple[str, Callable[[str], Any]], ...]], ...] = (
    (
        "LLM engine (v",
        re.compile(r"Initializing an? (?:V\d )?LLM engine \(v([\w.+-]{1,60})\)"),
        (("version", words),),
    ),
    ("vLLM API server version", re.compile(r"vLLM API server version v?([\d][\w.+-]{1,60})"), (("version", words),)),
    ("with config", re.compile(r"LLM engine .{0,80}with config: .{0,40}model='([^']{1,300})'"), (("model", words),)),
    ("tensor_parallel_size=", re.compile(r"\btensor_parallel_size=(\d{1,5})\b"), (("tensor_parallel", count),)),
    ("max_seq_len=", re.compile(r"\bmax_seq_len=(\d{1,9})\b"), (("max_model_len", count),)),
    ("Loading model weights took", re.compile(rf"Loading model weights took {_N} G"), (("weight_bytes", _gib),)),
    (
        "Model loading took",
        re.compile(rf"Model loading took {_N} Gi?B(?: memory)? and {_N} seconds"),
        (("weight_bytes", _gib), ("load_seconds", number)),
    ),
    ("model weights take", re.compile(rf"model weights take {_N}GiB"), (("weight_bytes", _gib),)),
    ("non_torch_memory", re.compile(rf"non_torch_memory(?: takes |=){_N}GiB"), (("non_torch_bytes", _gib),)),
    (
        "activation peak memory takes",
        re.compile(rf"PyTorch activation peak memory takes {_N}GiB"),
        (("peak_activation_bytes", _gib),),
    ),
    ("reserved for KV Cache is", re.compile(rf"reserved for KV Cache is {_N}GiB"), (("kv_bytes", _gib),)),
    ("kv_cache_size=", re.compile(rf"\bkv_cache_size={_N}GiB"), (("kv_bytes", _gib),)),
    ("Available KV cache memory", re.compile(rf"Available KV cache memory: {_N} GiB"), (("kv_bytes", _gib),)),
    (
        "gpu_memory_utilization",
        re.compile(r"gpu_memory_utilization(?: \(|=)(\d(?:\.\d{1,4})?)\b"),
        (("memory_share", number),),
    ),
    (
        "GPU blocks:",
        re.compile(r"(?:^|\W)GPU blocks: (\d{1,12})(?!\d)(?:, # CPU blocks: (\d{1,12})(?!\d))?"),
        (("gpu_blocks", count), ("cpu_blocks", count)),
    ),
    ("GPU KV cache size", re.compile(r"GPU KV cache size: ([\d,]{1,20}) tokens"), (("kv_tokens", count),)),
    (
        "Maximum concurrency for",
        re.compile(rf"Maximum concurrency for ([\d,]{{1,15}}) tokens per request: {_N}x"),
        (("max_model_len", count), ("max_concurrency", number)),
    ),
    ("raph capturing finished", re.compile(rf"took {_N} GiB"), (("graph_bytes", _gib),)),
    (
        "can be stored in KV cache",
        re.compile(
            r"max seq len \((\d{1,12})\) is larger than the maximum number of tokens that can be stored in KV cache "
            r"\((\d{1,12})\)"
        ),
        (("max_model_len", count), ("largest_len", count)),
    ),
    ("To serve at least one request", re.compile(r"max seq len \((\d{1,12})\)"), (("max_model_len", count),)),
    ("KV cache is needed", re.compile(rf"{_N} GiB KV cache is needed"), (("needed_bytes", _gib),)),
    (
        "available KV cache memory (",
        re.compile(rf"available KV cache memory \({_N} GiB\)"),
        (("available_bytes", _gib),),
    ),
    (
        "stimated maximum model length",
        re.compile(r"stimated maximum model length is (\d{1,12})(?!\d)"),
        (("largest_len", count),),
    ),
)
"""A word that stands in each such line, looked for first; the line; and what its groups are."""
_SURE = (
    "# GPU blocks:",
    "GPU KV cache size:",
    "Available KV cache memory:",
    "Maximum concurrency for ",
    "Memory profiling results:",
    "the rest of the memory reserved for KV Cache is",
    "can be stored in KV cache (",
    "GiB KV cache is needed",
    "LLM engine (v",
    "vLLM API server version",
)
_REFUSED = ("can be stored in KV cache (", "KV cache is needed, which is larger", "To serve at least one request with")
_NO_MEMORY = "No available memory for the cache blocks"
_BLOCK = re.compile(r"\bblock_size=(\d{1,4})\b")


def recognise(output: Output) -> int:
    """Certain by a line that no other server prints."""
    return CERTAIN if any(word in output.text for word in (*_SURE, _NO_MEMORY)) else NO


def parse(output: Output) -> Parsed:
    """One start: of what each worker prints the first line stands."""
    reading = Reading(output)
    faults: list[ToolFault] = []
    wanted = [row for row in _TAKEN if row[0] in output.text]
    refused = [word for word in _REFUSED if word in output.text]
    for line in output.lines:
        text = line.text
        for word, pattern, fields in wanted:
            if word in text and (match := pattern.search(text)):
                for (field, convert), group in zip(fields, match.groups(), strict=False):
                    if group is not None:
                        reading.take(field, group, convert, line)
        if "block_size=" in text and (match := _BLOCK.search(text)):
            reading.take("block_tokens", match[1], count, line)
        if refused and any(word in text for word in refused):
            reading.put("too_long", True, line)
        if not faults and _NO_MEMORY in text:
            fault = Reading(output)
            fault.put("said", shortened(text.strip(), LONGEST_QUOTE), line)
            faults.append(fault.made(ToolFault, kind="out_of_memory"))
    servers = (reading.made(ServerStart, server="vllm"),) if reading else ()
    return Parsed(Evidence(servers=servers, faults=tuple(faults), looked_for=frozenset({"servers"})))


PARSER = Parser("vllm-log", recognise, parse)
