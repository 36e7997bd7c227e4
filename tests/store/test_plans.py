"""Plans in the store: nothing that was saved is lost, whatever happens next."""

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuplanner.store.plans import KEPT_REVISIONS, PlanShelf
from gpuplanner.store.store import FILE_NAME, StoreError, open_store
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving


def concurrency_of(plan: Plan) -> int:
    assert isinstance(plan.workload, Serving)
    return plan.workload.concurrency or 0


def a_plan(name: str = "Chat", concurrency: int = 8) -> Plan:
    return Plan(name=name, workload=Serving(model=ModelChoice(catalog_id="any"), concurrency=concurrency))


def test_a_saved_plan_comes_back_in_a_new_session(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    plan_id, first = PlanShelf(store).add(a_plan())
    PlanShelf(store).save(plan_id, a_plan(concurrency=64), first, "concurrency")
    store.close()

    again = PlanShelf(open_store(tmp_path))
    latest = again.latest(plan_id)
    assert latest is not None
    assert latest.plan == a_plan(concurrency=64)
    assert [r.label for r in again.history(plan_id)] == ["concurrency", ""]


def test_two_windows_on_one_store_keep_both_changes(tmp_path: Path) -> None:
    one, two = PlanShelf(open_store(tmp_path)), PlanShelf(open_store(tmp_path))
    plan_id, first = one.add(a_plan())
    assert two.save(plan_id, a_plan(concurrency=16), first).other is None

    saved = one.save(plan_id, a_plan(concurrency=32), first)

    assert saved.other is not None
    assert saved.other.plan == a_plan(concurrency=16)
    assert {concurrency_of(r.plan) for r in two.history(plan_id)} == {8, 16, 32}


def test_removal_can_be_undone_and_pins_come_first(tmp_path: Path) -> None:
    shelf = PlanShelf(open_store(tmp_path))
    first, _ = shelf.add(a_plan("first"))
    second, _ = shelf.add(a_plan("second"))
    shelf.pin(first, True)
    assert [p.name for p in shelf.listed()] == ["first", "second"]
    shelf.remove(second)
    assert [p.name for p in shelf.listed()] == ["first"]
    shelf.restore(second)
    assert {p.id for p in shelf.listed()} == {first, second}


def test_history_is_bounded(tmp_path: Path) -> None:
    shelf = PlanShelf(open_store(tmp_path))
    plan_id, revision = shelf.add(a_plan())
    for n in range(KEPT_REVISIONS + 5):
        revision = shelf.save(plan_id, a_plan(concurrency=n + 1), revision).revision
    assert len(shelf.history(plan_id)) == KEPT_REVISIONS


def test_a_full_disk_loses_nothing_and_saving_goes_on_afterwards(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    shelf = PlanShelf(store)
    plan_id, first = shelf.add(a_plan())
    pages = store.read("PRAGMA page_count")[0][0]
    store.read(f"PRAGMA max_page_count = {pages}")
    large = a_plan().model_copy(update={"notes": "x" * 50_000})

    with pytest.raises(StoreError) as caught:
        shelf.save(plan_id, large, first)

    assert caught.value.message.id == "store.full"
    latest = shelf.latest(plan_id)
    assert latest is not None
    assert latest.plan == a_plan()
    store.read("PRAGMA max_page_count = 1000000")
    shelf.save(plan_id, large, first)
    latest = shelf.latest(plan_id)
    assert latest is not None
    assert latest.plan == large


def test_a_damaged_file_is_set_aside_and_named(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"this is no database" * 1000)
    store = open_store(tmp_path, lambda: datetime(2026, 1, 2, tzinfo=UTC))
    assert [n.id for n in store.notes] == ["store.damaged"]
    PlanShelf(store).add(a_plan())
    asides = list(tmp_path.glob("*.damaged-*"))
    assert len(asides) == 1
    assert asides[0].read_bytes().startswith(b"this is no database")


def test_without_a_folder_the_plans_live_in_memory_and_a_note_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = open_store(tmp_path / "file")
    assert [n.id for n in store.notes] == ["store.no_folder"]
    PlanShelf(store).add(a_plan())
    assert [p.name for p in PlanShelf(store).listed()] == ["Chat"]


_WRITER = """
import sys
from pathlib import Path
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.store import open_store
from tests.store.test_plans import a_plan
shelf = PlanShelf(open_store(Path(sys.argv[1])))
plan_id, revision = shelf.add(a_plan())
print(plan_id, flush=True)
n = 1
while True:
    n += 1
    revision = shelf.save(plan_id, a_plan(concurrency=n), revision).revision
    print(n, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills the writer with a POSIX signal")
def test_a_kill_in_the_middle_of_a_save_loses_nothing_that_was_saved(tmp_path: Path, project_root: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=project_root
    )
    assert writer.stdout is not None
    plan_id = writer.stdout.readline().strip()
    writer.stdout.readline()
    time.sleep(0.2)
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.stdout.close()
    writer.wait()

    latest = PlanShelf(open_store(tmp_path)).latest(plan_id)
    assert latest is not None
    assert concurrency_of(latest.plan) >= int(rest[-1])
