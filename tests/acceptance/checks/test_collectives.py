"""Tables of collectives without a name, without ranks, with wrong results: judged as far as they tell."""

from dataclasses import replace

import pytest

from gpuplanner.acceptance.promised import NOTHING
from gpuplanner.acceptance.verdicts import Verdict
from tests.acceptance.judged import ENGLISH, H100, gpus, judge, promising
from tests.probe.said import read

HEADER = """\
#                                                              out-of-place
#       size         count      type   redop    root     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)
"""
SXM = replace(H100, name="H100 SXM5 80GB")
EIGHT = promising(SXM, gpu_count=8)


def table(
    ratio: float, rates: tuple[float, ...] = (0.31, 240.0, 262.5), *, ranks: int = 8, operation: str = "sum",
    name: str = "", bounds: str = "0 OK",
) -> str:  # fmt: skip
    """What nccl-tests print of one way, the last sizes beyond the plateau's; no list of ranks where there are none."""
    who = "".join(
        f"#  Rank  {at} Group  0 Pid 10{at} on  gpu-a device  {at} [0x0{at}] NVIDIA H100 80GB HBM3\n"
        for at in range(ranks)
    )
    sizes = (2**20, 2**30, 2**31)
    rows = "".join(
        f"  {size} {size // 4} float {operation} -1 100.0 {rate:.2f} {rate * ratio:.2f} 0\n"
        for size, rate in zip(sizes, rates, strict=True)
    )
    return f"{name}{who}{HEADER}{rows}# Out of bounds values : {bounds}\n# Avg bus bandwidth    : 300.1\n"


def judged(text, promised=NOTHING, count=0):
    collectives = read(text).evidence.collectives
    assert collectives
    return judge("allreduce", promised, collectives=collectives, gpus=gpus(count))


def test_results_out_of_bounds_fail_though_no_row_says_so():
    bad = judged(table(1.75, name="all_reduce_perf -b 1M\n", bounds="37 FAILED"), EIGHT)
    assert (bad.verdict, bad.reason.id, bad.reason.values["count"]) == (Verdict.FAIL, "check.allreduce.wrong", 37)
    assert bad.lines[0].text == "# Out of bounds values : 37 FAILED"
    other = judged(table(1.0, name="broadcast_perf -b 1M\n", operation="none", bounds="2 FAILED"), EIGHT)
    assert (other.verdict, other.reason.id) == (Verdict.FAIL, "check.allreduce.wrong")


@pytest.mark.parametrize(("slower", "verdict"), [(1.0, Verdict.PASS), (0.8, Verdict.WARN), (0.5, Verdict.FAIL)])
def test_an_all_reduce_is_inferred_from_sums_and_the_ratio_of_its_rates(slower, verdict):
    found = judged(table(1.75, (0.31, 240.0 * slower, 262.5 * slower)))
    assert found.verdict is verdict
    assert "inferred from its sums and the ratio of its two bandwidths with 8 GPUs" in ENGLISH.text(found.reason)
    assert any("Rank  7" in line.text for line in found.lines), "the ranks that it is inferred from are shown"


@pytest.mark.parametrize(
    "text",
    [
        table(1.0),
        table(0.875),
        table(1.75, operation="none"),
        table(0.5, ranks=2),
        table(1.0, ranks=0, operation="max"),
    ],
)
def test_another_collective_is_no_all_reduce_and_hides_none(text):
    found = judged(text, EIGHT)
    assert (found.verdict, found.reason.id) == (Verdict.SKIPPED, "check.not_measured")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (table(1.75, ranks=0), "unnamed_ranks"),
        (table(1.875), "unnamed"),
        (table(1.0, ranks=2), "unnamed"),
        (table(1.75, (0.01, 0.31, 0.32)), "unnamed"),
    ],
)
def test_a_table_that_does_not_tell_its_collective_is_said_to(text, why):
    found = judged(text, EIGHT)
    assert (found.verdict, found.reason.id) == (Verdict.CANNOT_TELL, f"check.allreduce.{why}")
    assert found.do is not None
    assert found.lines


def test_a_run_that_lists_no_gpus_is_held_against_those_promised_or_there():
    named = table(1.75, (0.31, 120.0, 130.0), ranks=0, name="all_reduce_perf -b 1M\n")
    found = judged(named, EIGHT)
    assert found.verdict is Verdict.FAIL
    assert "all 8 of the machine are assumed" in ENGLISH.text(found.reason)
    assert judged(named, promising(H100), count=8).verdict is Verdict.FAIL
    assert judged(named, promising(SXM)).verdict is Verdict.CANNOT_TELL
    assert judged(named, promising(SXM, gpu_count=8, nodes=2)).verdict is Verdict.CANNOT_TELL
    four = judged(table(1.5, ranks=0, name="all_reduce_perf -b 1M\n"), EIGHT)
    assert four.verdict is Verdict.CANNOT_TELL, "its rates are those of four GPUs"


def test_promised_gpus_ask_for_the_measurement_although_none_was_read():
    found = judge("allreduce", EIGHT)
    assert found is not None
    assert found.verdict is Verdict.SKIPPED
    assert judge("allreduce", promising(H100, gpu_count=1)) is None
