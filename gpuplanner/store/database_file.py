"""One SQLite file: opened and checked, told from another of its name, set aside when damaged. Never deletes it."""

import os
import sqlite3
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from sqlite_utils import Database

from gpuplanner.paths import is_there
from gpuplanner.store.salvage import Salvaged, lenient, salvage
from gpuplanner.store.schema import check_tables, migrate

OPENING_MS = 2000
"""How long opening waits for another program that has the file locked."""
_COMPANIONS = ("-wal", "-shm")
"""What SQLite keeps beside a file. Left behind, it would be taken for that of the new one."""
_DAMAGE = (
    "malformed",
    "not a database",
    "unsupported file",
    "foreign key",
    "no such table",
    "no such column",
    "has no column",
    "corrupt",
)
"""Words of SQLite about a file that is not what this app wrote. Neither a full disk nor a lock has them."""

Identity = tuple[int, int]


def identity(path: Path) -> Identity:
    """Which file it is that has this name now; zeros when there is none."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def is_damage(fault: Exception) -> bool:
    """Whether a fault tells that the file itself is damaged, not that it cannot be reached or written now."""
    said = str(fault).lower()
    return isinstance(fault, UnicodeDecodeError) or any(word in said for word in _DAMAGE)


def opened(path: Path | str) -> Database:
    """The file, made where there is none, with its tables up to date. Raises one of `FAULTS` when it cannot be used.

    All of it is checked: a page that is passed over now would hide plans later, without a word. That takes 1 ms for
    1 MB.
    """
    connection = sqlite3.connect(path, timeout=OPENING_MS / 1000, isolation_level=None, check_same_thread=False)
    connection.text_factory = lenient
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        _check_header(connection, path)
        database = Database(connection)
        migrate(database)
        check_tables(database)
    except BaseException:
        connection.close()
        raise
    return database


def _check_header(connection: sqlite3.Connection, path: Path | str) -> None:
    """Raises sqlite3.DatabaseError when SQLite takes a damaged header for a wish: to be read only, another encoding."""
    if str(connection.execute("PRAGMA encoding").fetchone()[0]) != "UTF-8":
        raise sqlite3.DatabaseError("the encoding in the header is malformed")
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as fault:
        places = (path, path.parent) if isinstance(path, Path) else ()
        if "readonly" in str(fault) and all(os.access(place, os.W_OK) for place in places):
            raise sqlite3.DatabaseError("the version in the header is malformed") from fault
    finally:
        connection.execute(f"PRAGMA busy_timeout = {OPENING_MS}")


def begun_anew(path: Path, now: datetime) -> tuple[Database, Path, Salvaged]:
    """Set a damaged file aside and begin a new one with what can be read of it.

    Returns the new one, where the damaged one is, and how much could be read. Raises OSError or one of `FAULTS`.
    """
    aside = _set_aside(path, now)
    database = opened(path)
    return database, aside, salvage(aside, database.conn)


def in_memory(path: Path | None = None) -> Database:
    """Tables that last until they are closed, with what can be read of the file at `path`."""
    database = opened(":memory:")
    if path is not None and _is_file(path):
        salvage(path, database.conn)
    return database


def _is_file(path: Path) -> bool:
    """Whether it is an ordinary file: opening a pipe would wait for its other end."""
    try:
        return path.is_file()
    except OSError:
        return False


def _set_aside(path: Path, now: datetime) -> Path:
    """Give a damaged file, and what SQLite keeps beside it, a name of its own that is not taken."""
    aside = path.with_name(f"{path.stem}.damaged-{now:%Y%m%d-%H%M%S}{path.suffix}")
    while is_there(aside):
        aside = aside.with_name(f"{aside.stem}-{uuid4().hex[:4]}{aside.suffix}")
    for end in _COMPANIONS:
        beside = path.with_name(path.name + end)
        if is_there(beside):
            beside.rename(aside.with_name(aside.name + end))
    path.rename(aside)
    return aside
