"""The history of machines: a run comes back as it was, with its verdict; sessions and hosts too."""

from pathlib import Path

import numpy as np
import pytest

from gpuplanner.machines.history import RunHistory, tiers_of
from gpuplanner.messages import InputError
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.probe.telemetry import Series, Telemetry
from gpuplanner.store.machine_shelf import MachineShelf
from gpuplanner.store.store import open_store

OUT = "GPU 0: NVIDIA L40S (UUID: GPU-0)\n显存".encode()


def a_run(began: float = 1_764_500_000.0, others: dict[str, tuple[str, ...]] | None = None) -> Run:
    result = CommandResult("smi.list", ("nvidia-smi", "-L"), 0, "ended", OUT, b"\xff\x00", 0.25, began)
    asked = {"smi.list": ("nvidia-smi", "-L"), "nproc": ("nproc",)}
    return Run("node-07", began, (result,), asked=asked if others is None else others, root=True, clock_offset_s=0.5)


@pytest.fixture
def history(tmp_path: Path) -> RunHistory:
    return RunHistory(open_store(tmp_path))


def test_a_run_comes_back_as_it_was_also_after_a_restart(history: RunHistory, tmp_path: Path) -> None:
    run = a_run()
    number, left = history.keep("node-07", "a", run, "warn", "p5.48xlarge")
    assert left.count == 0
    again = RunHistory(open_store(tmp_path))
    (kept,) = again.runs("node-07")
    assert (kept.id, kept.host, kept.tier, kept.verdict, kept.expected, kept.whole) == (
        number, "node-07", "a", "warn", "p5.48xlarge", True,
    )  # fmt: skip
    assert kept.began == "2025-11-30T10:53:20+00:00"
    read = again.read(number)
    assert read.recorded
    assert (read.target, read.began, read.results, read.asked, read.root, read.clock_offset_s) == (
        run.target, run.began, run.results, run.asked, run.root, run.clock_offset_s,
    )  # fmt: skip


def test_runs_are_listed_by_host_and_latest_first(history: RunHistory) -> None:
    early, _ = history.keep("a", "a", a_run(1000.0), "pass", "")
    late, _ = history.keep("a", "ab", a_run(2000.0), "fail", "")
    other, _ = history.keep("b", "a", a_run(1500.0), "", "")
    assert [run.id for run in history.runs("a")] == [late, early]
    assert [run.id for run in history.runs()] == [late, other, early]
    history.remove(late)
    assert [run.id for run in history.runs("a")] == [early]
    assert history.restore(late)
    assert len(history.runs("a")) == 2


def test_a_run_that_is_held_against_something_else_says_so(history: RunHistory) -> None:
    number, _ = history.keep("a", "a", a_run(), "pass", "")
    history.judged(number, "fail", "H100 SXM5 80GB")
    (kept,) = history.runs()
    assert (kept.verdict, kept.expected, kept.tier) == ("fail", "H100 SXM5 80GB", "a")
    history.judged(999, "fail", "")


def test_there_is_no_such_run(history: RunHistory) -> None:
    with pytest.raises(InputError) as caught:
        history.read(7)
    assert caught.value.message.id == "store.nothing_kept"


def test_what_leaves_can_be_put_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    history = RunHistory(store, MachineShelf(store, most_bytes=700))
    first, _ = history.keep("a", "a", a_run(1000.0), "", "")
    left = None
    for at in range(8):
        _, left = history.keep("a", "a", a_run(2000.0 + at), "", "")
        if left.count:
            break
    assert left is not None
    assert left.count == 1
    assert first not in {run.id for run in history.runs()}
    left.put_back()
    assert first in {run.id for run in history.runs()}


def test_a_time_that_no_calendar_has_is_kept(history: RunHistory) -> None:
    number, _ = history.keep("a", "a", a_run(1e300), "", "")
    assert history.runs()[0].began.startswith("1970-01-01")
    assert history.read(number).began == 1e300


def test_a_live_session_comes_back(history: RunHistory) -> None:
    telemetry = Telemetry(ended_s=4.0)
    series = Series()
    for at in range(4):
        series.add_bin(float(at), 10.0, 20.0, 30.0)
    telemetry.series[0, "utilization_percent"] = series
    number, _ = history.keep_session(LiveSession("node-07", "2026-11-30T10:00:00Z", telemetry, {0: "NVIDIA L40S"}))
    (kept,) = history.sessions("node-07")
    assert (kept.id, kept.seconds, kept.gpus) == (number, 4.0, 1)
    again = history.read_session(number)
    assert again.gpus == {0: "NVIDIA L40S"}
    assert np.array_equal(again.telemetry.series[0, "utilization_percent"].bins(), series.bins())
    history.remove_session(number)
    assert history.sessions() == ()
    assert history.restore_session(number)


def test_hosts_stay_in_the_order_in_which_they_were_added(history: RunHistory, tmp_path: Path) -> None:
    for name in ("b", "a", "b"):
        history.add_host(name)
    history.remove_host("b")
    assert history.hosts() == ("a",)
    history.add_host("b")
    assert RunHistory(open_store(tmp_path)).hosts() == ("b", "a")


def test_tiers_are_known_by_what_was_asked() -> None:
    assert tiers_of(a_run()) == "a"
    assert tiers_of(a_run(others={"measure": ("x",)})) == "b"
    assert tiers_of(a_run(others={"nproc": ("nproc",), "measure": ("x",)})) == "ab"
    assert tiers_of(a_run(others={"installed.fio": ("fio",)})) == "c"
    assert tiers_of(a_run(others={"nproc": ("nproc",), "installed.fio": ("fio",)})) == "ac"


@pytest.mark.parametrize("seconds", ["1" + "0" * 400, "Infinity", "NaN", "-5", '"x"', "true"])
def test_a_row_with_numbers_that_nobody_wrote_hides_no_other(tmp_path: Path, seconds: str) -> None:
    store = open_store(tmp_path)
    about = f'{{"seconds": {seconds}, "gpus": 1{"0" * 30}}}'
    store.write(
        lambda db: db.execute(
            "INSERT INTO live_sessions (host, made, about, content, proof) VALUES ('a', '2025', ?, x'00', 'p')",
            (about,),
        )
    )
    (kept,) = RunHistory(store).sessions()
    assert 0 <= kept.seconds <= 1
    assert kept.gpus == 0
