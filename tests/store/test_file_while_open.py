"""What happens to the file of a store while it is open: removed, replaced, damaged, locked. Nothing saved is lost."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuplanner.messages import Message
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.settings import CURRENCY, Settings
from gpuplanner.store.store import FILE_NAME, Store, StoreError, open_store
from gpuplanner.workload.by_hand import ByHand
from gpuplanner.workload.plan import Plan

LOCKED_S = 1.0


def named(name: str) -> Plan:
    return Plan(name=name, workload=ByHand())


def names(folder: Path) -> set[str]:
    store = open_store(folder)
    shelf = PlanShelf(store)
    found = {latest.plan.name for plan in shelf.listed() if (latest := shelf.latest(plan.id))}
    store.close()
    return found


def without_files(folder: Path) -> None:
    for path in folder.glob(f"{FILE_NAME}*"):
        path.unlink()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path)
    yield store
    store.close()


@pytest.fixture
def told(store: Store) -> list[str]:
    notes: list[str] = []

    def tell(note: Message) -> None:
        notes.append(note.id)

    store.listen(tell)
    return notes


def test_a_removed_file_is_written_again_with_all_that_was_saved(tmp_path: Path, store: Store, told: list[str]) -> None:
    shelf = PlanShelf(store)
    plan_id, revision = shelf.add(named("before"))
    Settings(store).set(CURRENCY, "CNY")
    other, _ = shelf.add(named("other"))
    without_files(tmp_path)
    saved = shelf.save(plan_id, named("after"), revision)
    assert saved.other is None
    assert told == ["store.removed"]
    assert names(tmp_path) == {"after", "other"}
    assert [r.plan.name for r in shelf.history(plan_id)] == ["after", "before"]
    assert Settings(store).get(CURRENCY) == "CNY"
    assert shelf.holds(other)


def test_a_file_that_was_removed_is_there_again_after_closing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    PlanShelf(store).add(named("kept"))
    without_files(tmp_path)
    store.close()
    assert names(tmp_path) == {"kept"}


def test_a_removed_folder_is_made_again(tmp_path: Path) -> None:
    store = open_store(tmp_path / "home")
    shelf = PlanShelf(store)
    plan_id, revision = shelf.add(named("before"))
    without_files(tmp_path / "home")
    (tmp_path / "home").rmdir()
    shelf.save(plan_id, named("after"), revision)
    store.close()
    assert names(tmp_path / "home") == {"after"}


def test_a_replaced_file_keeps_its_plans_and_takes_those_of_this_window(
    tmp_path: Path, store: Store, told: list[str]
) -> None:
    shelf = PlanShelf(store)
    plan_id, revision = shelf.add(named("ours"))
    revision = shelf.save(plan_id, named("ours, changed"), revision).revision
    (tmp_path / "elsewhere").mkdir()
    theirs = open_store(tmp_path / "elsewhere")
    PlanShelf(theirs).add(named("theirs"))
    theirs.close()
    without_files(tmp_path)
    (tmp_path / "elsewhere" / FILE_NAME).rename(tmp_path / FILE_NAME)

    shelf.save(plan_id, named("ours, changed again"), revision)

    assert told == ["store.replaced"]
    assert names(tmp_path) == {"theirs", "ours, changed again"}
    assert [r.plan.name for r in shelf.history(plan_id)] == ["ours, changed again", "ours, changed", "ours"]


def test_a_file_that_others_damage_is_set_aside_and_the_save_goes_on(
    tmp_path: Path, store: Store, told: list[str]
) -> None:
    shelf = PlanShelf(store)
    plan_id, revision = shelf.add(named("before"))
    with sqlite3.connect(tmp_path / FILE_NAME) as other:
        other.execute("DROP TABLE settings")
    other.close()
    Settings(store).set(CURRENCY, "CNY")
    shelf.save(plan_id, named("after"), revision)
    assert told == ["store.damaged"]
    assert list(tmp_path.glob("*.damaged-*"))
    assert names(tmp_path) == {"after"}
    assert Settings(store).get(CURRENCY) == "CNY"


def test_a_plan_whose_row_is_gone_can_be_saved(tmp_path: Path, store: Store) -> None:
    shelf = PlanShelf(store)
    plan_id, revision = shelf.add(named("before"))
    store.write(lambda db: db.execute("DELETE FROM revisions"))
    store.write(lambda db: db.execute("DELETE FROM plans"))
    shelf.save(plan_id, named("after"), revision)
    assert names(tmp_path) == {"after"}


def test_a_text_that_no_file_can_hold_is_refused(store: Store) -> None:
    with pytest.raises(StoreError) as caught:
        PlanShelf(store).add(named("x").model_copy(update={"notes": "\ud800"}))
    assert caught.value.message.id == "store.not_text"
    PlanShelf(store).add(named("x"))


def _break(store: Store, revision: int) -> None:
    store.write(lambda db: db.execute("UPDATE revisions SET content = '{' WHERE id = ?", (revision,)))


def test_a_newest_state_that_cannot_be_read_is_counted(store: Store) -> None:
    shelf = PlanShelf(store)
    plan_id, revision = shelf.add(named("old"))
    for number in range(2):
        revision = shelf.save(plan_id, named(f"new {number}"), revision).revision
        _break(store, revision)
    latest = shelf.latest(plan_id)
    assert latest is not None
    assert (latest.plan.name, latest.passed_over) == ("old", 2)
    store.write(lambda db: db.execute("UPDATE revisions SET content = '{'"))
    assert shelf.latest(plan_id) is None
    assert shelf.holds(plan_id)


@pytest.fixture
def lock(tmp_path: Path, store: Store) -> Iterator[sqlite3.Connection]:
    """Another program that has the file locked until the test ends it."""
    holder = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    yield holder
    if holder.in_transaction:
        holder.execute("ROLLBACK")
    holder.close()


def test_a_thread_in_a_hurry_is_not_kept_waiting(store: Store, lock: sqlite3.Connection) -> None:
    store.hurry(hurried=True)
    settings = Settings(store)
    begun = time.monotonic()
    for number in range(20):
        with pytest.raises(StoreError) as caught:
            settings.keep("window.x", number)
        assert caught.value.message.id == "store.busy"
    assert time.monotonic() - begun < LOCKED_S
    lock.execute("ROLLBACK")
    settings.keep("window.x", 1)
    assert settings.kept("window.x") == 1


def test_another_thread_waits_and_then_saves(store: Store, lock: sqlite3.Connection) -> None:
    store.hurry(hurried=True)
    shelf = PlanShelf(store)
    saved = threading.Thread(target=lambda: shelf.add(named("late")))
    saved.start()
    time.sleep(0.2)
    begun = time.monotonic()
    with pytest.raises(StoreError):
        Settings(store).keep("window.x", 1)
    assert time.monotonic() - begun < LOCKED_S
    lock.execute("ROLLBACK")
    saved.join(10)
    assert [plan.name for plan in shelf.listed()] == ["late"]


def test_who_has_time_again_waits(store: Store, lock: sqlite3.Connection) -> None:
    store.hurry(hurried=True)
    with pytest.raises(StoreError):
        Settings(store).keep("window.x", 1)
    store.hurry(hurried=False)
    freed = threading.Timer(0.4, lambda: lock.execute("ROLLBACK"))
    freed.start()
    Settings(store).keep("window.x", 2)
    freed.join()
    assert Settings(store).kept("window.x") == 2
