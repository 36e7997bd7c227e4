"""The sampling program, run as it runs on a machine, against an NVML with recorded values and the real `/proc`."""

import ast
import ctypes
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.probe.telemetry import Telemetry
from gpuplanner.probe.there import bundle, host
from gpuplanner.probe.there.faults import Faults, KernelLog
from gpuplanner.probe.transports.programs import SAMPLE

FEW = {"interval_s": 0.1, "seconds": 0.5}


@pytest.fixture
def sampled(libraries, start):
    def run(job=FEW, old=False, **settings):
        libraries.put("nvml", old=old)
        there = start(SAMPLE, job, **settings)
        frames = there.frames()
        assert there.errors.read() == b""
        return frames

    return run


def samples(frames):
    return [frame for frame in frames if frame["frame"] == "sample"]


def test_all_values_of_a_gpu_come_with_the_time(sampled):
    frames = sampled({"interval_s": 0.1, "seconds": 1.7}, gpus=2, busy=1)
    assert (frames[0]["frame"], frames[-1]) == ("hello", {"frame": "end", "whole": True})
    taken = samples(frames)
    quick = {
        "gpu": 1, "utilization_percent": 87, "memory_percent": 41, "memory_used_mib": 2048.0, "clock_sm_mhz": 1755,
        "clock_memory_mhz": 2619, "power_w": 431.5, "temperature_c": 62, "pcie_gen": 5, "pcie_width": 16,
        "throttle_reasons": 4,
    }  # fmt: skip
    assert quick.items() <= taken[0]["gpus"][1].items()
    slow = [frame["gpus"][1] for frame in taken if "pcie_sent_mb_per_s" in frame["gpus"][1]]
    # Once a second, and the rates of NVLink from the second look on.
    assert len(slow) == 2
    assert slow[0]["processes"] == [{"pid": 4242, "used_bytes": 3 << 30}]
    assert (slow[0]["pcie_sent_mb_per_s"], slow[0]["pcie_received_mb_per_s"], slow[0]["encoder_percent"]) == (
        1e3,
        2e3,
        3,
    )
    assert "nvlink_sent_mb_per_s" not in slow[0]
    assert slow[1]["nvlink_received_mb_per_s"] == pytest.approx(2 * slow[1]["nvlink_sent_mb_per_s"], rel=0.01)
    machine = next(frame for frame in frames if frame["frame"] == "machine")
    assert machine["gpus"] == [
        {"index": 0, "name": "NVIDIA Stub 0", "uuid": "GPU-0000"},
        {"index": 1, "name": "NVIDIA Stub 1", "uuid": "GPU-0001"},
    ]
    assert machine["absent"] == {"decoder_percent": "not_supported"}


@pytest.mark.alone
def test_ten_a_second_of_eight_gpus_although_the_driver_is_slow(sampled):
    taken = samples(sampled({"interval_s": 0.1, "seconds": 1.0}, gpus=8, pcie_us=20_000))
    assert 9 <= len(taken) <= 12
    assert all(len(frame["gpus"]) == 8 for frame in taken)
    times = [frame["at_s"] for frame in taken]
    assert max(later - earlier for earlier, later in pairwise(times)) < 0.3


def test_the_host_comes_from_proc(sampled):
    frames = sampled({"interval_s": 0.1, "seconds": 1.7}, gpus=1)
    hosts = [frame["host"] for frame in samples(frames) if "host" in frame]
    assert len(hosts) == 2
    assert 0 < hosts[0]["memory_used_mib"] < hosts[0]["memory_total_mib"]
    assert "cpu_percent" not in hosts[0]
    assert 0 <= hosts[1]["cpu_percent"] <= 100


def test_a_lost_gpu_is_told_and_the_others_go_on(sampled):
    taken = samples(sampled(gpus=2, lost=0))
    assert taken[0]["gpus"][0]["lost"] is True
    assert "power_w" not in taken[0]["gpus"][0]
    assert taken[0]["gpus"][1]["power_w"] == 431.5


def test_what_an_old_driver_lacks_is_left_out_and_named(sampled):
    frames = sampled(old=True, gpus=1)
    machine = next(frame for frame in frames if frame["frame"] == "machine")
    assert machine["absent"]["throttle_reasons"] == "function_not_found"
    first = samples(frames)[0]["gpus"][0]
    assert "throttle_reasons" not in first
    assert first["power_w"] == 431.5


@pytest.mark.parametrize(("settings", "reason"), [({"nvml_init": 9}, "driver_not_loaded"), (None, "no_library")])
def test_without_nvml_the_host_alone_is_sampled_and_that_is_said(libraries, start, settings, reason):
    if settings:
        libraries.put("nvml")
    frames = start(SAMPLE, FEW, **(settings or {})).frames()
    assert [frame["reason"] for frame in frames if frame["frame"] == "without"] == [reason]
    assert samples(frames)[0]["gpus"] == []
    assert "memory_total_mib" in samples(frames)[0]["host"]


def test_it_goes_on_until_nobody_listens(libraries, start):
    libraries.put("nvml")
    there = start(SAMPLE, {"interval_s": 0.1, "seconds": 0}, gpus=1)
    while there.next()["frame"] != "sample":
        pass
    began = time.monotonic()
    there.input.close()
    assert there.frames()[-1] == {"frame": "end", "whole": False}
    assert time.monotonic() - began < 2


def proc(monkeypatch, **files):
    monkeypatch.setattr(
        host, "lines_of", lambda path: [line.split() for line in files.get(path.split("/")[2], "").splitlines()]
    )


def test_a_disk_counts_once_with_its_partitions(monkeypatch):
    rows = ["259 0 nvme0n1 1 0 100 0 1 0 10", "259 1 nvme0n1p1 1 0 90 0 1 0 9", "259 2 nvme0n10 1 0 7 0 1 0 3",
            "8 0 sda 1 0 1000 0 1 0 0", "8 1 sda1 1 0 1000 0 1 0 0", "65 160 sdaa 1 0 1 0 1 0 1",
            "7 0 loop0 1 0 9999 0 1 0 0", "253 0 dm-0 1 0 1000 0 1 0 0"]  # fmt: skip
    proc(monkeypatch, diskstats="\n".join(rows))
    counted: dict[str, float] = {}
    host._disks(counted)
    assert counted == {"disk_read": 512 * 1108, "disk_written": 512 * 14}


def test_it_is_written_for_the_python_of_old_machines():
    ast.parse(bundle(*SAMPLE.parts), feature_version=(3, 6))


def test_an_xid_comes_with_the_gpu_that_met_it(sampled):
    frames = sampled({"interval_s": 0.1, "seconds": 1.4}, gpus=2, xid_gpu=1, xid=63)
    met = [(gpu["gpu"], gpu["xids"]) for frame in samples(frames) for gpu in frame["gpus"] if "xids" in gpu]
    assert met == [(1, [63])]
    assert "xid" not in next(frame for frame in frames if frame["frame"] == "machine")["absent"]


def test_without_the_drivers_events_the_kernels_log_is_followed_or_the_reason_told(libraries, monkeypatch, tmp_path):
    class Driver:
        def __init__(self):
            self.absent = {"xid": "not_supported"}

        def xids_of(self, _handles):
            return None

        def at_bus(self, bus):
            return {"0000:3b:00.0": ctypes.c_void_p(7)}.get(bus)

    log = tmp_path / "kmsg"
    monkeypatch.setattr(KernelLog.__init__, "__defaults__", (str(log),))
    handles = [(4, ctypes.c_void_p(7))]
    driver: Any = Driver()
    Faults(driver, handles)
    assert driver.absent == {"xid": "not_found"}
    log.write_text("6,1,1,-;NVRM: Xid (PCI:0000:3b:00): 31, before we came\n", encoding="utf-8")
    driver = Driver()
    faults = Faults(driver, handles)
    assert driver.absent == {}
    assert faults.heard() == {}
    with log.open("a", encoding="utf-8") as file:
        file.write("4,2,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.\n")
    assert faults.heard() == {4: [79]}
    faults.close()
    assert faults.heard() == {}


@pytest.mark.alone
def test_sampling_eight_gpus_ten_times_a_second_costs_a_hundredth_of_a_core(libraries, start):
    """The processor's time of the process there between two frames, without its start; and ours to take the frames."""
    libraries.put("nvml")
    there = start(SAMPLE, {"interval_s": 0.1, "seconds": 0}, gpus=8, busy=1, pcie_us=20_000)
    telemetry = Telemetry()

    def until(at_s):
        while (frame := there.next()).get("at_s", 0) < at_s:
            telemetry.take(frame)

    def all_threads():
        tasks = Path(f"/proc/{there.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9

    def costs(end_s):
        there_before, here_before, began = all_threads(), time.thread_time(), time.monotonic()
        until(end_s)
        passed = time.monotonic() - began
        return (all_threads() - there_before) / passed, (time.thread_time() - here_before) / passed

    until(1.0)
    # What another program takes of the caches counts too: the least of three is ours.
    measured = [costs(end_s) for end_s in (2.5, 4.0, 5.5)]
    assert min(there_share for there_share, _ in measured) < 0.01
    assert min(here_share for _, here_share in measured) < 0.02
