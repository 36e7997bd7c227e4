"""Reads what a person measured out of the files that tools write, by their content. Computes no estimate.

Known: the results of `vllm bench serve` and SGLang's `bench_serving` (text, JSON, JSON lines), vLLM's server log, the
logs of Hugging Face's Trainer, torchtitan and Megatron, lines that say tokens a second, and the table of nccl-tests.
"""

import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from gpuplanner.messages import InputError, msg, on_one_line, shortened
from gpuplanner.units import GB, GIB

LARGEST_BYTES = 64_000_000
"""A server's log of some days."""
MOST, LEAST = 1e15, 1e-12
"""No time, rate or count of a run comes near these."""
MS = 1e-3
SERVING, TRAINING, COLLECTIVES, PARTS = "serving", "training", "collectives", "parts"
_NUMBER = r"(?<![\d,.])([0-9][0-9,]{0,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?)"
"""Bounded, and begun nowhere inside another: any file is looked through, and a run of digits is to take no longer."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What a file says. `kind`: of which work; `metrics`: by the ids of an estimate's metrics, in base units.

    `load`: what of the run's load the file says, by the names of the plan's fields; `model`: as printed, of collectives
    the GPU. Collectives: `bus_bytes_per_s` of the largest message, with `bytes`, `ranks` and `nodes` as their load.
    Parts of a machine, which no log tells: their rates, with how many `gpus` it has.
    """

    kind: str
    metrics: Mapping[str, float]
    load: Mapping[str, float]
    model: str = ""


class UnusableMeasurementError(InputError):
    """A file that is a measurement for sure, and cannot be used: what reads other files need not try."""


def read_measurement(path: Path) -> MeasuredRun:
    """What a file of a person says was measured. Raises InputError naming the file and what is wrong with it."""
    name = shortened(on_one_line(path.name), 80)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(msg("own.file.not_a_file", file=name))
        if status.st_size > LARGEST_BYTES:
            raise InputError(msg("own.file.too_large", file=name, limit=LARGEST_BYTES // 1_000_000))
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except FileNotFoundError:
        raise InputError(msg("own.file.missing", file=name)) from None
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or str(fault)
        raise InputError(msg("own.file.cannot_read", file=name, reason=shortened(reason))) from None
    return parse_measurement(text, name)


def parse_measurement(text: str, name: str) -> MeasuredRun:
    """What a text says was measured. Raises InputError where nothing in it is known.

    That is an UnusableMeasurementError where it is known what was measured.
    """
    for reader in (_nccl_table, _json_results, _printed_results, _server_log, _training_log):
        run = reader(text)
        if run is None:
            continue
        measured = {name: value for name, value in run.metrics.items() if LEAST < value < MOST}
        if measured:
            return replace(run, metrics=measured)
        if run.kind == COLLECTIVES:
            raise UnusableMeasurementError(msg("own.link.no_row", file=name))
    if (other := _OTHER_COLLECTIVE.search(text)) is not None and _HEADER.search(text):
        raise UnusableMeasurementError(msg("own.link.other_collective", file=name, collective=other[1]))
    if _HEADER.search(text):
        raise UnusableMeasurementError(msg("own.link.no_ranks", file=name))
    raise InputError(msg("own.file.unknown", file=name))


_RANK = re.compile(
    r"^#[ \t]+Rank[ \t]+\d{1,6}\b.*? on[ \t]+(\S+)[ \t]+device[ \t]+\d+[ \t]+\[\S+\][ \t]+(.+)$", re.MULTILINE
)
_COLUMN = r"[ \t]{1,40}[0-9.]{1,30}"
_MESSAGE = re.compile(
    r"^[ \t]{0,40}([0-9]{1,15})[ \t]{1,40}[0-9]{1,15}[ \t]{1,40}\w{1,30}[ \t]{1,40}(\w{1,30})[ \t]{1,40}-?[0-9]{1,9}"
    rf"{_COLUMN}{_COLUMN}[ \t]{{1,40}}([0-9]{{1,15}}(?:\.[0-9]{{1,15}})?)[ \t]",
    re.MULTILINE,
)
_OTHER_COLLECTIVE = re.compile(r"\b(reduce_scatter|all_gather|alltoall|broadcast|sendrecv)_perf")
_HEADER = re.compile(r"^#[ \t]{1,40}size[ \t]{1,40}count[ \t]{1,40}type[^\n]{1,200}\bbusbw\b", re.MULTILINE)
"""Of the table of nccl-tests."""


def _nccl_table(text: str) -> MeasuredRun | None:
    """The table of nccl-tests' all-reduce: bus bandwidth (out of place) of the largest message, one GPU a rank.

    Without metrics where no row of it is one of a sum that moved anything.
    """
    ranks = _RANK.findall(text)
    if not ranks or _OTHER_COLLECTIVE.search(text):
        return None
    rows = [(int(size), float(busbw) * GB) for size, operation, busbw in _MESSAGE.findall(text) if operation == "sum"]
    size, rate = max((row for row in rows if row[0] > 0), default=(0, 0.0))
    load = {"bytes": float(size), "ranks": float(len(ranks)), "nodes": float(len({host for host, _ in ranks}))}
    return MeasuredRun(COLLECTIVES, {"bus_bytes_per_s": rate}, load, shortened(on_one_line(ranks[0][1]), 100))


def _json_results(text: str) -> MeasuredRun | None:
    """A benchmark's results as JSON: one object, or the last one of several lines."""
    if not text.lstrip().startswith("{"):
        return None
    for piece in (text, *reversed(text.strip().splitlines())):
        try:
            content = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            return _of_benchmark(_numbers(content), str(content.get("model_id") or content.get("model") or ""))
    return None


def _numbers(content: Mapping[str, Any]) -> dict[str, float]:
    return {
        str(key): float(value)
        for key, value in content.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and LEAST < value < MOST
    }


PRINTED = (
    (r"Successful requests", "completed"),
    (r"Max(?:imum)? request concurrency", "max_concurrency"),
    (r"Request rate configured \(RPS\)|Traffic request rate", "request_rate"),
    (r"Total input tokens", "total_input_tokens"),
    (r"Total generated tokens", "total_output_tokens"),
    (r"Output token throughput \(tok/s\)", "output_throughput"),
    (r"Mean TTFT \(ms\)", "mean_ttft_ms"),
    (r"Mean TPOT \(ms\)", "mean_tpot_ms"),
    (r"Median TTFT \(ms\)", "median_ttft_ms"),
    (r"Median TPOT \(ms\)", "median_tpot_ms"),
)
"""Lines of the printed results, and what the same is called in JSON."""


def _printed_results(text: str) -> MeasuredRun | None:
    if "Output token throughput" not in text:
        return None
    found = {}
    for line, key in PRINTED:
        if match := re.search(rf"^[^\n]{{0,40}}(?:{line}):?[ \t]+{_NUMBER}", text, re.MULTILINE):
            found[key] = _value(match[1])
    return _of_benchmark(found, "")


def _of_benchmark(said: Mapping[str, float], model: str) -> MeasuredRun | None:
    """A benchmark of a server. Times are means; medians where no mean is said."""
    metrics: dict[str, float] = {}
    if "output_throughput" in said:
        metrics["output_tokens_per_s"] = said["output_throughput"]
    for name in ("ttft", "tpot"):
        value = said.get(f"mean_{name}_ms", said.get(f"median_{name}_ms"))
        if value is not None:
            metrics[f"{name}_s"] = value * MS
    requests = said.get("completed", 0.0)
    load = {"concurrency": said["max_concurrency"]} if "max_concurrency" in said else {}
    if "request_rate" in said and "max_concurrency" not in said:
        load["request_rate"] = said["request_rate"]
    if requests:
        for field in ("input", "output"):
            if f"total_{field}_tokens" in said:
                load[f"{field}_tokens"] = said[f"total_{field}_tokens"] / requests
    return MeasuredRun(SERVING, metrics, load, shortened(on_one_line(model), 200)) if metrics else None


_VLLM_LINE = re.compile(rf"Avg generation throughput: {_NUMBER} tokens/s, Running: (\d{{1,9}}) reqs")
_VLLM_POOL = re.compile(rf"GPU KV cache size: {_NUMBER} tokens")
_VLLM_ROOM = re.compile(rf"Available KV cache memory: {_NUMBER} GiB")
_VLLM_MODEL = re.compile(r"with config: model='([^']{1,200})'")


def _server_log(text: str) -> MeasuredRun | None:
    """The log of vLLM: the median rate of the lines in which it runs as many requests as in most of its busy ones.

    Of its start, how many tokens the cache holds, and of how many bytes each is.
    """
    pool, model = _logged_pool(text), _VLLM_MODEL.search(text)
    name = shortened(on_one_line(model[1]), 200) if model else ""
    lines = [(_value(rate), int(running)) for rate, running in _VLLM_LINE.findall(text)]
    busy = [(rate, running) for rate, running in lines if rate > 0 and running > 0]
    if not busy:
        return MeasuredRun(SERVING, pool, {}, name) if pool else None
    usual = median(running for _, running in busy)
    rates = [rate for rate, running in busy if usual / 1.25 <= running <= usual * 1.25]
    rate = median(rates or [rate for rate, _ in busy])
    return MeasuredRun(SERVING, {"output_tokens_per_s": rate, **pool}, {"concurrency": usual}, name)


def _logged_pool(text: str) -> dict[str, float]:
    """Tokens that the cache of one replica holds, and bytes of one, where the log says both as its last start did."""
    tokens, room = _VLLM_POOL.findall(text), _VLLM_ROOM.findall(text)
    if not tokens or not (count := _value(tokens[-1])) > 0:
        return {}
    pool = {"kv_pool_tokens": count}
    if len(room) == len(tokens):  # One line each: with several GPUs each says its own room.
        pool["kv_bytes_per_token"] = _value(room[-1]) * GIB / count
    return pool


TRAINING_LINES: Sequence[tuple[str, str, float]] = (
    (r"\btps: {n}", "tokens_per_s_per_gpu", 1.0),
    (r"train_tokens_per_second['\"]?: {n}", "tokens_per_s", 1.0),
    (r"tokens[ _/]?(?:per[ _]sec(?:ond)?|/s(?:ec)?)[ _/]?(?:/|per[ _])?(?:gpu|device|chip)['\"]?[:=]? {0,40}{n}",
     "tokens_per_s_per_gpu", 1.0),
    (r"elapsed time per iteration \(ms\): {n}", "step_s", MS),
    (r"tokens[ _/]?(?:per[ _]sec(?:ond)?|/s(?:ec)?)['\"]?[:=]? {0,40}{n}", "tokens_per_s", 1.0),
    (r"{n} {0,40}(?:tokens|tok)/s(?:ec)?\b", "tokens_per_s", 1.0),
)  # fmt: skip
"""What lines of training logs say: torchtitan's tokens a second of one GPU, the Trainer's of all, Megatron's step."""
_WARM_UP = 0.2
"""Share of the first lines that is left out: what is compiled and allocated first is slower."""


def _training_log(text: str) -> MeasuredRun | None:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    for pattern, metric, scale in TRAINING_LINES:
        values = [v * scale for v in _found(pattern, plain) if v > 0]
        if values:
            settled = values[int(len(values) * _WARM_UP) :]
            return MeasuredRun(TRAINING, {metric: median(settled)}, {})
    return None


def _found(pattern: str, text: str) -> Iterator[float]:
    for match in re.finditer(pattern.replace("{n}", _NUMBER), text, re.IGNORECASE):
        yield _value(match[1])


def _value(printed: str) -> float:
    """A number as printed, 0 where no run comes near it."""
    value = float(printed.replace(",", ""))
    return value if LEAST < value < MOST else 0.0
