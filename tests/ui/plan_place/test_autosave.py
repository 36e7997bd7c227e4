"""Nothing that was typed is lost: not to a crash, a second window, a full disk, or a window that closes."""

import time
from typing import Any

import pytest

from gpuplanner.messages import msg
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.store import StoreError
from gpuplanner.ui.plan_place import autosave
from gpuplanner.ui.plan_place.wizard.fields import all_fields
from tests.ui.plan_place.by_hand import FakeWorkspace

FIELDS = {f.key: f for f in all_fields("serving")}
TOKENS = FIELDS["serving.input_tokens"]


def edit(page, value):
    page.presenter.document.set_value(TOKENS, value)


def newest(workspace, plan_id) -> Any:
    return PlanShelf(workspace.store).latest(plan_id)


def stored(workspace, plan_id):
    return newest(workspace, plan_id).plan.workload.input_tokens


def test_a_change_is_on_the_disk_within_a_second(qtbot, page, workspace):
    assert page.presenter.plans.listed() == []
    start = time.monotonic()
    edit(page, 4321)
    qtbot.waitUntil(lambda: page.presenter.autosave.clean, timeout=1000)
    assert time.monotonic() - start < 1.0
    plan_id = page.presenter.autosave.plan_id
    assert stored(workspace, plan_id) == 4321
    assert page.path() == f"plan/{plan_id}"


def test_a_preset_that_is_only_looked_at_is_no_plan(page, qtbot):
    qtbot.wait(autosave.GATHER_MS + 100)
    assert page.presenter.plans.listed() == []


def test_many_keystrokes_are_few_revisions_named_by_their_field(qtbot, page, workspace):
    for value in (4, 43, 432, 4321):
        edit(page, value)
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    history: Any = PlanShelf(workspace.store).history(page.presenter.autosave.plan_id)
    begun = (2000, "")
    assert [(r.plan.workload.input_tokens, r.label) for r in history] == [(4321, "field.serving.input_tokens"), begun]


def test_after_a_crash_the_last_state_comes_back(qtbot, page, open_page, workspace, settings):
    edit(page, 777)
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    # A crash: nothing is closed. What the settings and the store hold is all that the next start has.
    again = FakeWorkspace(workspace.home, workspace.catalog, workspace.efficiencies)
    reopened = open_page(store=again)
    assert reopened.presenter.is_open
    assert reopened.presenter.plan.workload.input_tokens == 777
    again.close()


def test_closing_the_window_keeps_what_was_just_typed(page, workspace):
    edit(page, 999)
    page.close_page()
    assert stored(workspace, page.presenter.autosave.plan_id) == 999


def test_closing_while_a_save_runs_keeps_the_last_state_once(page, workspace):
    edit(page, 1)
    page.presenter.autosave.retry()
    edit(page, 2)
    page.close_page()
    shelf = PlanShelf(workspace.store)
    assert len(shelf.listed()) == 1
    assert stored(workspace, page.presenter.autosave.plan_id) == 2


def test_another_window_is_told_of_and_both_versions_stay(qtbot, page, open_page, workspace):
    edit(page, 100)
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    plan_id = page.presenter.autosave.plan_id
    other = FakeWorkspace(workspace.home, workspace.catalog, workspace.efficiencies)
    shelf = PlanShelf(other.store)
    theirs = newest(other, plan_id)
    workload = theirs.plan.workload.model_copy(update={"input_tokens": 555})
    shelf.save(plan_id, theirs.plan.model_copy(update={"workload": workload}), theirs.id, "theirs")
    edit(page, 101)
    qtbot.waitUntil(lambda: bool(page.presenter.banners.all()))
    banner = page.presenter.banners.all()[0]
    assert banner.message == msg("planui.conflict")
    history: Any = PlanShelf(workspace.store).history(plan_id)
    kept = [revision.plan.workload.input_tokens for revision in history]
    assert {100, 101, 555} <= set(kept)
    banner.actions[0].run()
    assert page.presenter.plan.workload.input_tokens == 555
    assert page.presenter.banners.all() == ()
    page.presenter.document.undo()
    assert page.presenter.plan.workload.input_tokens == 101
    other.close()


def test_a_full_disk_is_said_and_the_change_is_saved_when_there_is_room(qtbot, page, workspace, monkeypatch):
    monkeypatch.setattr(autosave, "RETRY_MS", 100)
    full = [True]
    write = workspace.store.write

    def limited(work):
        if full[0]:
            raise StoreError(msg("store.full"))
        return write(work)

    monkeypatch.setattr(workspace.store, "write", limited)
    edit(page, 123)
    qtbot.waitUntil(lambda: bool(page.presenter.banners.all()))
    assert page.presenter.banners.all()[0].message == msg("store.full")
    assert not page.presenter.banners.all()[0].closable
    edit(page, 124)
    full[0] = False
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    assert page.presenter.banners.all() == ()
    assert stored(workspace, page.presenter.autosave.plan_id) == 124


def test_what_could_not_be_saved_is_kept_while_another_plan_is_open(qtbot, page, workspace, monkeypatch):
    monkeypatch.setattr(autosave, "RETRY_MS", 100)
    edit(page, 10)
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    first = page.presenter.autosave.plan_id
    full = [True]
    write = workspace.store.write

    def limited(work):
        if full[0]:
            raise StoreError(msg("store.full"))
        return write(work)

    monkeypatch.setattr(workspace.store, "write", limited)
    edit(page, 11)
    page.presenter.open_preset("chat-8b")
    assert stored(workspace, first) == 10
    assert [banner.message for banner in page.presenter.banners.all()] == [msg("store.full")]
    edit(page, 12)
    full[0] = False
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    assert stored(workspace, first) == 11
    assert stored(workspace, page.presenter.autosave.plan_id) == 12
    assert page.presenter.banners.all() == ()


def test_a_plan_worked_out_with_other_facts_says_so(page, workspace):
    plan = page.presenter.plan.model_copy(update={"catalog_hash": "another edition"})
    page.presenter.add(plan)
    assert [banner.message.id for banner in page.presenter.banners.all()] == ["planui.other_catalog"]
    page.presenter.banners.close(page.presenter.banners.all()[0].id)
    with_own = f"{workspace.catalog.hash[:40]}+{'0' * 40}"
    page.presenter.add(plan.model_copy(update={"catalog_hash": with_own}))
    assert [banner.message.id for banner in page.presenter.banners.all()] == ["planui.other_own_files"]
    page.presenter.banners.close(page.presenter.banners.all()[0].id)
    page.presenter.add(plan.model_copy(update={"catalog_hash": workspace.catalog.hash}))
    assert page.presenter.banners.all() == ()


def test_the_shelf_pins_removes_and_brings_back(qtbot, page, open_page):
    presenter = page.presenter
    edit(page, 5)
    qtbot.waitUntil(lambda: presenter.autosave.clean)
    first = presenter.autosave.plan_id
    presenter.duplicate("Second")
    assert presenter.plan.name == "Second"
    assert presenter.autosave.plan_id != first
    presenter.plans.pin(first, True)
    assert next(p.id for p in presenter.plans.listed()) == first
    presenter.plans.remove(first, "First")
    assert [p.name for p in presenter.plans.listed()] == ["Second"]
    page.property("notices").kept[-1].action.run()
    assert len(presenter.plans.listed()) == 2


@pytest.mark.parametrize("path", ["plan/nothing", "preset/nothing", "nonsense", "with/gpu/", "with/what/x"])
def test_a_path_that_leads_nowhere_shows_the_start_page(page, path):
    page.visit(path)
    assert not page.presenter.is_open
    assert page.path() == ""
