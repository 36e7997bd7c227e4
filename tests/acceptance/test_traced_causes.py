"""Causes by traces of Nsight Systems and stacks of py-spy: what a GPU was idle in, and where threads stood."""

import pytest

from gpuplanner.acceptance.diagnosis import Certainty
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.traces import GpuTrace, IdleCause, ThreadStack
from tests.acceptance.diagnosed import diagnosed, said
from tests.acceptance.judged import seen

OWN = {
    "no_cuda_call": "idle_in_program",
    "operating_system": "idle_in_program",
    "synchronization": "idle_in_synchronization",
    "memory_allocation": "idle_in_allocation",
    "memory_copy": "idle_in_copies",
    "module_loading": "idle_in_loading",
}


def trace(idle: float, *causes: tuple[str, float, str | None], **more: float) -> Evidence:
    made = tuple(IdleCause(waiting_for=kind, **seen({"seconds": seconds}), name=name) for kind, seconds, name in causes)
    whole = {"span_seconds": 100.0, "idle_seconds": idle, **more}
    return Evidence(traces=(GpuTrace(gpu_index=3, causes=made, **seen(whole)),))


@pytest.mark.parametrize(("kind", "cause"), OWN.items())
def test_what_most_of_the_idle_time_is_in_is_the_cause(kind, cause):
    found = diagnosed(evidence=trace(40, (kind, 30, "cudaCall_v3020"), ("launch", 10, None)))
    assert set(found) == {cause}
    assert "GPU 3" in said(found[cause])
    assert "40%" in said(found[cause])
    assert "75%" in said(found[cause])
    assert "cudaCall_v3020" in said(found[cause])


@pytest.mark.parametrize(("idle", "seconds"), [(10, 9), (40, 15)])
def test_a_gpu_that_is_hardly_idle_or_in_nothing_most_of_the_time_has_no_such_cause(idle, seconds):
    assert diagnosed(evidence=trace(idle, ("synchronization", seconds, None))) == {}


def test_short_kernels_with_gaps_as_short_are_launches_and_long_gaps_are_not():
    short = {"kernel_median_us": 5.2, "gap_median_us": 8.0}
    found = diagnosed(evidence=trace(40, gaps=4_000_000, **short))
    assert set(found) == {"many_launches"}
    assert "5.2 µs" in said(found["many_launches"])
    assert "many_launches" not in diagnosed(evidence=trace(40, gaps=51_000, **short))
    assert "many_launches" not in diagnosed(
        evidence=trace(40, gaps=4_000_000, kernel_median_us=80.0, gap_median_us=8.0)
    )


def stack(*frames: str) -> ThreadStack:
    return ThreadStack(frames=frames, **seen({"innermost": frames[0], "state": "active"}))


WAITING = stack("get (queue.py:171)", "_try_get_data (torch/utils/data/dataloader.py:1131)", "<module> (train.py:12)")
WORKER = stack("fetch (torch/utils/data/_utils/fetch.py:54)", "_worker_loop (torch/utils/data/_utils/worker.py:351)")
OWN_WORK = stack("collate (data/loader.py:88)", "fetch (torch/utils/data/_utils/fetch.py:54)", "<module> (train.py:12)")


def test_a_thread_that_waits_for_its_data_is_a_possible_cause_and_several_a_likely_one():
    one = diagnosed(evidence=Evidence(threads=(WAITING, WORKER)))["stands_in_data"]
    assert one.certainty is Certainty.POSSIBLE
    assert "queue.py:171" in said(one)
    assert diagnosed(evidence=Evidence(threads=(WAITING, WAITING)))["stands_in_data"].certainty is Certainty.LIKELY
    assert "itself" in said(diagnosed(evidence=Evidence(threads=(OWN_WORK,)))["stands_in_data"])
    assert diagnosed(evidence=Evidence(threads=(WORKER,))) == {}


def test_a_dump_as_py_spy_prints_it_names_the_cause():
    printed = (
        "Process 4242: python train.py\nPython v3.11.4 (/usr/bin/python3.11)\n\n"
        'Thread 4242 (idle): "MainThread"\n'
        "    barrier (torch/distributed/distributed_c10d.py:3685)\n"
        "    <module> (train.py:12)\n"
    )
    assert "distributed_c10d" in said(diagnosed(printed)["stands_in_collective"])
