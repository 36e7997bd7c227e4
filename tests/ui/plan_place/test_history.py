"""Earlier states of a plan and the difference of two: what is listed, what they come to, and the way back."""

from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest

from gpuplanner.engine.estimate import Outcome
from gpuplanner.messages import InputError, msg
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.plan_place.difference.results import Kind, change_between
from gpuplanner.ui.plan_place.difference.table import DifferenceTable
from gpuplanner.workload.plan import MachineChoice
from tests.ui.checks import clipped, missing_glyphs
from tests.ui.plan_place.by_hand import H100


def set_concurrency(page, value):
    field = page.wizard.row("serving.concurrency").field
    page.presenter.document.close_step()
    page.presenter.document.set_value(field, value)
    page.presenter.autosave.flush()


@pytest.fixture
def changed(page, settled):
    """A plan from a preset, changed twice."""
    for value in (128, 200):
        set_concurrency(page, value)
    settled(page)
    return page


@pytest.fixture
def history(changed, qtbot):
    """The page with its earlier states in sight."""
    changed.show_history()
    qtbot.waitUntil(lambda: len(changed.history.revisions.texts()) == 2)
    return changed


def test_the_columns_of_the_difference_share_the_width(history, qtbot):
    """A tag in a column must not keep it as narrow as itself."""
    table = history.history.findChild(DifferenceTable)
    qtbot.waitUntil(lambda: bool(table.result_texts()))
    grid = table.layout()
    qtbot.waitUntil(lambda: grid.cellRect(0, 1).width() > grid.cellRect(0, 0).width() > 0, timeout=2000)


def test_earlier_states_are_listed_newest_first_without_the_present_one(history):
    view = history.history
    assert view.isVisible()
    assert view.revisions.texts() == ["Concurrency", "Begun"]
    newest = view.revisions.current()
    assert newest.revision.plan.workload.concurrency == 128
    assert [d.field.name for d in newest.changed.differences] == ["concurrency"]


def test_the_difference_to_now_follows_the_arrow_keys(history, qtbot):
    table = history.history._table
    assert [row[1:] for row in table.rows()] == [("200", "128")]
    qtbot.waitUntil(lambda: bool(table.result_texts()))
    QTest.keyClick(history.history.revisions, Qt.Key.Key_Down)
    assert [row[1:] for row in table.rows()] == [("200", "64")]
    qtbot.waitUntil(lambda: bool(table.result_texts()))
    by_name = {row[0]: row for row in table.result_texts()}
    assert by_name["GPU memory"][3].endswith("less")
    assert by_name["Per token"][3] == "the same"


def test_enter_brings_a_version_back_and_undo_takes_it_away(history, said):
    QTest.keyClick(history.history.revisions, Qt.Key.Key_Return)
    document = history.presenter.document
    assert history.presenter.plan.workload.concurrency == 128
    assert history.columns.isVisible()
    assert document.undo_name == msg("planui.history.restored")
    assert said(history)[-1] == "planui.history.restored.says"
    document.undo()
    assert history.presenter.plan.workload.concurrency == 200


def test_a_restored_version_is_a_revision_too(history, qtbot):
    plan_id = history.presenter.autosave.plan_id
    history.history.restored.emit(history.history.revisions.current().revision)
    history.presenter.autosave.flush()
    history.show_history()
    qtbot.waitUntil(lambda: len(history.history.revisions.texts()) == 3)
    assert history.presenter.autosave.plan_id == plan_id
    assert history.history.revisions.current().revision.plan.workload.concurrency == 200


def test_verdicts_are_worked_out_where_a_machine_was_chosen(changed, qtbot):
    changed.presenter.document.set_machine(MachineChoice(gpu_id=H100, gpus=2, per_node=2))
    changed.presenter.autosave.flush()
    set_concurrency(changed, 210)
    changed.show_history()
    entries = changed.presenter.history
    qtbot.waitUntil(lambda: any(entry.outcome is not None for entry in entries.entries))
    assert {entry.revision.plan.machine is None: entry.outcome is None for entry in entries.entries} == {
        True: True,
        False: False,
    }
    assert entries.entries[0].outcome in set(Outcome)


def test_other_notes_make_another_state(changed, qtbot):
    document = changed.presenter.document
    document.replace(changed.presenter.plan.model_copy(update={"notes": "for the board"}), msg("planui.menu.notes"))
    changed.presenter.autosave.flush()
    changed.show_history()
    qtbot.waitUntil(lambda: bool(changed.history.revisions.texts()))
    kept = changed.presenter.history.entries[0].revision.plan
    assert kept.notes == "for the board"
    document.replace(changed.presenter.plan.model_copy(update={"notes": ""}), msg("planui.menu.notes"))
    changed.history.show_plan(changed.presenter.plan, changed.presenter.autosave.plan_id)
    qtbot.waitUntil(lambda: bool(changed.history.revisions.texts()))
    assert changed.history.revisions.current().revision.plan.notes == "for the board"


def test_a_state_that_cannot_be_estimated_has_no_verdict_and_hides_no_other(changed, qtbot, workspace):
    changed.presenter.document.set_machine(MachineChoice(gpu_id=H100, gpus=2, per_node=2))
    changed.presenter.autosave.flush()
    set_concurrency(changed, 210)
    set_concurrency(changed, 220)
    estimate = workspace.estimate

    def refuse(plan):
        if plan.workload.concurrency == 210:
            raise InputError(msg("workspace.unknown_model", id="x"))
        return estimate(plan)

    workspace.estimate = refuse
    changed.show_history()
    entries = changed.presenter.history
    qtbot.waitUntil(lambda: any(entry.outcome is not None for entry in entries.entries))
    fits = {
        entry.revision.plan.workload.concurrency: entry.outcome
        for entry in entries.entries
        if entry.revision.plan.machine
    }
    assert fits[210] is None
    assert fits[220] is not None
    assert len(changed.history.revisions.texts()) == len(entries.entries) - 1


def test_rows_are_as_high_as_their_text(history):
    lines = [QFontMetricsF(font(role)).height() for role in (TextRole.BODY, TextRole.LABEL)]
    row = history.history.revisions.sizeHintForRow(0)
    assert sum(lines) <= row <= sum(lines) + 24


def test_moments_are_said_as_the_clock_on_the_wall_has_them(appearance):
    made = datetime(2026, 11, 30, 23, 30, 5, tzinfo=UTC)
    wall = made.astimezone()
    assert appearance.moment(made.isoformat()) == f"{wall:%Y-%m-%d} {wall:%H:%M:%S}"
    assert appearance.moment("never") == "never"


def test_a_plan_without_history_teaches_what_it_is(page, qtbot):
    page.show_history()
    view = page.history
    assert view.empty.isVisible()
    assert view.empty.buttons[0].hasFocus()
    view.empty.buttons[0].click()
    assert page.columns.isVisible()


def test_esc_leaves_the_history(history):
    assert history.leave()
    assert history.columns.isVisible()
    assert not history.history.isVisible()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("size", [(1090, 740), (1250, 820)])
def test_nothing_is_clipped(history, qtbot, appearance, language, size):
    appearance.choose(LANGUAGE, language)
    history.resize(*size)
    qtbot.waitUntil(lambda: bool(history.history._table.result_texts()))
    qtbot.waitUntil(lambda: clipped(history) == [], timeout=3000)
    assert missing_glyphs(history) == []


def test_two_plans_are_compared_by_what_they_come_to(changed, qtbot):
    first = changed.presenter.autosave.plan_id
    changed.presenter.duplicate("Other")
    set_concurrency(changed, 64)
    changed.show_difference(first)
    table = changed.difference.table
    assert table.rows() == [("Concurrency", "64", "200")]
    qtbot.waitUntil(lambda: bool(table.result_texts()))
    by_name = {row[0]: row for row in table.result_texts()}
    assert by_name["GPU memory"][3].endswith("% more")
    assert changed.difference.close_button.hasFocus()


def test_a_plan_that_cannot_be_worked_out_says_why_beside_the_other(changed, qtbot, workspace):
    first = changed.presenter.autosave.plan_id
    changed.presenter.duplicate("Other")
    changed.presenter.document.set_machine(MachineChoice(gpu_id="gone"))
    workspace.none_fits = False
    changed.show_difference(first)
    qtbot.waitUntil(lambda: bool(changed.difference.table.result_texts()))
    assert any(row[1] == "—" for row in changed.difference.table.result_texts())


@pytest.mark.parametrize(
    ("first", "second", "kind", "says", "values"),
    [
        (100.0, 88.0, Kind.MONEY, "planui.change.cheaper", {"share": "12%"}),
        (100.0, 101.0, Kind.MONEY, "planui.change.dearer", {"share": "1.0%"}),
        (0.5, 0.25, Kind.DURATION, "planui.change.shorter", {"share": "50%"}),
        (100.0, 250.0, Kind.SPEED, "planui.change.faster", {"share": "150%"}),
        (1.0, 40.0, Kind.AMOUNT, "planui.change.more.times", {"factor": "40"}),
        (3.0, 3.0001, Kind.AMOUNT, "planui.change.same", {}),
    ],
)
def test_a_change_is_said_in_words_and_per_cent(first, second, kind, says, values):
    assert change_between(first, second, kind) == msg(says, **values)


@pytest.mark.parametrize(("first", "second"), [(None, 1.0), (1.0, None), (0.0, 1.0), (-1.0, 1.0)])
def test_no_change_is_said_where_there_is_none_to_say(first, second):
    assert change_between(first, second, Kind.AMOUNT) is None


def test_every_way_to_say_a_change_has_its_text(appearance):
    for kind in Kind:
        for word in kind.value:
            assert appearance.text(f"planui.change.{word}", share="1%")
        assert appearance.text(f"planui.change.{kind.value[1]}.times", factor="12")


def test_the_list_ends_on_a_whole_row(changed, qtbot):
    for value in range(300, 330):
        set_concurrency(changed, value)
    changed.show_history()
    revisions = changed.history.revisions
    qtbot.waitUntil(lambda: len(revisions.texts()) == 32)
    for height in (700, 731, 765):
        changed.resize(1250, height)
        qtbot.wait(20)
        assert revisions.viewport().height() % revisions.sizeHintForRow(0) == 0
        assert revisions.verticalScrollBar().maximum() > 0
