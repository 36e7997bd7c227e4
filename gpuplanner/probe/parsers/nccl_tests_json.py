"""The report of nccl-tests that its `-J` writes: one JSON, often in a single line."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import CollectiveRow, CollectiveRun
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.parsers.nccl_tests import MOST_ROWS, collective_in, library_version
from gpuplanner.probe.parsers.nvidia_values import count
from gpuplanner.probe.values import Reading, number, words

_MARKS = ('"bus_bw"', '"alg_bw"', '"out_of_place"', '"results"')
_LIBRARY = re.compile(r"\d{4,6}$")
_TIMES = ("time", "cpu_time")


def recognise(output: Output) -> int:
    """Certain by the names of its rows' values."""
    if not all(mark in output.text for mark in _MARKS):
        return NO
    return CERTAIN if isinstance(_report(output), dict) else NO


def parse(output: Output) -> Parsed:
    """The run: who took part, its rows, and its own mean."""
    report = _report(output) or {}
    reading = Reading(output)
    places = Places(output)
    arguments = report.get("args")
    for argument in arguments if isinstance(arguments, list) else ():
        if isinstance(argument, str) and (name := collective_in(argument)):
            reading.put("collective", name, places.of("args", argument))
    library = str(report.get("nccl_version"))
    if _LIBRARY.match(library):
        reading.put("nccl_version", library_version(int(library)), places.of("nccl_version", report["nccl_version"]))
    for key, inner, field, convert in (
        ("average_bus_bandwidth", "bandwidth", "average_bus_gb_per_s", number),
        ("out_of_bounds", "count", "out_of_bounds", count),
    ):
        held = report.get(key)
        if isinstance(held, dict) and inner in held:
            reading.take(field, str(held[inner]), convert, places.of(inner, held[inner]))
    _devices(reading, places, report)
    results = report["results"] if isinstance(report.get("results"), list) else []
    rows = [row for result in results if isinstance(result, dict) for row in _rows(output, places, result)]
    run = reading.made(CollectiveRun, rows=tuple(rows[:MOST_ROWS]))
    return Parsed(Evidence(collectives=(run,), looked_for=frozenset({"collectives"})))


def _report(output: Output) -> dict[str, Any] | None:
    content = content_of(output)
    return content if isinstance(content, dict) and isinstance(content.get("results"), list) else None


def _devices(reading: Reading, places: Places, report: dict[str, Any]) -> None:
    """One device a process is listed, the first of its own; with several to a process the names of all are not told."""
    config = report.get("config")
    config = config if isinstance(config, dict) else {}
    listed = config.get("devices", report.get("devices"))
    devices = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    each = [config.get("nthreads", 1), config.get("ngpus", 1)]
    if not devices or not all(isinstance(number, int) and 0 < number < 1_000_000 for number in each):
        return
    line = places.of("devices", None)
    reading.put("ranks", len(devices) * each[0] * each[1], line)
    for field, key in (("hosts", "hostname"), ("gpu_names", "device_info")):
        texts = [each[key] for each in devices if isinstance(each.get(key), str) and each[key].strip()]
        names = tuple(dict.fromkeys(words(text) for text in texts))
        if names:
            reading.put(field, len(names) if field == "hosts" else names, line)


def _rows(output: Output, places: Places, result: dict[str, Any]) -> list[CollectiveRow]:
    rows = []
    for way in ("out_of_place", "in_place"):
        held = result.get(way)
        if not isinstance(held, dict):
            continue
        reading = Reading(output)
        line = places.of("size", result.get("size"))
        reading.take("bytes", str(result.get("size")), number, line)
        for key, field in (("type", "kind"), ("redop", "operation")):
            text = result.get(key)
            if isinstance(text, str) and text not in {"", "none"}:
                reading.take(field, text, words, line)
        reading.put("in_place", way == "in_place", line)
        time = next((held[key] for key in _TIMES if held.get(key) is not None), None)
        for field, value in (
            ("time_us", time),
            ("algorithm_gb_per_s", held.get("alg_bw")),
            ("bus_gb_per_s", held.get("bus_bw")),
        ):
            if value is not None:
                reading.take(field, str(value), number, line)
        if held.get("nwrong") is not None:
            reading.take("wrong", str(held["nwrong"]), count, line)
        rows.append(reading.made(CollectiveRow))
    return rows


PARSER = Parser("nccl-tests", recognise, parse)
