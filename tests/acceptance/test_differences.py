from gpuplanner.acceptance.differences import Change, differences
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import KernelEvent
from gpuplanner.probe.evidence.gpu import Gpu, NvLink
from gpuplanner.probe.evidence.measured import MatrixRate
from gpuplanner.probe.evidence.software import Software


def found(before, after):
    return [(each.section, each.which, each.field, each.change, each.before, each.after)
            for each in differences(before, after)]  # fmt: skip


def test_a_machine_that_is_the_same():
    same = Evidence(gpus=(Gpu(index=0, uuid="a", vbios="1", power_draw_w=70),))
    later = Evidence(gpus=(Gpu(index=0, uuid="a", vbios="1", power_draw_w=400, ecc_mode="Enabled"),))
    assert found(same, later) == []


def test_gpus_are_the_same_by_uuid_and_not_by_their_number():
    before = Evidence(gpus=(Gpu(index=0, uuid="a", name="H100"), Gpu(index=1, uuid="b", name="H100")))
    after = Evidence(gpus=(Gpu(index=0, uuid="b", name="H100"), Gpu(index=1, uuid="c", name="A100")))
    assert found(before, after) == [
        ("gpus", "0", "", Change.GONE, "H100", None),
        ("gpus", "1", "", Change.APPEARED, None, "A100"),
    ]


def test_what_was_set_otherwise_and_what_grew():
    before = Gpu(index=0, uuid="a", power_limit_w=700, pcie_width_current=16, remapped_uncorrectable=11, pcie_replays=9)
    after = Gpu(index=0, uuid="a", power_limit_w=500, pcie_width_current=8, remapped_uncorrectable=12, pcie_replays=3)
    assert found(Evidence(gpus=(before,)), Evidence(gpus=(after,))) == [
        ("gpus", "0", "pcie_width_current", Change.CHANGED, 16, 8),
        ("gpus", "0", "power_limit_w", Change.CHANGED, 700, 500),
        ("gpus", "0", "remapped_uncorrectable", Change.GREW, 11, 12),
    ]


def test_links_software_and_faults():
    before = Evidence(
        nvlinks=(NvLink(gpu_index=0, link=3, active=True, crc_errors=0),),
        software=Software(driver_version="550.54.15"), looked_for=frozenset({"kernel_log"}),
    )  # fmt: skip
    after = Evidence(
        nvlinks=(NvLink(gpu_index=0, link=3, active=False, crc_errors=7),),
        software=Software(driver_version="570.86.15"), events=(KernelEvent(kind="xid", code=79, pci_bus_id="x"),),
    )  # fmt: skip
    assert found(before, after) == [
        ("nvlinks", "0/3", "active", Change.CHANGED, True, False),
        ("nvlinks", "0/3", "crc_errors", Change.GREW, 0, 7),
        ("software", "", "driver_version", Change.CHANGED, "550.54.15", "570.86.15"),
        ("events", "x", "xid", Change.APPEARED, None, 79),
    ]
    assert found(Evidence(), Evidence(events=after.events)) == []


def test_rates_scatter_and_only_more_than_that_is_told():
    def rates(*values):
        return Evidence(matrix_rates=tuple(
            MatrixRate(gpu_index=at, dtype="bf16", path="torch", tflop_per_s=value) for at, value in enumerate(values)
        ))  # fmt: skip

    [one] = differences(rates(700, 700), rates(690, 420))
    assert (one.which, one.change) == ("1 bf16 torch", Change.SLOWER)
    assert one.share == 0.6
