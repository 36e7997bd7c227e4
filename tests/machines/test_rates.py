"""What is drawn of measured rates: each path by size or by GPU, what is expected of it, what is absent."""

from dataclasses import replace

import pytest

from gpuplanner.acceptance.promised import Promised
from gpuplanner.engine.links import all_reduce_seconds_on
from gpuplanner.engine.machines import bare
from gpuplanner.machines.rates.chart import Across, Point, Role, alike
from gpuplanner.machines.rates.collectives import all_reduces
from gpuplanner.machines.rates.copies import host_copies, memory_copies, peer_copies
from gpuplanner.machines.rates.disks import disks
from gpuplanner.machines.rates.products import products
from gpuplanner.machines.rates.reading import rates_of
from gpuplanner.machines.rates.utilization import of_samples, of_telemetry, utilization
from gpuplanner.messages import Message
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth, DiskRate, MatrixRate, Sample
from gpuplanner.probe.evidence.paths import PathMatrix
from gpuplanner.probe.telemetry import Telemetry
from tests.acceptance.judged import H100, gpus, promising
from tests.machines.rated import EFFICIENCIES, H100_SXM, absent, all_reduce, copies, known, lines

MIB = 2**20


def test_copies_of_one_size_stand_by_gpu_with_what_each_link_carries():
    evidence = Evidence(
        gpus=gpus(2, pcie_gen_max=5, pcie_width_max=16),
        bandwidths=(
            *copies("host_to_device", {0: 55.2, 1: 26.1}, bytes=256 * MIB),
            *copies("device_to_host", {0: 54.0, 1: 53.0}, bytes=256 * MIB),
        ),
    )
    chart = host_copies(evidence, known())
    assert chart is not None
    assert (chart.across, chart.labels, chart.check) == (Across.NAMES, ("GPU 0", "GPU 1"), "bw.h2d")
    [expected] = lines(chart, Role.EXPECTED)
    assert [(p.x, p.y, p.low) for p in expected.points] == [(0, 63.008, 63.008 * 0.78), (1, 63.008, 63.008 * 0.78)]
    there, back = lines(chart, Role.MEASURED)
    assert [point.y for point in there.points] == [55.2, 26.1]
    assert [point.y for point in back.points] == [54.0, 53.0]
    assert absent(chart) == []


def test_copies_of_many_sizes_are_curves_and_an_odd_gpu_has_its_own():
    rows: list[Bandwidth] = []
    for gpu, rate in enumerate((55.0, 55.2, 54.9, 26.0)):
        for size in (4096, MIB, 256 * MIB):
            rows += copies("host_to_device", {gpu: rate * size / (size + 1e5)}, bytes=size)
    chart = host_copies(Evidence(bandwidths=tuple(rows)), known(promising(H100)))
    assert chart is not None
    assert chart.across is Across.BYTES
    usual, odd = lines(chart, Role.MEASURED)
    assert len(usual.points) == len(odd.points) == 3
    assert usual.points[-1].low == pytest.approx(54.9, rel=1e-3)
    assert odd.points[-1].y == pytest.approx(26.0, rel=1e-3)
    [expected] = lines(chart, Role.EXPECTED)
    # What is smaller shows the latency.
    assert [point.x for point in expected.points] == [MIB, 256 * MIB]


def test_both_directions_at_once_are_no_rate_of_one():
    both = Evidence(bandwidths=copies("host_to_device", {0: 100.0}, bytes=MIB, both_ways=True))
    assert host_copies(both, known()) is None


def test_pairs_are_held_against_the_links_that_join_them():
    matrix = PathMatrix(devices=("GPU0", "GPU1", "GPU2"), paths={"GPU0": {"GPU1": "NV9", "GPU2": "SYS"}})
    rows = tuple(
        Bandwidth(path="device_to_device", source=0, target=to, gb_per_s=rate, bytes=MIB)
        for to, rate in ((1, 190.0), (2, 40.0))
    )
    [chart] = peer_copies(Evidence(gpus=gpus(3), matrices=(matrix,), bandwidths=rows), known(promising(H100)))
    linked, over_host = lines(chart, Role.EXPECTED)
    assert [(p.x, p.y) for p in linked.points] == [(0, 225.0)]
    assert [(p.x, p.y) for p in over_host.points] == [(1, 63.0)]


def test_what_nothing_is_known_of_is_drawn_alone_and_says_so():
    rows = (Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=20.0, bytes=MIB),)
    [chart] = peer_copies(Evidence(gpus=gpus(2), bandwidths=rows), known(promising(H100)))
    assert lines(chart, Role.EXPECTED) == []
    assert absent(chart) == ["no_expectation"]
    [unnamed] = peer_copies(Evidence(gpus=gpus(2), bandwidths=rows), known())
    assert absent(unnamed) == ["gpu"]


def test_memory_counts_reads_and_writes_or_expects_nothing():
    counted = copies("device_memory", {0: 1500.0}, counts_both=False, bytes=MIB)
    chart = memory_copies(Evidence(bandwidths=counted), known(promising(H100), gpu=H100_SXM))
    assert lines(chart, Role.MEASURED)[0].points[0].y == 3000.0
    by_sheet, by_engine = lines(chart, Role.EXPECTED)
    assert by_sheet.points[0].y == 3350.0
    point = by_engine.points[0]
    assert within(point)
    assert point.y < 3350.0
    unknown = memory_copies(Evidence(bandwidths=copies("device_memory", {0: 1500.0})), known(promising(H100)))
    assert lines(unknown, Role.EXPECTED) == []
    assert absent(unknown) == ["counting"]


def test_products_stand_by_format_beside_sheet_check_and_engine():
    rates = (
        MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=790.0, path="cublas", m=8192, n=8192, k=8192),
        MatrixRate(gpu_index=1, dtype="bf16", tflop_per_s=640.0, path="cublas", m=8192, n=8192, k=8192),
        MatrixRate(gpu_index=0, dtype="fp32", tflop_per_s=60.0, path="ptx_fma"),
    )
    gpu = replace(H100, flop_per_s={"bf16": 989e12, "fp32": 67e12}, reached_flop_per_s={"bf16": 795e12})
    chart = products(Evidence(matrix_rates=rates), known(promising(gpu), gpu=H100_SXM))
    assert chart is not None
    assert chart.labels == ("FP32", "BF16")
    library, own = lines(chart, Role.MEASURED)
    [point] = library.points
    assert (point.x, point.y, point.low, point.high) == (1, 715.0, 640.0, 790.0)
    assert [point.x for point in own.points] == [0]
    [sheet] = lines(chart, Role.PEAK)
    assert [point.y for point in sheet.points] == [67.0, 989.0]
    check, engine = lines(chart, Role.EXPECTED)
    assert [(p.y, p.low) for p in check.points] == [(67.0, 67.0 * 0.7), (795.0, 795.0 * 0.9)]
    [by_engine] = engine.points
    assert 700 < by_engine.y < 830
    assert absent(chart) == ["no_calibration"]


def test_a_small_product_is_not_expected_to_reach_what_a_large_one_does():
    def by_engine(side: int) -> float:
        rates = (MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=1.0, path="torch", m=128, n=side, k=side),)
        gpu = replace(H100, flop_per_s={"bf16": 989e12})
        chart = products(Evidence(matrix_rates=rates), known(promising(gpu), gpu=H100_SXM))
        return lines(chart, Role.EXPECTED)[-1].points[0].y

    assert by_engine(1024) < by_engine(8192) < 500


def test_an_all_reduce_stands_beside_the_engine_and_the_check():
    run = all_reduce({1 * MIB: 30.0, 512 * MIB: 300.0, 1024 * MIB: 322.0}, gpu_names=("NVIDIA H100 80GB HBM3",))
    [chart] = all_reduces(Evidence(collectives=(run,)), known(promising(H100), gpu=H100_SXM))
    check, engine = lines(chart, Role.EXPECTED)
    seconds = float(all_reduce_seconds_on(bare(H100_SXM, 8), 512 * MIB, EFFICIENCIES))
    assert engine.points[1].y == pytest.approx(2 * 7 / 8 * 512 * MIB / seconds / 1e9)
    assert within(engine.points[1])
    assert [(p.x, p.y, p.low) for p in check.points] == [(512 * MIB, 480, 384), (1024 * MIB, 480, 384)]
    assert [point.y for point in lines(chart, Role.MEASURED)[0].points] == [30.0, 300.0, 322.0]
    assert absent(chart) == []


def test_an_all_reduce_says_what_it_lacks():
    small = all_reduce({1 * MIB: 30.0, 128 * MIB: 250.0}, ranks=4)
    [chart] = all_reduces(Evidence(collectives=(small,)), known())
    assert lines(chart, Role.EXPECTED) == []
    assert absent(chart) == ["gpu", "nodes", "plateau"]
    [unsaid] = all_reduces(Evidence(collectives=(all_reduce({MIB: 1.0}, ranks=None),)), known(gpu=H100_SXM))
    assert "ranks" in absent(unsaid)
    wide = all_reduce({1024 * MIB: 40.0}, ranks=16, hosts=2)
    [over_network] = all_reduces(Evidence(collectives=(wide,)), known(gpu=H100_SXM))
    assert absent(over_network) == ["no_link", "nodes"]
    promised = Promised(network_bit_per_s=3.2e12)
    [known_network] = all_reduces(Evidence(collectives=(wide,)), known(promised, gpu=H100_SXM))
    assert len(lines(known_network, Role.EXPECTED)) == 2


def test_disks_expect_of_reads_in_a_row_alone():
    rates = (
        DiskRate(operation="read", block_bytes=MIB, gb_per_s=2.0, direct=True),
        DiskRate(operation="randread", block_bytes=4096, gb_per_s=0.4, direct=True),
    )
    chart = disks(Evidence(disk_rates=rates), known(Promised(disk_bytes_per_s=3e9)))
    assert chart is not None
    assert chart.labels == ("read 1 MiB", "randread 4 KiB")
    [expected] = lines(chart, Role.EXPECTED)
    assert [(p.x, p.y) for p in expected.points] == [(0, 3.0)]
    both = disks(Evidence(disk_rates=(rates[0], through_cache(rates[0]).model_copy(update={"gb_per_s": 9.0}))), known())
    assert [point.y for point in lines(both, Role.MEASURED)[0].points] == [2.0, 9.0]
    assert len({str(label) for label in both.labels}) == 2 if both else False
    cached = disks(Evidence(disk_rates=(through_cache(rates[1]),)), known())
    assert absent(cached) == ["disk", "cache"]


def within(point: Point) -> bool:
    """Whether a point lies inside of its range."""
    return point.low is not None and point.high is not None and point.low < point.y < point.high


def through_cache(rate: DiskRate) -> DiskRate:
    return rate.model_copy(update={"direct": False})


def test_a_machine_without_measurements_has_no_charts_and_says_what_is_lacking():
    told = rates_of(Evidence(gpus=gpus(2)), known(promising(H100), gpu=H100_SXM))
    assert told.charts == ()
    assert not told.measured
    assert [message.id for message in told.lacking] == [
        f"rates.lacking.{name}"
        for name in ("host_copies", "peer_copies", "all_reduce", "memory_copies", "products", "disks")
    ]


def test_names_that_tools_print_are_short_and_on_one_line():
    long = "x\x1b[2J\n" * 400
    rates = (MatrixRate(gpu_index=0, dtype=long, tflop_per_s=1.0, path=long),)
    drawn = (
        products(Evidence(matrix_rates=rates), known()),
        disks(Evidence(disk_rates=(DiskRate(operation=long, gb_per_s=1.0, path=long),)), known()),
        host_copies(Evidence(bandwidths=copies("host_to_device", {0: 1.0}, method=long)), known()),
    )
    for chart in drawn:
        [line] = lines(chart, Role.MEASURED)
        for word in (*(chart.labels if chart else ()), line.source):
            assert len(str(word)) <= 41
            assert str(word).isprintable()


@pytest.mark.parametrize("value", [1e308, 1e-308, 1e12])
def test_numbers_that_no_machine_has_are_not_drawn(value):
    sizes = {float(MIB): value, value: 100.0, 512.0 * MIB: 300.0}
    evidence = Evidence(
        gpus=gpus(2),
        bandwidths=(
            *copies("host_to_device", {0: value, 1: 55.0}, bytes=256 * MIB),
            *(copy for size in (value, 1.0, 2.0, 3.0) for copy in copies("device_memory", {0: 9.0}, bytes=size)),
        ),
        matrix_rates=(
            MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=value, path="torch", m=1, n=2**53, k=2**53),
            *(MatrixRate(gpu_index=0, dtype=f"x{at}", tflop_per_s=1.0, path="torch") for at in range(400)),
        ),
        collectives=(all_reduce(sizes), all_reduce(sizes, ranks=2**31, hosts=2)),
        disk_rates=(DiskRate(operation="read", gb_per_s=value),),
    )
    found = rates_of(evidence, known(promising(H100), gpu=H100_SXM))
    for chart in found.charts:
        assert len(chart.labels) <= 16
        for line in chart.lines:
            assert all(0 <= point.y <= 1e7 and 0 <= point.x <= 2**60 for point in line.points)


def test_pairs_of_a_made_up_machine_are_bounded():
    rows = tuple(
        Bandwidth(path="device_to_device", source=a, target=b, gb_per_s=1.0, bytes=MIB)
        for a in range(50) for b in range(50) if a != b
    )  # fmt: skip
    [chart] = peer_copies(Evidence(bandwidths=rows), known())
    assert len(chart.labels) == len(lines(chart, Role.MEASURED)[0].points) == 1024


def test_many_odd_ones_share_a_line():
    curves = {f"GPU {at}": [(1.0, 100.0)] for at in range(12)}
    curves |= {f"GPU {at}": [(1.0, 90.0 - at)] for at in range(12, 20)}
    usual, *odd, rest = alike(curves, 0.05)
    assert isinstance(usual.name, Message)
    assert usual.name.values["count"] == 12
    assert [line.name for line in odd] == ["GPU 19", "GPU 18", "GPU 17"]
    assert isinstance(rest.name, Message)
    assert (rest.name.id, rest.name.values["count"]) == ("rates.others", 5)
    assert (rest.points[0].low, rest.points[0].high) == (74.0, 78.0)
    assert alike({"GPU 0": []}, 0.05) == []


def test_pairs_have_a_chart_of_each_and_one_by_size():
    rows = [Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=390 * size / (size + 8), bytes=size * MIB)
            for size in (1, 16, 256)]  # fmt: skip
    rows.append(Bandwidth(path="device_to_device", source=1, target=0, gb_per_s=200.0, bytes=256 * MIB))
    pairs, by_size = peer_copies(Evidence(gpus=gpus(2), bandwidths=tuple(rows)), known(promising(H100)))
    assert pairs.labels == ("0 → 1", "1 → 0")
    assert by_size.across is Across.BYTES
    assert len(lines(by_size, Role.MEASURED)) == 2


def test_what_was_sampled_or_watched_gives_the_same_shares():
    samples = tuple(
        Sample(at_s=at, gpu_index=0, utilization_percent=80.0, power_w=350.0, nvlink_sent_mb_per_s=45_000.0)
        for at in range(3)
    )
    read = of_samples(Evidence(gpus=gpus(1, power_limit_w=700.0), samples=samples))
    telemetry = Telemetry()
    for at in range(30):
        telemetry.take({"at_s": at / 10, "gpus": [{"gpu": 0, "utilization_percent": 80, "power_w": 350,
                                                   "power_limit_w": 700, "nvlink_sent_mb_per_s": 45_000}]})  # fmt: skip
    assert read == of_telemetry(telemetry)
    assert utilization(read, known()) is None
