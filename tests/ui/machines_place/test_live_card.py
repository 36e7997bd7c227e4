"""The live card over recorded and real samples: what it draws, how long that takes, what it writes and keeps."""

import csv
import io
import threading
from contextlib import contextmanager
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gpuplanner.messages import Language
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.telemetry import Series, Telemetry
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.machines_place.live import saving
from gpuplanner.ui.machines_place.live.card import LiveCard
from gpuplanner.ui.machines_place.live.curves import Curve, envelope, joined
from gpuplanner.ui.machines_place.shown import HERE, Shown
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.places import Context
from gpuplanner.ui.probing import Probing
from tests.probe.native_libraries import compiled_libraries, libraries
from tests.ui.checks import clipped, missing_glyphs, nameless
from tests.ui.stalls import watch_stalls

__all__ = ["compiled_libraries", "libraries"]


def telemetry_of(seconds: int, step_s: float = 1.0) -> Telemetry:
    telemetry = Telemetry()
    for turn in range(round(seconds / step_s)):
        at_s = turn * step_s
        dip = at_s % 8 < 2
        gpus: list[dict[str, Any]] = [
            {
                "gpu": gpu, "utilization_percent": 0 if dip else 90 + (turn + gpu) % 9,
                "power_w": 400 + (turn * gpu) % 90,
                "power_limit_w": 500, "memory_used_mib": 60_000, "memory_total_mib": 81_559,
                "pcie_received_mb_per_s": 0 if dip else 9_000 + (turn * 7) % 900, "temperature_c": 60 + gpu,
                "throttle_reasons": 0x80 if gpu == 5 and at_s > seconds / 2 else 4,
                "processes": [{"pid": 4000 + gpu, "used_bytes": 60 << 30, "name": "python3"}],
            }
            for gpu in range(8)
        ]  # fmt: skip
        if turn == round(seconds / step_s) - 20:
            gpus[3]["xids"] = [63]
        host = {"cpu_percent": 97, "cpus": 96, "cpu_wait_percent": 0, "busiest_disk_percent": 4}
        telemetry.take({"at_s": at_s, "gpus": gpus, "host": host})
    return telemetry


@pytest.fixture(scope="module")
def session():
    return LiveSession("node-07", "2026-11-30T10:42:00Z", telemetry_of(100), {})


@pytest.fixture
def probing(qapp):
    made = Probing()
    yield made
    assert made.close()


@pytest.fixture
def card(qtbot, appearance, settings, jobs, probing):
    made = LiveCard(Context(appearance, settings, jobs, Notices(), lambda _where: None, None), probing)
    qtbot.addWidget(made)
    made.resize(460, 900)
    made.show()
    yield made
    made.close_card()


def test_what_can_be_watched_teaches_and_what_cannot_hides(card):
    card.show_machine(Shown("node-07", "ssh"))
    assert card.teach.isVisible()
    assert card.start.text() == "Start"
    card.show_machine(Shown("vendor.txt", "saved"))
    assert card.isHidden()


@pytest.mark.parametrize("language", Language)
def test_a_session_is_shown_again_as_a_recording(card, appearance, session, language):
    appearance.choose(LANGUAGE, language.value)
    card.show_session(session)
    assert list(card._strips) == ["utilization", "power", "pcie_received"]
    assert ("recording" in card.card.note.text()) is (language is Language.ENGLISH)
    assert [word for _, word in card._tags(next(m for m in card._metrics() if m.id == "utilization"))] == ["Xid 63"]
    power = next(metric for metric in card._metrics() if metric.id == "power")
    assert [word for _, word in card._tags(power)] == [appearance.text("cli.watch.reason.power_brake")]
    assert card.processes.rows.rowCount() == 8
    for check in (clipped, missing_glyphs, nameless):
        assert check(card) == []
    assert card.utilization.cause.text() == {Language.ENGLISH: "Data loading"}.get(language, "数据加载")


def test_pointing_at_a_strip_reads_it_out_and_pauses(card, session, qtbot):
    card.show_session(session)
    strip = card._strips["power"]
    newest = strip.readout()
    strip.setFocus()
    QTest.keyClick(strip, Qt.Key.Key_Left)
    assert card._paused
    assert "ago" in strip.readout()
    assert "GPU" in strip.accessibleDescription()
    QTest.keyClick(strip, Qt.Key.Key_Escape)
    assert not card._paused
    assert strip.readout() == newest


def test_time_charts_and_table_are_kept(card, session, settings):
    card.show_session(session)
    card.spans.step(1)
    card._choose_chart("temperature", on=True)
    card._choose_chart("power", on=False)
    assert list(card._strips) == ["utilization", "pcie_received", "temperature"]
    card.as_table.click()
    assert card._strips == {}
    assert card.values.rows.rowCount() == 24
    kept = {key.rsplit(".", 1)[1]: value for key, value in settings.values.items() if ".live." in key}
    assert (kept["span"], kept["table"], kept["charts"]) == (
        "10m",
        True,
        ["utilization", "pcie_received", "temperature"],
    )


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".gplive", b"PK")])
def test_it_is_written_as_picture_drawing_and_session(card, session, qtbot, tmp_path, suffix, begins):
    card.show_session(session)
    path = tmp_path / f"live{suffix}"
    card.saving.export(path)
    qtbot.waitUntil(path.exists)
    assert path.read_bytes().startswith(begins)
    if suffix == ".gplive":
        card.watching.forget()
        card.saving.open_file(path)
        qtbot.waitUntil(lambda: card.watching.recorded)
        assert card.watching.telemetry.series.keys() == session.telemetry.series.keys()


def test_csv_holds_every_bin_that_is_drawn_and_the_marks(card, session, qtbot, tmp_path):
    card.show_session(session)
    path = tmp_path / "live.csv"
    card.saving.export(path)
    qtbot.waitUntil(path.exists)
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert {row["metric"] for row in rows} == {"utilization", "power", "pcie_received", "xid", "throttle_reasons"}
    assert max(float(row["high"]) for row in rows if row["metric"] == "power") == 489


@pytest.mark.parametrize("suffix", [".csv", ".gplive"])
def test_numbers_are_written_beside_the_window_as_they_were_when_asked_for(
    card, qtbot, jobs, tmp_path, suffix, monkeypatch
):
    made_by: list[threading.Thread] = []
    for name in ("as_csv", "to_bytes"):
        made = getattr(saving, name)

        def noted(*given, made=made):
            made_by.append(threading.current_thread())
            return made(*given)

        monkeypatch.setattr(saving, name, noted)
    watched = LiveSession("node-07", "2026-11-30T10:42:00Z", telemetry_of(30), {})
    card.show_session(watched)
    path, later = tmp_path / f"live{suffix}", tmp_path / f"later{suffix}"
    with holding(jobs):
        card.saving.export(path)
        watched.telemetry.take({"at_s": 30.0, "gpus": [{"gpu": 0, "power_w": 9_999}]})
    qtbot.waitUntil(path.exists)
    card.saving.export(later)
    qtbot.waitUntil(later.exists)
    assert made_by
    assert threading.main_thread() not in made_by
    if suffix == ".csv":
        assert "9999" not in path.read_text(encoding="utf-8")
        assert "9999" in later.read_text(encoding="utf-8")


@contextmanager
def holding(jobs):
    """No job begins meanwhile."""
    release = threading.Event()
    for _ in range(jobs._at_most):
        jobs.run(lambda _cancel: release.wait(10), lambda _went: None)
    try:
        yield
    finally:
        release.set()


def test_joined_bins_keep_every_peak_and_dip():
    series = Series()
    for at in range(6_000):
        series.add(at / 10, 100.0 if at == 4_321 else -5.0 if at == 1_234 else 50.0)
    middle, low, mean, high = joined(series.recent(600), 100)
    assert len(middle) <= 100
    assert (low.min(), high.max()) == (-5, 100)
    times, values = envelope(Curve(0, middle, low, mean, high))
    assert len(times) == len(values) <= 200
    assert (values.min(), values.max()) == (-5, 100)


@pytest.mark.alone
def test_an_hour_of_eight_gpus_is_drawn_within_the_frame(card):
    hour = LiveSession("node-07", "2026-11-30T10:42:00Z", telemetry_of(3_600, 3.0), {})
    card.show_session(hour)
    card.spans.choose("1h")
    card._draw()
    with watch_stalls() as stalls:
        for _ in range(5):
            card._draw()
            stalls.pump(0.1)
    assert stalls.quick_cpu_ms < 50


def test_this_machine_is_watched_until_one_stops(card, qtbot, libraries, monkeypatch, settings):
    libraries.put("nvml")
    for name, value in libraries.environment(gpus=2, busy=1).items():
        monkeypatch.setenv(name, value)
    ended: list[LiveSession] = []
    card.sessionEnded.connect(ended.append)
    card.show_machine(Shown(HERE, "here"))
    card.start.click()
    assert card.start.text() == "Stop"
    qtbot.waitUntil(lambda: card.watching.telemetry.ended_s > 0.3 and len(card._strips) >= 2, timeout=8000)
    assert settings.values["window.live.started"] == HERE
    card.start.click()
    assert not card.watching.running
    assert [session.gpus for session in ended] == [{0: "NVIDIA Stub 0", 1: "NVIDIA Stub 1"}]
    assert settings.values["window.live.started"] == ""
