"""`fio`: its JSON, and its text for people: rates and latencies of each job and direction."""

import re
from typing import Any

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import DiskRate
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.json_lines import Places, content_of
from gpuplanner.probe.values import Reading, UnreadableError, number, size_bytes, whole, words, yes

_JSON = re.compile(r'"fio version"[ \t]{0,4}:')
_SETUP = re.compile(
    r"^([\w.-]{1,60}): \(g=\d{1,5}\): rw=(\w{1,20}), bs=(?:\(R\) )?(\d{1,9}(?:\.\d{1,3})?[KMG]?i?B?).{0,120}"
    r"iodepth=(\d{1,6})"
)
_JOB = re.compile(r"^([\w.-]{1,60}): \(groupid=\d{1,5}, jobs=\d{1,5}\): err=")
_RATE = re.compile(
    r"^ {1,4}(read|write): IOPS=(\d{1,9}(?:\.\d{1,3})?)([kM]?), BW=\S{1,20} \((\d{1,9}(?:\.\d{1,3})?)([kMG]?)B/s\)"
)
_LATENCY = re.compile(r"^ {1,6}lat \((nsec|usec|msec)\): .{0,60}avg= ?(\d{1,12}(?:\.\d{1,4})?)(?!\d)")
_PERCENTILES = re.compile(r"^ {1,6}(?:clat|lat) percentiles \((nsec|usec|msec)\):")
_P99 = re.compile(r"\| *99\.00th=\[ {0,12}(\d{1,12})\]")
_TO_US = {"nsec": 1e-3, "usec": 1.0, "msec": 1e3}
_MORE = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_MOST_JOBS = 1_000


def recognise(output: Output) -> int:
    """Certain by its version in JSON, or by a job's line with a rate below."""
    if '"fio version"' in output.text and output.has(_JSON, '"fio version"'):
        return CERTAIN
    return (
        CERTAIN if "(groupid=" in output.text and output.has(_JOB, "(groupid=") and output.has(_RATE, "IOPS=") else NO
    )


def parse(output: Output) -> Parsed:
    """A record for each job and direction that moved anything."""
    content = content_of(output) if '"fio version"' in output.text else None
    rates = _of_json(output, content) if isinstance(content, dict) else _of_text(output)
    return Parsed(Evidence(disk_rates=tuple(rates), looked_for=frozenset({"disk_rates"})))


def _of_json(output: Output, content: dict[str, Any]) -> list[DiskRate]:
    rates: list[DiskRate] = []
    places = Places(output)
    shared = content.get("global options")
    jobs = content.get("jobs")
    for job in jobs[:_MOST_JOBS] if isinstance(jobs, list) else ():
        if not isinstance(job, dict):
            continue
        own = job.get("job options")
        options = {**(shared if isinstance(shared, dict) else {}), **(own if isinstance(own, dict) else {})}
        for way in ("read", "write"):
            ran = job.get(way)
            if isinstance(ran, dict) and any(ran.get(key) not in (0, None) for key in ("bw_bytes", "bw", "total_ios")):
                rates.append(_job(output, places, job, way, ran, options))
    return rates


def _job(
    output: Output, places: Places, job: dict[str, Any], way: str, ran: dict[str, Any], options: dict[str, Any]
) -> DiskRate:
    reading = Reading(output)
    kind = str(options.get("rw") or options.get("readwrite") or "")
    name = job.get("jobname")
    if isinstance(name, str):
        reading.take("job", name, words, places.of("jobname", name))
    reading.put("operation", f"rand{way}" if kind.startswith("rand") else way, places.of("rw", kind))
    for key, field, convert in (
        ("bs", "block_bytes", size_bytes),
        ("iodepth", "queue_depth", whole),
        ("direct", "direct", yes),
        ("filename", "path", words),
    ):
        value = options.get(key)
        if isinstance(value, str | int):
            reading.take(field, str(value), convert, places.of(key, value))
    _number(reading, places, ran, "bw_bytes", "gb_per_s", 1e-9)
    _number(reading, places, ran, "bw", "gb_per_s", 1024e-9)
    _number(reading, places, ran, "iops", "operations_per_s", 1.0)
    for unit, factor in (("ns", 1e-3), ("us", 1.0)):
        for block in ("lat", "clat"):
            held = ran.get(f"{block}_{unit}")
            if isinstance(held, dict):
                if block == "lat":
                    _number(reading, places, held, "mean", "latency_mean_us", factor)
                percentiles = held.get("percentile")
                if isinstance(percentiles, dict):
                    _number(reading, places, percentiles, "99.000000", "latency_p99_us", factor)
    return reading.made(DiskRate)


def _number(reading: Reading, places: Places, held: dict[str, Any], key: str, field: str, factor: float) -> None:
    value = held.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        reading.take(field, str(value), lambda text: _scaled(text, factor), places.of(key, value))


def _scaled(text: str, factor: float) -> float:
    value = number(text) * factor
    if value < 0:
        raise UnreadableError(text)
    return value


def _of_text(output: Output) -> list[DiskRate]:
    rates: list[Reading] = []
    setups: dict[str, tuple[Line, re.Match[str]]] = {}
    job = ""
    unit = "usec"
    for line in output.lines:
        text = line.text
        if match := _SETUP.match(text):
            setups.setdefault(match[1], (line, match))
        elif match := _JOB.match(text):
            job = match[1]
        elif (match := _RATE.match(text)) and len(rates) < _MOST_JOBS:
            reading = Reading(output)
            reading.take("job", job, words, line)
            kind = setups[job][1][2] if job in setups else ""
            reading.put("operation", f"rand{match[1]}" if kind.startswith("rand") else match[1], line)
            reading.put("operations_per_s", float(match[2]) * _MORE[match[3]], line)
            reading.put("gb_per_s", float(match[4]) * _MORE[match[5]] / 1e9, line)
            if job in setups:
                above, setup = setups[job]
                reading.take("block_bytes", setup[3], size_bytes, above)
                reading.take("queue_depth", setup[4], whole, above)
            rates.append(reading)
        elif rates and (match := _LATENCY.match(text)):
            rates[-1].put("latency_mean_us", float(match[2]) * _TO_US[match[1]], line)
        elif rates and (match := _PERCENTILES.match(text)):
            unit = match[1]
        elif rates and (match := _P99.search(text)):
            rates[-1].put("latency_p99_us", float(match[1]) * _TO_US[unit], line)
    return [rate.made(DiskRate) for rate in rates]


PARSER = Parser("fio", recognise, parse)
