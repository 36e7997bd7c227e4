from gpuplanner.acceptance.unlike import unlike
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Bandwidth, MatrixRate


def found(evidence):
    return [(each.section, each.what, each.field, each.usual, each.gpus, each.value) for each in unlike(evidence)]


def test_gpus_that_are_alike():
    gpus = tuple(Gpu(index=at, uuid=str(at), serial=str(at), pci_bus_id=str(at), vbios="1") for at in range(8))
    assert found(Evidence(gpus=gpus)) == []
    assert found(Evidence(gpus=gpus[:1])) == []
    assert found(Evidence()) == []


def test_those_in_the_minority_are_named_together():
    widths = (16, 16, 8, 16, 8, 16, None, 4)
    gpus = tuple(Gpu(index=at, pcie_width_current=width) for at, width in enumerate(widths))
    assert found(Evidence(gpus=gpus)) == [
        ("gpus", "", "pcie_width_current", 16, ("2", "4"), 8),
        ("gpus", "", "pcie_width_current", 16, ("7",), 4),
    ]


def test_counters_are_told_where_others_counted_nothing():
    gpus = (Gpu(index=0, pcie_replays=0), Gpu(index=1, pcie_replays=5), Gpu(index=2, pcie_replays=0))
    assert found(Evidence(gpus=gpus)) == [("gpus", "", "pcie_replays", 0, ("1",), 5)]
    busy = (Gpu(index=0, pcie_replays=4), Gpu(index=1, pcie_replays=5))
    assert found(Evidence(gpus=busy)) == []


def test_a_rate_is_held_against_the_median_at_the_largest_size():
    rows = tuple(
        Bandwidth(path="host_to_device", method="pinned", target=gpu, bytes=size, gb_per_s=rate)
        for gpu, rates in enumerate(((20, 55.2), (21, 55.0), (7, 26.1), (22, 53.0)))
        for size, rate in zip((1e6, 2.7e8), rates, strict=True)
    )
    assert found(Evidence(bandwidths=rows)) == [
        ("bandwidths", "host_to_device pinned", "rate", 54.0, ("2",), 26.1),
    ]


def test_products_are_compared_by_dtype_and_path():
    rates = tuple(
        MatrixRate(gpu_index=gpu, dtype=dtype, path="torch", tflop_per_s=value)
        for gpu in range(3) for dtype, value in (("bf16", 700 - 60 * (gpu == 1)), ("fp32", 50))
    )  # fmt: skip
    assert found(Evidence(matrix_rates=rates)) == [("matrix_rates", "bf16 torch", "rate", 700, ("1",), 640)]


def test_copies_between_gpus_are_of_no_one():
    rows = tuple(
        Bandwidth(path="device_to_device", source=0, target=to, gb_per_s=rate) for to, rate in ((1, 400), (2, 20))
    )
    assert found(Evidence(bandwidths=rows)) == []
