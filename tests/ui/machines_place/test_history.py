"""The history in the window: runs are kept, opened again, compared, taken out and put back; hosts stay in the list."""

import threading
import time
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from gpuplanner.machines.evidence import of_files
from gpuplanner.machines.history import RunHistory
from gpuplanner.machines.sample import QUOTED, sample_run
from gpuplanner.messages import InputError, msg
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.results import Run
from gpuplanner.probe.telemetry import Series, Telemetry
from gpuplanner.store.machine_shelf import MachineShelf
from gpuplanner.store.plans import PlanShelf
from gpuplanner.ui.machines_place.page import MachinesPage
from gpuplanner.ui.machines_place.palette import HostProvider
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.ui.machines_place.presenter import LISTED_HOSTS
from gpuplanner.ui.machines_place.shown import SAMPLE
from gpuplanner.ui.places import Context, Location
from gpuplanner.workload.by_hand import ByHand
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workspace import Workspace
from tests.ui.checks import clipped, missing_glyphs, nameless
from tests.ui.screenshots import each_look

pytestmark = pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
NOW = time.time()


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Workspace(tmp_path / "home")
    yield made
    made.store.close()


@pytest.fixture
def history(workspace) -> RunHistory:
    return RunHistory(workspace.store)


def a_run(days_ago: float = 0, *changes: tuple[str, str]) -> Run:
    """The recorded machine as it was some days ago, with other words in its outputs."""

    def changed(content: bytes) -> bytes:
        for before, after in changes:
            content = content.replace(before.encode(), after.encode())
        return content

    run = sample_run()
    results = tuple(replace(result, out=changed(result.out)) for result in run.results)
    return replace(run, target="node-07", began=NOW - days_ago * 86400, results=results)


@pytest.fixture
def two_runs(history: RunHistory) -> tuple[int, int]:
    history.add_host("node-07")
    earlier, _ = history.keep("node-07", "ab", a_run(20, ("500.00 W", "700.00 W")), "pass", "")
    later, _ = history.keep("node-07", "ab", a_run(1), "fail", "")
    return earlier, later


def session_of(target: str) -> LiveSession:
    telemetry = Telemetry(ended_s=60.0)
    series = Series()
    for at in range(60):
        series.add_bin(float(at), 10.0, 20.0, 30.0)
    telemetry.series[0, "utilization_percent"] = series
    return LiveSession(target, "2026-11-30T10:00:00Z", telemetry, {0: "NVIDIA L40S"})


@pytest.fixture
def open_page(open_session, workspace, qtbot):
    def call() -> tuple[object, MachinesPage]:
        session = open_session((machines_place(),), workspace)
        page = session.window.current_page()
        qtbot.waitUntil(lambda: not session.jobs.busy, timeout=15000)
        return session, page

    return call


def settled(page, qtbot):
    """Wait until what is in sight has been judged."""
    qtbot.waitUntil(lambda: page.presenter.current.shown.acceptance is not None, timeout=15000)
    qtbot.waitUntil(lambda: not page._context.jobs.busy, timeout=15000)


def visit(page, target, qtbot):
    page.visit(target)
    settled(page, qtbot)


def test_a_run_is_kept_and_is_in_sight_again_after_a_restart(open_page, open_session, workspace, history, qtbot):
    session, page = open_page()
    machine = page.presenter.current
    machine.run = replace(a_run(), target="localhost")
    machine.tiers = ()
    machine.ran.emit()
    settled(page, qtbot)
    (kept,) = history.runs("localhost")
    assert (kept.verdict, kept.whole) == ("fail", True)
    assert machine.shown.run_id == kept.id
    assert [row.isChecked() for row in page.kept.panel.rows] == [True]
    session.window.close()

    _, again = open_page()
    settled(again, qtbot)
    assert again.presenter.current.shown.run_id == kept.id
    assert again.views.current() == "checks"
    assert len(history.runs()) == 1  # what is looked at again is not kept once more


def test_nothing_is_kept_where_that_is_switched_off(open_page, history, qtbot):
    _, page = open_page()
    page.kept.panel.keeps.click()
    machine = page.presenter.current
    machine.run = a_run()
    machine.ran.emit()
    settled(page, qtbot)
    page.live.sessionEnded.emit(session_of("localhost"))
    qtbot.wait(50)
    assert history.runs() == ()
    assert history.sessions() == ()


def test_what_cannot_be_kept_is_said_and_shown_all_the_same(open_page, history, qtbot, monkeypatch):
    def full(*_given: object) -> None:
        raise InputError(msg("store.full"))

    session, page = open_page()
    monkeypatch.setattr(MachineShelf, "keep", full)
    machine = page.presenter.current
    machine.run = a_run()
    machine.ran.emit()
    settled(page, qtbot)
    assert [notice.message.id for notice in session.notices.kept] == ["runsui.not_kept"]


def test_a_kept_run_is_opened_and_held_against_something_else(open_page, two_runs, history, qtbot):
    _, page = open_page()
    (row,) = [row for row in page.list.rows if row._name == "node-07"]
    assert "fail" in row.accessibleName()  # what was found last, before anything is opened
    visit(page, "node-07", qtbot)
    assert page.presenter.current.shown.run_id == two_runs[1]
    assert "2" in page._appearance.said(page.heading().note)
    page.kept.panel.rows[1].click()
    qtbot.waitUntil(lambda: page.presenter.current.shown.run_id == two_runs[0], timeout=15000)
    settled(page, qtbot)
    page.expected.set_value("p5.48xlarge")
    page._want()
    qtbot.waitUntil(lambda: page.presenter.current.shown.promised is not None, timeout=15000)
    qtbot.waitUntil(lambda: history.runs()[1].expected == "p5.48xlarge", timeout=5000)
    assert history.runs()[0].expected == ""


def test_two_runs_are_compared_in_tables(open_page, two_runs, qtbot):
    session, page = open_page()
    visit(page, "node-07", qtbot)
    (compare,) = [action for action in page.heading().actions if action.id == "compare"]
    assert compare.enabled
    compare.run()
    view = page.kept.difference
    qtbot.waitUntil(lambda: view.between.rows.total > 0, timeout=15000)
    rows = [view.between.rows.row(at).cells for at in range(view.between.rows.total)]
    assert [(row[0], row[2], row[3]) for row in rows] == [(f"GPU {at}", "700 W", "500 W") for at in range(8)]
    odd = [view.within.rows.row(at).cells[0] for at in range(view.within.rows.total)]
    assert "GPU 5" in odd
    view.choose(two_runs[1], two_runs[0])
    qtbot.waitUntil(lambda: view.between.rows.row(0).cells[2] == "500 W", timeout=15000)
    view.choose(two_runs[0], two_runs[0])
    qtbot.waitUntil(view.between.isHidden, timeout=15000)
    for look in each_look(session.appearance):
        for complaints in (clipped(session.window), missing_glyphs(session.window), nameless(session.window)):
            assert complaints == [], look


def test_a_run_is_taken_out_by_key_and_put_back_by_its_notice(open_page, two_runs, history, qtbot):
    session, page = open_page()
    visit(page, "node-07", qtbot)
    panel = page.kept.panel
    assert panel.rows[0] in page.panes()  # F6 leads there
    panel.rows[0].setFocus()
    QTest.keyClick(panel.rows[0], Qt.Key.Key_Down)
    QTest.keyClick(panel.rows[1], Qt.Key.Key_Delete)
    assert [run.id for run in history.runs()] == [two_runs[1]]
    assert len(panel.rows) == 1
    assert not panel.may_compare
    action = session.notices.kept[-1].action
    assert action is not None
    action.run()
    assert len(history.runs()) == 2
    qtbot.waitUntil(lambda: len(panel.rows) == 2, timeout=5000)
    panel.remove.click()
    assert [run.id for run in history.runs()] == [two_runs[0]]


def test_only_the_latest_are_in_sight_until_all_are_wanted(open_page, history, qtbot):
    history.add_host("node-07")
    for days in range(9):
        history.keep("node-07", "a", replace(a_run(days), results=()), "", "")
    _, page = open_page()
    page.visit("node-07")
    qtbot.waitUntil(lambda: len(page.kept.panel.rows) == 6, timeout=5000)
    page.kept.panel.more.click()
    assert len(page.kept.panel.rows) == 9
    assert page.kept.panel.more.isHidden()


def test_a_live_session_is_kept_and_shown_again(open_page, history, qtbot):
    _, page = open_page()
    page.live.sessionEnded.emit(session_of("localhost"))
    qtbot.waitUntil(lambda: len(page.kept.panel.rows) == 1, timeout=5000)
    page.kept.panel.rows[0].click()
    qtbot.waitUntil(lambda: page.live.watching.recorded, timeout=5000)
    assert page.live.watching.gpus == {0: "NVIDIA L40S"}
    assert page.kept.panel.rows[0].isChecked()
    page.kept.panel.remove.click()
    assert history.sessions() == ()


def test_what_is_watched_while_the_window_closes_is_kept(open_page, history, qtbot):
    session, page = open_page()
    page.kept.closing()
    page.live.sessionEnded.emit(session_of("localhost"))
    assert len(history.sessions()) == 1
    short = session_of("localhost")
    short.telemetry.ended_s = 2.0
    page.live.sessionEnded.emit(short)
    assert len(history.sessions()) == 1
    session.window.close()


def test_hosts_stay_over_a_restart_and_are_taken_out_with_an_undo(open_page, history, qtbot):
    for name in ("node-05", "node-07"):
        history.add_host(name)
    session, page = open_page()
    names = [each.entry.target for each in page.presenter.sessions]
    assert names == ["localhost", "node-05", "node-07", SAMPLE]
    page.visit("node-05")
    page.kept.remove.click()
    assert history.hosts() == ("node-07",)
    assert page.presenter.current.entry.target == "localhost"
    assert page.kept.remove.isHidden()
    action = session.notices.kept[-1].action
    assert action is not None
    action.run()
    assert history.hosts() == ("node-05", "node-07")
    assert [each.entry.target for each in page.presenter.sessions] == names


def test_hosts_of_before_the_history_are_taken_over_once(open_page, settings, history, qtbot):
    settings.keep("window.machines.hosts", ["node-03"])
    session, _page = open_page()
    assert history.hosts() == ("node-03",)
    settings.forget("window.")
    session.window.close()
    _, again = open_page()
    assert again.presenter.find("node-03") is not None


def test_hosts_of_the_ssh_configuration_are_offered(open_page, history, tmp_path, qtbot):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host lab-1 lab-2\n  User me\n", encoding="utf-8")
    history.add_host("lab-2")
    _, page = open_page()
    assert [each.entry.target for each in page.presenter.sessions] == ["localhost", "lab-2", "lab-1", SAMPLE]
    page.visit("lab-1")
    assert not page.presenter.may_remove
    assert page.kept.pick_host.isHidden()


def test_of_many_hosts_one_is_found_by_its_name(open_page, tmp_path, qtbot, monkeypatch):
    (tmp_path / ".ssh").mkdir()
    names = " ".join(f"node-{number}" for number in range(LISTED_HOSTS + 10))
    (tmp_path / ".ssh" / "config").write_text(f"Host {names}\n", encoding="utf-8")
    _, page = open_page()
    assert len(page.presenter.sessions) == 2
    added: list[str] = []
    monkeypatch.setattr(page.presenter, "add_host", added.append)
    page.kept.pick_host.click()
    picker = page.kept.picker
    picker._fill("20")
    assert [item.id for item in picker.items()] == ["node-20"]
    picker.picked.emit("node-20")
    picker.close()
    assert added == ["node-20"]
    page.visit("node-3")
    assert page.presenter.current.entry.target == "node-3"


def test_what_is_expected_is_chosen_from_a_list(open_page, workspace, qtbot):
    catalog = workspace.catalog
    gpu = next(gpu.id for gpu in catalog.gpus.values() if gpu.name == "L40S")
    plan = Plan(name="My serving plan", workload=ByHand(), machine=MachineChoice(gpu_id=gpu, gpus=2, per_node=2))
    PlanShelf(workspace.store).add(plan)
    _, page = open_page()
    visit(page, SAMPLE, qtbot)
    assert page.expected.value() == QUOTED
    page.kept.pick_expected.click()
    picker = page.kept.picker
    assert [item.id for item in picker.items()][:2] == ["", "My serving plan"]
    picker._fill("8x h100 sxm5 80")
    assert "8 × H100 SXM5 80GB" in {item.id for item in picker.items()}
    picker._fill("p5.48xlarge")
    instance = picker.items()[0].id
    for text, count in ((instance, 8), ("8 × H100 SXM5 80GB", 8), ("My serving plan", 2)):
        picker.picked.emit(text)
        settled(page, qtbot)
        assert page.expected.problem is None
        promised = page.presenter.current.shown.promised
        assert promised is not None
        assert promised.gpu_count == count
    picker.close()


def test_the_recorded_machine_is_marked_and_can_be_taken_out_and_found_again(open_page, workspace, qtbot):
    session, page = open_page()
    visit(page, SAMPLE, qtbot)
    assert "invented" in page._appearance.said(page.heading().note)
    qtbot.waitUntil(lambda: page.live.watching.recorded, timeout=5000)
    assert len(page.live.watching.gpus) == 8
    page._choose(0)
    assert page.live.watching.is_empty
    visit(page, SAMPLE, qtbot)
    qtbot.waitUntil(lambda: page.live.watching.recorded, timeout=5000)
    assert page.presenter.current.shown.acceptance.verdict.value == "fail"
    assert page.heading().actions == ()
    page.kept.remove.click()
    session.window.close()
    _, again = open_page()
    assert again.presenter.find(SAMPLE) is None
    again.visit(SAMPLE)
    settled(again, qtbot)
    assert again.presenter.current.entry.kind == "sample"


def test_the_palette_finds_hosts(open_session, workspace, history, tmp_path, qtbot):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host lab-1\n", encoding="utf-8")
    history.add_host("lab-2")
    session = open_session((machines_place(),), workspace)
    went: list[Location] = []
    context = Context(session.appearance, session.window, session.jobs, session.notices, went.append, workspace)
    provider = HostProvider(context, "machines")
    assert provider.find("") == ()
    found = {item.title: item for item in provider.find("lab") if item.score > 0}
    assert [found[name].note for name in ("lab-2", "lab-1")] == ["SSH", "~/.ssh/config"]
    found["lab-1"].run()
    assert went == [Location("machines", "lab-1")]
    assert any(item.id == f"machine.{SAMPLE}" for item in provider.find("示例") if item.score > 0)


def test_it_reads_well_in_every_look_also_in_a_small_window(open_page, two_runs, history, qtbot):
    history.keep_session(session_of("node-07"))
    session, page = open_page()
    visit(page, "node-07", qtbot)
    for size in ((1440, 900), (1100, 700)):
        session.window.resize(*size)
        for look in each_look(session.appearance):
            qtbot.wait(10)
            for complaints in (clipped(session.window), missing_glyphs(session.window), nameless(session.window)):
                assert complaints == [], (look, size)


def test_a_store_that_is_busy_hides_no_run(open_page, two_runs, workspace, qtbot, monkeypatch):
    _, page = open_page()
    visit(page, "node-07", qtbot)

    def busy(*_given: object) -> None:
        raise InputError(msg("store.busy"))

    monkeypatch.setattr(MachineShelf, "items", busy)
    page.presenter.history.refresh()
    qtbot.waitUntil(lambda: not page._context.jobs.busy, timeout=5000)
    assert len(page.kept.panel.rows) == 2


def test_the_window_waits_for_no_list_of_what_is_kept(open_page, two_runs, history, qtbot, monkeypatch):
    _, page = open_page()
    visit(page, "node-07", qtbot)
    read_by = []
    items = MachineShelf.items

    def noted(shelf, kind, host=None):
        read_by.append(threading.current_thread())
        return items(shelf, kind, host)

    monkeypatch.setattr(MachineShelf, "items", noted)
    history.keep_session(session_of("node-07"))  # As another program does.
    read_by.clear()
    page.visit("localhost")
    visit(page, "node-07", qtbot)
    qtbot.waitUntil(lambda: len(page.kept.panel.rows) == 3, timeout=5000)
    page.kept.panel.remove.click()
    page.live.sessionEnded.emit(session_of("node-07"))
    qtbot.waitUntil(lambda: len(page.kept.panel.rows) == 3, timeout=5000)
    assert read_by
    assert threading.main_thread() not in read_by


@pytest.mark.parametrize("also_no_file", [False, True])
def test_what_cannot_be_kept_while_the_window_closes_is_not_lost_silently(
    open_page, workspace, history, qtbot, monkeypatch, also_no_file
):
    def busy(*_given: object) -> None:
        raise InputError(msg("store.busy"))

    session, page = open_page()
    page.kept.closing()
    with monkeypatch.context() as patch:
        patch.setattr(MachineShelf, "keep", busy)
        if also_no_file:
            (workspace.home / "not-kept").write_text("no folder", encoding="utf-8")
        page.live.sessionEnded.emit(session_of("localhost"))
        session.window.close()
        again, other = open_page()
        said = "runsui.lost" if also_no_file else "runsui.rescued.not"
        assert [notice.message.id for notice in again.notices.kept] == [said]
        other.kept.closing()
        again.window.close()
    once_more, page = open_page()
    assert [notice.message.id for notice in once_more.notices.kept] == [] if also_no_file else ["runsui.rescued"]
    assert len(history.sessions("localhost")) == (not also_no_file)
    qtbot.waitUntil(lambda: len(page.kept.panel.rows) == (not also_no_file), timeout=5000)
    assert also_no_file or list((workspace.home / "not-kept").iterdir()) == []


def test_a_kept_run_is_not_opened_over_one_that_runs(open_page, two_runs, qtbot, monkeypatch):
    session, page = open_page()
    visit(page, "node-07", qtbot)
    monkeypatch.setattr(type(page.presenter.current), "busy", True)
    page.presenter.open_run(two_runs[0])
    assert [notice.message.id for notice in session.notices.kept] == ["runsui.busy"]
    assert page.presenter.current.shown.run_id == two_runs[1]


def test_a_kept_run_is_written_to_a_file_that_opens_again(open_page, two_runs, qtbot, tmp_path, monkeypatch):
    session, page = open_page()
    visit(page, "node-07", qtbot)
    path = tmp_path / "node.gpurun"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_given: (str(path.with_suffix("")), ""))
    page.kept.panel.save.click()
    qtbot.waitUntil(path.exists, timeout=5000)
    assert of_files([path]).runs[0].target == "node-07"
    page.kept.save(two_runs[0], tmp_path / "none" / "x.gpurun")
    said = ["runsui.saved", "ui.chart.export_failed"]
    qtbot.waitUntil(lambda: [notice.message.id for notice in session.notices.kept] == said, timeout=5000)
    assert page.dropped([str(path)])
    settled(page, qtbot)
    assert page.presenter.current.entry.kind == "saved"


def test_a_damaged_run_is_said_and_nothing_else_happens(open_page, two_runs, workspace, qtbot):
    workspace.store.write(lambda db: db.execute("UPDATE runs SET content = x'00' WHERE id = ?", (two_runs[0],)))
    session, page = open_page()
    visit(page, "node-07", qtbot)
    page.kept.panel.rows[1].click()
    qtbot.waitUntil(lambda: bool(session.notices.kept), timeout=5000)
    assert session.notices.kept[-1].message.id == "store.kept_is_damaged"
    assert page.presenter.current.shown.run_id == two_runs[1]
    assert not page.presenter.current.judging
