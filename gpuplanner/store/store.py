"""Opening the store: one SQLite file that several windows may share. A damaged file is set aside, never deleted.

What happens to the file while it is open is noticed before the next save: nothing that was said to be saved is lost.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from sqlite_utils import Database

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.store.database_file import begun_anew, identity, in_memory, is_damage, opened
from gpuplanner.store.salvage import FAULTS, Rows, Salvaged, add_rows

T = TypeVar("T")
_CLOSING_S = 5.0
FILE_NAME = "gpuplanner.sqlite"
_BUSY_MS = 5000
"""How long a call waits for another program that has the file locked, where nobody waits for the call."""
_HURRIED_MS = 150
"""The same in a thread that draws a window: a person feels more as a window that hangs."""
_KNOWN_BUSY_S = 3.0
"""So long after it was found locked the hurried thread does not wait for it at all."""


class StoreError(InputError):
    """The store could not be read or written. What was saved before is still there."""


class Store:
    """One open store. `session` tells this window's saves from another's; `notes` says what went wrong with the file.

    May be used from several threads: one at a time reads or writes.
    """

    def __init__(
        self,
        db: Database,
        session: str,
        notes: tuple[Message, ...],
        clock: Callable[[], datetime],
        path: Path | None = None,
    ) -> None:
        """`path`: the file that `db` is; None for tables in memory."""
        self.db = db
        self.session = session
        self.notes = notes
        self._clock = clock
        self._path = path
        self._file = identity(path) if path is not None else (0, 0)
        self._lock = threading.RLock()
        self._closed = False
        self._hurried: int | None = None
        self._busy_since = -_KNOWN_BUSY_S
        self._tell: Callable[[Message], object] = lambda _note: None

    def listen(self, tell: Callable[[Message], object]) -> None:
        """Have notes of later told too, in whatever thread they come up."""
        self._tell = tell

    def hurry(self, hurried: bool) -> None:
        """Never keep this thread waiting for a file that another program has locked; or wait again as others do."""
        self._hurried = threading.get_ident() if hurried else None

    def now(self) -> str:
        """The time of a save, ISO in UTC."""
        return self._clock().isoformat(timespec="milliseconds")

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction: all of it is kept, or nothing. Raises StoreError when it cannot be written.

        `work` runs a second time where the file turned out to be damaged and was begun anew.
        """
        with self._held():
            self._follow()
            return self._tried(lambda: self._transaction(work))

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises StoreError when the store cannot be read."""
        with self._held():
            return self._tried(lambda: self._connection.execute(sql, values).fetchall())

    def close(self) -> None:
        """Close the file; one that was removed meanwhile is written again first. Who comes later gets a StoreError.

        A thread that still reads is waited for: SQLite crashes when its connection goes. Who takes longer keeps it.
        """
        if not self._lock.acquire(timeout=_CLOSING_S):
            return
        try:
            if not self._closed:
                with contextlib.suppress(StoreError):
                    self._follow()
                self._closed = True
                self.db.close()
        finally:
            self._lock.release()

    @property
    def _connection(self) -> sqlite3.Connection:
        return self.db.conn

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """The store for this thread alone. Raises StoreError when a hurried thread would have to wait for it."""
        wait_ms = self._patience_ms()
        hurried = wait_ms != _BUSY_MS
        if not self._lock.acquire(timeout=wait_ms / 1000 if hurried else -1):
            self._busy_since = time.monotonic()
            raise StoreError(msg("store.busy"))
        try:
            if self._closed:
                raise StoreError(msg("store.closed"))
            self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
            yield
        finally:
            self._lock.release()

    def _patience_ms(self) -> int:
        if threading.get_ident() != self._hurried:
            return _BUSY_MS
        return 1 if time.monotonic() - self._busy_since < _KNOWN_BUSY_S else _HURRIED_MS

    def _tried(self, work: Callable[[], T]) -> T:
        """What `work` brings; once more after a damaged file was begun anew."""
        try:
            return work()
        except (*FAULTS, UnicodeEncodeError) as fault:
            if self._path is None or not is_damage(fault):
                raise self._refused(fault) from fault
            self._begin_anew(fault)
        try:
            return work()
        except (*FAULTS, UnicodeEncodeError) as fault:
            raise self._refused(fault) from fault

    def _refused(self, fault: Exception) -> StoreError:
        sentence = _sentence(fault)
        if sentence.id == "store.busy":
            self._busy_since = time.monotonic()
        return StoreError(sentence)

    def _begin_anew(self, fault: Exception) -> None:
        """Set the damaged file aside, unless another window has done so, and go on with a new one."""
        if self._path is None:
            raise self._refused(fault) from fault
        if identity(self._path) != self._file:
            self._follow()
            return
        self.db.close()
        try:
            self.db, aside, saved = begun_anew(self._path, self._clock())
        except (OSError, *FAULTS):
            self.db = in_memory(self._path)
            self._say(_not_opened(self._path, fault))
            self._path = None
            return
        self._file = identity(self._path)
        self._say(_damaged(aside, saved))

    def _follow(self) -> None:
        """Go on with the file that has the name now, with all that was saved in one that was removed or replaced.

        The open file can still be read after it lost its name. Raises StoreError when there can be no file of the name.
        """
        if self._path is None or identity(self._path) == self._file:
            return
        note = msg("store.replaced" if self._path.exists() else "store.removed", file=str(self._path))
        try:
            kept = Rows.of(self._connection)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                database = opened(self._path)
            except FAULTS as fault:
                if not is_damage(fault):
                    raise
                database, aside, saved = begun_anew(self._path, self._clock())
                self._say(_damaged(aside, saved))
            add_rows(kept, database.conn)
        except OSError as fault:
            raise StoreError(_not_opened(self._path, fault)) from fault
        except FAULTS as fault:
            raise self._refused(fault) from fault
        self.db.close()
        self.db = database
        self._file = identity(self._path)
        self._say(note)

    def _say(self, note: Message) -> None:
        self.notes = (*self.notes, note)
        self._tell(note)


def open_store(folder: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Store:
    """Open or create the store in `folder`. When that cannot be, plans are kept in memory and a note says so.

    A damaged file is set aside, and what can be read of it is in the new one.
    """
    session = uuid4().hex
    path = folder / FILE_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        note = msg("store.no_folder", folder=str(folder), reason=_reason(fault))
        return Store(in_memory(), session, (note,), clock)
    before = identity(path)
    try:
        return Store(opened(path), session, (), clock, path)
    except FAULTS as fault:
        if isinstance(fault, sqlite3.OperationalError) and not is_damage(fault):
            return Store(in_memory(path), session, (_not_opened(path, fault),), clock)
        if identity(path) != before:  # another window was quicker to set it aside
            return open_store(folder, clock)
        try:
            database, aside, saved = begun_anew(path, clock())
        except (OSError, *FAULTS):
            return Store(in_memory(path), session, (_not_opened(path, fault),), clock)
        return Store(database, session, (_damaged(aside, saved),), clock, path)


def _damaged(aside: Path, saved: Salvaged) -> Message:
    """That a file was damaged: what could be read of it. Runs are named where a machine was ever looked at."""
    if not saved.runs:
        return msg("store.damaged", file=str(aside), plans=saved.plans)
    return msg("store.damaged.with_runs", file=str(aside), plans=saved.plans, runs=saved.runs)


def _not_opened(path: Path, fault: Exception) -> Message:
    return msg("store.cannot_open", file=str(path), reason=_why(str(fault)))


def _why(fault: str) -> Message | str:
    """Why a file cannot be opened, in words where SQLite's are known."""
    reasons = {"full": "full", "readonly": "no_access", "unable to open": "no_access", "locked": "busy", "busy": "busy"}
    known = next((name for part, name in reasons.items() if part in fault), None)
    return msg(f"store.reason.{known}") if known else fault


def _sentence(fault: Exception) -> Message:
    text = str(fault)
    if isinstance(fault, UnicodeEncodeError):
        return msg("store.not_text")
    if "full" in text:
        return msg("store.full")
    if "locked" in text or "busy" in text:
        return msg("store.busy")
    if "readonly" in text:
        return msg("store.read_only")
    return msg("store.failed", reason=text)


def _reason(fault: OSError) -> str:
    return fault.strerror or type(fault).__name__
