"""The wizard is drawn from the types: every field that they ask has a row, a label and a help in both languages."""

from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QLabel

from gpuplanner.messages import Language, Translator, msg
from gpuplanner.ui.plan_place.edits import applies
from gpuplanner.ui.plan_place.wizard.choice_row import ChoiceRow, SwitchRow
from gpuplanner.ui.plan_place.wizard.controls import make_row, options_of
from gpuplanner.ui.plan_place.wizard.fields import Control, all_fields, choice_text, fields_of, limit_fields
from gpuplanner.ui.plan_place.wizard.number_row import NumberRow
from gpuplanner.ui.plan_place.wizard.picked_rows import DraftRow, ModelRow, SeveralRow
from gpuplanner.ui.plan_place.wizard.row import Row
from gpuplanner.ui.plan_place.wizard.wizard_view import Section
from gpuplanner.units import Display, Unit
from gpuplanner.workload.plan import WORKLOADS, Constraints
from gpuplanner.workload.wizard import asked

KINDS = [workload.model_fields["kind"].default for workload in WORKLOADS]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_field_that_the_type_asks_is_a_field(workload):
    kind = workload.model_fields["kind"].default
    assert [f.name for f in fields_of(kind)] == [name for name, _, _ in asked(workload)]


def test_a_kinds_own_fields_come_before_those_that_kinds_have_in_common():
    names = [f.name for f in fields_of("vision")]
    assert names[0] == "model"
    assert names[-4:] == ["data_storage", "storage_bytes_per_s", "vcpus", "workers"]


def test_every_limit_is_asked():
    assert {f.name for f in limit_fields()} == set(Constraints.model_fields)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", KINDS)
def test_every_field_and_choice_has_its_texts(kind, language):
    translator = Translator(language)
    for field in all_fields(kind):
        assert translator.text(field.label)
        assert len(translator.text(field.help)) > 10, field.key
        for choice in field.choices:
            assert translator.text(choice_text(choice))


def test_the_two_languages_differ_where_words_are_not_names():
    english, chinese = Translator(Language.ENGLISH), Translator(Language.CHINESE)
    same = [f.key for kind in KINDS for f in all_fields(kind) if english.text(f.help) == chinese.text(f.help)]
    assert same == []


def test_controls_follow_the_annotation():
    by_name: dict[str, Any] = {f.name: f for f in all_fields("serving")}
    training = {f.name: f for f in all_fields("training")}
    assert by_name["model"].control is Control.MODEL
    assert by_name["weight_precision"].control is Control.CHOICE
    assert by_name["weight_precision"].optional
    assert not by_name["server"].optional
    assert by_name["input_tokens"].quantity.whole
    assert by_name["chunked_prefill"].control is Control.SWITCH
    assert by_name["chunked_prefill"].optional
    assert training["deadline_s"].control is Control.NUMBER
    assert by_name["providers"].control is Control.SEVERAL


def test_bounds_come_from_the_type(appearance):
    by_name = {f.name: f.quantity for f in all_fields("serving") if f.quantity is not None}
    assert (by_name["input_tokens"].least, by_name["input_tokens"].most) == (1, 10_000_000)
    assert by_name["request_rate"].least > 0 or by_name["request_rate"].above_least
    assert by_name["memory_free_share"].most < 1


def test_numbers_are_read_in_the_unit_of_their_field(appearance):
    by_name = {f.name: f.quantity for kind in KINDS for f in all_fields(kind) if f.quantity is not None}
    display = appearance.display
    assert by_name["tpot_goal_s"].parse("40", display) == pytest.approx(0.04)
    assert by_name["ttft_goal_s"].parse("1.5", display) == 1.5
    assert by_name["deadline_s"].parse("2", display) == 172_800
    assert by_name["tokens"].parse("15T", display) == 15e12
    assert by_name["input_tokens"].parse("8k", display) == 8000
    assert by_name["memory_free_share"].parse("30 %", display) == pytest.approx(0.3)
    assert by_name["cpu_offload_bytes"].parse("4", display) == 4 * 2**30
    assert by_name["budget_usd_per_month"].parse("20,000", display) == 20_000


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("preset", ["chat-70b", "pretrain-7b"])
def test_the_wizard_shows_every_field(open_page, appearance, preset, language):
    from gpuplanner.store.settings import LANGUAGE

    page = open_page(f"preset/{preset}")
    appearance.choose(LANGUAGE, language.value)
    kind = page.presenter.plan.workload.kind
    rows = page.wizard.rows(kind)
    assert sorted(row.field.key for row in rows) == sorted(field.key for field in all_fields(kind))
    for row in rows:
        label = appearance.text(row.field.label)
        texts = {w.text() for w in row.findChildren(QLabel)} | {row.target.accessibleName()}
        assert label in texts, row.field.key
        assert row.target.accessibleName() == label


def test_rows_are_what_their_field_asks_for(open_page):
    page = open_page("preset/chat-70b")
    kinds = {Control.MODEL: ModelRow, Control.NUMBER: NumberRow, Control.SEVERAL: SeveralRow, Control.DRAFT: DraftRow}
    for row in page.wizard.rows("serving"):
        wanted = kinds.get(row.field.control)
        if row.field.control is Control.SWITCH:
            wanted = ChoiceRow if row.field.optional else SwitchRow
        assert isinstance(row, wanted or ChoiceRow), row.field.key


def test_an_open_choice_begins_with_automatic():
    by_name = {f.name: f for f in all_fields("serving")}
    assert [i for i, _ in options_of(by_name["chunked_prefill"])] == ["", "yes", "no"]
    assert [i for i, _ in options_of(by_name["server"])] == [s.value for s in by_name["server"].choices]


def test_fields_of_drafting_show_only_where_something_drafts(open_page):
    page = open_page("preset/chat-70b")
    way, model, tokens = (page.wizard.row(f"serving.{n}") for n in ("speculation", "draft_model", "draft_tokens"))
    shown = {}
    for method in ("none", "n-gram", "draft-model"):
        way.edited.emit(next(c for c in way.field.choices if c.value == method))
        serving = page.presenter.plan.workload
        shown[method] = [applies(row.field, serving) for row in (model, tokens)]
    assert shown == {"none": [False, False], "n-gram": [False, True], "draft-model": [True, True]}


def test_workers_that_read_are_asked_for_only_where_there_are_some(open_page):
    page = open_page("preset/chat-70b")
    workers = page.wizard.row("serving.prefill_workers")
    assert not applies(workers.field, page.presenter.plan.workload)
    page.wizard.row("serving.disaggregated").edited.emit(True)
    assert applies(workers.field, page.presenter.plan.workload)


def test_fields_of_adapters_show_only_where_there_are_adapters(open_page):
    page = open_page("preset/finetune-8b")
    rank = page.wizard.row("training.lora_rank")
    assert not rank.isVisible()
    method = page.wizard.row("training.method")
    method.edited.emit(next(c for c in method.field.choices if c.value == "lora"))
    assert rank.isVisible()


def test_fields_of_data_show_only_where_data_are_read_and_prepared(open_page):
    page = open_page("preset/vision-resnet50-training")
    data, storage, workers = (page.wizard.row(f"vision.{n}") for n in ("data", "data_storage", "workers"))
    shown = {}
    for choice in data.field.choices:
        data.edited.emit(choice)
        vision = page.presenter.plan.workload
        shown[choice.value] = [applies(row.field, vision) for row in (storage, workers)]
    assert shown == {"cpu": [True, True], "gpu": [True, True], "ready": [False, False]}


def test_storage_that_is_left_open_is_not_stated_rather_than_chosen():
    by_name = {f.name: f for f in all_fields("vision")}
    assert options_of(by_name["data_storage"])[0] == ("", msg("planui.not_stated"))


def test_a_label_ends_before_the_mark_of_its_help(qtbot, appearance):
    field = next(field for field in fields_of("serving") if field.name == "request_rate")
    row = make_row(appearance, field, lambda _field, _query: ())
    qtbot.addWidget(row)
    label, mark = row.frame.label, row.help_button
    row.resize(label.fontMetrics().horizontalAdvance(label.text()) + 6, 60)
    row.show()
    whole = label.contentsRect().width()
    help_tip = label.toolTip()
    QApplication.sendEvent(row, QEvent(QEvent.Type.Enter))
    assert mark.isVisible()
    assert label.contentsRect().right() < mark.x()
    assert label.toolTip() == help_tip == appearance.text(field.help)
    QApplication.sendEvent(row, QEvent(QEvent.Type.Leave))
    assert label.contentsRect().width() == whole


def test_a_row_is_made_when_its_field_is_first_shown(open_page, settled):
    page = open_page("preset/chat-70b")
    settled(page)
    there = {row.field.name for row in page.wizard.findChildren(Row)}
    assert {"input_tokens", "concurrency"} <= there
    assert not {"draft_tokens", "cpu_offload_bytes"} & there, "behind “more”, or of no use yet"
    sections = page.wizard.findChildren(Section)
    for section in sections:
        section.more.click()
    row = next(row for row in page.wizard.findChildren(Row) if row.field.name == "cpu_offload_bytes")
    assert row.isVisible()
    early = next(row for row in page.wizard.findChildren(Row) if row.field.name == "memory_free_share")
    assert early.target.placeholderText() or early.target.text()
    assert all(row.isVisible() for row in page.wizard.findChildren(Row))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_field_begins_with_is_a_round_number_as_it_is_shown(kind):
    """Not 7.45058 GiB, which nobody would have typed."""
    for field in all_fields(kind):
        if field.quantity is not None and field.ask.unit is Unit.BYTE and field.default is not None:
            assert float(field.quantity.show(field.default, Display())).is_integer(), field.key
