import gc
import sys
import threading
import time

import pytest
from PySide6.QtCore import QTimer

from gpuplanner.ui.background import GIVE_WAY_S, Cancel, Coalescer, Jobs, Latest
from gpuplanner.ui.collecting import Collector
from tests.ui import stalls as measuring
from tests.ui.stalls import watch_stalls


def test_results_arrive_in_the_gui_thread(qtbot, jobs):
    threads = []

    def work(_cancel):
        threads.append(threading.get_ident())
        return 42

    done: list[object] = []
    jobs.run(work, lambda value: done.append((value, threading.get_ident())))
    qtbot.waitUntil(lambda: bool(done))
    assert done == [(42, threading.get_ident())]
    assert threads[0] != threading.get_ident()


def test_a_failure_goes_to_whoever_asked(qtbot, jobs):
    failed: list[object] = []
    jobs.run(lambda _cancel: 1 / 0, lambda _value: pytest.fail("it has no result"), failed.append)
    qtbot.waitUntil(lambda: bool(failed))
    assert isinstance(failed[0], ZeroDivisionError)


def test_a_failure_that_nobody_handles_is_not_lost(qtbot, jobs):
    with qtbot.captureExceptions() as caught:
        jobs.run(lambda _cancel: 1 / 0, lambda _value: None)
        qtbot.waitUntil(lambda: bool(caught))
    assert caught[0][0] is ZeroDivisionError


def test_a_cancelled_job_hears_of_it_and_its_result_is_dropped(qtbot, jobs):
    started = threading.Event()
    done: list[object] = []

    def work(cancel):
        started.set()
        while not cancel():
            time.sleep(0.001)
        return "late"

    job = jobs.run(work, done.append)
    assert started.wait(2)
    job.cancel.request()
    qtbot.waitUntil(lambda: jobs.busy == 0)
    assert done == []


def test_only_the_latest_of_a_place_counts(qtbot, jobs):
    latest = Latest(jobs)
    done: list[object] = []

    def work(number):
        def run(cancel):
            for _ in range(20):
                if cancel():
                    break
                time.sleep(0.001)
            return number

        return run

    for number in range(10):
        latest.run(work(number), done.append)
    qtbot.waitUntil(lambda: jobs.busy == 0, timeout=5000)
    assert done == [9]


def test_busy_is_told(qtbot, jobs):
    told: list[object] = []
    jobs.busyChanged.connect(told.append)
    jobs.run(lambda _cancel: None, lambda _value: None)
    qtbot.waitUntil(lambda: jobs.busy == 0)
    assert told == [1, 0]


def test_closing_waits_for_what_runs(qapp):
    pool, ended = Jobs(), []

    def work(cancel):
        while not cancel():
            time.sleep(0.001)
        ended.append(True)

    pool.run(work, lambda _value: None)
    time.sleep(0.02)
    assert pool.close()
    assert ended == [True]


def test_a_flood_becomes_few_calls_and_the_last_is_not_lost(qtbot, qapp):
    seen, state = [], {"value": 0}
    flood = Coalescer(lambda: seen.append(state["value"]), qapp, 20)
    for value in range(1000):
        state["value"] = value
        flood.call()
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == [999]
    state["value"] = -1
    flood.call()
    flood.flush()
    assert seen == [999, -1]
    flood.flush()
    assert seen == [999, -1]
    flood.deleteLater()


@pytest.mark.alone
def test_a_stall_is_measured(qapp):
    with watch_stalls() as stalls:
        stalls.pump(0.05)
    calm = stalls.longest_cpu_ms
    # As much work as takes 80 ms where the limits were set.
    work_s = 0.08 * stalls.slowness
    with watch_stalls() as stalls:
        stalls.pump(0.02)
        # Processor time and not a clock: another program may take the processor in between.
        end = time.thread_time() + work_s
        while time.thread_time() < end:
            pass
        stalls.pump(0.02)
    assert stalls.longest_ms >= 80
    assert stalls.longest_cpu_ms > max(calm, 50)
    assert stalls.quick_cpu_ms > 50
    with watch_stalls() as stalls:
        time.sleep(0.1)
        stalls.pump(0.02)
    assert stalls.longest_ms >= 100


@pytest.mark.alone
def test_waiting_for_a_thread_that_has_the_interpreter_is_measured(qapp):
    held_s = 0.15

    def hold() -> None:
        end = time.thread_time() + held_s
        while time.thread_time() < end:
            pass

    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(10)
    try:
        holder = threading.Thread(target=hold)
        with watch_stalls() as stalls:
            stalls.pump(0.02)
            holder.start()
            stalls.pump_until(lambda: not holder.is_alive())
    finally:
        sys.setswitchinterval(switch_s)
    assert stalls.longest_own_ms > held_s * 900
    assert stalls.longest_cpu_ms < held_s * 500


@pytest.mark.parametrize(("ratio", "slowness"), [(0.5, 1.0), (1.0, 1.0), (1.8, 1.8)])
def test_a_slower_machine_gets_as_much_more_time_and_a_quicker_one_no_less(qapp, monkeypatch, ratio, slowness):
    monkeypatch.setattr(measuring, "yardstick_ms", lambda: ratio * measuring.YARDSTICK_MS)
    with watch_stalls() as stalls:
        stalls.pump(0.01)
    stalls.gaps.append((90.0, 90.0, 0.0))
    assert stalls.slowness == pytest.approx(slowness)
    assert stalls.longest_cpu_ms >= 90
    assert stalls.quick_cpu_ms == pytest.approx(stalls.longest_cpu_ms / slowness)
    assert stalls.quick_own_ms == pytest.approx(stalls.longest_own_ms / slowness)


def test_results_that_arrive_together_have_a_turn_each(qtbot, jobs):
    """A key that waits comes between two results; they are not dealt with in one go."""
    order: list[object] = []
    both = threading.Barrier(2)
    timer = QTimer()
    timer.setInterval(1)
    timer.timeout.connect(lambda: order.append("beat"))
    timer.start()

    def done(name):
        order.append(name)
        time.sleep(0.01)

    for name in ("first", "second"):
        jobs.run(lambda _cancel: both.wait(5), lambda _none, name=name: done(name))
    end = time.monotonic() + 5
    while len(jobs._outcomes) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    qtbot.waitUntil(lambda: jobs.busy == 0)
    timer.stop()
    results = [at for at, what in enumerate(order) if what != "beat"]
    assert len(results) == 2
    assert "beat" in order[results[0] + 1 : results[1]]


def test_a_result_that_waits_inside_does_not_hold_up_the_others(qtbot, jobs):
    """As a dialog does, which runs a loop of its own."""
    later: list[object] = []

    ended: list[object] = []

    def done(_none):
        jobs.run(lambda _cancel: None, later.append)
        qtbot.waitUntil(lambda: bool(later))
        ended.append(True)

    jobs.run(lambda _cancel: None, done)
    qtbot.waitUntil(lambda: bool(ended))
    assert later == [None]


@pytest.mark.alone
def test_work_beside_the_window_does_not_stall_it(qtbot, jobs):
    done: list[object] = []

    def work(_cancel):
        total = 0
        for number in range(1_500_000):
            total += number
        return total

    with watch_stalls() as stalls:
        jobs.run(work, done.append)
        stalls.pump_until(lambda: bool(done), 20)
    assert stalls.quick_cpu_ms < 50


@pytest.mark.alone
def test_a_page_of_many_calls_does_not_wait_long_for_the_interpreter(qtbot, jobs):
    """Each call of Qt hands the interpreter over, and beside a search in Python has to ask for it back."""

    def work(cancel):
        while not cancel():
            sum(range(200))

    job = jobs.run(work, lambda _none: None)
    waited = []
    for _ in range(5):
        with watch_stalls() as stalls:
            stalls.pump(0.02)
            for _call in range(40):
                time.sleep(0)
            stalls.pump(0.02)
        waited.append(stalls.quick_own_ms)
    job.cancel.request()
    # The least of five: on a busy machine the thread that has the interpreter may itself not run.
    assert min(waited) < 50
    qtbot.waitUntil(lambda: jobs.busy == 0)


def test_how_long_threads_keep_the_interpreter_is_as_before_when_the_jobs_have_closed(qapp):
    before = 0.005
    sys.setswitchinterval(before)
    jobs = Jobs()
    assert sys.getswitchinterval() < before
    jobs.close()
    assert sys.getswitchinterval() == pytest.approx(before)


def test_garbage_is_collected_in_the_gui_thread_only(qtbot, jobs):
    threads = set()

    def collected(phase, _info):
        threads.add(threading.get_ident())

    def work(_cancel):
        for _ in range(200_000):
            cycle: list[object] = []
            cycle.append(cycle)

    gc.callbacks.append(collected)
    collector = Collector()
    done: list[object] = []
    try:
        jobs.run(work, done.append)
        qtbot.waitUntil(lambda: bool(done), timeout=20_000)
        assert threads == set()
        assert gc.get_count()[0] > 100_000
        collector.collect()
        assert threads == {threading.get_ident()}
        assert gc.get_count()[0] < 100_000
    finally:
        gc.callbacks.remove(collected)
        collector.close()
        collector.deleteLater()
    assert gc.isenabled()


def test_a_job_gives_way_while_a_result_is_shown(qtbot, qapp):
    jobs = Jobs(threads=2)
    steps: list[float] = []
    shown: list[tuple[float, float]] = []
    going = threading.Event()

    def long(cancel: Cancel) -> None:
        going.set()
        while not cancel():
            steps.append(time.perf_counter())
            time.sleep(0.001)

    def show(_none: None) -> None:
        began = time.perf_counter()
        time.sleep(0.05)
        shown.append((began, time.perf_counter()))

    job = jobs.run(long, lambda _none: None)
    assert going.wait(2)
    jobs.run(lambda _cancel: None, show)
    qtbot.waitUntil(lambda: bool(shown))
    after = len(steps)
    qtbot.waitUntil(lambda: len(steps) > after + 5)
    job.cancel.request()
    assert jobs.close()
    [(began, ended)] = shown
    # One step may have been under way.
    assert sum(began < at < ended for at in steps) <= 1


def test_a_job_gives_way_for_no_longer_than_its_time(qtbot, qapp):
    jobs = Jobs(threads=1)
    asked: list[bool] = []
    jobs.give_way()
    jobs.run(lambda cancel: asked.append(cancel()), lambda _none: None)
    # The window does not come to paint: its loop does not run.
    end = time.monotonic() + 10 * GIVE_WAY_S
    while not asked and time.monotonic() < end:
        time.sleep(0.01)
    assert asked == [False]
    assert jobs.close()
