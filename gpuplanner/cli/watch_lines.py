"""One sample of one GPU, or of the host, as a line of text or of JSON. Prints nothing."""

import json
from collections.abc import Mapping

from gpuplanner.cli.columns import cells
from gpuplanner.cli.context import Context
from gpuplanner.probe.telemetry import Reading, reasons_of
from gpuplanner.units import PERCENT, Shown

NONE = "–"
_COLUMNS = (
    # Message of the heading, value, unit, cells.
    ("use", "utilization_percent", PERCENT, 6),
    ("memory", "memory_used_mib", "MiB", 13),
    ("clock_sm", "clock_sm_mhz", "MHz", 10),
    ("clock_memory", "clock_memory_mhz", "MHz", 10),
    ("power", "power_w", "W", 8),
    ("temperature", "temperature_c", "°C", 8),
    ("pcie_received", "pcie_received_mb_per_s", "GB/s", 10),
    ("pcie_sent", "pcie_sent_mb_per_s", "GB/s", 10),
    ("nvlink_received", "nvlink_received_mb_per_s", "GB/s", 10),
    ("nvlink_sent", "nvlink_sent_mb_per_s", "GB/s", 10),
)
HELD = frozenset(value for _, value, unit, _ in _COLUMNS if unit == "GB/s")
"""Values that are asked once a second: between two looks the last one is shown."""
_HOST = (
    ("host_cpu", "cpu_percent", PERCENT),
    ("host_memory", "memory_used_mib", "MiB"),
    ("host_disk_read", "disk_read_mb_per_s", "MB/s"),
    ("host_disk_written", "disk_written_mb_per_s", "MB/s"),
    ("host_received", "network_received_mb_per_s", "MB/s"),
    ("host_sent", "network_sent_mb_per_s", "MB/s"),
)
_FIRST = 9


def header(context: Context) -> str:
    """The headings of the columns."""
    first = [_right(context.text("cli.watch.at"), _FIRST), _right("GPU", 4)]
    widths = [_right(context.text(f"cli.watch.{name}"), width) for name, _, _, width in _COLUMNS]
    return " ".join([*first, *widths])


def row(reading: Reading, held: Mapping[str, float], context: Context) -> str:
    """The line of a reading; a value that the driver does not give is a dash, and what throttles is named behind.

    `held`: the last values of what is not asked at every sample.
    """
    at = _right(f"{reading.at_s:,.1f} s", _FIRST)
    if reading.gpu is None:
        known = [(name, reading.values[value], unit) for name, value, unit in _HOST if value in reading.values]
        parts = [f"{context.text(f'cli.watch.{name}')} {_number(value, unit)}" for name, value, unit in known]
        return f"{at} {_right(context.text('cli.watch.host'), 4)} " + " · ".join(parts)
    first = f"{at} {_right(str(reading.gpu), 4)}"
    if reading.lost:
        return f"{first} {context.text('cli.watch.lost')}"
    known_values = {**held, **reading.values}
    values = [
        _right(_number(known_values[value], unit) if value in known_values else NONE, width)
        for _, value, unit, width in _COLUMNS
    ]
    names = reasons_of(reading.throttle_reasons or 0)
    mark = [", ".join(context.text(f"cli.watch.reason.{name}") for name in names)] if names else []
    return " ".join([first, *values, *(f"▼ {each}" for each in mark)])


def json_line(reading: Reading) -> str:
    """The reading for a program. The host's has no GPU; what was not asked or not given has no key."""
    told: dict[str, object] = {"at_s": round(reading.at_s, 3), "gpu": reading.gpu, **reading.values}
    if reading.throttle_reasons is not None:
        told["throttle_reasons"] = reading.throttle_reasons
        told["throttled"] = list(reasons_of(reading.throttle_reasons))
    if reading.lost:
        told["lost"] = True
    if reading.xids:
        told["xids"] = list(reading.xids)
    if reading.processes is not None:
        told["processes"] = [
            {"pid": one.pid, "used_bytes": one.used_bytes, "name": one.name} for one in reading.processes
        ]
    return json.dumps(told)


def _number(value: float, unit: str) -> str:
    if unit == "GB/s":
        return str(Shown(f"{value / 1e3:,.1f}", unit))
    digits = f"{value:,.1f}" if unit in {"W", "MB/s"} else f"{value:,.0f}"
    return str(Shown(digits, unit))


def _right(text: str, width: int) -> str:
    return " " * (width - cells(text)) + text
