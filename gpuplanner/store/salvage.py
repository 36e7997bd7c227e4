"""What can be read of a store that is damaged or cannot be opened, copied into another. The file is never changed."""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from gpuplanner.store.schema import migrate

Row = tuple[Any, ...]
FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What a store raises: also that the text of its own fault, which quotes the file, cannot be decoded."""
_PAGE_SIZE_AT, _PAGES_AT, _CHANGES_AT, _VALID_FOR_AT = 16, 28, 24, 92
"""Places in the first page of a SQLite file (sqlite.org/fileformat2.html, section 1.3)."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a store's tables, by their keys."""

    plans: dict[Any, Row]
    revisions: dict[Any, Row]
    settings: dict[Any, Row]

    @classmethod
    def of(cls, source: sqlite3.Connection) -> "Rows":
        """What can be read. A revision whose plan cannot be read any more keeps a plan of its own, without a name."""
        plans = {
            row[0]: row for row in _rows(source, "plans", ("id", "name", "created", "opened", "pinned", "removed"))
        }
        revisions = {
            row[0]: row
            for row in _rows(source, "revisions", ("id", "plan_id", "made", "session", "label", "content"))
            if isinstance(row[5], str)
        }
        settings = {row[0]: row for row in _rows(source, "settings", ("key", "value"))}
        for _, plan_id, made, *_ in revisions.values():
            plans.setdefault(plan_id, (plan_id, "", made, made, 0, None))
        return cls(plans, revisions, settings)


def salvage(damaged: Path, into: sqlite3.Connection) -> int:
    """Copy the plans, revisions and settings that can be read. Returns how many plans there are then."""
    rows = _read(damaged)
    if not rows.revisions:
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
            rows = _read(_with_a_new_first_page(damaged, Path(folder)))
    add_rows(rows, into)
    return int(into.execute("SELECT count(DISTINCT plan_id) FROM revisions").fetchone()[0])


def add_rows(rows: Rows, into: sqlite3.Connection) -> None:
    """Add rows to a store in one transaction. Where a revision has the number of another, all get new ones in order."""
    into.execute("BEGIN IMMEDIATE")
    _insert(into, "INSERT OR IGNORE INTO plans VALUES (?, ?, ?, ?, ?, ?)", rows.plans.values())
    _insert(into, "INSERT OR IGNORE INTO settings VALUES (?, ?)", rows.settings.values())
    taken = {number for (number,) in into.execute("SELECT id FROM revisions")}
    same = set(into.execute("SELECT plan_id, made, session FROM revisions")) if taken else set()
    missing = [row for _, row in sorted(rows.revisions.items()) if (row[1], row[2], row[3]) not in same]
    if any(row[0] in taken for row in missing):
        missing = [(None, *row[1:]) for row in missing]
    _insert(into, "INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?)", missing)
    into.execute("COMMIT")


def _read(path: Path) -> Rows:
    source = _read_only(path)
    if source is None:
        return Rows({}, {}, {})
    try:
        return Rows.of(source)
    finally:
        source.close()


def _read_only(path: Path) -> sqlite3.Connection | None:
    """The file opened to be read; also where its folder may not be written, which SQLite wants for one that changes.

    With a writable schema SQLite passes over a table that it cannot make sense of, and reads the others: a file that
    lacks its last page is no reason to read nothing of it.
    """
    for how in ("mode=ro", "mode=ro&immutable=1"):
        try:
            source = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=0.2)
            source.text_factory = lenient
            source.execute("PRAGMA writable_schema = ON")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except FAULTS:
            continue
        return source
    return None


def _with_a_new_first_page(damaged: Path, folder: Path) -> Path:
    """A copy of a store with the first page of an empty one.

    That page has the header and the tables' places. Every store has the same ones: all were made by the same steps.
    """
    fresh = folder / "fresh.sqlite"
    database = Database(sqlite3.connect(fresh, isolation_level=None))
    migrate(database)
    database.close()
    first = bytearray(fresh.read_bytes())
    size = int.from_bytes(first[_PAGE_SIZE_AT : _PAGE_SIZE_AT + 2], "big")
    del first[size:]
    pages = -(-damaged.stat().st_size // size)
    first[_PAGES_AT : _PAGES_AT + 4] = pages.to_bytes(4, "big")
    first[_VALID_FOR_AT : _VALID_FOR_AT + 4] = first[_CHANGES_AT : _CHANGES_AT + 4]
    copy = folder / "copy.sqlite"
    shutil.copyfile(damaged, copy)
    with copy.open("r+b") as file:
        file.write(first)
    return copy


def lenient(content: bytes) -> str:
    """Text of a database, with a mark for bytes that are none: one bad character must not hide the rest."""
    return content.decode("utf-8", "replace")


def _rows(source: sqlite3.Connection, table: str, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a table up to the first page that cannot be read, from the front and then from the back."""
    for order in ("ASC", "DESC"):
        try:
            statement = f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid {order}"  # noqa: S608 -- names above
            yield from source.execute(statement)
        except FAULTS:
            continue
        else:
            return


def _insert(into: sqlite3.Connection, statement: str, rows: Iterable[Row]) -> None:
    for row in rows:
        try:
            into.execute(statement, row)
        except sqlite3.Error:
            continue  # a row that breaks the rules of its table (no plan of its own, no content) is part of the damage
