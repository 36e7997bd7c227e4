"""A store that is locked, gone or damaged while the window is open: the window goes on, and says what happened."""

import sqlite3
import time
from collections.abc import Iterator

import pytest

from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.store import FILE_NAME, open_store
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.plan_place import autosave
from gpuplanner.ui.plan_place.banners import NOT_SAVED
from gpuplanner.ui.plan_place.wizard.fields import all_fields
from gpuplanner.ui.store_watch import watch_store

TOKENS = next(f for f in all_fields("serving") if f.key == "serving.input_tokens")
LONGEST_S = 0.6
"""A window that does nothing for longer is felt to hang; the machine of a test may be slow."""


@pytest.fixture
def told(page, workspace) -> Iterator[list[str]]:
    ids: list[str] = []
    notices = Notices()
    notices.said.connect(lambda notice: ids.append(notice.message.id))
    watch_store(workspace.store, notices)
    yield ids
    notices.deleteLater()


def edit(page, value):
    page.presenter.document.set_value(TOKENS, value)


def saved(page, qtbot, value):
    edit(page, value)
    qtbot.waitUntil(lambda: page.presenter.autosave.clean)
    return page.presenter.autosave.plan_id


def names_on_disk(workspace):
    store = open_store(workspace.home)
    shelf = PlanShelf(store)
    found = {plan.id: shelf.latest(plan.id) for plan in shelf.listed()}
    store.close()
    return {plan_id: latest.plan.workload.model_dump()["input_tokens"] for plan_id, latest in found.items() if latest}


def test_a_window_does_not_hang_while_another_program_holds_the_store(qtbot, page, workspace, told, monkeypatch):
    monkeypatch.setattr(autosave, "RETRY_MS", 200)
    plan_id = saved(page, qtbot, 1111)
    holder = sqlite3.connect(workspace.home / FILE_NAME, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    edit(page, 2222)
    qtbot.wait(autosave.GATHER_MS + 200)  # the save is under way in its thread, and waits
    acts = [
        lambda: page.visit("preset/chat-8b"),
        lambda: edit(page, 3333),
        lambda: page.visit(f"plan/{plan_id}"),
        lambda: page.presenter.plans.pin(plan_id, pinned=True),
        page.presenter.autosave.flush,
    ]
    longest = 0.0
    for act in acts:
        begun = time.monotonic()
        act()
        longest = max(longest, time.monotonic() - begun)
    assert longest < LONGEST_S
    holder.execute("ROLLBACK")
    holder.close()
    qtbot.waitUntil(lambda: page.presenter.autosave.clean, timeout=15_000)
    assert sorted(names_on_disk(workspace).values()) == [2222, 3333]
    assert all(banner.id != NOT_SAVED for banner in page.presenter.banners.all())


def test_a_store_that_was_removed_is_said_and_written_again(qtbot, page, workspace, told):
    plan_id = saved(page, qtbot, 1111)
    for path in workspace.home.glob(f"{FILE_NAME}*"):
        path.unlink()
    assert saved(page, qtbot, 2222) == plan_id
    qtbot.waitUntil(lambda: told == ["store.removed"])
    assert names_on_disk(workspace) == {plan_id: 2222}


def test_a_plan_that_cannot_be_read_says_so(qtbot, page, workspace):
    plan_id = saved(page, qtbot, 1111)
    page.visit("preset/chat-8b")
    workspace.store.write(lambda db: db.execute("UPDATE revisions SET content = '{' WHERE plan_id = ?", (plan_id,)))
    page.visit(f"plan/{plan_id}")
    assert page.path() == ""
    assert "store.plan_unreadable" in [notice.message.id for notice in page.property("notices").kept]


def test_a_plan_whose_last_state_cannot_be_read_says_so_and_shows_the_one_before(qtbot, page, workspace):
    plan_id = saved(page, qtbot, 1111)
    saved(page, qtbot, 2222)
    page.visit("preset/chat-8b")
    workspace.store.write(
        lambda db: db.execute("UPDATE revisions SET content = '{' WHERE id = (SELECT max(id) FROM revisions)")
    )
    page.visit(f"plan/{plan_id}")
    assert page.presenter.plan.workload.input_tokens == 1111
    assert "store.older_revision" in [notice.message.id for notice in page.property("notices").kept]
