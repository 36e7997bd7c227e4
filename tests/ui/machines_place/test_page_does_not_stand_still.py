"""The page keeps up: a run of all commands, its 60 checks, charts and causes, and eight GPUs live at ten samples/s."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gpuplanner.machines.sample import sample_run
from gpuplanner.probe.commands import Command
from gpuplanner.probe.transports import Told
from gpuplanner.probe.transports.programs import Heard, Program
from gpuplanner.probe.transports.recorded import RecordedTransport
from gpuplanner.ui.machines_place.errands import Ways
from gpuplanner.ui.machines_place.page import MachinesPage
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.ui.places import Place
from gpuplanner.workspace import Workspace
from tests.ui.resting import rest
from tests.ui.stalls import watch_stalls

GPUS = 8


class Recorded:
    """The recorded machine, as if it were at hand; it can be watched, too."""

    name = "recorded"

    def __init__(self) -> None:
        self._recorded = RecordedTransport(sample_run(), pace=0.01)

    async def collect(self, commands: Sequence[Command], told: Told) -> bool:
        return await self._recorded.collect(commands, told)

    async def run(self, _program: Program, _work: Mapping[str, Any], _told: Told, heard: Heard) -> bool:
        for turn in range(100_000):
            heard(frame(turn))
            await asyncio.sleep(0.1)
        return True


def frame(turn: int) -> dict[str, Any]:
    dip = turn % 80 < 6
    gpus = [
        {
            "gpu": gpu, "utilization_percent": 3 if dip else 90 + (turn + gpu) % 9, "power_w": 400 + turn * gpu % 90,
            "power_limit_w": 500, "memory_used_mib": 60_000, "memory_total_mib": 81_559, "temperature_c": 60 + gpu,
            "pcie_received_mb_per_s": 0 if dip else 9_000 + turn * 7 % 900, "clock_sm_mhz": 1980,
            "throttle_reasons": 0x80 if gpu == 5 and turn % 50 > 25 else 4,
            "processes": [{"pid": 4000 + gpu, "used_bytes": 60 << 30, "name": "python3"}],
        }
        for gpu in range(GPUS)
    ]  # fmt: skip
    host = {"cpu_percent": 97, "cpus": 96, "memory_used_mib": 90_000, "memory_total_mib": 2_000_000}
    return {"frame": "sample", "at_s": turn / 10, "gpus": gpus, "host": host}


class RecordedWays(Ways):
    """Every way leads to the recorded machine."""

    def to(self, target: str, answerer: Any) -> Any:
        return Recorded()


@pytest.fixture
def session(open_session, tmp_path, qtbot):
    workspace = Workspace(tmp_path / "home")
    place = machines_place()
    shown = Place(place.id, place.icon, place.title, lambda context: MachinesPage(context, RecordedWays()))
    session = open_session((shown,), workspace)
    rest(session, qtbot)
    yield session
    session.window.close()
    workspace.store.close()


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
