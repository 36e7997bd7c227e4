"""The page keeps up: a run of all commands, its 60 checks, charts and causes, and eight GPUs live at ten samples/s."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.ui.stalls import watch_stalls


@pytest.mark.alone
def test_a_run_its_checks_and_eight_gpus_live_leave_no_gap_of_50_ms(session):
    page = session.window.current_page()
    machine = page.presenter.current
    with watch_stalls() as stalls:
        page.live.start.click()
        stalls.pump_until(lambda: len(page.live._strips) >= 3)
        page.run()
        stalls.pump_until(lambda: machine.shown.acceptance is not None, 30)
        stalls.pump(1.0)
        steps: list[Callable[[], object]] = [
            *(lambda: QTest.keyClick(page.checks.table, Qt.Key.Key_Down) for _ in range(6)),
            lambda: page.views.step(1),
            lambda: page.views.step(1),
            lambda: page.views.step(-1),
            lambda: page.views.step(-1),
            page.leave,
            page.checks.tags[machine.shown.acceptance.results[0].judgement.verdict].click,
            lambda: page.live.spans.step(1),
            page.live.as_table.click,
            page.live.as_table.click,
        ]
        for step in steps:
            step()
            stalls.pump(0.15)
    assert len(machine.shown.acceptance.results) >= 60
    assert page.live.watching.telemetry.ended_s > 1
    page.live.close_card()
    assert stalls.quick_cpu_ms < 50
