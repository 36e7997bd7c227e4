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
    "plans": {"id", "name", "created", "opened", "pinned", "removed"},
    "revisions": {"id", "plan_id", "made", "session", "label", "content"},
    "settings": {"key", "value"},
}


def check_tables(db: Database) -> None:
    """Raises sqlite3.DatabaseError when a table or a column that the app works with is not there."""
    for table, needed in _COLUMNS.items():
        missing = needed - set(db.table(table).columns_dict) if table in db.table_names() else needed
        if missing:
            raise sqlite3.DatabaseError(f"{table} lacks {', '.join(sorted(missing))}")


def migrate(db: Database) -> None:
    """Bring the tables up to date. Another window may be doing the same: then its work is taken as done."""
    while migrations.pending(db):
        try:
            migrations.apply(db)
        except sqlite3.OperationalError:
            if migrations.pending(db):
                raise
