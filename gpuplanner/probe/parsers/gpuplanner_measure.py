"""Our own measuring program: a line of JSON a result, which way gave the number, and what the GPU did meanwhile."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import FaultKind, ToolFault
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Bandwidth, CollectiveRow, CollectiveRun, DiskRate, MatrixRate, Path
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS, bus_id
from gpuplanner.probe.values import Reading, UnreadableError, words

HEAD = '{"gpuplanner-measure":'
MOST_RESULTS = 20_000
_REASONS = ("throttle_reasons", "target_throttle_reasons")
_BEGINS = re.compile(r"^\{\"gpuplanner-measure\":")
_MEBIBYTE = 1 << 20
_LARGEST_WHOLE = 2**53

_KINDS: Mapping[str, FaultKind] = {
    "no_library": "no_library",
    "no_device": "no_devices",
    "missing_symbol": "driver_too_old",
    "driver_mismatch": "mismatch",
    "not_compatible": "mismatch",
    "out_of_memory": "out_of_memory",
    "gpu_fault": "device_error",
    "ecc_error": "device_error",
    "no_code_for_gpu": "not_supported",
    "no_peer_access": "not_supported",
    "driver_not_loaded": "no_driver",
    "gpu_is_lost": "gpu_lost",
    "reset_required": "needs_reset",
}


def recognise(output: Output) -> int:
    """Certain by the first line of our own."""
    return CERTAIN if HEAD in output.text and output.has(_BEGINS, HEAD) else NO


def parse(output: Output) -> Parsed:
    """Rates, all-reduce runs by the number of GPUs, the GPUs by name, and a fault for what was not measured."""
    found = _Found(output)
    problems = []
    inside = False
    for line in output.lines:
        if line.text.startswith(HEAD):
            inside = True
        elif inside and line.text.startswith("{") and found.count < MOST_RESULTS:
            try:
                frame = json.loads(line.text)
            except (ValueError, RecursionError):
                problems.append(Problem(line.number, msg("probe.measure.line")))
                continue
            if isinstance(frame, dict):
                found.take(frame, line)
    return Parsed(found.evidence(), tuple(problems[:20]))


class _Found:
    """The results so far."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._gpus: list[Gpu] = []
        self._bandwidths: list[Bandwidth] = []
        self._rates: list[MatrixRate] = []
        self._disk_rates: list[DiskRate] = []
        self._rows: dict[tuple[str | None, int | None, str | None], list[CollectiveRow]] = {}
        self._first: dict[tuple[str | None, int | None, str | None], Reading] = {}
        self._faults: list[ToolFault] = []
        self.count = 0

    def take(self, frame: dict[str, Any], line: Line) -> None:
        """Read one frame; one that is none of ours is left."""
        self.count += 1
        match frame.get("frame"), frame.get("kind"):
            case "machine", _:
                self._machine(frame, line)
            case "result", "bandwidth":
                self._bandwidth(frame, line)
            case "result", "matrix":
                self._matrix(frame, line)
            case "result", "disk":
                self._disk(frame, line)
            case "result", "collective":
                self._collective(frame, line)
            case (("failed" | "without"), _):
                self._fault(frame, line)

    def evidence(self) -> Evidence:
        """Everything that was read."""
        runs = [
            self._first[key].made(CollectiveRun, hosts=1, rows=tuple(rows), gpu_names=self._names(key[1]))
            for key, rows in self._rows.items()
        ]
        return Evidence(
            gpus=tuple(self._gpus[:MOST_GPUS]),
            bandwidths=tuple(self._bandwidths),
            matrix_rates=tuple(self._rates),
            disk_rates=tuple(self._disk_rates),
            collectives=tuple(runs),
            faults=tuple(self._faults),
        )

    def _names(self, ranks: int | None) -> tuple[str, ...]:
        """The GPUs that took part, where all of the machine did."""
        names = tuple(gpu.name for gpu in self._gpus if gpu.name)
        return names if len(names) == ranks else ()

    def _machine(self, frame: dict[str, Any], line: Line) -> None:
        listed = frame.get("gpus")
        for gpu in listed if isinstance(listed, list) else []:
            if not isinstance(gpu, dict):
                continue
            reading = Reading(self._output)
            _put(reading, line, gpu, {"index": ("index", _whole), "multiprocessors": ("multiprocessors", _whole)})
            _put(reading, line, gpu, {name: (name, _text) for name in ("name", "uuid", "compute_capability")})
            _put(reading, line, gpu, {"pci_bus_id": ("pci_bus_id", _bus), "memory_total_mib": ("memory_bytes", _mib)})
            if reading:
                self._gpus.append(reading.made(Gpu, vendor="nvidia"))

    def _bandwidth(self, frame: dict[str, Any], line: Line) -> None:
        if frame.get("path") not in get_args(Path):
            return
        reading = Reading(self._output)
        reading.put("path", frame["path"], line)
        _put(reading, line, frame, {name: (name, _whole) for name in ("source", "target")})
        _put(reading, line, frame, {name: (name, _number) for name in ("bytes", "gb_per_s", "latency_us")})
        _put(reading, line, frame, {name: (name, _flag) for name in ("counts_both", "p2p_enabled", "both_ways")})
        _put(reading, line, frame, {"method": ("method", _text)})
        _put(reading, line, _during(frame), {name: (name, _whole) for name in ("pcie_gen", "pcie_width")})
        _put(reading, line, _reasons(frame), {name: (name, _whole) for name in _REASONS})
        if "gb_per_s" in reading:
            if "both_ways" not in reading:
                reading.put("both_ways", False, line)
            self._bandwidths.append(reading.made(Bandwidth, tool=PARSER.tool))

    def _matrix(self, frame: dict[str, Any], line: Line) -> None:
        reading = Reading(self._output)
        _put(reading, line, frame, {"gpu_index": ("gpu", _whole), "tflop_per_s": ("tflop_per_s", _number)})
        _put(reading, line, frame, {name: (name, _text) for name in ("dtype", "path")})
        _put(reading, line, frame, {name: (name, _whole) for name in ("m", "n", "k")})
        _put(reading, line, _during(frame), {name: (name, _number) for name in ("clock_sm_mhz", "power_w")})
        _put(reading, line, _during(frame), {"throttle_reasons": ("throttle_reasons", _whole)})
        if "tflop_per_s" in reading:
            self._rates.append(reading.made(MatrixRate))

    def _disk(self, frame: dict[str, Any], line: Line) -> None:
        reading = Reading(self._output)
        _put(reading, line, frame, {name: (name, _text) for name in ("operation", "path", "job")})
        _put(reading, line, frame, {"direct": ("direct", _flag), "queue_depth": ("queue_depth", _whole)})
        rates = ("block_bytes", "gb_per_s", "operations_per_s", "latency_mean_us", "latency_p99_us")
        _put(reading, line, frame, {name: (name, _number) for name in rates})
        if "gb_per_s" in reading:
            self._disk_rates.append(reading.made(DiskRate))

    def _collective(self, frame: dict[str, Any], line: Line) -> None:
        whole = Reading(self._output)
        _put(whole, line, frame, {"ranks": ("ranks", _whole)})
        _put(whole, line, frame, {name: (name, _text) for name in ("collective", "nccl_version")})
        run = whole.made(CollectiveRun)
        row = Reading(self._output)
        _put(row, line, frame, {"collective": ("collective", _text), "time_us": ("seconds", _microseconds)})
        _put(row, line, frame, {"wrong": ("wrong", _whole)})
        _put(row, line, frame, {name: (name, _number) for name in ("bytes", "algorithm_gb_per_s", "bus_gb_per_s")})
        if "bus_gb_per_s" not in row:
            return
        key = run.collective, run.ranks, run.nccl_version
        self._first.setdefault(key, whole)
        self._rows.setdefault(key, []).append(row.made(CollectiveRow, kind="float", operation="sum", in_place=True))

    def _fault(self, frame: dict[str, Any], line: Line) -> None:
        reason = frame.get("reason")
        if not isinstance(reason, str):
            return
        reading = Reading(self._output)
        reading.put("kind", _KINDS.get(reason, "other"), line)
        _put(reading, line, frame, {"gpu_index": ("gpu", _whole)})
        said = frame.get("said")
        reading.put("said", words(f"{reason}: {said}" if isinstance(said, str) and said.strip() else reason), line)
        what = frame.get("what")
        wanted = words(what) if isinstance(what, str) and what.strip() else "gpuplanner-measure"
        self._faults.append(reading.made(ToolFault, wanted=wanted))


def _put(
    reading: Reading, line: Line, values: dict[str, Any], fields: Mapping[str, tuple[str, Callable[[Any], Any]]]
) -> None:
    """Read fields from values of a frame; one that is no such value is left out."""
    for field, (name, convert) in fields.items():
        if values.get(name) is None:
            continue
        try:
            reading.put(field, convert(values[name]), line)
        except (UnreadableError, OverflowError):
            continue


def _during(frame: dict[str, Any]) -> dict[str, Any]:
    during = frame.get("during")
    return during if isinstance(during, dict) else {}


def _reasons(frame: dict[str, Any]) -> dict[str, Any]:
    """What held back the one GPU, or the source and the target of two.

    Reasons of two together are of neither, unless there are none.
    """
    during, source, target = _during(frame), frame.get("source"), frame.get("target")
    together, by_gpu = during.get("throttle_reasons"), during.get("throttle_reasons_by_gpu")
    if source is None or target is None or source == target:
        return {_REASONS[0]: together}
    if isinstance(by_gpu, dict):
        return dict(zip(_REASONS, (by_gpu.get(str(source)), by_gpu.get(str(target))), strict=True))
    return dict.fromkeys(_REASONS, together if together == 0 else None)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_WHOLE:
        raise UnreadableError(value)
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UnreadableError(value)
    return float(value)


def _microseconds(value: Any) -> float:
    return _number(value) * 1e6


def _mib(value: Any) -> float:
    return _number(value) / _MEBIBYTE


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnreadableError(value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UnreadableError(value)
    return words(value)


def _bus(value: Any) -> str:
    return bus_id(_text(value))


PARSER = Parser("gpuplanner-measure", recognise, parse)
