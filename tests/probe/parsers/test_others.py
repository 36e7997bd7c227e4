"""Parsers of the tools besides NVIDIA's own: that they leave nothing out of real recordings, and what is not theirs.

The recordings are not committed; without them beside the checkout their tests are skipped and say so.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output
from tests.probe.said import read

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"


def _counted(read: Evidence, kind: str) -> int:
    return sum(event.count for event in read.events if event.kind == kind and event.code is not None)


def _of_diag(read: Evidence) -> list[str | None]:
    return [test.result for test in read.diagnostics if test.tool == "dcgmi diag"]


COUNTED: tuple[tuple[str, str, Callable[[Evidence], int]], ...] = (
    ("dmesg", r"NVRM: Xid \((?:PCI:)?[0-9a-f]{4}:", lambda read: _counted(read, "xid")),
    (
        "dmesg",
        r"SXid \(PCI:[0-9a-f:.]+\): \d",
        lambda read: sum(e.count for e in read.events if e.kind == "sxid" and e.code),
    ),
    ("lspci", r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ", lambda read: len(read.pci)),
    ("lspci", r"ACSCtl:", lambda read: sum(1 for device in read.pci if device.acs_flags)),
    (
        "nccl-tests",
        r" \d+ +(?:float|half) .* \d+\.\d+ ",
        lambda read: sum(len(run.rows) for run in read.collectives) // 2,
    ),
    ("nccl-tests", r"# Avg bus bandwidth", lambda read: sum(1 for run in read.collectives if run.average_bus_gb_per_s)),
    ("torch-collect-env", r"GPU \d+: ", lambda read: len(read.gpus)),
    ("rocm-smi", r"\"card\d+\":|^\d +\[0x", lambda read: len(read.gpus)),
    ("cuda-deviceQuery", r"^Device \d+: |^\[GPU \d+\] AMD Instinct", lambda read: len(read.gpus)),
    ("cuda-bandwidthTest", r"^bandwidthTest-", lambda read: len(read.bandwidths)),
    (
        "dcgmi",
        r"^\| [^|]+\| (?:GPU\d+: )?(?:Pass|Fail)",
        lambda read: len(_of_diag(read)),
    ),
    ("dcgmi", r"Device UUID:", lambda read: len(read.gpus)),
    ("ibstat", r"^\s+Port \d+:|^Infiniband device", lambda read: len(read.ib_ports)),
    ("gpu-stream", r"^STREAM_", lambda read: len(read.bandwidths)),
    ("tt-smi", r"\"bus_id\"", lambda read: len(read.gpus)),
)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recordings are not beside this checkout")
@pytest.mark.parametrize(("folder", "mark", "found"), COUNTED, ids=[f"{row[0]} {row[1]}" for row in COUNTED])
def test_nothing_is_left_out_of_a_real_recording(folder: str, mark: str, found: Callable[[Evidence], int]) -> None:
    counted = 0
    for path in sorted((CORPUS / folder).iterdir()):
        output = Output.of(path.read_bytes(), path.name)
        expected = len(re.findall(mark, output.text, re.MULTILINE))
        # A tree names a device that a list below it names again.
        if expected and "lspci -t" not in output.text:
            counted += expected
            assert found(inspect(output).evidence) == expected, path.name
    assert counted


def test_a_log_of_no_kernel_says_nothing_of_the_kernel() -> None:
    line = "Aug 17 00:00:24 node1 systemd[1]: logrotate.service: Deactivated successfully.\n"
    assert "kernel_log" not in read(line * 3).evidence.looked_for
    assert "kernel_log" in read(line + "Aug 17 00:00:25 node1 kernel: eth0: up\n").evidence.looked_for


def test_a_program_s_own_log_is_no_kernel_s() -> None:
    assert read("2026-03-01 10:00:00 INFO step 10 loss 2.31\n[rank0]: step 11\n" * 4).tool is None


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("[    1.000000] x: y\n[    2.000000] Out of memory: Killed process 123456789012345 (a)\n", "events"),
        ("# GPU blocks: 99999999999999999999\n", "servers"),
        ("node:1:1 [0] NCCL INFO Using network IB\nnode:1:1 [0] NCCL INFO 99999 coll channels, 0 nvls\n", "nccl_logs"),
        ("INFO Available KV cache memory: 12345678901234567890.5 GiB\n", "servers"),
    ],
)
def test_a_number_that_is_too_long_is_none_rather_than_its_beginning(text: str, section: str) -> None:
    records = getattr(read(text).evidence, section)
    values = [value for record in records for value in record.read().values() if not isinstance(value, bool)]
    assert not [value for value in values if isinstance(value, int | float) and value > 1]


def test_several_tools_one_after_another_are_all_read() -> None:
    found = read(
        "$ lspci -nn\n3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b5] (rev a1)\n"
        "$ nvcc --version\nCuda compilation tools, release 12.6, V12.6.85\n"
        "$ dmesg | grep NVRM\n[  101.000001] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen\n"
    )
    assert found.tool == "lspci"
    assert [device.device_id for device in found.evidence.pci] == ["0x20B510DE"]
    assert found.evidence.software is not None
    assert found.evidence.software.cuda_toolkit_version == "12.6.85"
    assert [event.code for event in found.evidence.events] == [79]
