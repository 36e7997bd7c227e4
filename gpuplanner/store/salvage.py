"""What can be read of a store that is damaged or cannot be opened, copied into another. The file is never changed."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]
FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What a store raises: also that the text of its own fault, which quotes the file, cannot be decoded."""


def salvage(damaged: Path, into: sqlite3.Connection) -> int:
    """Copy the plans, revisions and settings that can be read. Returns how many plans there are then.

    A revision whose plan cannot be read any more keeps a plan of its own, without a name.
    """
    source = _read_only(damaged)
    if source is None:
        return 0
    try:
        plans = {
            row[0]: row for row in _rows(source, "plans", ("id", "name", "created", "opened", "pinned", "removed"))
        }
        revisions = {
            row[0]: row
            for row in _rows(source, "revisions", ("id", "plan_id", "made", "session", "label", "content"))
            if isinstance(row[5], str)
        }
        settings = {row[0]: row for row in _rows(source, "settings", ("key", "value"))}
    finally:
        source.close()
    for _, plan_id, made, *_ in revisions.values():
        plans.setdefault(plan_id, (plan_id, "", made, made, 0, None))
    into.execute("BEGIN IMMEDIATE")
    _insert(into, "plans", plans.values())
    _insert(into, "revisions", revisions.values())
    _insert(into, "settings", settings.values())
    into.execute("COMMIT")
    return int(into.execute("SELECT count(DISTINCT plan_id) FROM revisions").fetchone()[0])


def _read_only(path: Path) -> sqlite3.Connection | None:
    """The file opened to be read; also where its folder may not be written, which SQLite wants for one that changes."""
    for how in ("mode=ro", "mode=ro&immutable=1"):
        try:
            source = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=0.2)
            source.text_factory = lenient
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except FAULTS:
            continue
        return source
    return None


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


def _insert(into: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    for row in rows:
        places = ", ".join("?" * len(row))
        try:
            into.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)  # noqa: S608 -- names above
        except sqlite3.Error:
            continue  # a row that breaks the rules of its table (no plan of its own, no content) is part of the damage
