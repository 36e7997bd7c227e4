"""Opening the store: one SQLite file that several windows may share. A damaged file is set aside, never deleted."""

import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from sqlite_utils import Database

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.paths import is_there
from gpuplanner.store.salvage import FAULTS, lenient, salvage
from gpuplanner.store.schema import check_tables, migrate

T = TypeVar("T")
FILE_NAME = "gpuplanner.sqlite"
_BUSY_MS = 5000
_COMPANIONS = ("-wal", "-shm")
"""What SQLite keeps beside a file. Left behind, it would be taken for that of the new one."""


class StoreError(InputError):
    """The store could not be read or written. What was saved before is still there."""


class Store:
    """One open store. `session` tells this window's saves from another's; `notes` says what went wrong at opening.

    May be used from several threads: one at a time reads or writes.
    """

    def __init__(self, db: Database, session: str, notes: tuple[Message, ...], clock: Callable[[], datetime]) -> None:
        self.db = db
        self.session = session
        self.notes = notes
        self._clock = clock
        self._lock = threading.RLock()

    def now(self) -> str:
        """The time of a save, ISO in UTC."""
        return self._clock().isoformat(timespec="milliseconds")

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction: all of it is kept, or nothing. Raises StoreError when it cannot be written."""
        connection = self._connection
        try:
            with self._lock:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    result = work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except FAULTS as fault:
            raise StoreError(_sentence(fault)) from fault
        return result

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises StoreError when the store cannot be read."""
        try:
            with self._lock:
                return self._connection.execute(sql, values).fetchall()
        except FAULTS as fault:
            raise StoreError(_sentence(fault)) from fault

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        return self.db.conn


def open_store(folder: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Store:
    """Open or create the store in `folder`. When that cannot be, plans are kept in memory and a note says so.

    A damaged file is set aside, and what can be read of it is in the new one.
    """
    session = uuid4().hex
    path = folder / FILE_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        return _in_memory(session, msg("store.no_folder", folder=str(folder), reason=_reason(fault)), clock)
    opened = _identity(path)
    try:
        return Store(_open(path), session, (), clock)
    except FAULTS as fault:
        if isinstance(fault, sqlite3.OperationalError):
            return _in_memory(session, _not_opened(path, fault), clock, path)
        if _identity(path) != opened:  # another window was quicker to set it aside
            return open_store(folder, clock)
        try:
            aside = _set_aside(path, clock())
            database = _open(path)
            plans = salvage(aside, database.conn)
            return Store(database, session, (msg("store.damaged", file=str(aside), plans=plans),), clock)
        except (OSError, *FAULTS):
            return _in_memory(session, _not_opened(path, fault), clock, path)


def _identity(path: Path) -> int:
    """Which file it is that has this name now; 0 when there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


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


def _open(path: Path | str) -> Database:
    connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
    connection.text_factory = lenient
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        database = Database(connection)
        migrate(database)
        check_tables(database)
    except BaseException:
        connection.close()
        raise
    return database


def _in_memory(session: str, note: Message, clock: Callable[[], datetime], path: Path | None = None) -> Store:
    """A store that lasts until it is closed, with what can be read of the file at `path`."""
    database = _open(":memory:")
    if path is not None and _is_file(path):
        salvage(path, database.conn)
    return Store(database, session, (note,), clock)


def _not_opened(path: Path, fault: Exception) -> Message:
    return msg("store.cannot_open", file=str(path), reason=_why(str(fault)))


def _why(fault: str) -> Message | str:
    """Why a file cannot be opened, in words where SQLite's are known."""
    reasons = {"full": "full", "readonly": "no_access", "unable to open": "no_access", "locked": "busy", "busy": "busy"}
    known = next((name for part, name in reasons.items() if part in fault), None)
    return msg(f"store.reason.{known}") if known else fault


def _sentence(fault: sqlite3.Error | UnicodeDecodeError) -> Message:
    text = str(fault)
    if "full" in text:
        return msg("store.full")
    if "locked" in text or "busy" in text:
        return msg("store.busy")
    if "readonly" in text:
        return msg("store.read_only")
    return msg("store.failed", reason=text)


def _reason(fault: OSError) -> str:
    return fault.strerror or type(fault).__name__
