"""What can be read of a store that is damaged or cannot be opened, copied into another. The file is never changed."""

import contextlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from gpuplanner.store.proof import proof_of
from gpuplanner.store.schema import MACHINE_TABLES, PLACES, migrate

Row = tuple[Any, ...]
FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What a store raises: also that the text of its own fault, which quotes the file, cannot be decoded."""
_LARGEST_PAGE = 65536
_PAGE_SIZE_AT, _PAGES_AT, _CHANGES_AT, _VALID_FOR_AT = 16, 28, 24, 92
"""Places in the first page of a SQLite file (sqlite.org/fileformat2.html, section 1.3)."""
_MACHINES = {
    "hosts": ("id", "name", "added", "removed", "proof"),
    "runs": ("id", "host", "made", "about", "content", "removed", "proof"),
    "live_sessions": ("id", "host", "made", "about", "content", "removed", "proof"),
}
"""Columns of what is kept of machines; the proof is of all but the number, the mark of removal and itself."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """How much there is after what could be read has been copied."""

    plans: int
    runs: int


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a store's tables, by their keys."""

    plans: dict[Any, Row]
    revisions: dict[Any, Row]
    settings: dict[Any, Row]
    machines: dict[str, dict[Any, Row]] = field(default_factory=dict)
    """By table, the rows that are proved to be what was written, by their proofs."""

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
        machines = {
            table: {row[-1]: row for row in _rows(source, table, columns) if _proved(row)}
            for table, columns in _MACHINES.items()
        }
        return cls(plans, revisions, settings, machines)

    def or_else(self, others: "Rows") -> "Rows":
        """These rows; where nothing could be read of plans, or of a table on machines, the others'."""
        machines = {table: self.machines.get(table) or others.machines.get(table, {}) for table in _MACHINES}
        if not self.revisions:
            return Rows(others.plans, others.revisions, others.settings, machines)
        return Rows(self.plans, self.revisions, self.settings, machines)


def salvage(damaged: Path, into: sqlite3.Connection) -> Salvaged:
    """Copy the plans, the settings and what was kept of machines, as far as they can be read."""
    rows = _read(damaged)
    if not rows.revisions or not all(rows.machines.values()):
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
            rows = rows.or_else(_read_with_a_new_first_page(damaged, Path(folder)))
    add_rows(rows, into)
    plans = into.execute("SELECT count(DISTINCT plan_id) FROM revisions").fetchone()[0]
    return Salvaged(int(plans), int(into.execute("SELECT count(*) FROM runs").fetchone()[0]))


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
    for table, found in rows.machines.items():
        _add_machine_rows(table, found, into)
    into.execute("COMMIT")


def _add_machine_rows(table: str, rows: dict[Any, Row], into: sqlite3.Connection) -> None:
    columns = _MACHINES[table]
    taken = dict(into.execute(f"SELECT id, proof FROM {table}").fetchall())  # noqa: S608 - a name of `_MACHINES`
    missing = [row for row in sorted(rows.values(), key=lambda row: row[0]) if row[-1] not in taken.values()]
    if any(row[0] in taken for row in missing):
        missing = [(None, *row[1:]) for row in missing]
    _insert(into, f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", missing)  # noqa: S608 - a name of `_MACHINES`


def _proved(row: Row) -> bool:
    """Whether a row on machines is what was written: after damage others look like one."""
    _, *said, removed, proof = row
    if not isinstance(row[0], int) or not isinstance(removed, str | None):
        return False
    return all(isinstance(each, str | bytes) for each in said) and proof == proof_of(*said)


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


def _read_with_a_new_first_page(damaged: Path, folder: Path) -> Rows:
    """What can be read of a copy with the first page of an empty store.

    That page has the header and the tables' places. The tables of plans and settings are at the same ones in every
    store: all were made by the same steps. Where the others are is in the settings; where these are lost, they are
    looked for where a new store has them, and what is read there has to be proved like all of it.
    """
    fresh = folder / "fresh.sqlite"
    database = Database(sqlite3.connect(fresh, isolation_level=None))
    migrate(database)
    database.close()
    copy = folder / "copy.sqlite"
    shutil.copyfile(damaged, copy)
    _put_first_page(fresh, copy)
    rows = _read(copy)
    places = _places(rows.settings)
    if places:
        with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.executemany("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", places)
        _put_first_page(fresh, copy)
        rows = _read(copy)
    return rows


def _places(settings: dict[Any, Row]) -> list[tuple[int, str]]:
    """The first pages of the tables on machines, as the store noted them when it made these tables."""
    try:
        noted = json.loads(settings[PLACES][1])
        return [(int(noted[table]), table) for table in MACHINE_TABLES]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []


def _put_first_page(fresh: Path, copy: Path) -> None:
    """Write the first page of one file over that of another, and in it how many pages the other has."""
    with fresh.open("rb") as file:
        first = bytearray(file.read(_LARGEST_PAGE))
    size = int.from_bytes(first[_PAGE_SIZE_AT : _PAGE_SIZE_AT + 2], "big")
    del first[size:]
    pages = -(-copy.stat().st_size // size)
    first[_PAGES_AT : _PAGES_AT + 4] = pages.to_bytes(4, "big")
    first[_VALID_FOR_AT : _VALID_FOR_AT + 4] = first[_CHANGES_AT : _CHANGES_AT + 4]
    with copy.open("r+b") as file:
        file.write(first)


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
