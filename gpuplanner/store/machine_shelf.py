"""Hosts that a person added, and what is kept of machines, as bytes: what they hold is the caller's. Bounded in size.

What is taken out is only marked, so that it can be put back; it goes for good when something is kept later.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from gpuplanner.messages import InputError, msg
from gpuplanner.store.proof import proof_of
from gpuplanner.store.store import Store

Table = Literal["runs", "live_sessions"]
MOST_BYTES = 50_000_000
"""What both tables hold together. The file is read as a whole when it is opened: 1 ms for 1 MB."""
LARGEST_BYTES = 15_000_000
"""One of them."""
_UNDO_S = 3600.0
"""How long what was taken out can be put back at least, unless it takes the room of twice `MOST_BYTES`."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is kept. `made`: when, as ISO 8601 in UTC; `about`: what the list says of it."""

    id: int
    host: str
    made: str
    about: Mapping[str, Any]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept, and what had to leave for it: the oldest of machines that have newer ones."""

    id: int
    left: tuple[tuple[Table, int], ...] = ()


class MachineShelf:
    """What one store keeps of machines."""

    def __init__(self, store: Store, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._most_bytes = most_bytes

    # --- Hosts --------------------------------------------------------------------------------------------------------

    def hosts(self) -> tuple[str, ...]:
        """The hosts that a person added, in the order in which that was done."""
        rows = self._store.read("SELECT name, added, proof FROM hosts WHERE removed IS NULL ORDER BY id")
        return tuple(dict.fromkeys(name for name, added, proof in rows if proof == proof_of(name, added)))

    def add_host(self, name: str) -> None:
        """Add a host, or put back one that was taken out."""

        def work(db: sqlite3.Connection) -> None:
            if db.execute("SELECT 1 FROM hosts WHERE name = ?", (name,)).fetchone():
                db.execute("UPDATE hosts SET removed = NULL WHERE name = ?", (name,))
                return
            now = self._store.now()
            row = (name, now, proof_of(name, now))
            db.execute("INSERT INTO hosts (name, added, proof) VALUES (?, ?, ?)", row)

        self._store.write(work)

    def remove_host(self, name: str) -> None:
        """Take a host out of the list; `add_host` puts it back where it was. What is kept of it stays."""
        now = self._store.now()
        self._store.write(lambda db: db.execute("UPDATE hosts SET removed = ? WHERE name = ?", (now, name)))

    # --- Runs and live sessions ---------------------------------------------------------------------------------------

    def keep(self, table: Table, host: str, made: str, about: Mapping[str, Any], content: bytes) -> Kept:
        """Keep something. Raises InputError where it is larger than one may be."""
        if len(content) > LARGEST_BYTES:
            raise InputError(msg("store.too_large_to_keep", megabytes=f"{LARGEST_BYTES / 1e6:.0f}"))
        said = json.dumps(dict(about), ensure_ascii=False)
        row = (host, made, said, content, proof_of(host, made, said, content))

        def work(db: sqlite3.Connection) -> Kept:
            self._forget_removed(db)
            statement = f"INSERT INTO {table} (host, made, about, content, proof) VALUES (?, ?, ?, ?, ?)"  # noqa: S608 - a Table is one of two names
            kept = int(db.execute(statement, row).lastrowid or 0)
            return Kept(kept, self._make_room(db, (table, kept)))

        return self._store.write(work)

    def say(self, table: Table, item_id: int, about: Mapping[str, Any]) -> None:
        """Have the list say something else of what is kept."""
        said = json.dumps(dict(about), ensure_ascii=False)

        def work(db: sqlite3.Connection) -> None:
            found = db.execute(f"SELECT host, made, content FROM {table} WHERE id = ?", (item_id,)).fetchone()  # noqa: S608 - a Table is one of two names
            if found is not None:
                host, made, content = found
                values = (said, proof_of(host, made, said, content), item_id)
                db.execute(f"UPDATE {table} SET about = ?, proof = ? WHERE id = ?", values)  # noqa: S608 - a Table is one of two names

        self._store.write(work)

    def items(self, table: Table, host: str | None = None) -> tuple[Item, ...]:
        """What is kept, of one host or of all, the latest first."""
        rows = self._store.read(
            f"SELECT id, host, made, about, length(content) FROM {table} WHERE removed IS NULL "  # noqa: S608 - a Table is one of two names
            "AND (? IS NULL OR host = ?) ORDER BY made DESC, id DESC",
            host,
            host,
        )
        return tuple(Item(int(i), str(h), str(m), _object(a), int(size or 0)) for i, h, m, a, size in rows)

    def content(self, table: Table, item_id: int) -> bytes:
        """The bytes that were kept. Raises InputError where there are none, or they are not what was kept."""
        rows = self._store.read(f"SELECT host, made, about, content, proof FROM {table} WHERE id = ?", item_id)  # noqa: S608 - a Table is one of two names
        if not rows:
            raise InputError(msg("store.nothing_kept", id=item_id))
        *said, proof = rows[0]
        if not all(isinstance(each, str | bytes) for each in said) or proof != proof_of(*said):
            raise InputError(msg("store.kept_is_damaged", id=item_id))
        return bytes(said[-1])

    def remove(self, table: Table, item_id: int) -> None:
        """Take something out. It is only marked, so that `restore` can put it back."""
        self._mark(table, item_id, self._store.now())

    def restore(self, table: Table, item_id: int) -> bool:
        """Put something back that was taken out; whether it was still there."""
        return self._mark(table, item_id, None)

    def _mark(self, table: Table, item_id: int, removed: str | None) -> bool:
        statement = f"UPDATE {table} SET removed = ? WHERE id = ?"  # noqa: S608 - a Table is one of two names
        return self._store.write(lambda db: db.execute(statement, (removed, item_id)).rowcount) > 0

    def _make_room(self, db: sqlite3.Connection, new: tuple[Table, int]) -> tuple[tuple[Table, int], ...]:
        """Take out the oldest until the rest fits: never the newest of its kind of a machine, nor the new one."""
        rows = db.execute(_NOT_REMOVED).fetchall()
        held = sum(size for *_, size in rows)
        newest = {(table, host): item_id for table, item_id, host, _, _ in rows}
        left: list[tuple[Table, int]] = []
        for table, item_id, host, _, size in rows:
            if held <= self._most_bytes:
                break
            if (table, item_id) == new or newest[table, host] == item_id:
                continue
            db.execute(f"UPDATE {table} SET removed = ? WHERE id = ?", (self._store.now(), item_id))  # noqa: S608 - a Table is one of two names
            left.append((table, item_id))
            held -= size
        return tuple(left)

    def _forget_removed(self, db: sqlite3.Connection) -> None:
        """Delete what was taken out a while ago; sooner where all of it is twice as much as there may be."""
        total = sum(size for (size,) in db.execute(_ALL_SIZES))
        late = (datetime.fromisoformat(self._store.now()) - timedelta(seconds=_UNDO_S)).isoformat(
            timespec="milliseconds"
        )
        for table in ("runs", "live_sessions"):
            if total > 2 * self._most_bytes:
                db.execute(f"DELETE FROM {table} WHERE removed IS NOT NULL")  # noqa: S608 - named in the loop
            else:
                db.execute(f"DELETE FROM {table} WHERE removed < ?", (late,))  # noqa: S608 - named in the loop


_NOT_REMOVED = """
SELECT 'runs', id, host, made, length(content) FROM runs WHERE removed IS NULL
UNION ALL SELECT 'live_sessions', id, host, made, length(content) FROM live_sessions WHERE removed IS NULL
ORDER BY 4, 2
"""
_ALL_SIZES = "SELECT length(content) FROM runs UNION ALL SELECT length(content) FROM live_sessions"


def _object(text: Any) -> Mapping[str, Any]:
    """What is said of a thing that is kept; nothing where it cannot be read."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
