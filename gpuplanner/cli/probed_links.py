"""The all-reduce that a probe measured, out of its recording, as a measurement to calibrate with. Keeps nothing."""

from pathlib import Path

from gpuplanner.cli.context import Context
from gpuplanner.cli.machine_evidence import machine_evidence
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.probe.evidence.measured import CollectiveRow, CollectiveRun
from gpuplanner.probe.recording import is_recording
from gpuplanner.units import GB
from gpuplanner.workload.measurement_log import COLLECTIVES, MeasuredRun

_ALL_REDUCE = "all_reduce"
_HEAD_BYTES = 60


def is_probe(path: Path) -> bool:
    """Whether a file is the recording of a probe; what cannot be opened is none."""
    try:
        with path.open("rb") as stream:
            return is_recording(stream.read(_HEAD_BYTES).decode("utf-8-sig", "replace"))
    except OSError:
        return False


def probed_links(path: Path, context: Context) -> MeasuredRun:
    """The all-reduce over most GPUs that the recording holds, with the rate of its largest message.

    Raises InputError where it is no recording, or nothing in it was measured of that kind.
    """
    evidence = machine_evidence([str(path)], context).evidence
    found = [(run, row) for run in evidence.collectives if (row := _largest(run)) is not None]
    if not found:
        raise InputError(msg("own.link.not_probed", file=shortened(path.name, 80)))
    run, row = max(found, key=lambda pair: pair[0].ranks or 0)
    names = set(run.gpu_names) or {gpu.name for gpu in evidence.gpus if gpu.name}
    load = {"bytes": float(row.bytes or 0), "ranks": float(run.ranks or 0), "nodes": float(run.hosts or 0)}
    rate = {"bus_bytes_per_s": (row.bus_gb_per_s or 0.0) * GB}
    return MeasuredRun(COLLECTIVES, rate, load, shortened(names.pop(), 100) if len(names) == 1 else "")


def _largest(run: CollectiveRun) -> CollectiveRow | None:
    """The row of the largest message of an all-reduce of right results; None of a run that is none."""
    if run.collective != _ALL_REDUCE or (run.ranks or 0) < 2:
        return None
    rows = [row for row in run.rows if row.operation == "sum" and row.bytes and row.bus_gb_per_s and not row.wrong]
    return max(rows, key=lambda row: row.bytes or 0, default=None)
