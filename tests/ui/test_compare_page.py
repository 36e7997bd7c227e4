"""The Compare place as a person uses it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.compare_place.compare_table import GroupLine, RowLine
from gpuplanner.ui.compare_place.page import ComparePage
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.pins import MOST_PINS, Pin, PinKind, PinnedCandidate, Pins
from gpuplanner.ui.places import Context, Location
from tests.ui.catalog_workspaces import A100, H100, H200, L4, CatalogOnly


@pytest.fixture
def went() -> list[Location]:
    return []


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def open_page(qtbot, appearance, settings, jobs, shipped_catalog, went, notices) -> Callable[..., ComparePage]:
    """Makes the page with these pins, as the window would."""

    def make(*pins: Pin, catalog: Catalog = shipped_catalog) -> ComparePage:
        for pin in pins:
            Pins(settings).add(pin)
        context = Context(appearance, settings, jobs, notices, went.append, CatalogOnly(catalog, None))
        page = ComparePage(context)
        qtbot.addWidget(page)
        page.resize(1250, 800)
        page.show()
        qtbot.waitUntil(lambda: jobs.busy == 0)
        return page

    return make


def gpu(gpu_id):
    return Pin(PinKind.GPU, gpu_id)


def titles(page):
    return [subject.title for subject in page.subjects]


def rows(page):
    return {line.title: line for line in page.table.lines if isinstance(line, RowLine)}


def test_the_empty_place_teaches(open_page, went):
    page = open_page()
    assert page.empty.isVisible()
    page.empty.buttons[0].click()
    page.empty.buttons[1].click()
    assert went == [Location("catalog"), Location("plan")]
    assert not next(a for a in page.heading().actions if a.id == "markdown").enabled
    assert list(page.panes()) == [page.empty.buttons[0]]


def test_one_pin_asks_for_another(open_page):
    page = open_page(gpu(A100))
    assert "A100 SXM4 80GB" in page.empty.says.text()


def test_two_stand_side_by_side(open_page):
    page = open_page(gpu(A100), gpu(H100))
    assert page.table.isVisible()
    assert titles(page) == ["A100 SXM4 80GB", "H100 SXM5 80GB"]
    memory = rows(page)["GPU memory"]
    assert [cell.text for cell in memory.cells] == ["80 GiB", "80 GiB"]
    assert not memory.differs
    bandwidth = rows(page)["Memory bandwidth"]
    assert [cell.best for cell in bandwidth.cells] == [False, True]
    assert bandwidth.differs


def test_only_differences_is_kept(open_page, settings):
    page = open_page(gpu(A100), gpu(H100))
    everything = len(page.table.lines)
    page.only.click()
    assert len(page.table.lines) < everything
    assert all(line.differs for line in page.table.lines if isinstance(line, RowLine))
    again = open_page()
    assert again.only.isChecked()
    assert "GPU memory" not in rows(again)


def test_columns_move_and_go_and_come_back(open_page, notices):
    page = open_page(gpu(A100), gpu(H100), gpu(H200))
    page.heads.heads[2].left.click()
    assert titles(page) == ["A100 SXM4 80GB", "H200 SXM 141GB", "H100 SXM5 80GB"]
    page.heads.heads[0].right.click()
    assert titles(page) == ["H200 SXM 141GB", "A100 SXM4 80GB", "H100 SXM5 80GB"]
    assert not page.heads.heads[0].left.isEnabled()
    assert not page.heads.heads[2].right.isEnabled()
    page.heads.heads[1].remove.click()
    assert titles(page) == ["H200 SXM 141GB", "H100 SXM5 80GB"]
    notices.kept[-1].action.run()
    assert titles(page) == ["H200 SXM 141GB", "A100 SXM4 80GB", "H100 SXM5 80GB"]


def test_clearing_can_be_undone(open_page, notices, settings):
    page = open_page(gpu(A100), gpu(H100))
    page.clear()
    assert page.empty.isVisible()
    assert Pins(settings).all() == ()
    notices.kept[-1].action.run()
    assert titles(page) == ["A100 SXM4 80GB", "H100 SXM5 80GB"]
    assert page.table.isVisible()


def test_a_name_leads_to_its_entry(open_page, went, shipped_catalog):
    instance = next(iter(shipped_catalog.instances))
    candidate = Pin(PinKind.CANDIDATE, "x", PinnedCandidate("2 × H100", "Chat", H100, 2))
    rented = Pin(PinKind.CANDIDATE, "y", PinnedCandidate("1 × A10", "Chat", A100, 1, instance_id=instance))
    page = open_page(gpu(A100), candidate, rented)
    for head in page.heads.heads:
        head.name.click()
    assert went == [
        Location("catalog", f"gpu/{A100}"),
        Location("catalog", f"gpu/{H100}"),
        Location("catalog", f"instance/{instance}"),
    ]


def test_what_is_pinned_elsewhere_is_there_when_the_page_comes_back(open_page, settings):
    page = open_page(gpu(A100), gpu(H100))
    page.hide()
    Pins(settings).add(gpu(L4))
    page.show()
    assert titles(page)[-1] == "L4"
    assert page.heading().note.values == {"count": 3, "most": MOST_PINS}


def test_a_comparison_begins_at_its_top_when_one_comes_back(open_page, qtbot):
    page = open_page(gpu(A100), gpu(H100))
    page.resize(900, 300)
    bar = page.area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(bar.maximum())
    page.hide()
    page.show()
    assert bar.value() == 0


def test_the_comparison_is_copied(open_page, notices):
    page = open_page(gpu(A100), gpu(H100))
    page.copy_markdown()
    assert "| ≠ Memory bandwidth | 2,039 GB/s | 3,350 GB/s best |" in QGuiApplication.clipboard().text()
    page.copy_csv()
    assert '≠ Memory bandwidth,"2,039 GB/s","3,350 GB/s best"' in QGuiApplication.clipboard().text()
    assert notices.kept[-1].message.id == "compareui.copied"


def test_rows_are_walked_and_copied_by_keyboard(open_page):
    page = open_page(gpu(A100), gpu(H100))
    page.table.setFocus()
    QTest.keyClick(page.table, Qt.Key.Key_Down)
    QTest.keyClick(page.table, Qt.Key.Key_Down)
    QTest.keyClick(page.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    second = [line for line in page.table.lines if isinstance(line, RowLine)][1]
    assert QGuiApplication.clipboard().text().split("\t")[0] == f"≠ {second.title}"


def test_six_fit_and_a_narrow_window_scrolls_sideways(open_page, shipped_catalog):
    page = open_page(*(gpu(gpu_id) for gpu_id in list(shipped_catalog.gpus)[:MOST_PINS]))
    page.resize(700, 500)
    QTest.qWait(20)
    assert page.table.width() >= page.table.minimumWidth()
    bar = page.area.horizontalScrollBar()
    assert bar.maximum() > 0
    bar.setValue(bar.maximum())
    assert page._head_area.horizontalScrollBar().value() > 0
    assert page.heads.width() >= page.heads.minimumWidth()
    assert not next(a for a in page.heading().actions if a.id == "add").enabled


def test_the_heads_stand_over_their_columns(open_page):
    page = open_page(gpu(A100), gpu(H100), gpu(H200))
    QTest.qWait(20)
    for at, head in enumerate(page.heads.heads):
        left = head.mapTo(page, head.rect().topLeft()).x()
        column = page.table.mapTo(page, page.table._cell_area(page.table._placed()[1][1], at).topLeft().toPoint()).x()
        assert abs(left - column) <= 2


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_buttons_of_every_head_are_whole(open_page, appearance, shipped_catalog, language, count):
    """The heads of machines of a plan have the longest subtitles."""
    appearance.choose(LANGUAGE, language)
    hired = [i.id for i in shipped_catalog.instances.values() if i.gpu_id == H100][:count]
    assert len(hired) == count
    page = open_page(
        *(
            Pin(
                PinKind.CANDIDATE, at, PinnedCandidate("8 × H100 SXM5 80GB", "Sample: chat on two H100", H100, 8, 1, at)
            )
            for at in hired
        )
    )
    for width in (1250, 1000, 800, 1400):
        page.resize(width, 800)
        QTest.qWait(20)
        area = page._head_area.viewport().rect()
        for head in page.heads.heads:
            for button in (head.plan, head.left, head.right, head.remove):
                bottom = button.mapTo(page._head_area.viewport(), button.rect().bottomLeft()).y()
                assert bottom <= area.bottom(), (width, bottom, area)


def test_the_language_is_switched_live(open_page, appearance):
    page = open_page(gpu(A100), gpu(H100))
    appearance.choose(LANGUAGE, "zh_CN")
    groups = [line.title for line in page.table.lines if isinstance(line, GroupLine)]
    assert groups == ["价格", "单个 GPU"]
    assert "显存带宽" in rows(page)


# --- Going on from here ----------------------------------------------------------------------------------------------

LLAMA = "meta-llama/Meta-Llama-3.1-70B"
P4D = "aws/p4d.24xlarge"


def test_each_kind_is_planned_with_from_its_head(open_page, went):
    bought = PinnedCandidate("2 × H100", "Chat", H100, 2)
    rented = PinnedCandidate("8 × A100", "Chat", A100, 8, instance_id=P4D)
    page = open_page(
        gpu(A100),
        Pin(PinKind.INSTANCE, P4D),
        Pin(PinKind.MODEL, LLAMA),
        Pin(PinKind.CANDIDATE, "bought", bought),
        Pin(PinKind.CANDIDATE, "rented", rented),
        gpu("gone"),
    )
    for head in page.heads.heads[:5]:
        head.plan.click()
    assert [place.place for place in went] == ["plan"] * 5
    assert [place.path for place in went] == [
        f"with/gpu/{A100}",
        f"with/instance/{P4D}",
        f"with/model/{LLAMA}",
        f"with/gpu/{H100}",
        f"with/instance/{P4D}",
    ]
    assert not page.heads.heads[5].plan.isEnabled()


@pytest.mark.parametrize("kind", [PinKind.GPU, PinKind.INSTANCE, PinKind.MODEL])
@pytest.mark.parametrize("count", [2, MOST_PINS])
def test_two_to_six_of_each_kind_stand_side_by_side(open_page, shipped_catalog, kind, count):
    entries = {
        PinKind.GPU: shipped_catalog.gpus,
        PinKind.INSTANCE: shipped_catalog.instances,
        PinKind.MODEL: shipped_catalog.models,
    }[kind]
    step = len(entries) // MOST_PINS
    page = open_page(*(Pin(kind, entry) for entry in list(entries)[::step][:count]))
    assert len(page.heads.heads) == count
    assert len(rows(page)) >= 5
    assert all(len(row.cells) == count for row in rows(page).values())
    assert any(row.differs for row in rows(page).values())


def test_a_persons_own_entry_is_compared_and_said_to_be_own(open_page, shipped_catalog):
    own = replace(shipped_catalog.gpus[L4], id="mine", name="My card", user=True)
    with_own = replace(shipped_catalog, gpus={**shipped_catalog.gpus, "mine": own})
    page = open_page(gpu("mine"), gpu(L4), catalog=with_own)
    assert titles(page) == ["My card", shipped_catalog.gpus[L4].name]
    assert "own entry" in page.heads.heads[0].name.accessibleName()
    assert "own entry" not in page.heads.heads[1].name.accessibleName()


@pytest.mark.parametrize("name", ["both.csv", "both.md"])
def test_what_is_exported_is_what_is_compared(open_page, notices, qtbot, tmp_path, monkeypatch, name):
    page = open_page(gpu(A100), gpu(H100))
    page.only.setChecked(True)
    wanted = tmp_path / name
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: (str(wanted), ""))
    next(action for action in page.heading().actions if action.id == "export").run()
    qtbot.waitUntil(lambda: bool(notices.kept))
    text = wanted.read_text("utf-8-sig")
    bandwidth = rows(page)["Memory bandwidth"]
    assert "A100 SXM4 80GB (GPU · NVIDIA)" in text
    assert all(cell.text in text for cell in bandwidth.cells)
    assert "best" in text
    assert text.count("Sources of ") == 2
    head = [line for line in text.splitlines() if "≠" in line]
    assert len(head) == len(rows(page)), "each row differs, and no other is written"


def test_an_export_that_fails_says_so(open_page, notices, qtbot, tmp_path):
    page = open_page(gpu(A100), gpu(H100))
    page.export.write(tmp_path / "no such folder" / "x.md", page.subjects, page.groups)
    qtbot.waitUntil(lambda: bool(notices.kept))
    assert notices.kept[-1].message.id == "catalogui.export.failed"


def test_a_row_says_what_it_is(open_page, went):
    page = open_page(gpu(A100), gpu(H100))
    table = page.table
    at = next(i for i, line in enumerate(table.lines) if isinstance(line, RowLine) and line.title == "Memory bandwidth")
    middle = table._placed()[at][1].center().toPoint()
    middle.setX(40)
    assert "How fast the GPU reads its own memory" in table._tip(QPointF(middle))
    QApplication.sendEvent(table, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, middle, table.mapToGlobal(middle)))
    menu = table.findChild(QMenu)
    next(action for action in menu.actions() if action.text() == "What is “HBM bandwidth”?").trigger()
    menu.close()
    assert went[-1] == Location("help", "term/hbm")
