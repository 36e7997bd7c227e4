"""What an export of Nsight Systems says of idle GPUs, and that no database harms or holds up whoever opens it."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.messages import msg
from gpuplanner.probe.evidence.traces import GpuTrace
from gpuplanner.probe.inspecting import Inspection, inspect
from gpuplanner.probe.nsight import database, summary
from gpuplanner.probe.nsight.spans import Spans, outermost
from gpuplanner.probe.saved import outputs_in, outputs_of
from tests.probe.nsight.exports import LAUNCHING, PROCESS, SCHEMA, export, typical

MS = 1_000_000


def inspected(path: Path) -> Inspection:
    (output,) = outputs_of(path)
    return inspect(output)


def trace(path: Path) -> GpuTrace:
    (found,) = inspected(path).evidence.traces
    return found


def test_idle_time_is_what_no_kernel_and_no_copy_fills(tmp_path: Path) -> None:
    gpu = trace(typical(tmp_path / "a.sqlite"))
    assert (gpu.gpu_index, gpu.gpu_name) == (0, "NVIDIA H100 80GB HBM3")
    assert (gpu.span_seconds, gpu.busy_seconds, gpu.idle_seconds) == (0.011, 0.004, 0.007)
    assert (gpu.kernel_seconds, gpu.copy_seconds) == (0.004, 0.001)
    assert (gpu.kernels, gpu.kernel_median_us, gpu.copies) == (3, 1000, 1)
    assert (gpu.gaps, gpu.gap_median_us, gpu.gap_longest_us) == (2, 3500, 6000)


def test_the_cause_of_idle_time_is_what_the_launching_thread_did(tmp_path: Path) -> None:
    gpu = trace(typical(tmp_path / "a.sqlite"))
    assert [(cause.waiting_for, cause.seconds, cause.name) for cause in gpu.causes] == [
        ("operating_system", 0.003, "read"),
        ("no_cuda_call", 0.0029, None),
        ("memory_allocation", 0.001, "cudaMalloc_v3020"),
        ("launch", 0.0001, "cudaLaunchKernel_v7000"),
    ]
    assert gpu.idle_seconds == pytest.approx(sum(cause.seconds or 0 for cause in gpu.causes))
    assert gpu.ranges == {"load data": 0.004, "step": 0.003}


def test_each_value_names_its_line_of_the_summary(tmp_path: Path) -> None:
    (output,) = outputs_of(typical(tmp_path / "a.sqlite"))
    (gpu,) = inspect(output).evidence.traces
    assert "7000000 ns" in output.lines[gpu.seen["idle_seconds"].line - 1].text
    assert "most in read" in output.lines[gpu.causes[0].seen["seconds"].line - 1].text


def test_an_export_in_a_folder_and_out_of_a_pipe_says_the_same(tmp_path: Path) -> None:
    path = typical(tmp_path / "a.sqlite")
    (of_folder,) = outputs_of(tmp_path)
    (of_bytes,) = outputs_in(path.read_bytes(), "-")
    assert of_folder.text == of_bytes.text == summary.of_file(path)


def test_reading_leaves_the_file_and_its_folder_as_they_were(tmp_path: Path) -> None:
    path = typical(tmp_path / "a.sqlite")
    before = path.read_bytes()
    path.chmod(0o444)
    inspected(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_launches_of_another_process_with_the_same_number_are_not_taken_for_it(tmp_path: Path) -> None:
    other = PROCESS + (1 << 24)
    kernels = [(10 * MS, 11 * MS, 0, 7, 5, other, 1), (15 * MS, 16 * MS, 0, 7, 6, other, 1)]
    calls = [
        (9 * MS, 10 * MS, LAUNCHING, 5, 1),
        (11 * MS, 15 * MS, LAUNCHING, 6, 1),
        (9 * MS, 10 * MS, other + 1, 5, 1),
        (11 * MS, 15 * MS, other + 1, 6, 2),
    ]
    path = export(tmp_path / "a.sqlite", {"CUPTI_ACTIVITY_KIND_KERNEL": kernels, "CUPTI_ACTIVITY_KIND_RUNTIME": calls})
    assert [cause.waiting_for for cause in trace(path).causes] == ["synchronization"]


def test_without_calls_no_cause_is_made_up(tmp_path: Path) -> None:
    kernels = [(0, MS, 3, 7, 5, PROCESS, 1), (2 * MS, 3 * MS, 3, 7, 6, PROCESS, 1)]
    gpu = trace(export(tmp_path / "a.sqlite", {"CUPTI_ACTIVITY_KIND_KERNEL": kernels}))
    assert (gpu.gpu_index, gpu.gpu_name, gpu.idle_seconds, gpu.causes, gpu.ranges) == (3, None, 0.001, (), None)


def test_an_old_export_without_processes_and_one_of_graphs_are_read(tmp_path: Path) -> None:
    schema = SCHEMA.replace("globalPid INTEGER, ", "") + (
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER);"
    )
    path = export(
        tmp_path / "a.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": [(0, MS, 0, 7, 5, 1), (4 * MS, 5 * MS, 0, 7, 6, 1)],
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(MS, 3 * MS, 0)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [(0, MS, LAUNCHING, 5, 1), (3 * MS, 4 * MS, LAUNCHING, 6, 1)],
        },
        schema,
    )
    gpu = trace(path)
    assert (gpu.idle_seconds, [cause.waiting_for for cause in gpu.causes]) == (0.001, ["launch"])


def test_another_database_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (a)")
    connection.commit()
    connection.close()
    assert inspected(path).tool is None


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_damaged_export_is_said_to_be_damaged_or_read(tmp_path: Path, share: float) -> None:
    content = typical(tmp_path / "a.sqlite").read_bytes()
    (tmp_path / "b.sqlite").write_bytes(content[: int(len(content) * share)])
    inspection = inspected(tmp_path / "b.sqlite")
    assert inspection.tool == "nsys"
    assert inspection.evidence.traces or [problem.message.id for problem in inspection.problems] == [
        "probe.nsight.unreadable"
    ]


@given(at=st.integers(100, 30_000), filling=st.binary(min_size=1, max_size=300))
def test_bytes_in_the_middle_of_an_export_never_raise(at: int, filling: bytes) -> None:
    content = bytearray(_typical_bytes())
    content[at : at + len(filling)] = filling
    for output in outputs_in(bytes(content), "mutated"):
        inspect(output)


def _typical_bytes() -> bytes:
    if not _KEPT:
        connection = sqlite3.connect(":memory:")
        connection.executescript(SCHEMA)
        for number in range(400):
            row = (number * 10, number * 10 + 5, 0, 7, number, PROCESS, 1)
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
        _KEPT.append(connection.serialize())
        connection.close()
    return _KEPT[0]


_KEPT: list[bytes] = []


def test_what_is_no_time_is_left_out(tmp_path: Path) -> None:
    kernels: list[tuple[object, ...]] = [
        (0, MS, 0, 7, 1, PROCESS, 1),
        (2 * MS, 3 * MS, 0, 7, 2, PROCESS, 1),
        (5 * MS, 4 * MS, 0, 7, 3, PROCESS, 1),
        (-(2**63), 2**63 - 1, 0, 7, 4, PROCESS, 1),
        ("soon", "later", 0, 7, 5, PROCESS, 1),
        (None, None, None, None, None, None, None),
        (b"\x00" * 8, 3.5, 0, 7, 6, PROCESS, 1),
    ]
    gpu = trace(export(tmp_path / "a.sqlite", {"CUPTI_ACTIVITY_KIND_KERNEL": kernels}))
    assert (gpu.kernels, gpu.span_seconds, gpu.idle_seconds) == (2, 0.003, 0.001)


def test_views_virtual_tables_and_triggers_are_not_run(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT a AS start, a AS end FROM n"
    schema = f"CREATE TABLE t (a); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {endless};"
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    connection.executescript(schema)
    connection.close()
    began = time.process_time()
    assert inspected(tmp_path / "a.sqlite").tool is None
    assert time.process_time() - began < 1


def test_an_export_that_takes_long_is_left_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(_typical_bytes())
    monkeypatch.setattr(database, "LONGEST_S", 0.0)
    monkeypatch.setattr(database, "_STEPS", 2_000)
    inspection = inspected(path)
    assert inspection.tool == "nsys"
    assert inspection.problems[0].message == msg(
        "probe.nsight.cut.time", seconds="0", table="CUPTI_ACTIVITY_KIND_KERNEL"
    )


def test_rows_over_the_limit_are_left_out_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = typical(tmp_path / "a.sqlite")
    monkeypatch.setattr(database, "MOST_ROWS", 2)
    inspection = inspected(path)
    assert [problem.message for problem in inspection.problems] == [
        msg("probe.nsight.cut.rows", count=2, table=table)
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API")
    ]
    (gpu,) = inspection.evidence.traces
    assert (gpu.kernels, gpu.causes) == (2, ())


def test_what_is_no_database_leaves_no_connection_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, opened = sqlite3.connect, []

    def noted(*given: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **more)
        opened.append(connection)
        return connection

    monkeypatch.setattr(sqlite3, "connect", noted)
    content = b"SQLite format 3\x00" + b"\xff" * 4096
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    assert "Cannot be read" in summary.of_file(path)
    assert "Cannot be read" in summary.of_bytes(content)
    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            connection.execute("SELECT 1")


def test_names_out_of_a_database_stay_in_their_line(tmp_path: Path) -> None:
    evil = "a\nGPU 7: made up\n  idle: 1 ns\x1b[31m\u202e" + "x" * 100_000
    path = export(
        tmp_path / "a.sqlite",
        {
            "TARGET_INFO_GPU": [(0, 0, evil)],
            "CUPTI_ACTIVITY_KIND_KERNEL": [(0, MS, 0, 7, 1, PROCESS, 1), (2 * MS, 3 * MS, 0, 7, 2, PROCESS, 1)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [(0, 3 * MS, LAUNCHING, 1, 77)],
            "StringIds": [(77, evil)],
            "NVTX_EVENTS": [(0, 3 * MS, 59, evil, None, LAUNCHING)],
        },
    )
    gpu = trace(path)
    assert gpu.gpu_index == 0
    assert gpu.gpu_name is not None
    assert "GPU 7: made up" in gpu.gpu_name
    assert len(gpu.gpu_name) <= 120
    assert gpu.gpu_name.isprintable()
    assert gpu.idle_seconds == 0.001


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=20), st.lists(st.integers(0, 80), max_size=8)
)
def test_spans_are_what_a_count_of_each_instant_says(pairs: list[tuple[int, int]], others: list[int]) -> None:
    spans = Spans.together(
        np.array([start for start, _ in pairs], dtype=np.int64),
        np.array([start + length for start, length in pairs], dtype=np.int64),
    )
    other = Spans.together(np.array(others, dtype=np.int64), np.array(others, dtype=np.int64) + 5)
    covered = {at for start, length in pairs for at in range(start, start + length)}
    taken = {at for start in others for at in range(start, start + 5)}
    assert spans.total == len(covered)
    assert spans.without(other).total == len(covered - taken)
    inside = spans.within(np.array(others, dtype=np.int64), np.array(others, dtype=np.int64) + 7)
    assert inside.tolist() == [len(covered & set(range(start, start + 7))) for start in others]


def test_calls_that_calls_make_are_parts_of_them() -> None:
    starts, ends = np.array([0, 1, 5, 2, 9]), np.array([5, 3, 6, 3, 12])
    assert sorted(outermost(starts, ends).tolist()) == [0, 2, 4]
