"""One GPU's tree as `nvidia-smi -q` or its XML prints it, leaf after leaf, and the record of it. Recognises no tool."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplanner.probe.evidence.gpu import Gpu, MigDevice, Process
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers.nvidia_labels import FIELDS, PROCESS_FIELDS, SLICE_FIELDS, Convert
from gpuplanner.probe.parsers.nvidia_values import Head, bus_id, count
from gpuplanner.probe.values import Reading, UnreadableError, lacking, whole, words, yes

_REASON_PREFIX = re.compile(r"^clocks_(?:event|throttle)_reasons?_(?:counters_)?")
_REASONS = {
    "idle": 0x1,
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100,
    "display_clocks_setting": 0x100,
}
"""NVML's bits (nvmlClocksEventReason…, nvml.h)."""
_DECISIVE_REASONS = ("hw_slowdown", "sw_power_cap")
"""Without them the mask would say that the GPU is not slowed down although nobody read that."""
_GRAVEST = (
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "hw_slowdown",
    "sw_thermal_slowdown",
    "sw_power_cap",
    "sync_boost",
    "applications_clocks_setting",
    "display_clock_setting",
    "display_clocks_setting",
    "idle",
    "gpu_idle",
)
"""What says most of why a GPU is slowed down, first."""
_COUNTERS = {
    "sw_power_capping": "sw_power_cap",
    "sw_therm_slowdown": "sw_thermal_slowdown",
    "hw_therm_slowdown": "hw_thermal_slowdown",
    "hw_power_braking": "hw_power_brake_slowdown",
    "hw_power_brake": "hw_power_brake_slowdown",
}
"""The names by which `--query-gpu` calls them."""
_SUMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("ecc_corrected", "single_bit/total", ("sram_correctable", "dram_correctable")),
    (
        "ecc_uncorrected",
        "double_bit/total",
        (
            "sram_uncorrectable",
            "sram_uncorrectable_parity",
            "sram_uncorrectable_sec_ded",
            "sram_uncorrectable_secded",
            "dram_uncorrectable",
        ),
    ),
)
_SILENT = (("GPU is lost", "lost"), ("GPU requires reset", "needs reset"))
_LICENCE = re.compile(r"(.{1,60}?)\s{0,4}\(Expiry: ?([^)]{1,80})\)$")


class GpuTree:
    """One GPU's tree as it is read, leaf after leaf; also its slices and processes."""

    def __init__(self, output: Output, given_bus_id: str, line: Line) -> None:
        self._output = output
        self.reading = Reading(output)
        if given_bus_id:
            self.reading.take("pci_bus_id", given_bus_id, bus_id, line)
        self._slices: list[Reading] = []
        self._processes: list[Reading] = []
        self.instance_named = False
        self._flags: dict[str, bool] = {}
        self._counters: dict[str, int] = {}
        self._banks: dict[str, int] = {}
        self._health: dict[str, str] = {}
        self._ecc: dict[str, tuple[str, Line]] = {}
        self._lines: dict[str, dict[str, Line]] = {}

    def new_slice(self) -> None:
        """What follows below `mig_device` is of the next slice."""
        self._slices.append(Reading(self._output))

    def new_process(self) -> None:
        """What follows below `processes` is of the next process."""
        self._processes.append(Reading(self._output))

    def answered(self, text: str, line: Line) -> None:
        """Note that the GPU itself does not answer, where a value's place says so."""
        for sign, state in _SILENT:
            if sign in text:
                self.reading.put("state", state, line)

    def take(self, path: Sequence[str], text: str, line: Line) -> bool:
        """Read a leaf. False when nothing here knows its path."""
        key = "/".join(path)
        self.answered(text, line)
        if key in FIELDS:
            field, convert = FIELDS[key]
            self.reading.take(field, text, convert, line)
            return True
        section, last = path[0], path[-1]
        if "mig_device" in path[:2] and self._slices:
            return self._slices[-1].of(SLICE_FIELDS, "/".join(path[path.index("mig_device") + 1 :]), text, line)
        if section == "processes" and self._processes:
            return self._processes[-1].of(PROCESS_FIELDS, last, text, line)
        return self._group(section, last, key, text, line)

    def _group(self, section: str, last: str, key: str, text: str, line: Line) -> bool:
        short = _REASON_PREFIX.sub("", last)
        if section in {"clocks_event_reasons", "clocks_throttle_reasons"} and short in _REASONS:
            return self._put(self._flags, "throttle_reasons", short, text, yes, line)
        if section == "clocks_event_reasons_counters":
            return self._put(self._counters, "throttle_microseconds", _COUNTERS.get(short, short), text, whole, line)
        if "histogram" in key and section == "remapped_rows":
            return self._put(
                self._banks, "remap_banks", last.removeprefix("row_remapper_histogram_"), text, count, line
            )
        if key.startswith("fabric/health/"):
            return self._put(self._health, "fabric_health", last, text, words, line)
        if section == "ecc_errors":
            self._ecc.setdefault(key.removeprefix("ecc_errors/"), (text, line))
            return True
        if key in {"vgpu_software_licensed_product/license_status", "grid_licensed_product/license_status"}:
            self._licence(text, line)
            return True
        if key == "gpu_reset_status/reset_required" and text.strip() == "Yes":
            self.reading.put("state", "needs reset", line)
            return True
        return False

    def _put(self, group: dict[str, Any], field: str, key: str, text: str, convert: Convert, line: Line) -> bool:
        """A member of a group; what has no value is left out of it."""
        self._lines.setdefault(field, {}).setdefault(key, line)
        if lacking(text) is None and key not in group:
            try:
                group[key] = convert(text)
            except (UnreadableError, OverflowError):
                return True
        return True

    def _licence(self, text: str, line: Line) -> None:
        match = _LICENCE.match(text.strip())
        status, expiry = match.groups() if match else (text, None)
        self.reading.take("licence_status", status, words, line)
        if expiry:
            self.reading.take("licence_expiry", expiry, words, line)

    def _sum_up(self) -> None:
        """Errors of all memories together; where one of them has no value, their sum has none."""
        for span in ("volatile", "aggregate"):
            for field, total, parts in _SUMS:
                found = [self._ecc[f"{span}/{part}"] for part in parts if f"{span}/{part}" in self._ecc]
                named = self._ecc.get(f"{span}/{total}")
                self._add_up(f"{field}_{span}", [named] if named else found)
        sram = [pair for key, pair in self._ecc.items() if key.startswith("aggregate/sram_uncorrectable")]
        self._add_up("ecc_sram_uncorrected_aggregate", sram)

    def _add_up(self, field: str, parts: list[tuple[str, Line]]) -> None:
        total = 0
        for text, line in parts:
            alone = Reading(self._output)
            alone.take(field, text, count, line)
            if field not in alone:
                self.reading.take(field, text, count, line)
                return
            total += count(text)
        if parts:
            self.reading.put(field, total, parts[0][1])

    def _line_of(self, field: str, said: Mapping[str, Any]) -> Line:
        """Of a group's lines that of the gravest member which is more than nothing, so that a person sees the cause."""
        lines = self._lines[field]
        order = (*(name for name in _GRAVEST if said.get(name)), *(name for name in _GRAVEST), *lines)
        return next(lines[name] for name in order if name in lines)

    def made(self, index: int | None, head: Head) -> tuple[Gpu, list[MigDevice], list[Process]]:
        """The records; `index` where the place in the output tells it."""
        self._sum_up()
        if all(reason in self._flags for reason in _DECISIVE_REASONS):
            bits = sum({_REASONS[reason] for reason, active in self._flags.items() if active})
            active = {reason: True for reason in _GRAVEST if self._flags.get(reason)}
            self.reading.put("throttle_reasons", bits, self._line_of("throttle_reasons", active))
        for field, group in (
            ("throttle_microseconds", self._counters),
            ("remap_banks", self._banks),
            ("fabric_health", self._health),
        ):
            if group:
                self.reading.put(field, group, self._line_of(field, group))
        head.give(self.reading)
        gpu = self.reading.made(Gpu, vendor="nvidia", **({} if index is None else {"index": index}))
        owner = {"gpu_index": index, "gpu_uuid": gpu.uuid, "gpu_bus_id": gpu.pci_bus_id}
        slices = [part.made(MigDevice, gpu_index=index) for part in self._slices if part]
        return gpu, slices, [process.made(Process, **owner) for process in self._processes if process]
