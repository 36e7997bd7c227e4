"""The tables of the store, and how each version of them grew out of the one before."""

import json
import sqlite3

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

migrations = Migrations("gpuplanner")
PLACES = "store.places"
"""The setting that says on which pages the tables begin that not every store has at the same place: those that were
added to stores which held plans already. Who has lost the first page of a file finds them by it."""


@migrations()
def plans_and_settings(db: Database) -> None:
    """The first tables. A plan is its revisions; the newest is what a person sees."""
    db.table("plans").create(
        {"id": str, "name": str, "created": str, "opened": str, "pinned": int, "removed": str},
        pk="id",
        not_null={"name", "created", "opened", "pinned"},
        defaults={"pinned": 0},
    )
    db.table("revisions").create(
        {"id": int, "plan_id": str, "made": str, "session": str, "label": str, "content": str},
        pk="id",
        foreign_keys=[("plan_id", "plans", "id")],
        not_null={"plan_id", "made", "session", "content"},
    )
    db.table("revisions").create_index(["plan_id", "id"])
    db.table("settings").create({"key": str, "value": str}, pk="key", not_null={"value"})


MACHINE_TABLES = ("hosts", "runs", "live_sessions")


@migrations()
def machines(db: Database) -> None:
    """Hosts that a person added, and what was kept of machines. `proof`: of all that a row says and never changes.

    No index beside the keys: the first page has room for what stands here and little more.
    """
    db.table("hosts").create(
        {"id": int, "name": str, "added": str, "removed": str, "proof": str},
        pk="id",
        not_null={"name", "added", "proof"},
    )
    kept = {"id": int, "host": str, "made": str, "about": str, "content": bytes, "removed": str, "proof": str}
    for table in MACHINE_TABLES[1:]:
        db.table(table).create(kept, pk="id", not_null={"host", "made", "about", "content", "proof"})
    places = dict(
        db.execute(
            "SELECT name, rootpage FROM sqlite_master WHERE name IN (?, ?, ?)",
            MACHINE_TABLES,
        ).fetchall()
    )
    db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (PLACES, json.dumps(places)))


_KEPT = {
    "id": ("INTEGER", 0, 1),
    "host": ("TEXT", 1, 0),
    "made": ("TEXT", 1, 0),
    "about": ("TEXT", 1, 0),
    "content": ("BLOB", 1, 0),
    "removed": ("TEXT", 0, 0),
    "proof": ("TEXT", 1, 0),
}
_COLUMNS = {
    "plans": {
        "id": ("TEXT", 0, 1),
        "name": ("TEXT", 1, 0),
        "created": ("TEXT", 1, 0),
        "opened": ("TEXT", 1, 0),
        "pinned": ("INTEGER", 1, 0),
        "removed": ("TEXT", 0, 0),
    },
    "revisions": {
        "id": ("INTEGER", 0, 1),
        "plan_id": ("TEXT", 1, 0),
        "made": ("TEXT", 1, 0),
        "session": ("TEXT", 1, 0),
        "label": ("TEXT", 0, 0),
        "content": ("TEXT", 1, 0),
    },
    "settings": {"key": ("TEXT", 0, 1), "value": ("TEXT", 1, 0)},
    "hosts": {
        "id": ("INTEGER", 0, 1),
        "name": ("TEXT", 1, 0),
        "added": ("TEXT", 1, 0),
        "removed": ("TEXT", 0, 0),
        "proof": ("TEXT", 1, 0),
    },
    "runs": _KEPT,
    "live_sessions": _KEPT,
}
"""The columns that the app works with: the type, whether it is never empty, and whether it is the key."""


def check_tables(db: Database) -> None:
    """Raises sqlite3.DatabaseError when a table or a column that the app works with is not as it was made, or when a
    revision is of no plan: the file was damaged, or something else wrote into it.
    """
    for table, needed in _COLUMNS.items():
        found = {c.name: (c.type, c.notnull, c.is_pk) for c in db.table(table).columns}
        wrong = [name for name, column in needed.items() if found.get(name) != column]
        if wrong:
            raise sqlite3.DatabaseError(f"{table} has not {', '.join(wrong)} as it should be")
    keys = [(key.column, key.other_table, key.other_column) for key in db.table("revisions").foreign_keys]
    if keys != [("plan_id", "plans", "id")] or db.execute("PRAGMA foreign_key_check").fetchone():
        raise sqlite3.DatabaseError("revisions without a plan")


def migrate(db: Database) -> None:
    """Bring the tables up to date, in one transaction: another window that does the same waits until it is done."""
    if not migrations.pending(db):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        migrations.apply(db)
        db.execute("COMMIT")
    except BaseException:
        if db.conn.in_transaction:
            db.execute("ROLLBACK")
        raise
