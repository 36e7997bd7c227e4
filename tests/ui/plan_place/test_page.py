"""The page: edits arrive in the results, numbers explain themselves, machines are chosen, all of it by keyboard too."""

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication
from PySide6.QtTest import QTest

from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.machines import choice_of
from gpuplanner.engine.search.result import SearchResult
from gpuplanner.messages import InputError, msg
from gpuplanner.store.settings import LANGUAGE, MEMORY, THEME
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.pins import Pins
from gpuplanner.ui.places import Location
from gpuplanner.ui.plan_place.captions import machine_title
from gpuplanner.ui.plan_place.columns import MACHINES
from gpuplanner.ui.plan_place.machines.machine_rows import row_id
from gpuplanner.ui.plan_place.page import plan_place
from gpuplanner.ui.plan_place.pickers import choice_of_row, limit_items, machine_items, model_items
from gpuplanner.ui.plan_place.results.changes_card import ChangeRow
from gpuplanner.ui.plan_place.results.figure_link import FigureLink
from gpuplanner.ui.plan_place.start_view import MARKS_OF_KINDS
from gpuplanner.ui.widgets.figure_label import FigureLabel
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workload.training import Method
from tests.ui.checks import clipped, missing_glyphs, nameless, tab_walk

H100 = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=2, per_node=2)


def number(page, name):
    return page.wizard.row(f"{page.presenter.plan.workload.kind}.{name}")


def type_into(row, text):
    edit = row.target
    edit.setFocus()
    edit.selectAll()
    QTest.keyClicks(edit, text)


# --- Edits and results ------------------------------------------------------------------------------------------------


def test_typing_changes_the_result_without_a_button(qtbot, page, settled):
    before = page.results.memory.bar.table()
    type_into(number(page, "concurrency"), "96")
    settled(page)
    assert page.presenter.plan.workload.concurrency == 96
    assert page.results.memory.bar.table() != before


def test_the_headlines_are_those_of_the_estimate(page):
    estimate = page.presenter.outcome.worked.estimate
    shown = [label.shown() for label in page.results.verdict.findChildren(FigureLabel)]
    assert str(shown[1]) == str(
        page._appearance.show(estimate.metrics["tpot_s"].value, estimate.metrics["tpot_s"].unit)
    )


def test_what_cannot_be_used_is_said_in_place_with_a_fix(qtbot, page):
    row = number(page, "input_tokens")
    type_into(row, "0")
    assert row.frame.problem is not None
    assert row._fix.isVisible()
    row._fix.click()
    assert row.frame.problem is None
    assert page.presenter.plan.workload.input_tokens == 1
    assert not row._fix.isVisible()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_what_is_wrong_is_read_whole_below_a_narrow_field(qtbot, page, appearance, language):
    appearance.choose(LANGUAGE, language)
    row = page.wizard.row("serving.concurrency")
    edit = row.target
    edit.setFocus()
    edit.selectAll()
    QTest.keyClicks(edit, "12x")
    assert row.frame.problem is not None
    qtbot.waitUntil(lambda: clipped(page.wizard) == [], timeout=2000)


def test_what_cannot_be_used_stays_until_another_plan_is_opened(page):
    row = number(page, "input_tokens")
    type_into(row, "0")
    type_into(number(page, "output_tokens"), "600")
    assert row.target.text() == "0"
    assert row.frame.problem is not None
    page.presenter.open_preset("chat-8b")
    assert row.target.text() == "1,000"
    assert row.frame.problem is None
    assert not row._fix.isVisible()


def test_a_problem_of_the_engine_is_a_sentence_not_a_crash(qtbot, page, workspace, settled):
    workspace.fault = InputError(msg("machines.nothing_chosen"))
    type_into(number(page, "concurrency"), "5")
    settled(page)
    assert not page.results.verdict.isVisible()
    assert page.results._problem.isVisible()
    workspace.fault = None
    type_into(number(page, "concurrency"), "6")
    settled(page)
    assert page.results.verdict.isVisible()


def test_only_the_latest_edit_counts(qtbot, page, workspace, settled):
    workspace.delay_s = 0.3
    for text in ("1", "12", "123"):
        type_into(number(page, "concurrency"), text)
        qtbot.wait(90)
    settled(page)
    assert page.presenter.outcome.searched.plan.workload.concurrency == 123
    assert page.presenter.outcome.worked.estimate.plan.workload.concurrency == 123


def test_leaving_a_field_open_shows_what_holds(page):
    assert number(page, "memory_utilisation").target.placeholderText() == "0.9"
    assert number(page, "max_length").target.placeholderText() == "2,500"
    assert number(page, "tensor_parallel").target.placeholderText() == "2"


def test_the_kind_is_switched_and_back(page, settled):
    page.wizard.kindChosen.emit("training")
    settled(page)
    assert page.presenter.outcome.worked.estimate.step_name == "train_step"
    assert page.wizard.row("training.global_batch").isVisible()
    assert not page.wizard.row("serving.concurrency").isVisible()
    page.presenter.document.undo()
    settled(page)
    assert page.wizard.row("serving.concurrency").isVisible()


@pytest.mark.parametrize("way", ["key", "signal"])
def test_kind_and_model_stay_in_sight_and_the_keyboard_on_the_kind(open_page, settled, qtbot, way):
    page = open_page("preset/chat-70b", size=(1250, 500))
    settled(page)
    page.activateWindow()
    choice = page.wizard.kind_choice()
    choice.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(choice.hasFocus)
    bar = page.columns._wizard_area.verticalScrollBar()
    bar.setValue(60)
    if way == "key":
        qtbot.keyClick(choice, Qt.Key.Key_Down)
    else:
        page.wizard.kindChosen.emit("training")
    settled(page)
    assert page.presenter.plan.workload.kind == "training"
    shown = page.wizard.kind_choice()
    assert shown is not choice
    assert shown.current() == "training"
    assert shown.hasFocus()
    assert shown.shows_focus
    assert bar.value() == 0
    page.presenter.document.undo()
    assert choice.hasFocus()


def test_images_are_planned_with_a_model_of_images_and_their_sizes_are_said(page, settled):
    said: list[Any] = []
    page.workSaid.connect(said.append)
    page.wizard.kindChosen.emit("diffusion")
    assert said == [None], "the search of the other kind is not of this plan"
    assert page.presenter.facts.model_kind(page.presenter.plan.workload.model) == "diffusion"
    network = page.presenter.facts.network(page.presenter.plan.workload.model)
    assert number(page, "width").target.placeholderText() == "1,024"
    assert number(page, "steps").target.placeholderText() == f"{network.steps}"


def test_the_verdict_stays_in_sight(page, settled, qtbot, workspace):
    line, bar = page.results.line, page.columns._results_area.verticalScrollBar()
    assert not line.isVisible()
    qtbot.waitUntil(lambda: bar.maximum() > 300)
    bar.setValue(bar.maximum())
    assert line.isVisible()
    workspace.none_fits = True
    type_into(number(page, "concurrency"), "70")
    settled(page)
    bar.setValue(bar.maximum())
    assert line.tag.text() == page.results.verdict._tag.text()
    QTest.mouseClick(line, Qt.MouseButton.LeftButton)
    assert not line.isVisible()


def test_results_end_where_their_last_card_does(page, qtbot):
    area = page.columns._results_area
    qtbot.wait(50)
    last = max((card for card in page.results._cards if card.isVisible()), key=lambda card: card.y())
    end = last.mapTo(area.widget(), last.rect().bottomLeft()).y()
    assert area.verticalScrollBar().maximum() > 0
    assert area.widget().height() - end <= 4


# --- Undo -------------------------------------------------------------------------------------------------------------


def test_undo_takes_back_what_was_typed_and_names_it(page, settled):
    row = number(page, "concurrency")
    type_into(row, "96")
    assert page.presenter.document.undo_name == row.field.label
    QTest.keyClick(row.target, Qt.Key.Key_Tab)
    page.presenter.document.undo()
    assert row.target.text() == "64"
    page.presenter.document.redo()
    assert row.target.text() == "96"


def test_ctrl_z_in_a_field_undoes_the_plan_and_not_the_letters(qtbot, workspace, open_session):
    session = open_session((plan_place(),), workspace)
    session.window.go(Location("plan", "preset/chat-70b"))
    page = session.window.current_page()
    qtbot.waitUntil(lambda: page.presenter.outcome.worked.current)
    session.window.activateWindow()
    first, second = number(page, "input_tokens"), number(page, "concurrency")
    type_into(first, "3000")
    type_into(second, "96")
    QTest.keyClick(second.target, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert page.presenter.plan.workload.concurrency == 64
    assert second.target.text() == "64"
    QTest.keyClick(second.target, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert first.target.text() == "2,000"
    redo = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(second.target, Qt.Key.Key_Z, redo)
    assert page.presenter.plan.workload.input_tokens == 3000


# --- Explanations -----------------------------------------------------------------------------------------------------


def test_every_number_opens_its_explanation(page):
    results = page.results
    seen = []
    for label in results.findChildren(FigureLabel):
        if label.isVisible() and label._figure is not None:
            label.click()
            seen.append(results.why.figure)
            assert results.why.figure == label._figure
    for link in results.findChildren(FigureLink):
        if link.isVisible() and link._figure is not None:
            link.click()
            assert results.why.figure == link._figure
            seen.append(results.why.figure)
    assert len(seen) > 10


def test_parts_of_the_bars_open_their_explanation(page):
    estimate = page.presenter.outcome.worked.estimate
    page.results.memory.bar.opened.emit("kv_cache")
    decode = estimate.memory.phases[-1]
    assert page.results.why.figure is decode.parts[1].figure
    page.results.time.bar.opened.emit("all_reduce")
    assert page.results.why.figure is estimate.time[2].figure


def test_a_phase_can_be_looked_at(page):
    assert "33.0 GiB" in page.results.memory.bar.table()[0]
    page.results.memory.phases.chosen.emit("load")
    assert "19.8 GiB" in page.results.memory.bar.table()[0]


def test_the_derivation_is_a_tree_with_sources(page, appearance):
    page.results.explain("metric.tpot_s")
    tree = page.results.why.tree
    root = tree.model().index(0, 0)
    assert tree.model().rowCount(root) == 3
    assert tree.isExpanded(root)
    reading = tree.model().index(0, 0, root)
    tips = [tree.model().index(row, 0, reading).data(Qt.ItemDataRole.ToolTipRole) for row in range(4)]
    assert any("exact · " in tip for tip in tips), tips
    assert any("calibrated on 14 measurements" in tip for tip in tips), tips


def test_the_explanation_is_copied_as_text_and_as_markdown(page, said):
    page.results.explain("metric.tpot_s")
    why = page.results.why
    why.copy("text")
    text = QGuiApplication.clipboard().text()
    assert text.splitlines()[0].endswith("ms")
    why.copy("markdown")
    markdown = QGuiApplication.clipboard().text()
    assert markdown.startswith("**")
    assert "\n  - " in markdown
    assert said(page).count("planui.copied") == 2


def test_the_same_number_stays_explained_after_an_edit(page, settled):
    page.results.explain("metric.ttft_s")
    type_into(number(page, "concurrency"), "96")
    settled(page)
    assert page.results.why.figure is page.presenter.outcome.worked.estimate.metrics["ttft_s"]


# --- Machines ---------------------------------------------------------------------------------------------------------


def test_without_a_machine_the_best_of_the_search_is_shown(page):
    assert page.presenter.plan.machine is None
    worked = page.presenter.outcome.worked
    assert worked.found
    assert row_id(worked.estimate.plan.machine) == page.machines.table("serving").current_id()


def test_selecting_a_machine_estimates_on_it_and_can_be_undone(page, settled):
    table = page.machines.table("serving")
    second = table.rows.row(1).id
    table.choose(second)
    settled(page)
    assert row_id(page.presenter.plan.machine) == second
    assert row_id(page.presenter.outcome.worked.estimate.plan.machine) == second
    assert page.presenter.document.undo_name == msg("planui.machine")
    page.presenter.document.undo()
    settled(page)
    assert page.presenter.plan.machine is None


def test_the_way_that_the_search_found_is_estimated_but_not_written_into_the_plan(page):
    assert page.presenter.plan.workload.tensor_parallel is None
    assert page.presenter.outcome.worked.estimate.plan.workload.tensor_parallel == 2


def test_the_others_say_why_not_and_can_be_searched_and_filtered(page):
    machines = page.machines
    everything = machines.others.rows.total
    assert everything > 300
    machines.search.set_text("a100")
    some = machines.others.rows.total
    assert 0 < some < everything
    machines.search.set_text("")
    machines.filter.choose("tpot")
    machines.filter.chosen.emit("tpot")
    assert 0 < machines.others.rows.total < everything
    assert (
        machines.others.rows.look(machines.others.rows.row(0), machines.others.rows.columns[1]).text
        == "TPOT 31.0 ms over"
    )


def test_one_of_the_others_can_be_looked_at(page, settled):
    others = page.machines.others
    page.machines.filter.choose("memory")
    page.machines.filter.chosen.emit("memory")
    others.selectRow(0)
    settled(page)
    rejection = page.machines._shown_rejections[0]
    assert page.presenter.outcome.worked.estimate.machine.instance is rejection.machine.instance


def test_when_nothing_fits_the_page_says_so_and_still_shows_the_nearest(page, workspace, settled):
    workspace.none_fits = True
    type_into(number(page, "concurrency"), "70")
    settled(page)
    assert page.machines._none.isVisible()
    assert not page.machines.table("serving").isVisible()
    assert page.presenter.outcome.worked.estimate is not None


def test_columns_of_the_job_stand_where_somebody_says_how_long_it_is(page, settled):
    page.wizard.kindChosen.emit("training")
    settled(page)
    columns = page.machines.table("training").columns
    assert page.presenter.plan.workload.method is Method.LORA
    assert not columns.is_shown("job_s")
    assert not columns.is_shown("job_usd")
    type_into(number(page, "tokens"), "1G")
    settled(page)
    assert columns.is_shown("job_s")
    assert columns.is_shown("job_usd")
    assert not page.machines._no_job.isVisible()


def test_a_plan_that_is_called_by_a_name_of_ours_is_titled_in_the_language_in_use(open_page, appearance, settled):
    page = open_page("preset/sample")
    settled(page)
    # As when the sample comes out of a file: it is on the shelf, under the name of the language it was opened in.
    page.presenter.add(page.presenter.presets["sample"])
    settled(page)
    english = appearance.text("preset.sample")
    assert appearance.said(page.heading().title) == page._name.text() == english
    appearance.choose(LANGUAGE, "zh_CN")
    assert appearance.said(page.heading().title) == page._name.text() == appearance.text("preset.sample") != english
    page.presenter.show_start()
    assert page.start_view.rows()[0].button.text() == appearance.text("preset.sample")
    page.presenter.open_shelved(page.start_view.rows()[0].plan.id)
    page.presenter.document.set_name("mine")
    appearance.choose(LANGUAGE, "en")
    assert page.heading().title == "mine"


def test_a_search_that_cannot_be_done_says_why(page, workspace, settled, monkeypatch):
    def refuse(_plan, _cancelled):
        raise InputError(msg("workspace.unknown_model", id="x"))

    monkeypatch.setattr(workspace, "search", refuse)
    type_into(number(page, "concurrency"), "70")
    settled(page)
    assert page.machines._none.isVisible()
    assert "x" in page.machines._none.text()


def test_what_holds_of_the_whole_search_stands_above_the_machines(page, workspace, settled, monkeypatch, qtbot):
    assert page.machines.remarks == []
    search = workspace.search

    def with_remark(plan, cancelled):
        return replace(search(plan, cancelled), remarks=(msg("limits.gpus_not_offered", gpus="Gaudi3", count=1),))

    monkeypatch.setattr(workspace, "search", with_remark)
    type_into(number(page, "concurrency"), "70")
    settled(page)
    (box,) = page.machines.remarks
    qtbot.waitUntil(box.isVisible)
    assert "Gaudi3" in box.accessibleName()
    qtbot.waitUntil(lambda: clipped(page.machines) == [], timeout=2000)
    monkeypatch.setattr(workspace, "search", search)
    type_into(number(page, "concurrency"), "71")
    settled(page)
    assert page.machines.remarks == []


@pytest.mark.parametrize("remarks", [(), (msg("limits.gpus_not_offered", gpus="Gaudi3", count=1),)])
def test_where_no_machine_comes_near_the_verdict_of_before_goes(page, workspace, settled, monkeypatch, remarks, qtbot):
    assert page.results.verdict.isVisibleTo(page)
    nothing = SearchResult((), (), 0, remarks=remarks)
    monkeypatch.setattr(workspace, "search", lambda _plan, _cancelled: nothing)
    type_into(number(page, "concurrency"), "70")
    settled(page)
    assert page.presenter.outcome.worked.estimate is None
    assert not page.results.verdict.isVisibleTo(page)
    assert page.results._problem.accessibleName() == page._appearance.text(
        remarks[0] if remarks else "planui.none_near"
    )


def test_machines_are_pinned_and_compared(page, went, settings):
    table = page.machines.table("serving")
    ids = [table.rows.row(at).id for at in range(2)]
    for row in ids:
        table.checkClicked.emit(row, "machine")
    pins: Any = Pins(settings).all()
    assert [pin.candidate.gpus for pin in pins] == [page.machines._candidates[i].machine.gpus for i in ids]
    assert pins[0].candidate.metrics["tpot_s"] == pytest.approx(0.024)
    assert pins[0].candidate.ranges["tpot_s"] == pytest.approx((0.024 * 0.87, 0.024 * 1.16))
    assert table.rows.look(table.rows.row(0), table.rows.columns[0]).check
    compare = next(a for a in page.heading().actions if a.id == "compare")
    assert compare.enabled
    compare.run()
    assert went == [Location("compare")]
    table.checkClicked.emit(ids[0], "machine")
    assert len(Pins(settings).all()) == 1


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("preset", ["flow", "stencil", "diffusion-flux"])
def test_values_and_phases_of_each_kind_are_whole_where_it_is_narrow(open_page, appearance, qtbot, preset, language):
    appearance.choose(LANGUAGE, language)
    page = open_page(f"preset/{preset}", (1096, 740))
    QTest.qWait(50)
    metrics = QFontMetricsF(font(TextRole.BODY))
    for row in page.wizard.rows(page.presenter.plan.workload.kind):
        if row.isVisible() and hasattr(row.target, "displayText"):
            assert metrics.horizontalAdvance(row.target.displayText()) + 4 <= row.target.width(), row.field.key
        elif row.isVisible() and hasattr(row.target, "currentText"):
            assert row.wanted_width() <= row.target.width() or not row.target.isVisible(), row.field.key


def test_another_plan_begins_at_the_top(page, settled, qtbot):
    page.resize(1250, 500)
    areas = [page.columns._wizard_area, page.columns._results_area]
    qtbot.waitUntil(lambda: all(area.verticalScrollBar().maximum() > 100 for area in areas))
    for area in areas:
        area.verticalScrollBar().setValue(100)
    type_into(number(page, "concurrency"), "80")
    assert page.columns._results_area.verticalScrollBar().value() == 100, "an edit scrolls nothing"
    page.presenter.duplicate("Copy")
    assert [area.verticalScrollBar().value() for area in areas] == [0, 0]


def test_hidden_fields_that_were_changed_are_counted(page, settled):
    plan = page.presenter.plan
    constraints = plan.constraints.model_copy(
        update={"max_gpus": 4, "price_known": True, "bare_gpus": False, "regions": ("x",)}
    )
    page.presenter.document.replace(plan.model_copy(update={"constraints": constraints}), msg("planui.machine"))
    says = page.wizard.row("limits.max_gpus").parentWidget().parentWidget().more.text()
    assert says.endswith("(2)"), "max_gpus is in sight"


def test_ticking_a_machine_leaves_the_plan_as_it_is(page, settings):
    table = page.machines.table("serving")
    before = page.presenter.plan
    box = table.visualRect(table.rows.index(2, table.columns.section("machine")))
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(box.left() + 14, box.center().y()))
    assert len(Pins(settings).all()) == 1
    assert page.presenter.plan == before
    assert page.presenter.document.undo_name is None


def test_no_more_than_six_are_compared(page, said):
    table = page.machines.table("serving")
    for row in [table.rows.row(at).id for at in range(7)]:
        table.checkClicked.emit(row, "machine")
    assert len(page.presenter.pins.all()) == 6
    assert "planui.pins_full" in said(page)


def test_what_other_places_unpin_is_not_ticked_any_more(page, settings):
    table = page.machines.table("serving")
    table.checkClicked.emit(table.rows.row(0).id, "machine")
    page.hide()
    Pins(settings).clear()
    page.show()
    assert table.rows.look(table.rows.row(0), table.rows.columns[0]).check is False


def test_the_smallest_change_is_made_by_a_click_and_undone(page, settled):
    page.presenter.document.set_machine(H100)
    type_into(number(page, "concurrency"), "400")
    settled(page)
    assert page.presenter.outcome.worked.estimate.fit is Fit.DOES_NOT_FIT
    assert page.results.changes.isVisible()
    row = page.results.changes.rows()[0]
    assert "8.20 GiB" in row.result()
    row.click()
    settled(page)
    assert page.presenter.plan.workload.concurrency == 11
    assert page.presenter.plan.workload.tensor_parallel is None
    page.presenter.document.undo()
    assert page.presenter.plan.workload.concurrency == 400


def test_a_change_is_read_whole_however_long_it_is(appearance, qtbot):
    row = ChangeRow(appearance)
    qtbot.addWidget(row)
    row.setText(
        "Let the server use 95% of the memory · At most 11 requests come at the same time and no more than that"
    )
    lines = [row.heightForWidth(width) for width in (1200, 400, 260)]
    assert lines == sorted(lines)
    assert lines[0] < lines[1] < lines[2]


def test_the_search_time_goes_to_the_status_bar(qtbot, page, settled):
    heard: list[Any] = []
    page.workSaid.connect(heard.append)
    type_into(number(page, "concurrency"), "70")
    settled(page)
    assert [m.id for m in heard] == ["planui.searched"]
    assert heard[0].values["ways"] == "4,212"


# --- Pickers ----------------------------------------------------------------------------------------------------------


def test_the_model_picker_finds_and_sets_a_model(page, appearance, workspace, settled):
    items = model_items(page.presenter.facts.models("model"), "qwen3 32b", appearance, "", workspace.resolve)
    assert items[0].id == "Qwen/Qwen3-32B"
    assert items[0].note.endswith("B")
    page.presenter.set_model(page.presenter.plan.workload.model.model_copy(update={"catalog_id": items[0].id}))
    settled(page)
    assert "Qwen3" in page.wizard.model_row.button.text()
    page.presenter.document.undo()
    assert "Llama" in page.wizard.model_row.button.text()


def test_the_machine_picker_takes_a_count(page, appearance, workspace):
    catalog = page.presenter.facts.catalog
    items = machine_items(catalog, "4 h100 sxm", appearance, workspace.resolve)
    choice: Any = choice_of_row(items[0].id)
    assert (choice.gpu_id, choice.gpus) == ("nvidia-h100-sxm5-80gb", 4)
    assert choice_of_row(machine_items(catalog, "", appearance, workspace.resolve)[0].id) is None
    items = machine_items(catalog, "p5.48xlarge", appearance, workspace.resolve)
    offer = next(i for i in items if i.id.startswith("instance/"))
    offered: Any = choice_of_row(offer.id)
    assert offered.instance_id in catalog.instances


@pytest.mark.parametrize("typed", ["8 p5.48xlarge", "8 × AWS p5.48xlarge", "8x p5.48xlarge"])
def test_a_count_before_an_instance_is_of_nodes(page, appearance, workspace, typed):
    items = machine_items(page.presenter.facts.catalog, typed, appearance, workspace.resolve)
    assert (items[0].title, items[0].note) == ("8 × AWS p5.48xlarge", "64 × H100 SXM5 80GB")
    choice: Any = choice_of_row(items[0].id)
    assert workspace.machine(choice).gpus == 64


def test_a_count_before_a_gpu_is_of_all_nodes_together(page, appearance, workspace):
    items = machine_items(page.presenter.facts.catalog, "64 H100", appearance, workspace.resolve)
    for item in items:
        choice: Any = choice_of_row(item.id)
        assert workspace.machine(choice).gpus == 64
    bought = next(item for item in items if item.id.startswith("gpu/"))
    assert bought.note == "bought, 8 nodes of 8"
    assert ("8 × AWS p5.48xlarge", "64 × H100 SXM5 80GB") in {(item.title, item.note) for item in items}
    four = [
        choice_of_row(i.id)
        for i in machine_items(page.presenter.facts.catalog, "4 H100", appearance, workspace.resolve)
    ]
    assert {choice.nodes for choice in four if choice is not None} == {1}


def test_the_nodes_of_the_chosen_machine_are_changed_where_it_stands(page, settled, workspace):
    nodes = page.results.nodes
    assert not nodes.isVisible(), "the search chose it"
    instance = next(i for i in page.presenter.facts.catalog.instances.values() if i.name == "p5.48xlarge")
    page.presenter.document.set_machine(MachineChoice(instance_id=instance.id))
    settled(page)
    assert nodes.isVisible()
    nodes.field.box.edit.setFocus()
    nodes.field.box.edit.selectAll()
    QTest.keyClicks(nodes.field.box.edit, "16")
    settled(page)
    assert page.presenter.plan.machine == MachineChoice(instance_id=instance.id, nodes=16)
    assert page.results.verdict._machine.text() == "128 × H100 SXM5 80GB"
    assert page.results.verdict._way.text().startswith("16 × AWS p5.48xlarge")
    nodes.field.box.edit.selectAll()
    QTest.keyClicks(nodes.field.box.edit, "0")
    assert page.presenter.plan.machine.nodes == 16, "what cannot be used changes nothing"
    page.presenter.document.set_machine(MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=8, per_node=4))
    settled(page)
    nodes.wanted.emit(3)
    assert page.presenter.plan.machine == MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=12, per_node=4)
    nodes._changed(1e6)
    assert page.presenter.plan.machine.gpus == 1_000_000, "no more than a plan can name"


def test_limits_name_what_the_catalog_has(page, appearance):
    catalog = page.presenter.facts.catalog
    rows = {r.field.name: r for r in page.wizard.rows("serving")}
    assert "AWS" in {i.id for i in limit_items(rows["providers"].field, catalog, "", appearance)}
    assert {i.id for i in limit_items(rows["gpus"].field, catalog, "h200", appearance)} <= set(catalog.gpus)
    rows["providers"].edited.emit(("AWS",))
    assert page.presenter.plan.constraints.providers == ("AWS",)


def test_a_gpu_of_the_catalog_is_planned_with(page, settled):
    page.visit("with/gpu/nvidia-l40s")
    settled(page)
    assert page.presenter.plan.machine.gpu_id == "nvidia-l40s"
    page.visit("with/model/Qwen/Qwen3-32B")
    assert page.presenter.plan.workload.model.catalog_id == "Qwen/Qwen3-32B"


@pytest.mark.parametrize(
    ("family", "kind"), [("ResNet", "vision"), ("Qwen3", "serving"), ("SDXL", "diffusion"), ("Whisper", "speech")]
)
def test_a_model_that_the_open_plan_cannot_run_gets_a_plan_of_its_own(page, settled, family, kind):
    model = next(m for m in page.presenter.facts.catalog.models.values() if m.family == family and m.plannable)
    page.presenter.new_plan("other", "by-hand" if kind == "serving" else "serving")
    other = page.presenter.plan.workload
    page.visit(f"with/model/{model.id}")
    settled(page)
    assert page.presenter.plan.workload.kind == kind
    assert page.presenter.plan.workload.model.catalog_id == model.id
    assert page.presenter.outcome.worked.problem is None
    kept = {plan.name: plan.id for plan in page.presenter.plans.listed()}
    assert page.presenter.plans.newest(kept["other"]).workload == other


# --- Difference, start page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "count"), [("A100 SXM4 80GB 3g.40gb", 1), ("2x A100 3g.40gb", 2)])
def test_a_mig_slice_is_found_by_the_name_that_tools_print(page, appearance, workspace, text, count):
    items = machine_items(page.presenter.facts.catalog, text, appearance, workspace.resolve)
    choice = choice_of_row(items[0].id)
    assert choice is not None
    assert choice.slice is not None
    assert choice.gpus == count
    assert (choice.slice.profile, choice.slice.compute, choice.slice.memory) == ("3g.40gb", "3/7", "1/2")
    machine = workspace.machine(choice)
    assert items[0].title == machine_title(machine)
    assert row_id(choice_of(machine)) == items[0].id


def test_a_slice_that_the_gpu_has_not_is_not_offered(page, appearance, workspace):
    items = machine_items(page.presenter.facts.catalog, "L40S 3g.40gb", appearance, workspace.resolve)
    assert not [item for item in items if item.id.startswith("slice/")]


def test_a_plan_runs_on_a_slice_that_was_pasted(qtbot, page, settled):
    assert page.pasted("NVIDIA A100-SXM4-80GB MIG 3g.40gb")
    qtbot.waitUntil(lambda: page.presenter.plan.machine is not None)
    settled(page)
    assert page.presenter.plan.machine.slice.profile == "3g.40gb"
    assert "MIG 3g.40gb" in page.results.verdict._machine.text()


def test_the_difference_of_two_plans(qtbot, page, settled):
    type_into(number(page, "concurrency"), "96")
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    first = page.presenter.autosave.plan_id
    page.presenter.duplicate("Copy")
    type_into(number(page, "concurrency"), "8")
    page.show_difference(first)
    assert page.difference.isVisible()
    assert page.difference.table.rows() == [("Concurrency", "8", "96")]
    assert page.leave()
    assert not page.difference.isVisible()


def test_the_start_page_lists_plans_presets_and_the_sample(qtbot, page, said):
    type_into(number(page, "concurrency"), "96")
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    plan_id = page.presenter.autosave.plan_id
    page.presenter.show_start()
    start = page.start_view
    assert [row.plan.id for row in start.rows()] == [plan_id]
    assert {tile.preset for tile in start.tiles} == {p for p in page.presenter.presets if p != "sample"}
    start.rows()[0].button.click()
    assert page.path() == f"plan/{plan_id}"
    page.presenter.show_start()
    start.removeWanted.emit(plan_id, "x")
    assert start.rows() == ()
    start.presetWanted.emit("sample")
    assert page.heading().note == msg("planui.saved.sample")


def test_presets_of_a_kind_stand_together_with_a_mark_of_their_own(page):
    page.presenter.show_start()
    kinds = [page.presenter.presets[tile.preset].workload.kind for tile in page.start_view.tiles]
    assert [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind] == list(dict.fromkeys(kinds))
    assert kinds[0] == "serving"
    # What says the least comes first: one model on one GPU before parts that work apart.
    assert page.start_view.tiles[0].preset == "chat-8b"
    assert set(kinds) == set(MARKS_OF_KINDS)
    assert len(set(MARKS_OF_KINDS.values())) == len(MARKS_OF_KINDS)


def test_a_new_plan_is_on_the_shelf_at_once(open_page):
    page = open_page()
    assert not page.presenter.is_open
    page.start_view.new_button.click()
    assert page.presenter.is_open
    assert len(page.presenter.plans.listed()) == 1


# --- Looks, keyboard, words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1250, 820), (1090, 740), (840, 650)])
@pytest.mark.parametrize("preset", ["sample", "pretrain-7b"])
def test_no_text_is_clipped_and_everything_has_a_name(qtbot, open_page, appearance, settled, size, preset):
    page = open_page(f"preset/{preset}", size=size)
    settled(page)
    for theme in ("light", "dark"):
        for language in ("en", "zh_CN"):
            appearance.choose(THEME, theme)
            appearance.choose(LANGUAGE, language)
            # Nested layouts settle within a few rounds of the event loop.
            qtbot.waitUntil(lambda: clipped(page) == [], timeout=2000)
            assert missing_glyphs(page) == []
            assert nameless(page) == []


def test_every_section_opens_without_clipping(qtbot, open_page, appearance, settled):
    for preset in ("sample", "qlora-8b"):
        page = open_page(f"preset/{preset}", size=(1250, 2400))
        settled(page)
        for section in page.wizard._sections[page.presenter.plan.workload.kind]:
            section.more.click()
        qtbot.wait(60)
        for language in ("en", "zh_CN"):
            appearance.choose(LANGUAGE, language)
            qtbot.waitUntil(lambda shown=page: clipped(shown.wizard) == [], timeout=2000)


def test_what_a_wide_window_adds_goes_to_results_and_machines(open_page, settled, qtbot):
    page = open_page("preset/chat-70b")
    settled(page)
    widths = {}
    for width in (1250, 2400):
        page.resize(width, 900)
        qtbot.waitUntil(lambda width=width: page.columns.width() == width)
        widths[width] = (page.wizard.width(), page.results.width(), page.machines.width())
    wizard, results, machines = (after - before for before, after in zip(*widths.values(), strict=True))
    assert abs(wizard) < 10
    assert results > machines > 300


def test_where_it_is_narrow_results_and_machines_take_turns(open_page, settled):
    page = open_page("preset/sample", size=(840, 650))
    settled(page)
    assert page.columns.sides.isVisible()
    assert page.results.isVisible()
    assert not page.machines.isVisible()
    page.columns.sides.choose(MACHINES)
    page.columns.sides.chosen.emit(MACHINES)
    table = page.machines.table("serving")
    assert table.horizontalHeader().length() <= table.viewport().width()
    assert page.machines.isVisible()
    assert not page.results.isVisible()
    page.results.whyShown.emit()
    assert page.results.isVisible()


def test_numbers_follow_the_memory_convention(page, appearance):
    def shown():
        return str(page.results.verdict.findChild(FigureLabel).shown())

    assert shown().endswith("GiB")
    appearance.choose(MEMORY, "GB")
    assert shown().endswith("GB")
    assert page.results.memory.bar.table()[0][1].endswith(" GB")


def test_the_language_changes_live_everywhere(page, appearance):
    appearance.choose(LANGUAGE, "zh_CN")
    assert page.machines.title.text() == "可用机器"
    assert page.wizard.row("serving.input_tokens").frame.label.text() == "输入长度"
    assert page.results.why.title.text().startswith("为什么是")


def test_tab_reaches_everything_as_one_reads_it(qtbot, page):
    qtbot.wait(400)
    page.window().activateWindow()
    page.wizard.model_row.take_focus()
    walked = tab_walk(page, 200)
    names = [w.accessibleName() for w in walked]
    assert names.index("Input tokens") < names.index("Output tokens") < names.index("Concurrency")
    wanted = ["Cost", "Budget a month", "Providers", "Server", "Tensor parallel", "Change", "GPU memory 63.7 GiB"]
    wanted += ["Memory per GPU", "Where the time goes", "Power 1,100 W", "Machines that carry it", "Why not"]
    places = [names.index(name) for name in wanted]
    assert places == sorted(places), names


def test_f1_in_a_field_says_what_it_is(page, appearance):
    row = number(page, "tensor_parallel")
    row.target.setFocus()
    QTest.keyClick(row.target, Qt.Key.Key_F1)
    assert row.frame._below.text() == appearance.text(row.field.help)
    assert page.leave()
    assert row.frame._below.text() != appearance.text(row.field.help)


def test_the_rule_of_thumb_stands_beside_memory_kept_free(page):
    row = next(r for r in page.wizard.rows("serving") if r.field.name == "memory_free_share")
    assert "30" in row.frame._below.text()
