"""The cards of expected beside measured: which there are, in which order, their tables, their files, the keyboard."""

import csv

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea

from gpuplanner.acceptance.check import CheckRule, Judgement
from gpuplanner.acceptance.checking import Acceptance, CheckResult
from gpuplanner.acceptance.verdicts import Verdict as Judged
from gpuplanner.machines.evidence import MachineEvidence
from gpuplanner.messages import Language, msg
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import DiskRate, MatrixRate
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.telemetry import Telemetry
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.machines_place.charts.cards import RateCards
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.places import Context
from gpuplanner.ui.widgets.chart import Chart
from gpuplanner.ui.widgets.chart_axes import Axis, label_step
from gpuplanner.ui.widgets.chart_series import Series, SeriesKind
from gpuplanner.ui.widgets.scrolling import scrolling
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace
from tests.acceptance.judged import H100, gpus, promising
from tests.machines.rated import H100_SXM, all_reduce, copies
from tests.ui.checks import clipped, missing_glyphs, nameless
from tests.ui.screenshots import each_look

MIB = 2**20
HOSTILE = "=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture
def cards(qtbot, appearance, settings, jobs, workspace):
    made = RateCards(Context(appearance, settings, jobs, Notices(), lambda _where: None, workspace))
    area = scrolling(made)
    qtbot.addWidget(area)
    area.resize(380, 900)
    area.show()
    made.area = area  # type: ignore[attr-defined]  # kept as long as its content
    return made


def measured() -> Evidence:
    sizes = {float(size * MIB): 330.0 * size / (size + 8) for size in (1, 16, 512, 1024)}
    return Evidence(
        gpus=gpus(2),
        bandwidths=(
            *copies("host_to_device", {0: 55.2, 1: 26.1}, bytes=256 * MIB),
            *copies("device_memory", {0: 2990.0, 1: 2980.0}, counts_both=True, bytes=256 * MIB),
        ),
        matrix_rates=(MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=780.0, path="torch", m=8192, n=8192, k=8192),),
        collectives=(all_reduce(sizes, gpu_names=("NVIDIA H100 80GB HBM3",)),),
        disk_rates=(DiskRate(operation="read", block_bytes=MIB, gb_per_s=2.0, direct=True, path=HOSTILE),),
    )


def shown(evidence: Evidence | None, kind="ssh", plan=None, **verdicts: Judged) -> Shown:
    machine = MachineEvidence(evidence) if evidence is not None else None
    results = tuple(
        CheckResult(CheckRule(id_.replace("_", "."), 1, "B", ""), Judgement(verdict, msg("check.as_expected")))
        for id_, verdict in verdicts.items()
    )
    acceptance = Acceptance(promising(H100), results)
    return Shown("node-07", kind, machine, acceptance, promising(H100), plan)


def all_made(qtbot, cards) -> list[str]:
    qtbot.waitUntil(lambda: bool(cards.cards) and not cards._turn.isActive(), timeout=20000)
    return [card._drawn.id for card in cards.cards]


def test_what_failed_stands_first_with_its_verdict(qtbot, cards):
    cards.show_machine(shown(measured(), bw_h2d=Judged.FAIL, allreduce=Judged.PASS, flops=Judged.WARN))
    assert all_made(qtbot, cards) == [
        "host_copies", "products", "all_reduce.8x1", "memory_copies", "disks", "roofline",
    ]  # fmt: skip
    assert cards.cards[0].tag.text() == "fail"
    assert cards.cards[3].tag is None
    assert "between GPUs" in cards.lacking.text()


def test_what_has_nothing_teaches_or_goes(cards):
    cards.show_machine(shown(None))
    assert cards.isHidden()
    cards.show_machine(shown(Evidence(gpus=gpus(2))))
    assert not cards.isHidden()
    assert not cards.teach.isHidden()
    cards.show_machine(shown(Evidence(gpus=gpus(2)), kind="saved"))
    assert cards.isHidden()


def test_another_machine_takes_the_place_of_the_one_before(qtbot, cards):
    cards.show_machine(shown(measured()))
    all_made(qtbot, cards)
    copies_alone = Evidence(gpus=gpus(1), bandwidths=copies("host_to_device", {0: 55.0}, bytes=256 * MIB))
    cards.show_machine(shown(copies_alone))
    qtbot.waitUntil(lambda: [card._drawn.id for card in cards.cards] == ["host_copies"], timeout=20000)


def test_a_plan_brings_its_operators(qtbot, cards, workspace):
    choice = MachineChoice(gpu_id=H100_SXM.id, gpus=1, per_node=1)
    plan = workspace.presets["chat-8b"].model_copy(update={"machine": choice})
    cards.show_machine(shown(measured(), plan=plan))
    roof = cards.cards[all_made(qtbot, cards).index("roofline")]
    operators = [series for series in roof.chart._series if series.kind is SeriesKind.POINTS]
    assert len(operators) == 1
    assert "Reading weights, Multiplying" in operators[0].names


def test_what_was_watched_stands_beside_the_shares_of_the_plan(qtbot, cards, workspace):
    choice = MachineChoice(gpu_id=H100_SXM.id, gpus=1, per_node=1)
    plan = workspace.presets["chat-8b"].model_copy(update={"machine": choice})
    cards.show_machine(shown(None, plan=plan))
    assert cards.isHidden()
    telemetry = Telemetry()
    for at in range(30):
        telemetry.take({"at_s": at / 10, "gpus": [{"gpu": 0, "utilization_percent": 71, "power_w": 350}]})
    cards.show_session(LiveSession("node-07", "2026-11-30T10:42:00Z", telemetry))
    assert all_made(qtbot, cards) == ["roofline", "utilization"]
    [seen] = [series for series in cards.cards[1].chart._series if series.kind is SeriesKind.BARS]
    assert list(seen.y) == [71.0, 50.0]
    cards.show_machine(Shown("another", "ssh", plan=plan))
    assert cards.isHidden()


def test_the_page_hands_on_what_was_watched(open_session, tmp_path):
    workspace = Workspace(tmp_path / "home")
    page = open_session((machines_place(),), workspace).window.current_page()
    telemetry = Telemetry()
    telemetry.take({"at_s": 0.0, "gpus": [{"gpu": 0, "utilization_percent": 71}]})
    telemetry.take({"at_s": 1.0, "gpus": [{"gpu": 0, "utilization_percent": 71}]})
    page.live.sessionEnded.emit(LiveSession("localhost", "2026-11-30T10:42:00Z", telemetry))
    assert page.rates._session.telemetry is telemetry
    workspace.store.close()


def test_a_check_that_is_chosen_brings_its_chart_into_sight(open_session, qtbot, tmp_path):
    workspace = Workspace(tmp_path / "home")
    session = open_session((machines_place(),), workspace)
    session.window.resize(1100, 700)
    page = session.window.current_page()
    page.dropped([str(shipped("resources") / "sample" / "machine.gpurun")])
    all_made(qtbot, page.rates)
    area = page.beside.findChild(QScrollArea)
    assert area.verticalScrollBar().value() == 0
    page.checks.table.choose("bw.d2d")
    card = page.rates.card_of("bw.d2d")
    qtbot.waitUntil(lambda: area.verticalScrollBar().value() > 0)
    top = card.mapTo(area.viewport(), card.rect().topLeft()).y()
    assert 0 <= top < area.viewport().height()
    assert page.rates.card_of("") is None
    workspace.store.close()


def test_it_reads_well_in_every_look_with_charts_and_with_tables(qtbot, cards, appearance):
    cards.show_machine(shown(measured(), bw_h2d=Judged.FAIL))
    all_made(qtbot, cards)
    area = cards.area
    assert isinstance(area, QScrollArea)
    for width, tables in ((280, False), (380, True)):
        area.resize(width, 900)
        for card in cards.cards:
            card.as_table.setChecked(tables)
        for look in each_look(appearance):
            for complaints in (clipped(area), missing_glyphs(area), nameless(area)):
                assert complaints == [], (look, tables, width)
        assert area.horizontalScrollBar().maximum() == 0
    assert cards.cards[0].chart.isHidden()


@pytest.mark.parametrize("language", Language)
def test_every_chart_is_saved_in_each_way_and_no_cell_is_a_formula(qtbot, cards, appearance, tmp_path, language):
    appearance.choose(LANGUAGE, language.value)
    cards.show_machine(shown(measured()))
    all_made(qtbot, cards)
    for at, card in enumerate(cards.cards):
        for suffix in (".png", ".svg", ".csv"):
            card.chart.export(tmp_path / f"{at}{suffix}")
        assert not QImage(str(tmp_path / f"{at}.png")).isNull()
        assert (tmp_path / f"{at}.svg").read_text(encoding="utf-8").startswith("<?xml")
        rows = list(csv.reader((tmp_path / f"{at}.csv").read_text(encoding="utf-8-sig").splitlines()))
        assert len(rows) - 1 == sum(len(line.points) for line in card._drawn.lines)
        assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)
        assert rows[0][-1] == appearance.text("ui.chart.source")


def test_the_table_has_every_point_and_is_reached_by_keyboard(qtbot, cards, settings):
    cards.show_machine(shown(measured(), bw_h2d=Judged.FAIL))
    all_made(qtbot, cards)
    card = cards.cards[0]
    card.as_table.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(card.as_table, Qt.Key.Key_Space)
    assert card.chart.isHidden()
    cells = [card.table.rows.row(at).cells for at in range(card.table.rows.total)]
    assert [cell[:3] for cell in cells] == [
        ("GPU 0", "Expected", 63.0), ("GPU 0", "Measured", 55.2),
        ("GPU 1", "Expected", 63.0), ("GPU 1", "Measured", 26.1),
    ]  # fmt: skip
    cards._clear()
    cards._shown = None
    cards.show_machine(shown(measured(), bw_h2d=Judged.FAIL))
    all_made(qtbot, cards)
    assert cards.cards[0].as_table.isChecked()


@pytest.mark.parametrize("value", [1e-300, 1e7, 1e308])
def test_strange_numbers_break_no_chart(qtbot, cards, value):
    sizes = {1.0: value, 512.0 * MIB: 300.0, 2.0**60: value}
    strange = Evidence(
        gpus=gpus(2),
        bandwidths=(
            *copies("host_to_device", {0: value, 1: 55.0}, bytes=256 * MIB),
            *(row for size in (1e-300, 1.0, 2.0**60) for row in copies("device_memory", {0: value}, bytes=size)),
        ),
        matrix_rates=(MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=value, path="torch"),),
        collectives=(all_reduce(sizes),),
        disk_rates=(DiskRate(operation="read", gb_per_s=value),),
    )
    cards.show_machine(shown(strange))
    all_made(qtbot, cards)
    assert not cards.area.grab().isNull()


def still_chart(appearance, qtbot, axis: Axis, *series: Series) -> Chart:
    chart = Chart(appearance, msg("rates.chart.products"), axis, Axis("Rate", "GB/s"), still=True, plot_height=160)
    chart.set_series(series)
    qtbot.addWidget(chart)
    chart.resize(360, 260)
    chart.show()
    return chart


def test_arrows_go_from_point_to_point_and_say_each(appearance, qtbot):
    axis = Axis("GPU", labels=("GPU 0", "GPU 1"))
    chart = still_chart(appearance, qtbot, axis, Series("Measured", [0, 1], [55, 26], names=["GPU 0", "GPU 1"]))
    for key, said in (
        (Qt.Key.Key_Right, "Measured · GPU 0 · 55 GB/s"),
        (Qt.Key.Key_Right, "Measured · GPU 1 · 26 GB/s"),
        (Qt.Key.Key_Right, "Measured · GPU 0 · 55 GB/s"),
        (Qt.Key.Key_Left, "Measured · GPU 1 · 26 GB/s"),
    ):
        QTest.keyClick(chart, key)
        assert chart.said.text() == said
        assert chart.accessibleDescription() == said
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    assert chart.said.isHidden()


def test_large_numbers_have_room_on_the_axis(appearance, qtbot):
    def width(top: float) -> float:
        bars = Series("Measured", [0], [top], SeriesKind.BARS)
        chart = still_chart(appearance, qtbot, Axis("GPU", labels=("GPU 0",)), bars)
        return float(chart._plot.getPlotItem().getAxis("left").width())

    assert width(2500.0) > width(25.0)


def test_labels_of_places_that_lie_near_are_written_now_and_then():
    assert label_step([34.0, 34.0], 200.0) == 1
    assert label_step([34.0] * 56, 6.0) == 7
    assert label_step([140.0] * 3, 90.0) == 1
    chart_axis = Axis("Pair", labels=("0 → 1", "0 → 2"))
    assert [chart_axis.said(at) for at in (0, 1, 2)] == ["0 → 1", "0 → 2", ""]
