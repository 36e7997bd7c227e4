"""The Catalog place as a person uses it: filter, sort, choose, pin, copy, export, similar, go elsewhere and back."""

import csv
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from math import log10

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.problems import Problem, Severity
from gpuplanner.messages import msg
from gpuplanner.store.settings import LANGUAGE, MEMORY
from gpuplanner.ui.catalog_place.filter_popup import FilterPopup
from gpuplanner.ui.catalog_place.page import CatalogPage
from gpuplanner.ui.catalog_place.place import EntryProvider
from gpuplanner.ui.catalog_place.query import Term
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.palette.providers import GlossaryProvider
from gpuplanner.ui.palette.search import PaletteSearch
from gpuplanner.ui.pins import MOST_PINS, Pin, PinKind, Pins
from gpuplanner.ui.places import Context, Location
from gpuplanner.ui.table.columns import Order, SortKey
from gpuplanner.ui.table.copying import CopyFormat
from gpuplanner.ui.table.menus import header_menu
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.widgets.notice_box import NoticeBox
from tests.ui.catalog_workspaces import A100, H100, H200, L4, CatalogOnly, with_index
from tests.ui.screenshots import picture

TODAY = date(2026, 11, 30)
# The offscreen platform has no keyboard to grab for a pop-up.
pytestmark = pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)


@pytest.fixture(scope="module")
def workspace(shipped_catalog) -> CatalogOnly:
    return with_index(shipped_catalog)


@pytest.fixture
def went() -> list[Location]:
    """Where the page asked to go."""
    return []


@pytest.fixture
def notices() -> Notices:
    return Notices()


def table_of(page: CatalogPage) -> DataTable:
    """The table in sight."""
    table = page.current_table()
    assert table is not None
    return table


@pytest.fixture
def open_page(qtbot, appearance, settings, jobs, workspace, went, notices):
    """Makes the page as the window would, shown, with the catalog read and its first rows there."""
    made: list[CatalogPage] = []

    def make(path: str = "", given: CatalogOnly | None = None) -> CatalogPage:
        context = Context(appearance, settings, jobs, notices, went.append, given or workspace)
        page = CatalogPage(context, lambda: TODAY)
        made.append(page)
        page.resize(1250, 800)
        page.show()
        page.activateWindow()
        qtbot.waitUntil(page.isActiveWindow)
        qtbot.waitUntil(lambda: page.presenter.read is not None)
        if path:
            page.visit(path)
        qtbot.waitUntil(lambda: table_of(page).rows.total > 0 or bool(page.presenter.terms()))
        return page

    yield make
    for page in made:
        page._typing.flush()
        qtbot.waitUntil(lambda: jobs.busy == 0)
        page.close()
        page.deleteLater()


@pytest.fixture
def page(open_page: Callable[..., CatalogPage]) -> CatalogPage:
    return open_page()


@pytest.fixture
def names(qtbot) -> Callable[[CatalogPage], list[str]]:
    """The names in sight, once nothing is being fetched any more."""

    def read(page: CatalogPage) -> list[str]:
        page._typing.flush()
        qtbot.waitUntil(lambda: page.presenter.jobs.busy == 0)
        rows = table_of(page).rows
        return [row.cells[0].name for at in range(min(rows.total, 100)) if (row := rows.row(at)) is not None]

    return read


def typed(page, text):
    QTest.keyClicks(page.table_view.bar.field.edit, text)


# --- Tables -----------------------------------------------------------------------------------------------------------


def test_segments_say_how_many_there_are(page, shipped_catalog):
    heading = page.heading()
    counts = [segment.note for segment in heading.segments]
    assert counts == [
        f"{len(entries):,}" for entries in (shipped_catalog.gpus, shipped_catalog.instances, shipped_catalog.models)
    ]
    assert heading.segment == "gpus"


def test_the_first_row_is_chosen_and_said(page, qtbot):
    qtbot.waitUntil(lambda: page.detail_view.name.text() != "")
    assert page.presenter.entry is not None
    assert page.current_table().current_id() == page.presenter.entry.id


def test_there_is_air_between_a_warning_and_the_facts_below_it(page, qtbot):
    """The fastest GPU of the first order has a warning."""
    detail = page.detail_view
    qtbot.waitUntil(lambda: bool(detail.area.findChildren(NoticeBox)))
    warning = detail.area.findChildren(NoticeBox)[0]
    qtbot.waitUntil(lambda: detail.facts.y() - warning.geometry().bottom() >= 10)


def test_another_table_and_back(page, names):
    page.choose_segment("instances")
    assert names(page)
    assert page.heading().segment == "instances"
    assert page.presenter.entry.table is CatalogTable.INSTANCES
    page.choose_segment("models")
    assert names(page)


def test_derived_columns_and_all_others_are_in_the_chooser(page):
    for table in page.table_view.tables.values():
        offered = {column.id for column in table.rows.columns}
        assert "source" in offered
    gpus = page.table_view.tables[CatalogTable.GPUS]
    assert {"price_per_gib", "price_per_tflops"} <= {column.id for column in gpus.rows.columns}
    gpus.columns.show("price_per_gib", shown=True)
    assert "price_per_gib" in {column.id for column in gpus.columns.shown()}


def test_missing_values_come_last_both_ways_and_several_keys_sort(page, names):
    from gpuplanner.ui.table.columns import Order

    table = page.current_table()
    fp8 = next(at for at, c in enumerate(table.rows.columns) if c.id == "fp8_flop_per_s")
    for descending in (False, True):
        table.sort_by(Order((SortKey("fp8_flop_per_s", descending), SortKey("name"))))
        names(page)
        rows = [table.rows.row(at) for at in range(table.rows.total)]
        values = [row.cells[fp8].value for row in rows if row is not None]
        known = [value for value in values if value is not None]
        assert values == known + [None] * (len(values) - len(known))
        assert known == sorted(known, reverse=descending)
        alike = [row.cells[0].name.casefold() for row in rows if row and row.cells[fp8].value == known[0]]
        assert len(alike) > 1 or known.count(known[0]) == 1


def test_a_cell_that_is_not_known_is_a_dash(page, names):
    names(page)
    table = page.current_table()
    price = next(at for at, c in enumerate(table.rows.columns) if c.id == "gpu_price")
    shown = {table.rows.index(row, price).data() for row in range(60)}
    assert "—" in shown
    assert "0" not in shown
    assert "0.00" not in shown


def test_units_stand_in_the_header_in_the_persons_convention(page, appearance):
    table = page.current_table()
    at = next(i for i, c in enumerate(table.rows.columns) if c.id == "memory_bytes")
    assert table.rows.headerData(at, Qt.Orientation.Horizontal) == "Memory\nGiB"
    appearance.choose(MEMORY, "GB")
    assert table.rows.headerData(at, Qt.Orientation.Horizontal) == "Memory\nGB"


# --- Filters ----------------------------------------------------------------------------------------------------------


def test_the_table_follows_what_is_typed(page, names):
    typed(page, "a100|h100")
    found = names(page)
    assert found
    assert all("A100" in name or "H100" in name for name in found if not name.startswith("GH"))
    assert page.table_view.bar.count.text().endswith("/ 171")
    assert page.table_view.bar.chips == []


def test_a_bare_number_says_which_column_it_means_while_it_is_typed(page, names):
    typed(page, ">=80")
    assert [chip.text() for chip in page.table_view.bar.chips] == ["GPU memory ≥ 80 GiB"]
    page.table_view.bar.chips[0].removed.emit()
    assert page.table_view.bar.field.text() == ""
    assert page.table_view.bar.chips == []


def test_the_first_order_greets_with_the_fastest_and_the_newest(page, names, shipped_catalog):
    gpus = {gpu.name: gpu for gpu in shipped_catalog.gpus.values()}
    bandwidths = [gpus[name].known(GpuProperty.HBM_BYTES_PER_S) for name in names(page)[:20]]
    speeds = [known.value for known in bandwidths if known is not None]
    assert len(speeds) == 20
    assert speeds == sorted(speeds, reverse=True)
    page.choose_segment("instances")
    offers = {offer.name: offer for offer in shipped_catalog.instances.values()}
    dates = [offers[name].prices[0].date for name in names(page)[:20]]
    assert dates == sorted(dates, reverse=True)
    page.choose_segment("models")
    page.presenter.type_text("qwen3")
    qwen = [name for name in names(page) if name in ("Qwen3-0.6B", "Qwen3-4B", "Qwen3-14B")]
    assert qwen == ["Qwen3-0.6B", "Qwen3-4B", "Qwen3-14B"]


def test_the_panel_leaves_an_entry_that_a_filter_takes_away(page, names, qtbot):
    page.presenter.choose(L4)
    typed(page, ">=80")
    first = names(page)[0]
    qtbot.waitUntil(lambda: page.detail_view.name.text() == first)
    page.presenter.type_text("no such thing")
    qtbot.waitUntil(lambda: page.presenter.entry is None)


def test_it_leaves_an_entry_that_the_table_had_not_found_yet(page, names, jobs, qtbot):
    names(page)
    page._finder.choose_first(table_of(page))
    first = page.presenter.entry
    page.presenter.choose(L4)
    page._finder._finding.cancel()
    page._finder.choose_first(table_of(page))
    assert page.presenter.entry == first


def test_it_leaves_it_though_the_rows_are_asked_for_again_meanwhile(page, names, qtbot, jobs):
    page.presenter.choose(L4)
    names(page)
    page.presenter.type_text("H100")
    page._typing.flush()
    page._search()
    table_of(page).rows.loaded.connect(page._finder.find)
    qtbot.waitUntil(lambda: jobs.busy == 0)
    first = table_of(page).rows.row(0)
    assert first is not None
    assert page.presenter.entry == EntryRef(CatalogTable.GPUS, first.id)
    assert first.id != L4


def test_an_entry_out_of_sight_comes_into_the_middle(page, names, qtbot):
    names(page)
    table = table_of(page)
    far = table.rows.row(60)
    assert far is not None
    page.visit(f"gpu/{far.id}")
    middle = table.viewport().height() / 2
    qtbot.waitUntil(lambda: abs(table.visualRect(table.currentIndex()).center().y() - middle) < 2 * table.rowHeight(0))
    assert table.current_id() == far.id


def test_a_link_may_lead_to_what_the_filters_leave_out(page, names, qtbot):
    typed(page, ">=80")
    names(page)
    page.visit(f"gpu/{L4}")
    page._search()
    names(page)
    qtbot.wait(50)
    assert page.presenter.entry.id == L4


def test_enter_makes_a_chip_that_can_be_taken_away(page, names):
    everything = names(page)
    typed(page, ">=80")
    QTest.keyClick(page.table_view.bar.field.edit, Qt.Key.Key_Return)
    few = names(page)
    assert 0 < len(few) < len(everything)
    (chip,) = page.table_view.bar.chips
    assert chip.text() == "GPU memory ≥ 80 GiB"
    assert page.table_view.bar.field.text() == ""
    chip.setFocus()
    QTest.keyClick(chip, Qt.Key.Key_Delete)
    assert names(page) == everything
    assert page.table_view.bar.chips == []


def test_backspace_in_an_empty_field_takes_the_last_filter_away(page):
    page.presenter.add(Term("vendor", "AMD"))
    page.presenter.add(Term("memory_bytes", ">=80"))
    QTest.keyClick(page.table_view.bar.field.edit, Qt.Key.Key_Backspace)
    assert [chip.text() for chip in page.table_view.bar.chips] == ["Vendor AMD"]


def test_filters_survive_sorting_another_table_and_a_restart(open_page, names):
    from gpuplanner.ui.table.columns import Order

    page = open_page()
    page.presenter.add(Term("vendor", "AMD"))
    page.presenter.type_text("mi3")
    few = names(page)
    page.current_table().sort_by(Order((SortKey("memory_bytes", descending=True),)))
    assert sorted(names(page)) == sorted(few)
    page.choose_segment("models")
    names(page)
    page.choose_segment("gpus")
    assert sorted(names(page)) == sorted(few)
    page.close_page()
    page.hide()
    again = open_page()
    assert sorted(names(again)) == sorted(few)
    assert [chip.text() for chip in again.table_view.bar.chips] == ["Vendor AMD"]
    assert again.table_view.bar.field.text() == "mi3"


def test_what_cannot_be_read_is_said_and_the_rows_stay(page, names):
    typed(page, "memory>=80")
    few = names(page)
    typed(page, "x")
    assert page.table_view.bar.problem.isVisible()
    assert "80x" in page.table_view.bar.problem.text() or "x" in page.table_view.bar.problem.text()
    QTest.keyClick(page.table_view.bar.field.edit, Qt.Key.Key_Return)
    assert page.table_view.bar.chips == []
    assert names(page) == few
    QTest.keyClick(page.table_view.bar.field.edit, Qt.Key.Key_Backspace)
    assert not page.table_view.bar.problem.isVisible()


def test_an_empty_table_says_which_filter_is_to_blame(page, names, qtbot):
    page.presenter.add(Term("architecture", "Hopper"))
    page.presenter.add(Term("vendor", "AMD"))
    qtbot.waitUntil(lambda: page.table_view.empty.isVisible() and bool(page.table_view.empty.buttons))
    says = [button.text() for button in page.table_view.empty.buttons]
    assert any("Capability" in s or "Architecture" in s or "Hopper" in s for s in says)
    assert len(says) == 2
    page.table_view.empty.buttons[0].click()
    assert names(page)
    assert page.current_table().isVisible()


def test_all_filters_can_be_cleared_from_there(page, names, qtbot, shipped_catalog):
    page.presenter.type_text("no such gpu at all")
    qtbot.waitUntil(page.table_view.empty.isVisible)
    page.presenter.clear()
    names(page)
    assert page.current_table().rows.total == len(shipped_catalog.gpus)
    assert page.table_view.bar.field.text() == ""


def test_a_column_is_filtered_from_its_menu(page, names, qtbot):
    page.filter_chooser.filter_column("vendor")
    popup = page.findChild(FilterPopup)
    qtbot.waitUntil(lambda: bool(popup.values))
    amd = next(row for row in popup.values if row.text() == "AMD")
    amd.click()
    assert all(name.startswith(("Instinct", "Radeon")) for name in names(page))
    assert [chip.text() for chip in page.table_view.bar.chips] == ["Vendor = AMD"]


def test_the_popup_says_what_is_wrong_and_stays(page, qtbot):
    page.filter_chooser.filter_column("memory_bytes")
    popup = page.findChild(FilterPopup)
    QTest.keyClicks(popup.field.box.edit, ">=many")
    QTest.keyClick(popup.field.box.edit, Qt.Key.Key_Return)
    assert popup.isVisible()
    assert page.presenter.query.terms == ()
    popup.field.box.edit.clear()
    QTest.keyClicks(popup.field.box.edit, "80..96")
    QTest.keyClick(popup.field.box.edit, Qt.Key.Key_Return)
    assert page.presenter.query.terms == (Term("memory_bytes", "80..96"),)


def test_the_popup_takes_a_filter_off(page, qtbot):
    page.presenter.add(Term("memory_bytes", ">=80"))
    page.filter_chooser.filter_column("memory_bytes")
    popup = page.findChild(FilterPopup)
    assert popup.field.value() == ">=80"
    popup.take_off.click()
    assert page.presenter.query.terms == ()


def test_words_are_filtered_in_chinese_too(page, names, appearance):
    appearance.choose(LANGUAGE, "zh_CN")
    page.table_view.bar.field.edit.insert("显存>=141")
    QTest.keyClick(page.table_view.bar.field.edit, Qt.Key.Key_Return)
    assert "H200 SXM 141GB" in names(page)
    assert [chip.text() for chip in page.table_view.bar.chips] == ["显存 ≥ 141 GiB"]


# --- The panel --------------------------------------------------------------------------------------------------------


def test_an_entry_is_reached_by_its_path_wherever_it_stands(page, names, qtbot, shipped_catalog):
    last = list(shipped_catalog.instances)[-1]
    page.visit(f"instance/{last}")
    names(page)
    qtbot.waitUntil(lambda: page.detail_view.name.text() == shipped_catalog.instances[last].name)
    assert page.path() == f"instance/{last}"


def test_an_unknown_path_changes_nothing_but_the_entry(page, qtbot):
    page.visit("gpu/no-such-gpu")
    page.visit("somewhere/else")
    assert page.presenter.table is CatalogTable.GPUS


def test_the_panel_warns_names_sources_and_offers(page, qtbot, shipped_catalog):
    page.visit(f"gpu/{A100}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "A100 SXM4 80GB")
    facts = page.detail_view.facts
    texts = [item for item in facts.items if getattr(item, "value", "") == "312 TFLOPS"]
    assert texts
    assert page.detail_view.links, "who offers it"
    at = facts.items.index(texts[0])
    assert not facts.is_open(at)
    QTest.mouseClick(facts, Qt.MouseButton.LeftButton, pos=facts.row_area(at).center().toPoint())
    assert facts.is_open(at)
    assert texts[0].more


def test_a_model_names_where_its_sizes_come_from(page, qtbot, shipped_catalog):
    model = shipped_catalog.models["Qwen/Qwen3-8B"]
    page.visit("model/Qwen/Qwen3-8B")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == model.name)
    told = [getattr(item, "name", "") for item in page.detail_view.facts.items]
    assert model.sources
    assert all(any(source.citation in line for line in told) for source in model.sources)


def test_all_sources_open_at_once(page, qtbot):
    page.visit(f"gpu/{A100}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "A100 SXM4 80GB")
    facts = page.detail_view.facts
    before = facts.heightForWidth(facts.width())
    page.detail_view.sources.click()
    assert all(facts.is_open(at) for at in range(len(facts.items)))
    assert facts.heightForWidth(facts.width()) > before


def test_facts_are_walked_opened_and_copied_by_keyboard(page, qtbot):
    page.visit(f"gpu/{A100}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "A100 SXM4 80GB")
    facts = page.detail_view.facts
    page.activateWindow()
    facts.setFocus()
    qtbot.waitUntil(facts.hasFocus)
    QTest.keyClick(facts, Qt.Key.Key_Down)
    QTest.keyClick(facts, Qt.Key.Key_Return)
    assert facts.is_open(2)
    QTest.keyClick(facts, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "– 2:4 sparse\t624 TFLOPS"


def test_an_offer_leads_to_its_instance_and_that_to_its_gpu(page, qtbot):
    page.visit(f"gpu/{H100}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "H100 SXM5 80GB")
    with qtbot.waitSignal(page.moved):
        page.detail_view.links[0].click()
    assert page.presenter.table is CatalogTable.INSTANCES
    qtbot.waitUntil(lambda: page.detail_view.links and page.detail_view.links[0].text() == "H100 SXM5 80GB")
    page.detail_view.links[0].click()
    assert page.path() == f"gpu/{H100}"


def test_all_offers_are_shown_in_the_table(page, names, shipped_catalog):
    page._show_offers(H100)
    found = names(page)
    wanted = [i.name for i in shipped_catalog.instances.values() if i.gpu_id == H100]
    assert sorted(found) == sorted(wanted)


def test_plan_with_this(page, went, qtbot):
    page.visit(f"gpu/{A100}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "A100 SXM4 80GB")
    page.detail_view.plan.click()
    assert went == [Location("plan", f"with/gpu/{A100}")]


def test_what_cannot_be_planned_with_says_so(page, went, qtbot, shipped_catalog):
    model = next(m for m in shipped_catalog.models.values() if not m.plannable)
    page.visit(f"model/{model.id}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == model.name)
    assert not page.detail_view.plan.isEnabled()
    assert page.detail_view.plan.toolTip()


def test_similar_shows_a_chart_and_its_table_twin(page, names, qtbot):
    page.visit(f"gpu/{A100}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "A100 SXM4 80GB")
    page.detail_view.similar.click()
    similar = page.table_view.similar
    qtbot.waitUntil(similar.isVisible)
    rows = similar.rows.rows
    assert rows.row(0).id == A100
    assert rows.row(1).cells[0].text.startswith("A100")
    drawn = {name for _series, name, _x, _y in similar.chart.table()}
    assert "A100 SXM4 80GB" in drawn
    assert "H100 SXM5 80GB" in drawn
    here = [row for row in similar.chart.table() if "you are here" in row[0]]
    assert [(x, y) for _s, _n, x, y in here] == [(2039.0, 312.0)]
    plot = similar.chart._plot
    own = plot.mapFromScene(plot.getPlotItem().getViewBox().mapViewToScene(QPointF(log10(2039), log10(312))))
    assert similar.chart.point_at(QPointF(own.x() + 3, own.y())).startswith(("A100 SXM4 80GB", "A800 SXM4 80GB"))
    assert similar.chart.point_at(QPointF(-500, -500)) == ""
    similar.axes._buttons["memory_bytes/gpu_price"].click()
    here = [row for row in similar.chart.table() if "you are here" in row[0]]
    assert here[0][2] == 80.0
    assert page.leave()
    assert page.current_table().isVisible()
    assert not page.leave()


def test_models_and_instances_have_similar_ones_too(page, qtbot, shipped_catalog):
    for path in ("model/Qwen/Qwen3-8B", f"instance/{next(iter(shipped_catalog.instances))}"):
        page.visit(path)
        page._show_similar()
        qtbot.waitUntil(page.table_view.similar.isVisible)
        assert page.table_view.similar.rows.rows.row(0).id == page.presenter.entry.id
        page.leave()


def test_the_order_at_first_is_marked_until_a_person_sorts(page, names):
    names(page)
    rows = table_of(page).rows
    assert rows.seen_order == Order((SortKey("hbm_bytes_per_s", descending=True),))
    before = picture(table_of(page).horizontalHeader())
    table_of(page).sort_by(Order((SortKey("power_w"),)))
    assert rows.seen_order == rows.order
    assert picture(table_of(page).horizontalHeader()) != before
    rows.usual = Order()
    table_of(page).sort_by(Order())
    assert picture(table_of(page).horizontalHeader()) != before


def test_a_table_that_was_left_chooses_nothing(page, qtbot):
    page.visit("model/Qwen/Qwen3-8B")
    left = table_of(page)
    page.visit(f"gpu/{A100}")
    left.rowChosen.emit("Qwen/Qwen3-8B")
    assert page.presenter.entry == EntryRef(CatalogTable.GPUS, A100)


def test_what_is_similar_to_another_entry_comes_too_late(page, names, qtbot, jobs):
    page.visit(f"gpu/{A100}")
    page._show_similar()
    page.visit(f"gpu/{H100}")
    qtbot.waitUntil(lambda: jobs.busy == 0)
    assert not page.table_view.shows_similar


# --- Pins -------------------------------------------------------------------------------------------------------------


def test_pinning_by_box_button_and_shortcut(page, settings, names, qtbot):
    names(page)
    table = page.current_table()
    table.setFocus()
    table.choose(table.rows.row(0).id)
    QTest.keyClick(table, Qt.Key.Key_Space)
    assert [pin.id for pin in Pins(settings).all()] == [table.rows.row(0).id]
    page.visit(f"gpu/{A100}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "A100 SXM4 80GB")
    page.detail_view.pin.click()
    assert page.detail_view.pin.text() == "Pinned"
    compare = next(action for action in page.heading().actions if action.id == "compare")
    assert compare.enabled
    assert compare.label == msg("catalogui.compare_count", count=2)
    page.detail_view.pin.click()
    compare = next(action for action in page.heading().actions if action.id == "compare")
    assert not compare.enabled


def test_a_pin_from_elsewhere_is_seen_when_the_page_comes_back(page, settings, qtbot):
    page.visit(f"gpu/{L4}")
    qtbot.waitUntil(lambda: page.detail_view.name.text() == "L4")
    page.hide()
    Pins(settings).add(Pin(PinKind.GPU, L4))
    page.show()
    assert page.detail_view.pin.text() == "Pinned"


def test_more_than_fit_are_refused_with_a_sentence(page, notices, settings, shipped_catalog):
    for gpu_id in list(shipped_catalog.gpus)[:MOST_PINS]:
        page.presenter.toggle_pin(gpu_id)
    page.presenter.toggle_pin(H200)
    assert len(Pins(settings).all()) == MOST_PINS
    assert notices.kept[-1].message.id == "catalogui.pins_full"


# --- Copying and exporting --------------------------------------------------------------------------------------------


def test_what_is_exported_is_what_is_shown(page, names, qtbot, tmp_path, notices):
    from gpuplanner.ui.table.columns import Order

    page.presenter.add(Term("memory_bytes", ">=141"))
    table = page.current_table()
    table.sort_by(Order((SortKey("memory_bytes", descending=True), SortKey("name"))))
    table.columns.show("power_w", shown=False)
    shown = names(page)
    path = tmp_path / "gpus.csv"
    page.table_export.write(page.current_table(), path)
    qtbot.waitUntil(lambda: bool(notices.kept))
    text = path.read_bytes().decode("utf-8-sig")
    rows = list(csv.reader(text.splitlines()))
    titles = rows[0]
    assert titles[:3] == ["Name", "Memory (GiB)", "Bandwidth (GB/s)"]
    assert "Power (W)" not in titles
    assert len(titles) == len(table.columns.shown())
    assert [row[0] for row in rows[1:-1]] == shown
    assert rows[-1][0] == "# Filtered by GPU memory ≥ 141 GiB"
    memory = [float(row[1]) for row in rows[1:-1]]
    assert memory == sorted(memory, reverse=True)
    assert notices.kept[-1].message.id == "catalogui.export.done"


def test_a_cell_that_a_spreadsheet_would_run_is_text(open_page, shipped_catalog, qtbot, tmp_path, notices):
    evil = replace(shipped_catalog.gpus[L4], id="evil", name="=HYPERLINK(1)", vendor="@x")
    page = open_page(given=with_index(replace(shipped_catalog, gpus={"evil": evil})))
    page.current_table().columns.show("vendor", shown=True)
    page.table_export.write(page.current_table(), tmp_path / "x.csv")
    qtbot.waitUntil(lambda: bool(notices.kept))
    row = list(csv.reader((tmp_path / "x.csv").read_text("utf-8-sig").splitlines()))[1]
    assert row[0] == "'=HYPERLINK(1)"
    assert "'@x" in row


def test_a_file_that_cannot_be_written_is_said(page, names, qtbot, tmp_path, notices):
    names(page)
    page.table_export.write(page.current_table(), tmp_path / "no such folder" / "x.csv")
    qtbot.waitUntil(lambda: bool(notices.kept))
    assert notices.kept[-1].message.id == "catalogui.export.failed"


def test_the_export_asks_where_to(page, names, qtbot, tmp_path, notices, monkeypatch):
    names(page)
    wanted = tmp_path / "mine.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_args: (str(wanted), ""))
    next(action for action in page.heading().actions if action.id == "export").run()
    qtbot.waitUntil(wanted.exists)


def test_a_row_and_the_table_are_copied(page, names, qtbot, notices):
    page.presenter.type_text("L4")
    names(page)
    table = page.current_table()
    table.choose(L4)
    table.copy_rows(CopyFormat.MARKDOWN)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("| Name | Memory (GiB) |")
    assert "| L4 | 24 |" in copied
    assert notices.kept[-1].message.id == "catalogui.copied"


# --- Own files --------------------------------------------------------------------------------------------------------


def test_what_is_wrong_with_own_files_stands_above_the_table(open_page, shipped_catalog, went):
    problems = tuple(
        Problem("prices.yaml", line, "price", msg("ui.clear"), severity)
        for line, severity in ((3, Severity.WARNING), (9, Severity.ERROR), (12, Severity.ERROR))
    )
    page = open_page(given=with_index(replace(shipped_catalog, problems=problems)))
    assert page.problems.isVisible()
    said = [box.accessibleName() for box in page.problems.boxes]
    assert "prices.yaml" in said[0]
    assert "9" in said[0], "errors first"
    assert len(said) == 3
    assert "1" in said[2], "one more"
    assert page.current_table().rows.total, "good entries stay"


def test_without_problems_there_is_no_banner(page):
    assert not page.problems.isVisible()


def test_own_entries_are_in_the_legend(open_page, shipped_catalog):
    own = replace(shipped_catalog.gpus[L4], user=True)
    page = open_page(given=with_index(replace(shipped_catalog, gpus={**shipped_catalog.gpus, L4: own})))
    assert "◆" in page.table_view.legend._label.text()


# --- The palette ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("h100 sxm", f"gpu/{H100}"),
        ("qwen3-8b", "model/Qwen/Qwen3-8B"),
        ("p5.48xlarge", "instance/aws/p5.48xlarge"),
        ("英伟达 H200 SXM", f"gpu/{H200}"),
    ],
)
def test_the_palette_finds_entries_and_goes_there(appearance, workspace, query, path, went):
    provider = EntryProvider(appearance, workspace, went.append)
    items = provider.find(query)
    best = max(items, key=lambda item: item.score)
    best.run()
    assert went == [Location("catalog", path)]


def test_a_word_of_the_glossary_goes_before_entries_that_only_have_to_do_with_it(appearance, workspace, jobs, qtbot):
    search = PaletteSearch(jobs)
    search.add(EntryProvider(appearance, workspace, lambda _wanted: None))
    search.add(GlossaryProvider(appearance, lambda _wanted: None))

    def first(query):
        search.ask(query)
        qtbot.waitUntil(lambda: jobs.busy == 0)
        return search.found[0].items[0].id

    assert first("显存") == "term.vram"
    assert first("VRAM") == "term.vram"
    assert first("h100 sxm") == f"catalog.gpu.{H100}"


def test_the_palette_finds_nothing_for_nothing(appearance, workspace, went):
    assert EntryProvider(appearance, workspace, went.append).find("  ") == ()


# --- Keyboard ---------------------------------------------------------------------------------------------------------


def test_everything_is_reached_by_keyboard(page, names, qtbot):
    names(page)
    page.focus_first()
    table = page.current_table()
    qtbot.waitUntil(table.hasFocus)
    QTest.keyClick(table, Qt.Key.Key_Down)
    assert table.currentIndex().row() == 1
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert page.detail_view.isAncestorOf(QApplication.focusWidget())
    page.table_view.bar.field.setFocus()
    QTest.keyClick(page.table_view.bar.field.edit, Qt.Key.Key_Down)
    assert table.hasFocus()
    assert [pane is not None for pane in page.panes()] == [True, True, True]


def test_the_menu_of_columns_opens_below_the_filters(page, qtbot):
    page.table_view.bar.more.click()
    menu = next(m for m in page.findChildren(QMenu) if m.isVisible())
    texts = [action.text() for action in menu.actions()]
    assert texts[:2] == ["Name", "Memory"]
    assert texts[-1] == "More columns"
    menu.close()
    assert page.filter_chooser._below_header("memory_bytes") != QPoint()


def test_several_columns_are_chosen_in_one_go(page, qtbot):
    page._choose_columns()
    menu = next(m for m in page.current_table().findChildren(QMenu) if m.isVisible())
    # The style unrolls menus.
    qtbot.waitUntil(lambda: menu.width() == menu.sizeHint().width())
    shown = len(page.current_table().columns.shown())
    for title in ("Memory", "Bandwidth"):
        action = next(a for a in menu.actions() if a.text() == title)
        QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())
        assert menu.isVisible()
        assert not action.isChecked()
    assert len(page.current_table().columns.shown()) == shown - 2
    menu.setActiveAction(next(a for a in menu.actions() if a.text() == "Vendor"))
    QTest.keyClick(menu, Qt.Key.Key_Space)
    assert menu.isVisible()
    assert len(page.current_table().columns.shown()) == shown - 1
    menu.close()


def test_the_columns_are_those_of_last_time(open_page, qtbot):
    first = open_page()
    first.current_table().columns.show("vendor", shown=True)
    qtbot.wait(400)
    first.hide()
    again = open_page()
    assert "vendor" in {column.id for column in again.current_table().columns.shown()}


def test_the_entry_of_last_time_is_chosen_again(open_page, qtbot, settings):
    page = open_page("model/Qwen/Qwen3-8B")
    page.presenter.choose("Qwen/Qwen3-32B")
    page.close_page()
    page.hide()
    again = open_page()
    assert again.path() == "model/Qwen/Qwen3-32B"


def test_typing_does_not_write_at_every_key(open_page, settings, monkeypatch):
    page = open_page()
    written = []
    monkeypatch.setattr(settings, "keep", lambda key, _value: written.append(key))
    typed(page, "h100")
    assert written == []
    page.close_page()
    assert "window.catalog.filters.gpus" in written


def test_the_chosen_entry_is_in_sight_when_the_page_opens(open_page, names, qtbot):
    page = open_page("gpu/" + L4)
    names(page)
    table = table_of(page)

    def in_sight():
        area = table.visualRect(table.currentIndex())
        assert table.current_id() == L4
        assert table.viewport().rect().contains(area.center())

    qtbot.waitUntil(in_sight)
    page.resize(1250, 420)
    page.visit("gpu/" + H100)
    page.visit("gpu/" + L4)
    qtbot.waitUntil(in_sight)


def test_each_number_says_what_it_is(page, names, went):
    names(page)
    table = table_of(page)
    header = table.columns.section("hbm_bytes_per_s")
    tip = table.rows.headerData(header, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "How fast the GPU reads its own memory" in tip
    column = table.rows.columns[header]
    what = next(a for a in header_menu(table, page._appearance, column).actions() if a.text().startswith("What is"))
    assert what.text() == "What is “HBM bandwidth”?"
    what.trigger()
    assert went[-1] == Location("help", "term/hbm")
