"""Stores that a disk, a crash or a program damaged: what can be read is there, the file is kept, and it is said."""

import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuplanner.cli.main import main
from gpuplanner.messages import Language, Translator
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.settings import CURRENCY, RATES, SETTINGS, Settings
from gpuplanner.store.store import FILE_NAME, Store, StoreError, open_store
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving

PAGE = 4096
NAMES = [f"plan {number}" for number in range(40)]


def a_plan(name: str) -> Plan:
    return Plan(name=name, notes="n" * 3000, workload=Serving(model=ModelChoice(catalog_id="any")))


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with a store of forty plans, of which some ten begin on one page."""
    store = open_store(tmp_path)
    shelf = PlanShelf(store)
    for name in NAMES:
        shelf.add(a_plan(name))
    Settings(store).set(CURRENCY, "CNY")
    store.close()
    return tmp_path / FILE_NAME


def changed(file: Path, *statements: str) -> Store:
    with sqlite3.connect(file) as db:
        for statement in statements:
            db.execute(statement)
    db.close()
    return open_store(file.parent)


def readable(store: Store) -> set[str]:
    shelf = PlanShelf(store)
    return {found.plan.name for plan in shelf.listed() if (found := shelf.latest(plan.id))}


def said(store: Store) -> str:
    return " ".join(Translator(Language.ENGLISH).text(note) for note in store.notes)


def test_one_bad_page_costs_the_plans_on_it_and_no_others(filled: Path) -> None:
    content = bytearray(filled.read_bytes())
    page = (content.index(b"plan 20") // PAGE) * PAGE
    content[page : page + PAGE] = b"\xff" * PAGE
    filled.write_bytes(content)

    store = open_store(filled.parent)

    found = readable(store)
    assert len(NAMES) > len(found) >= len(NAMES) - 15
    assert found <= set(NAMES)
    assert f"{len(found)} plans" in said(store)
    assert [p for p in filled.parent.iterdir() if ".damaged-" in p.name]
    assert Settings(store).get(CURRENCY) == "CNY"
    assert readable(open_store(filled.parent)) == found


@pytest.mark.parametrize("content", [b"hello" * 1000, b"\0" * 10_000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_what_is_no_store_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    store = open_store(tmp_path)
    assert "damaged" in said(store)
    aside = next(p for p in tmp_path.iterdir() if ".damaged-" in p.name)
    assert aside.read_bytes() == content
    PlanShelf(store).add(a_plan("new"))
    assert readable(open_store(tmp_path)) == {"new"}


@pytest.mark.parametrize("place", [0.02, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("count", [1, 40, 2000])
def test_any_damage_is_opened_or_set_aside(filled: Path, place: float, count: int) -> None:
    content = bytearray(filled.read_bytes())
    start = int(len(content) * place)
    content[start : start + count] = bytes((37 * n + 201) % 256 for n in range(count))
    filled.write_bytes(content)
    store = open_store(filled.parent)
    assert readable(store) <= set(NAMES) | {""}
    PlanShelf(store).add(a_plan("new"))
    assert "new" in readable(store)


@pytest.mark.parametrize("seed", range(4, 4 + int(os.environ.get("GPUPLANNER_FUZZ", "1"))))
def test_no_byte_that_changes_hides_a_plan_without_a_word(filled: Path, seed: int) -> None:
    """A small fuzzer: bits, bytes, pages, the header and the schema, each from the same whole file."""
    whole, dice, noted = filled.read_bytes(), random.Random(seed), 0
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(dice.choice([1, 1, 30])):
            content[dice.randrange(dice.choice([200, PAGE, len(content)]))] ^= 1 << dice.randrange(8)
        for path in filled.parent.iterdir():
            path.unlink()
        filled.write_bytes(content)
        store = open_store(filled.parent)
        shelf = PlanShelf(store)
        listed, found = len(shelf.listed()), readable(store)
        noted += bool(store.notes)
        # A text that changed may be another text, or none; a plan that is one still stands in the list.
        assert store.notes or listed == len(NAMES)
        shelf.add(a_plan("new"))
        store.close()
        again = open_store(filled.parent)
        assert "new" in readable(again)
        assert len(readable(again)) >= len(found)
        again.close()
    assert 10 < noted < 55


@pytest.mark.parametrize("damage", [slice(0, 100), slice(100, PAGE), slice(0, PAGE)], ids=["header", "schema", "page"])
def test_a_lost_first_page_costs_nothing(filled: Path, damage: slice) -> None:
    content = bytearray(filled.read_bytes())
    content[damage] = b"\xa5" * (damage.stop - damage.start)
    filled.write_bytes(content)
    store = open_store(filled.parent)
    assert readable(store) == set(NAMES)
    assert "40 plans" in said(store)


@pytest.mark.parametrize("pages", [1, 2, 10])
def test_a_store_that_lacks_its_last_pages_keeps_the_others(filled: Path, pages: int) -> None:
    filled.write_bytes(filled.read_bytes()[: -pages * PAGE])
    store = open_store(filled.parent)
    assert len(readable(store)) >= len(NAMES) - 2 * pages
    assert "damaged" in said(store)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sqlite_master SET sql = replace(sql, 'REFERENCES \"plans\"', 'REFERENCES \"plens\"')",
        "UPDATE sqlite_master SET sql = replace(sql, '\"plan_id\" TEXT', '\"plan_id\" BLOB')",
    ],
)
def test_a_column_that_is_defined_otherwise_is_damage(filled: Path, statement: str) -> None:
    store = changed(filled, "PRAGMA writable_schema = ON", statement)
    assert "damaged" in said(store)
    assert readable(store) == set(NAMES)


def test_revisions_of_no_plan_are_damage_and_come_back(filled: Path) -> None:
    store = changed(filled, "DELETE FROM plans WHERE name = 'plan 7'")
    assert "damaged" in said(store)
    assert readable(store) == set(NAMES)


def test_what_sqlite_keeps_beside_a_damaged_file_goes_with_it(tmp_path: Path) -> None:
    """A log that is left behind would be taken for that of the new file, and damage it in turn."""
    (tmp_path / FILE_NAME).write_bytes(b"hello" * 1000)
    (tmp_path / f"{FILE_NAME}-wal").write_bytes(b"log")
    store = open_store(tmp_path)
    PlanShelf(store).add(a_plan("new"))
    assert (tmp_path / f"{FILE_NAME}-wal").read_bytes()[:3] != b"log"
    assert readable(open_store(tmp_path)) == {"new"}


def test_two_damaged_files_in_one_second_are_both_kept(tmp_path: Path) -> None:
    for content in (b"first" * 1000, b"second" * 1000):
        (tmp_path / FILE_NAME).write_bytes(content)
        open_store(tmp_path).close()
    kept = [p.read_bytes() for p in tmp_path.iterdir() if ".damaged-" in p.name]
    assert len({content[:5] for content in kept if content[:5] in {b"first", b"secon"}}) == 2


def test_one_text_that_is_none_hides_no_other_plan(filled: Path) -> None:
    store = changed(
        filled,
        "UPDATE revisions SET content = CAST(x'ff00ff' AS TEXT) WHERE id = 3",
        "UPDATE plans SET name = CAST(x'ff' AS TEXT) WHERE rowid = 5",
    )
    assert len(PlanShelf(store).listed()) == len(NAMES)
    assert readable(store) == set(NAMES) - {NAMES[2]}


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE settings",
        "DROP TABLE plans",
        "ALTER TABLE plans RENAME COLUMN opened TO shut",
    ],
)
def test_a_store_without_its_tables_is_begun_anew(filled: Path, statement: str) -> None:
    store = changed(filled, statement)
    assert "damaged" in said(store)
    assert Settings(store).get(CURRENCY) in {"CNY", "USD"}
    PlanShelf(store).add(a_plan("new"))
    if "settings" in statement:
        assert readable(store) == {*NAMES, "new"}


def _put(store: Store, key: str, value: object) -> None:
    store.write(lambda db: db.execute("INSERT INTO settings VALUES (?, ?)", (key, value)))


@pytest.mark.parametrize(
    "value", ["[" * 100_000, "9" * 5000, "NaN", "", "{", '{"CNY": 5}', '{"CNY": {"per_usd": 1e999}}']
)
def test_a_setting_that_cannot_be_read_is_its_default(tmp_path: Path, value: str) -> None:
    store = open_store(tmp_path)
    settings = Settings(store)
    for setting in SETTINGS.values():
        _put(store, setting.key, value)
    for setting in SETTINGS.values():
        assert setting.accepts(settings.get(setting))
    assert main(["estimate", "chat-8b", "--gpu", "L4"]) in {0, 1}


def test_settings_of_other_types_are_defaults(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    _put(store, RATES.key, b"\xff\x00")
    _put(store, CURRENCY.key, 5)
    assert Settings(store).get(RATES) == RATES.default
    assert Settings(store).get(CURRENCY) == CURRENCY.default


def test_the_command_line_says_that_a_store_was_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"hello" * 1000)
    monkeypatch.setenv("GPUPLANNER_HOME", str(tmp_path))
    assert main(["estimate", "chat-8b", "--gpu", "H100 SXM5 80GB", "--set", "concurrency=1"]) == 0
    assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize("make", [lambda p: p.mkdir(), lambda p: p.symlink_to(p)], ids=["folder", "loop"])
def test_what_is_no_file_is_said_and_plans_are_kept_in_memory(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / FILE_NAME)
    store = open_store(tmp_path)
    assert said(store)
    PlanShelf(store).add(a_plan("new"))
    assert readable(store) == {"new"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    assert said(open_store(tmp_path))


def test_a_store_that_another_program_holds_says_so(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuplanner.store.store._BUSY_MS", 50)
    store = open_store(filled.parent)
    holder = sqlite3.connect(filled, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError) as caught:
        PlanShelf(store).add(a_plan("new"))
    assert caught.value.message.id == "store.busy"
    holder.execute("ROLLBACK")
    holder.close()
    PlanShelf(store).add(a_plan("new"))
    assert "new" in readable(store)
