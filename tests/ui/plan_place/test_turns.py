"""What arrives is shown in pieces, a turn of the event loop each, and only what says something else is done anew."""

import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QObject

from gpuplanner.ui.plan_place.results.figure_link import FigureLink
from gpuplanner.ui.widgets.figure_label import FigureLabel
from gpuplanner.ui.widgets.label import Label
from gpuplanner.ui.widgets.stacked_bar import StackedBar


class Seen(QObject):
    """Which kinds of widgets were painted or moved while it watches them."""

    def __init__(self, widgets) -> None:
        super().__init__()
        self.painted: set[type] = set()
        self.resized: set[type] = set()
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched, event) -> bool:
        if event.type() is QEvent.Type.Paint:
            self.painted.add(type(watched))
        elif event.type() in {QEvent.Type.Resize, QEvent.Type.Move}:
            self.resized.add(type(watched))
        return False


@pytest.fixture
def seen(page):
    kinds = (Label, FigureLabel, FigureLink, StackedBar)
    watching = Seen([widget for kind in kinds for widget in page.results.findChildren(kind)])
    yield watching
    watching.deleteLater()


def at_rest(seen, qtbot):
    """Until nothing is painted any more of what was shown before."""

    def calm() -> bool:
        seen.painted.clear()
        seen.resized.clear()
        qtbot.wait(30)
        return not seen.painted and not seen.resized

    qtbot.waitUntil(calm)


def shown_with(searched, candidates, rejections):
    result = searched.result
    some = replace(result, candidates=result.candidates[:candidates], rejections=result.rejections[:rejections])
    return replace(searched, result=some)


def test_both_lists_of_machines_are_seen_at_the_same_time_and_only_those_of_the_last_search(page, qtbot):
    machines, searched = page.machines, page.presenter.outcome.searched
    before = machines.others.rows.total
    assert before > 3
    machines.show_searched(shown_with(searched, 2, 3), "serving")
    assert machines.table("serving").rows.total == 2
    assert machines.others.rows.total == before
    assert not machines.is_filled
    assert not machines.updatesEnabled(), "one list would be seen beside the other of another search"
    machines.show_searched(shown_with(searched, 1, 2), "serving")
    qtbot.waitUntil(lambda: machines.is_filled)
    assert machines.updatesEnabled()
    assert (machines.table("serving").rows.total, machines.others.rows.total) == (1, 2)


def test_what_is_typed_into_the_search_meanwhile_counts(page, qtbot):
    machines, searched = page.machines, page.presenter.outcome.searched
    machines.show_searched(searched, "serving")
    machines.search.edit.setText("nothing of that name")
    machines.search.searched.emit("nothing of that name")
    qtbot.waitUntil(lambda: machines.is_filled)
    assert machines.others.rows.total == 0


def test_the_same_numbers_again_are_neither_laid_out_nor_painted(page, qtbot, seen):
    worked = page.presenter.outcome.worked
    at_rest(seen, qtbot)
    page.results.show_worked(replace(worked, estimate=replace(worked.estimate)))
    qtbot.wait(20)
    assert seen.painted == set()
    assert seen.resized == set()


def test_another_number_is(page, qtbot, seen):
    worked = page.presenter.outcome.worked
    at_rest(seen, qtbot)
    metrics = dict(worked.estimate.metrics)
    tpot = metrics["tpot_s"]
    metrics["tpot_s"] = replace(tpot, value=tpot.value * 100, low=tpot.low * 100, high=tpot.high * 100)
    page.results.show_worked(replace(worked, estimate=replace(worked.estimate, metrics=metrics)))
    qtbot.wait(20)
    assert FigureLabel in seen.painted


def test_no_verdict_of_other_work_is_shown_while_the_search_for_this_one_runs(page, qtbot, workspace, settled):
    assert page.results.verdict.isVisible()
    workspace.delay_s = 0.3
    page.visit("preset/pretrain-7b")
    assert page.presenter.plan.machine is None
    assert not page.results.verdict.isVisible()
    settled(page)
    assert page.results.verdict.isVisible()
    assert page.presenter.outcome.worked.estimate.plan.workload.kind == "training"


def test_what_still_runs_for_another_plan_is_dropped(page, qtbot, workspace, settled, monkeypatch):
    began, released, told = threading.Event(), threading.Event(), []
    explained, outcome = workspace.explained, page.presenter.outcome

    def slow(plan):
        if plan.workload.kind == "serving":
            began.set()
            released.wait(5)
        return explained(plan)

    monkeypatch.setattr(workspace, "explained", slow)
    outcome.work_out(page.presenter.plan)
    qtbot.waitUntil(began.is_set)
    outcome.workedChanged.connect(lambda: told.append(outcome.worked.estimate))
    workspace.delay_s = 0.1
    page.visit("preset/pretrain-7b")
    released.set()
    settled(page)
    assert {made.plan.workload.kind for made in told if made is not None} == {"training"}
