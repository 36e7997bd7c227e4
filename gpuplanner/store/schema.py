"""The tables of the store, and how each version of them grew out of the one before."""

import sqlite3

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

migrations = Migrations("gpuplanner")


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
