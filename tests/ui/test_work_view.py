"""What takes long is said, and can be stopped."""

import threading
from typing import Any

import pytest

from gpuplanner.messages import msg
from gpuplanner.ui.shell.work_view import LONG_S, SHORT_S, WorkView


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def view(appearance, jobs, qtbot, clock):
    shown = WorkView(appearance, jobs, lambda: clock[0])
    qtbot.addWidget(shown)
    return shown


def begin(jobs, done=lambda _result: None, **how):
    """A job that runs until its event is set, or until it is cancelled."""
    goes_on = threading.Event()

    def work(cancel):
        while not goes_on.wait(0.005) and not cancel.requested:
            pass
        return "done"

    job = jobs.run(work, done, title=msg("ui.work.rows"), **how)
    return job, goes_on


def after(view, job, clock, seconds):
    clock[0] = job.since + seconds
    view.look()


def test_first_nothing_then_a_word_then_a_bar_and_the_way_out(view, jobs, clock, qtbot):
    job, goes_on = begin(jobs)
    after(view, job, clock, SHORT_S - 0.1)
    assert view.isHidden()
    after(view, job, clock, SHORT_S + 0.1)
    assert not view.isHidden()
    assert view.says.text() == "Reading all rows of the table"
    assert view.bar.isHidden()
    assert view.stop.isHidden()
    after(view, job, clock, LONG_S)
    assert not view.bar.isHidden()
    assert not view.stop.isHidden()
    assert view.bar.accessibleName() == "Reading all rows of the table"
    goes_on.set()
    qtbot.waitUntil(lambda: jobs.busy == 0)
    assert view.isHidden()


def test_what_is_cancelled_is_gone_at_once_and_brings_nothing(view, jobs, clock, qtbot):
    brought: list[Any] = []
    job, _ = begin(jobs, brought.append)
    after(view, job, clock, LONG_S + 1)
    view.stop.click()
    assert view.isHidden()
    qtbot.waitUntil(lambda: jobs.busy == 0)
    assert brought == []


def test_what_may_not_be_cancelled_has_a_bar_alone(view, jobs, clock, qtbot):
    job, goes_on = begin(jobs, may_cancel=False)
    after(view, job, clock, LONG_S + 1)
    assert not view.bar.isHidden()
    assert view.stop.isHidden()
    goes_on.set()
    qtbot.waitUntil(lambda: jobs.busy == 0)


def test_work_without_a_title_is_not_worth_a_word(view, jobs, clock, qtbot):
    goes_on = threading.Event()
    job = jobs.run(lambda _cancel: goes_on.wait(5), lambda _result: None)
    after(view, job, clock, LONG_S + 1)
    assert view.isHidden()
    goes_on.set()
    qtbot.waitUntil(lambda: jobs.busy == 0)
