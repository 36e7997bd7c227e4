"""Differences as they are read, in both languages: each field has a name, each value its unit."""

import pytest

from gpuplanner.acceptance import differences as module
from gpuplanner.acceptance.differences import Change
from gpuplanner.machines.difference_words import Row, rows_between, rows_within
from gpuplanner.messages import Language, Translator
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import KernelEvent
from gpuplanner.probe.evidence.gpu import Gpu, NvLink
from gpuplanner.probe.evidence.host import System
from gpuplanner.probe.evidence.measured import Bandwidth, CollectiveRow, CollectiveRun, DiskRate, MatrixRate

ENGLISH, CHINESE = Translator(Language.ENGLISH), Translator(Language.CHINESE)


def read(row: Row, translator: Translator = ENGLISH) -> tuple[str, ...]:
    return tuple(
        each if isinstance(each, str) else translator.text(each)  # type: ignore[arg-type]  # rows hold these two only
        for each in (row.where, row.what, row.before, row.after, row.change)
    )


BEFORE = Evidence(
    gpus=(Gpu(index=0, uuid="a", power_limit_w=700, memory_total_mib=81559, remap_pending=False),
          Gpu(index=1, uuid="b", name="NVIDIA H100")),
    nvlinks=(NvLink(gpu_index=0, link=3, crc_errors=0),),
    system=System(kernel="5.15"), looked_for=frozenset({"kernel_log"}),
    bandwidths=(Bandwidth(path="host_to_device", target=5, method="pinned", gb_per_s=55.2),),
    matrix_rates=(MatrixRate(gpu_index=2, dtype="bf16", path="torch", tflop_per_s=788),),
    collectives=(CollectiveRun(collective="all_reduce", ranks=8, rows=(
        CollectiveRow(bytes=2**29, bus_gb_per_s=480),)),),
    disk_rates=(DiskRate(operation="read", block_bytes=2**20, queue_depth=32, gb_per_s=3),),
)  # fmt: skip
AFTER = Evidence(
    gpus=(Gpu(index=0, uuid="a", power_limit_w=500, memory_total_mib=81560, remap_pending=True),),
    nvlinks=(NvLink(gpu_index=0, link=3, crc_errors=7),),
    system=System(kernel="6.8"), events=(KernelEvent(kind="xid", code=79, pci_bus_id="00000000:19:00.0"),),
    bandwidths=(Bandwidth(path="host_to_device", target=5, method="pinned", gb_per_s=26.1),),
    matrix_rates=(MatrixRate(gpu_index=2, dtype="bf16", path="torch", tflop_per_s=641),),
    collectives=(CollectiveRun(collective="all_reduce", ranks=8, rows=(
        CollectiveRow(bytes=2**29, bus_gb_per_s=322),)),),
    disk_rates=(DiskRate(operation="read", block_bytes=2**20, queue_depth=32, gb_per_s=6),),
)  # fmt: skip


def test_two_runs_as_they_are_read():
    rows = rows_between(BEFORE, AFTER)
    assert [read(row) for row in rows] == [
        ("GPU 0", "Memory", "81,559 MiB", "81,560 MiB", "Changed"),
        ("GPU 0", "Power limit", "700 W", "500 W", "Changed"),
        ("GPU 0", "Row remapping waits for a reset", "No", "Yes", "Changed"),
        ("GPU 1", "The GPU itself", "NVIDIA H100", "–", "Gone"),
        ("GPU 0, NVLink 3", "CRC errors", "0", "7", "Grew"),
        ("Host", "Kernel", "5.15", "6.8", "Changed"),
        ("GPU 00000000:19:00.0", "Xid in the kernel's log", "–", "79", "New"),
        ("GPU 5", "Host to device (pinned)", "55.2 GB/s", "26.1 GB/s", "53% slower"),
        ("GPU 2", "BF16 products (torch)", "788 TFLOPS", "641 TFLOPS", "19% slower"),
        ("All GPUs", "all_reduce, 8 ranks, 512 MiB", "480 GB/s", "322 GB/s", "33% slower"),
        ("Host", "Disk, read in 1.00 MiB blocks, 32 at a time", "3.00 GB/s", "6.00 GB/s", "100% faster"),
    ]
    assert [row.worse for row in rows] == [False, False, False, True, True, False, True, True, True, True, False]


def test_gpus_of_one_machine_as_they_are_read():
    gpus = tuple(Gpu(index=at, pcie_width_current=8 if at in {2, 3} else 16) for at in range(8))
    rates = tuple(
        Bandwidth(path="host_to_device", target=at, method="pinned", gb_per_s=26 if at == 2 else 55) for at in range(8)
    )
    rows = rows_within(Evidence(gpus=gpus, bandwidths=rates))
    assert [read(row) for row in rows] == [
        ("GPU 2–3", "PCIe width", "16", "8", "Differs"),
        ("GPU 2", "Host to device (pinned)", "55.0 GB/s", "26.0 GB/s", "53% slower"),
    ]


FIELDS = sorted(
    {*module.CONFIGURATION, *module.COUNTERS, *(name for names in module._HOST.values() for name in names)}
    | {"active", "gb_per_s", "replay_errors", "recovery_errors", "crc_errors", "presence"}
)


@pytest.mark.parametrize("translator", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_every_field_and_change_has_words(translator: Translator):
    ids = [f"runs.field.{name}" for name in FIELDS] + [f"runs.change.{change.value}" for change in Change]
    assert [id_ for id_ in ids if translator.text(id_) == id_] == []


def test_what_a_machine_printed_is_one_short_line():
    before = Evidence(system=System(kernel="a\nb" + "x" * 500))
    (row,) = rows_between(before, Evidence(system=System(kernel="c")))
    assert "\n" not in str(row.before)
    assert len(str(row.before)) <= 90
