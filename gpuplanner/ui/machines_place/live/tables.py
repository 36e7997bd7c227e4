"""The samples as rows: what each GPU does now, and the lowest, mean and highest of the time shown. No widget."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from gpuplanner.messages import msg
from gpuplanner.probe.telemetry import Telemetry
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.machines_place.live.metrics import Metric
from gpuplanner.ui.table.columns import NOTHING, Column, Look
from gpuplanner.ui.table.source import PlainRow


def _words(value: Any, _appearance: Appearance) -> Look:
    return NOTHING if value is None else Look(str(value))


def _bytes(value: Any, _appearance: Appearance) -> Look:
    return NOTHING if value is None else Look(f"{value / 2**30:,.1f}")


def value_columns() -> tuple[Column, ...]:
    """Columns of the table twin."""
    numbers = ("now", "low", "mean", "high")
    return (
        Column("who", msg("liveui.column.who"), _words, width=54),
        Column("what", msg("liveui.column.what"), _words, width=84),
        *(
            Column(name, msg(f"liveui.column.{name}"), _words, right=True, width=46, yields=name != "now")
            for name in numbers
        ),
    )


def process_columns() -> tuple[Column, ...]:
    """Columns of the table of processes."""
    return (
        Column("gpu", msg("liveui.column.gpu"), _words, right=True, width=42),
        Column("pid", msg("liveui.column.pid"), _words, right=True, width=62),
        Column("name", msg("liveui.column.program"), _words, width=84, yields=True),
        Column("memory", msg("liveui.column.memory"), _bytes, lambda _display: "GiB", right=True, width=80),
    )


def value_rows(
    telemetry: Telemetry, metrics: Sequence[Metric], span_s: float, appearance: Appearance
) -> list[PlainRow]:
    """A row a metric and GPU."""
    rows = []
    for metric in metrics:
        title = f"{appearance.text(metric.title)} {metric.unit}"
        for gpu, name in metric.keys(telemetry):
            series = telemetry.series[gpu, name]
            _, low, mean, high = series.recent(span_s)
            who = appearance.text("liveui.host") if gpu is None else f"GPU {gpu}"
            values = (series.last, low.min(), mean.mean(), high.max()) if len(mean) else (None,) * 4
            told = tuple(None if value is None else metric.text(float(value)) for value in values)
            rows.append(PlainRow(f"{metric.id} {gpu}", (who, title, *told)))
    return rows


def process_rows(telemetry: Telemetry) -> list[PlainRow]:
    """A row a process and GPU."""
    return [
        PlainRow(f"{gpu} {one.pid}", (gpu, one.pid, one.name or None, one.used_bytes))
        for gpu, found in sorted(telemetry.processes.items())
        for one in found
    ]


def as_csv(telemetry: Telemetry, metrics: Sequence[Metric], span_s: float, began: str) -> str:
    """Every bin of what is drawn; for other programs, so without the words and numbers of a language."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("began", "at_s", "gpu", "metric", "unit", "low", "mean", "high"))
    for metric in metrics:
        for gpu, name in metric.keys(telemetry):
            for at_s, low, mean, high in zip(*telemetry.series[gpu, name].recent(span_s), strict=True):
                numbers = (f"{value * metric.factor:.6g}" for value in (low, mean, high))
                writer.writerow(
                    (began, f"{at_s:.1f}", "host" if gpu is None else gpu, metric.id, metric.unit, *numbers)
                )
    for mark in telemetry.marks:
        if mark.at_s > telemetry.ended_s - span_s:
            what, value = ("xid", mark.xid) if mark.xid is not None else ("throttle_reasons", mark.reasons)
            writer.writerow((began, f"{mark.at_s:.1f}", mark.gpu, what, "", value, value, value))
    return out.getvalue()
