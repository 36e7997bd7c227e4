"""Whatever was measured, also what no machine can: charts are made of it, and all in them can be said and drawn."""

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuplanner.machines.rates.chart import Across, Role
from gpuplanner.machines.rates.reading import rates_of
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import (
    Bandwidth,
    CollectiveRow,
    CollectiveRun,
    DiskRate,
    MatrixRate,
    Path,
    Sample,
)
from tests.acceptance.judged import H100, gpus, promising
from tests.machines.rated import H100_SXM, known, lines

NUMBERS = st.none() | st.floats() | st.sampled_from([0.0, 1.0, 55.0, 2.0**20, 2.0**28])
INDICES = st.none() | st.integers(-1, 9)
COUNTS = st.none() | st.integers(-2, 2**53)
WORDS = st.none() | st.text(max_size=12) | st.sampled_from(["read", "bf16", "torch", "ptx_fma", "all_reduce", "fp8"])
BOOLS = st.none() | st.booleans()
PLENTY = 6


def several(kind: Any, **fields: Any) -> Any:
    return st.lists(st.builds(kind, **fields), max_size=PLENTY).map(tuple)


EVIDENCE = st.builds(
    Evidence,
    gpus=st.sampled_from([(), gpus(1), gpus(8)]),
    bandwidths=several(
        Bandwidth, path=st.sampled_from(get_args(Path)), tool=WORDS, method=WORDS, source=INDICES, target=INDICES,
        bytes=NUMBERS, gb_per_s=NUMBERS, both_ways=BOOLS, counts_both=BOOLS, p2p_enabled=BOOLS,
    ),
    collectives=several(
        CollectiveRun, collective=WORDS, ranks=COUNTS, hosts=COUNTS, nccl_version=WORDS,
        rows=several(CollectiveRow, collective=WORDS, bytes=NUMBERS, bus_gb_per_s=NUMBERS),
    ),
    matrix_rates=several(
        MatrixRate, gpu_index=INDICES, dtype=WORDS, m=COUNTS, n=COUNTS, k=COUNTS, tflop_per_s=NUMBERS, path=WORDS,
    ),
    disk_rates=several(DiskRate, operation=WORDS, block_bytes=NUMBERS, direct=BOOLS, gb_per_s=NUMBERS, path=WORDS),
    samples=several(Sample, gpu_index=INDICES, utilization_percent=NUMBERS, memory_percent=NUMBERS, power_w=NUMBERS),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(EVIDENCE, st.sampled_from(["nothing", "all"]))
def test_everything_is_drawn_or_left_out(evidence, promised):
    of_gpu = known(promising(H100, network_bit_per_s=3.2e12, disk_bytes_per_s=1e9), gpu=H100_SXM)
    found = rates_of(evidence, of_gpu if promised == "all" else known())
    for chart in found.charts:
        lines(chart, Role.MEASURED)  # that all words can be said
        for line in chart.lines:
            assert line.points
            for point in line.points:
                assert 0 <= point.x <= 2**60
                assert 0 <= (point.low or 0) <= 1e7
                assert 0 <= point.y <= 1e7
                assert chart.across is not Across.NAMES or chart.labels[round(point.x)] is not None
                assert chart.across is Across.NAMES or point.x > 0
                assert chart.across is not Across.INTENSITY or point.y > 0
