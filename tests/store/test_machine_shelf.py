"""What the store keeps of machines: nothing is lost to damage, to a store that is older, or to a limit unsaid."""

import contextlib
import random
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlite_utils import Database

from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.store.machine_shelf import LARGEST_BYTES, MachineShelf
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.schema import migrations
from gpuplanner.store.settings import CURRENCY, Settings
from gpuplanner.store.store import FILE_NAME, Store, open_store
from gpuplanner.workload.by_hand import ByHand
from gpuplanner.workload.plan import Plan

PAGE = 4096
PLANS = {f"plan {number}" for number in range(12)}
RUNS = 9


def content_of(number: int) -> bytes:
    return random.Random(number).randbytes(9000)


def add_plans(folder: Path) -> None:
    store = open_store(folder)
    for name in sorted(PLANS):
        PlanShelf(store).add(Plan(name=name, notes="n" * 3000, workload=ByHand()))
    Settings(store).set(CURRENCY, "CNY")
    store.close()


def older_store(folder: Path) -> Path:
    """A store as it was before anything of machines was kept, with plans in it."""
    with sqlite3.connect(folder / FILE_NAME, isolation_level=None) as connection:
        migrations.apply(Database(connection), stop_before="machines")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == {"_sqlite_migrations", "plans", "revisions", "settings"}
        connection.execute("INSERT INTO settings VALUES ('currency', '\"EUR\"')")
        for number, name in enumerate(sorted(PLANS)):
            text = Plan(name=name, notes="n" * 3000, workload=ByHand()).model_dump_json()
            connection.execute("INSERT INTO plans VALUES (?, ?, 'x', 'x', 0, NULL)", (f"{number}", name))
            row = (f"{number}", "x", "s", text)
            connection.execute("INSERT INTO revisions (plan_id, made, session, content) VALUES (?, ?, ?, ?)", row)
    connection.close()
    return folder


def fill(folder: Path) -> None:
    store = open_store(folder)
    assert store.notes == ()
    shelf = MachineShelf(store)
    for host in ("node-07", "node-05"):
        shelf.add_host(host)
    for number in range(RUNS):
        shelf.keep("runs", "node-07", f"2026-11-0{number + 1}", {"number": number}, content_of(number))
    shelf.keep("live_sessions", "node-05", "2026-11-01", {"seconds": 60}, b"bins")
    store.close()


@pytest.fixture(params=["new", "older"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file of a store with plans and runs, made by this version or by the one before, which knew no runs."""
    if request.param == "older":
        older_store(tmp_path)
    else:
        add_plans(tmp_path)
    fill(tmp_path)
    return tmp_path / FILE_NAME


def plans(store: Store) -> set[str]:
    shelf = PlanShelf(store)
    return {found.plan.name for plan in shelf.listed() if (found := shelf.latest(plan.id))}


def runs(store: Store) -> set[int]:
    """The numbers of the runs that can be read; each is what was kept."""
    shelf = MachineShelf(store)
    found = {}
    for item in shelf.items("runs", "node-07"):
        found[item.about["number"]] = shelf.content("runs", item.id)
    assert all(content == content_of(number) for number, content in found.items())
    return set(found)


def said(store: Store) -> str:
    return " ".join(Translator(Language.ENGLISH).text(note) for note in store.notes)


def test_an_older_store_loses_nothing(tmp_path: Path) -> None:
    older_store(tmp_path)
    store = open_store(tmp_path)
    assert store.notes == ()
    assert plans(store) == PLANS
    assert Settings(store).get(CURRENCY) == "EUR"
    assert MachineShelf(store).items("runs") == ()
    store.close()
    assert not list(tmp_path.glob("*damaged*"))


def test_what_is_kept_is_there_after_a_restart(filled: Path) -> None:
    store = open_store(filled.parent)
    shelf = MachineShelf(store)
    assert shelf.hosts() == ("node-07", "node-05")
    assert runs(store) == set(range(RUNS))
    assert [item.about["number"] for item in shelf.items("runs")] == list(reversed(range(RUNS)))
    (session,) = shelf.items("live_sessions")
    assert (session.host, session.about, session.size_bytes) == ("node-05", {"seconds": 60}, 4)
    assert shelf.content("live_sessions", session.id) == b"bins"


def test_the_schema_fits_the_first_page(filled: Path) -> None:
    """The whole schema is on it, so that a new one can take its place; room is left for a table more."""
    first = filled.read_bytes()[:PAGE]
    assert first[100] == 0x0D  # a leaf: nothing of the schema is on another page
    free = int.from_bytes(first[105:107], "big") - 108 - 2 * int.from_bytes(first[103:105], "big")
    assert free > 500


@pytest.mark.parametrize("damage", [slice(0, 100), slice(100, PAGE), slice(0, PAGE)], ids=["header", "schema", "page"])
def test_a_lost_first_page_costs_nothing(filled: Path, damage: slice) -> None:
    content = bytearray(filled.read_bytes())
    content[damage] = b"\xa5" * (damage.stop - damage.start)
    filled.write_bytes(content)
    store = open_store(filled.parent)
    assert plans(store) == PLANS
    assert runs(store) == set(range(RUNS))
    assert MachineShelf(store).hosts() == ("node-07", "node-05")
    assert f"{len(PLANS)} plans and {RUNS} runs" in said(store)


def test_without_the_first_page_and_the_places_of_tables_the_plans_are_there_and_no_wrong_run(filled: Path) -> None:
    content = bytearray(filled.read_bytes().replace(b"store.places", b"store.PLACES"))
    content[:PAGE] = b"\xa5" * PAGE
    filled.write_bytes(content)
    store = open_store(filled.parent)
    assert plans(store) == PLANS
    assert runs(store) <= set(range(RUNS))
    assert set(MachineShelf(store).hosts()) <= {"node-07", "node-05"}


def test_wrong_places_of_tables_bring_no_wrong_run(filled: Path) -> None:
    """Where the note of their places was changed too, rows of other tables are read as runs, and are none."""
    with sqlite3.connect(filled) as db:
        pages = dict(db.execute("SELECT name, rootpage FROM sqlite_master").fetchall())
        noted = f'{{"hosts": {pages["revisions"]}, "runs": {pages["plans"]}, "live_sessions": {pages["runs"]}}}'
        db.execute("UPDATE settings SET value = ? WHERE key = 'store.places'", (noted,))
    db.close()
    content = bytearray(filled.read_bytes())
    content[:PAGE] = b"\xa5" * PAGE
    filled.write_bytes(content)
    store = open_store(filled.parent)
    assert plans(store) == PLANS
    shelf = MachineShelf(store)
    assert shelf.hosts() == ()
    assert shelf.items("runs") == ()


def test_one_bad_page_costs_the_run_on_it_and_no_plan(filled: Path) -> None:
    whole = filled.read_bytes()
    content = bytearray(whole)
    page = whole.index(content_of(4)[5000:5040]) // PAGE * PAGE
    content[page : page + PAGE] = b"\xff" * PAGE
    filled.write_bytes(content)
    store = open_store(filled.parent)
    assert plans(store) == PLANS
    assert runs(store) == set(range(RUNS)) - {4}
    assert MachineShelf(store).hosts() == ("node-07", "node-05")


def test_no_bit_that_changes_shows_another_run(filled: Path) -> None:
    whole, dice = filled.read_bytes(), random.Random(7)
    for _ in range(25):
        content = bytearray(whole)
        for _ in range(dice.choice([1, 20])):
            content[dice.randrange(dice.choice([PAGE, len(content)]))] ^= 1 << dice.randrange(8)
        for path in filled.parent.iterdir():
            path.unlink()
        filled.write_bytes(content)
        store = open_store(filled.parent)
        shelf = MachineShelf(store)
        for item in shelf.items("runs"):
            with contextlib.suppress(InputError):
                assert shelf.content("runs", item.id) == content_of(item.about["number"])
        assert set(shelf.hosts()) <= {"node-07", "node-05"}
        shelf.keep("runs", "new", "2026-12-01", {}, b"new")
        assert [item.host for item in shelf.items("runs", "new")] == ["new"]
        store.close()


def test_a_removed_file_comes_back_with_its_runs(filled: Path) -> None:
    store = open_store(filled.parent)
    for path in filled.parent.glob(f"{FILE_NAME}*"):
        path.unlink()
    MachineShelf(store).add_host("node-09")
    store.close()
    again = open_store(filled.parent)
    assert runs(again) == set(range(RUNS))
    assert MachineShelf(again).hosts() == ("node-07", "node-05", "node-09")


def test_a_replaced_file_gets_the_runs_beside_its_own(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    theirs = open_store(other)
    MachineShelf(theirs).keep("runs", "theirs", "2026-11-05", {}, b"theirs")
    theirs.close()
    store = open_store(filled.parent)
    for path in filled.parent.glob(f"{FILE_NAME}*"):
        path.unlink()
    (other / FILE_NAME).rename(filled)
    shelf = MachineShelf(store)
    shelf.add_host("node-09")
    assert runs(store) == set(range(RUNS))
    (item,) = shelf.items("runs", "theirs")
    assert shelf.content("runs", item.id) == b"theirs"


def test_what_is_taken_out_can_be_put_back_in_its_place(tmp_path: Path) -> None:
    shelf = MachineShelf(open_store(tmp_path))
    for host in ("a", "b", "c"):
        shelf.add_host(host)
    first = shelf.keep("runs", "a", "2026-11-01", {}, b"1").id
    shelf.keep("runs", "a", "2026-11-02", {}, b"2")
    shelf.remove_host("b")
    shelf.remove("runs", first)
    assert shelf.hosts() == ("a", "c")
    assert len(shelf.items("runs", "a")) == 1
    shelf.add_host("b")
    assert shelf.restore("runs", first)
    assert shelf.hosts() == ("a", "b", "c")
    assert shelf.items("runs", "a")[-1].id == first


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_what_was_taken_out_goes_for_good_later(tmp_path: Path) -> None:
    clock = Clock()
    shelf = MachineShelf(open_store(tmp_path, clock))
    first = shelf.keep("runs", "a", "2026-11-01", {}, b"1").id
    shelf.remove("runs", first)
    clock.now += timedelta(minutes=50)
    shelf.keep("runs", "a", "2026-11-02", {}, b"2")
    assert shelf.restore("runs", first)
    shelf.remove("runs", first)
    clock.now += timedelta(minutes=70)
    shelf.keep("runs", "a", "2026-11-03", {}, b"3")
    assert not shelf.restore("runs", first)


def test_the_oldest_leave_when_there_is_no_room_and_it_is_said_which(tmp_path: Path) -> None:
    shelf = MachineShelf(open_store(tmp_path), most_bytes=100)
    lonely = shelf.keep("runs", "lonely", "2026-10-01", {}, b"x" * 40).id
    ids = [shelf.keep("runs", "a", f"2026-11-0{n}", {}, b"x" * 20).id for n in (1, 2, 3)]
    kept = shelf.keep("runs", "a", "2026-11-04", {}, b"x" * 20)
    assert kept.left == (("runs", ids[0]),)
    assert [item.id for item in shelf.items("runs")] == [kept.id, ids[2], ids[1], lonely]
    assert shelf.restore("runs", ids[0])
    # One that is larger than all the room there is stays, and so does the only one of a machine.
    large = shelf.keep("live_sessions", "a", "2026-09-01", {}, b"x" * 150)
    assert {(table, number) for table, number in large.left} == {("runs", number) for number in ids}
    assert len(shelf.items("live_sessions")) == 1


def test_one_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        MachineShelf(open_store(tmp_path)).keep("runs", "a", "2026-11-01", {}, bytes(LARGEST_BYTES + 1))
    assert caught.value.message.id == "store.too_large_to_keep"


def test_what_the_list_says_can_change_and_stays_proved(tmp_path: Path) -> None:
    shelf = MachineShelf(open_store(tmp_path))
    kept = shelf.keep("runs", "a", "2026-11-01", {"verdict": "pass"}, b"1")
    shelf.say("runs", kept.id, {"verdict": "fail"})
    assert shelf.items("runs")[0].about == {"verdict": "fail"}
    assert shelf.content("runs", kept.id) == b"1"


def test_one_that_was_changed_on_the_disk_is_not_shown(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    shelf = MachineShelf(store)
    kept = shelf.keep("runs", "a", "2026-11-01", {}, b"1")
    store.write(lambda db: db.execute("UPDATE runs SET content = x'32'"))
    with pytest.raises(InputError) as caught:
        shelf.content("runs", kept.id)
    assert caught.value.message.id == "store.kept_is_damaged"
