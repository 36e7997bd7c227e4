"""What our own measuring program brings, over driver libraries with recorded rates, is judged as a check judges it."""

import json

import pytest

from gpuplanner.acceptance.saying import not_measured, text
from gpuplanner.probe.evidence.measured import DiskRate, MatrixRate
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.measuring import Measured
from gpuplanner.probe.transports.programs import MEASURE
from tests.acceptance.judged import ENGLISH, H100, judge, promising
from tests.probe.native_libraries import compiled_libraries, libraries, start

__all__ = ["compiled_libraries", "libraries", "start"]


@pytest.fixture
def evidence(libraries, start):
    """What a measurement brings of a machine whose libraries do as they are told."""

    def run(*sources, only, **settings):
        libraries.put("cuda", "nvml", *sources)
        measured = Measured("node")
        job = {"limit_s": 60.0, "even_if_busy": False, "only": only}
        for frame in start(MEASURE, job, **settings).frames():
            measured.take(json.loads(json.dumps(frame)))
        return inspect(measured.run(whole=True).results[0].output()).evidence

    return run


@pytest.mark.parametrize(("bus", "verdict"), [(470, "pass"), (360, "warn"), (120, "fail")])
def test_the_all_reduce_that_tier_b_measures_is_judged(evidence, libraries, bus, verdict):
    found = evidence("nccl", only=["all_reduce"], gpus=8, name="NVIDIA H100 80GB HBM3", bus_gb_per_s=bus)
    judged = judge("allreduce", collectives=found.collectives, gpus=found.gpus)
    assert judged is not None
    assert (judged.verdict.value, judged.measured) == (verdict, text(f"{bus}.0 GB/s"))
    # The sums were looked at: no remark on results that nobody checked.
    assert judged.reason.id != "check.allreduce.unchecked"
    # In place, and no more than what is promised to a GPU's owner.
    assert libraries.most_bytes() == 512 << 20


def test_an_all_reduce_with_wrong_sums_fails_however_fast_it_is(evidence):
    found = evidence("nccl", only=["all_reduce"], gpus=8, name="NVIDIA H100 80GB HBM3", wrong=1)
    judged = judge("allreduce", collectives=found.collectives, gpus=found.gpus)
    assert judged is not None
    assert (judged.verdict.value, judged.reason.id) == ("fail", "check.allreduce.wrong")
    # All that was looked at on one of the eight.
    assert judged.measured == text(16 * (64 << 10) // 4)


def product(path, rate, **more):
    """A product in BF16 on a GPU."""
    return MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=rate, path=path, **more)


@pytest.mark.parametrize(
    ("rates", "verdict", "measured"),
    [
        # 989 TFLOP/s promised: 70 % pass. An old PyTorch beside a good cuBLAS says nothing of the GPU.
        ([("cublas", 760), ("torch", 300), ("ptx_mma", 610)], "pass", "760.0 TFLOP/s"),
        ([("cublas", 300), ("torch", 760)], "pass", "760.0 TFLOP/s"),
        ([("cublas", 300), ("torch", 310), ("ptx_mma", 990)], "fail", "310.0 TFLOP/s"),
        ([("ptx_mma", 990)], "skipped", "990.0 TFLOP/s"),
        # Attention is told, and is no matrix product.
        ([("cublas", 760), ("torch_sdpa", 200)], "pass", "760.0 TFLOP/s"),
    ],
)
def test_the_fastest_library_decides_on_products(rates, verdict, measured):
    found = judge("flops", promising(H100), matrix_rates=tuple(product(path, rate) for path, rate in rates))
    assert found is not None
    assert found.measured is not None
    assert (found.verdict.value, ENGLISH.text(found.measured).split(": ")[-1]) == (verdict, measured)


def test_copies_from_memory_that_may_be_moved_decide_nothing(evidence):
    found = evidence(only=["host_to_device", "device_to_host", "both_ways"], gpus=1)
    assert {(row.method, row.both_ways) for row in found.bandwidths} == {
        ("pinned", False), ("pinned", True), ("pageable", False)
    }  # fmt: skip
    judged = judge("bw.h2d", promising(H100), bandwidths=found.bandwidths, gpus=found.gpus)
    assert judged is not None
    assert judged.verdict.value == "pass"
    slow = tuple(row for row in found.bandwidths if row.method == "pageable")
    assert judge("bw.h2d", promising(H100), bandwidths=slow, gpus=found.gpus) == not_measured("B")


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ([("read", 1.9, True), ("randread", 0.05, True)], "pass"),
        ([("read", 0.9, True)], "warn"),
        ([("read", 0.2, True)], "fail"),
        # Memory may have answered; a slow answer is slow all the same.
        ([("read", 9.0, False)], "cannot tell"),
        ([("read", 0.2, False)], "fail"),
        # Reads at random are no reads in a row, however fast.
        ([("randread", 9.0, True)], "skipped"),
    ],
)
def test_what_was_read_in_a_row_is_held_against_what_was_promised(rates, verdict):
    found = tuple(DiskRate(operation=name, gb_per_s=rate, direct=direct) for name, rate, direct in rates)
    judged = judge("disk.speed", promising(H100, disk_bytes_per_s=1.2e9), disk_rates=found)
    assert judged is not None
    assert judged.verdict.value == verdict
