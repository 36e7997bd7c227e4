"""What a probe measured, out of its recording, as measurements that estimates count with. Keeps nothing."""

from collections.abc import Iterator
from pathlib import Path

from gpuplanner.acceptance.expected_rates import (
    deciding_products,
    fastest_copies,
    is_own_kernel,
    is_read_in_a_row,
    memory_gb_per_s,
)
from gpuplanner.machines.evidence import of_files
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import CollectiveRow, CollectiveRun
from gpuplanner.probe.recording import is_recording
from gpuplanner.units import GB, TERA
from gpuplanner.workload.measurement_log import COLLECTIVES, PARTS, MeasuredRun

_ALL_REDUCE = "all_reduce"
_HEAD_BYTES = 60
_LEAST_BYTES = 1 << 24
"""Smaller copies show the time that a copy takes to begin, and no rate."""
_LEAST_SIDE = 2048
_SIXTEEN_BITS = ("bf16", "fp16")


def is_probe(path: Path) -> bool:
    """Whether a file is the recording of a probe; what cannot be opened is none."""
    try:
        with path.open("rb") as stream:
            return is_recording(stream.read(_HEAD_BYTES).decode("utf-8-sig", "replace"))
    except OSError:
        return False


def measured_runs(path: Path) -> tuple[MeasuredRun, ...]:
    """The all-reduce over most GPUs that a recording holds, and the rates of its parts.

    Raises InputError where it is no recording, or nothing of either kind was measured.
    """
    evidence = of_files([path]).evidence
    found = tuple(run for run in (_links(evidence), _parts(evidence)) if run is not None)
    if not found:
        raise InputError(msg("own.link.not_probed", file=shortened(path.name, 80)))
    return found


def _links(evidence: Evidence) -> MeasuredRun | None:
    found = [(run, row) for run in evidence.collectives if (row := _largest(run)) is not None]
    if not found:
        return None
    run, row = max(found, key=lambda pair: pair[0].ranks or 0)
    load = {"bytes": float(row.bytes or 0), "ranks": float(run.ranks or 0), "nodes": float(run.hosts or 0)}
    rate = {"bus_bytes_per_s": (row.bus_gb_per_s or 0.0) * GB}
    return MeasuredRun(COLLECTIVES, rate, load, _named(evidence, set(run.gpu_names)))


def _parts(evidence: Evidence) -> MeasuredRun | None:
    """The slowest of equal parts: a step on several GPUs waits for it."""
    rates: dict[str, float] = {}
    memory = [
        rate
        for row in fastest_copies(row for row in evidence.bandwidths if row.path == "device_memory").values()
        if (rate := memory_gb_per_s(row))
    ]
    if memory:
        rates["memory_bytes_per_s"] = min(memory) * GB
    copies = fastest_copies((row for row in evidence.bandwidths if row.path == "host_to_device"), _LEAST_BYTES)
    if copies:
        rates["host_link_bytes_per_s"] = min(row.gb_per_s or 0.0 for row in copies.values()) * GB
    rates |= _product(evidence)
    disks = [rate.gb_per_s for rate in evidence.disk_rates if rate.direct and rate.gb_per_s and is_read_in_a_row(rate)]
    if disks:
        rates["disk_bytes_per_s"] = max(disks) * GB
    rates = {name: value for name, value in rates.items() if value > 0}
    if not rates:
        return None
    return MeasuredRun(PARTS, rates, {"gpus": float(max(len(evidence.gpus), 1))}, _named(evidence, set()))


def _product(evidence: Evidence) -> dict[str, float]:
    """The slowest GPU's largest rate in 16 bits through a library, with the shape that it was reached with."""
    large = [rate for rate in evidence.matrix_rates if min(rate.m or _LEAST_SIDE, rate.n or _LEAST_SIDE) >= _LEAST_SIDE]
    found = [
        rate
        for (_, dtype), rate in deciding_products(large).items()
        if dtype in _SIXTEEN_BITS and not is_own_kernel(rate) and rate.tflop_per_s
    ]
    if not found:
        return {}
    # Of a GPU that was measured in both formats the quicker one tells what it can do.
    best: dict[int | None, float] = {}
    for rate in found:
        best[rate.gpu_index] = max(best.get(rate.gpu_index, 0.0), rate.tflop_per_s or 0.0)
    slowest = min(best.values())
    rate = next(rate for rate in found if rate.tflop_per_s == slowest)
    sides = {"product_rows": rate.m, "product_columns": rate.n, "product_depth": rate.k}
    return {"product_flop_per_s": slowest * TERA} | {name: float(side) for name, side in sides.items() if side}


def _named(evidence: Evidence, names: set[str]) -> str:
    """The name of the GPUs where all have one and the same."""
    names = names or set(_names(evidence))
    return shortened(names.pop(), 100) if len(names) == 1 else ""


def _names(evidence: Evidence) -> Iterator[str]:
    yield from (gpu.name for gpu in evidence.gpus if gpu.name)


def _largest(run: CollectiveRun) -> CollectiveRow | None:
    """The row of the largest message of an all-reduce of right results; None of a run that is none."""
    if run.collective != _ALL_REDUCE or (run.ranks or 0) < 2:
        return None
    rows = [row for row in run.rows if row.operation == "sum" and row.bytes and row.bus_gb_per_s and not row.wrong]
    return max(rows, key=lambda row: row.bytes or 0, default=None)
