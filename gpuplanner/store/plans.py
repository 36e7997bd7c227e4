"""Plans in the store: every change is a revision, so that nothing is lost to a crash, to undo or to a second window."""

import sqlite3
from dataclasses import dataclass, replace
from uuid import uuid4

from gpuplanner.messages import InputError
from gpuplanner.store.store import Store
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.plan_text import parse_plan, plan_to_text

KEPT_REVISIONS = 200
"""Revisions kept of one plan; older ones go when a new one is saved."""


@dataclass(frozen=True, slots=True)
class ShelvedPlan:
    """A plan as the shelf lists it. Times are ISO in UTC."""

    id: str
    name: str
    created: str
    modified: str
    opened: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Revision:
    """One saved state of a plan, the name of the change that led to it, and whether another window made it.

    `passed_over`: how many newer states there are that cannot be read any more.
    """

    id: int
    plan: Plan
    made: str
    label: str
    elsewhere: bool
    passed_over: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """The revision that a save made, and the one of another window that it would have hidden, if any."""

    revision: int
    other: Revision | None


class PlanShelf:
    """The plans of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, plan: Plan, label: str = "") -> tuple[str, int]:
        """Put a new plan on the shelf. Returns its id and its first revision."""
        plan_id = uuid4().hex

        def work(db: sqlite3.Connection) -> int:
            now = self._store.now()
            db.execute("INSERT INTO plans VALUES (?, ?, ?, ?, 0, NULL)", (plan_id, plan.name, now, now))
            return self._insert(db, plan_id, plan, label)

        return plan_id, self._store.write(work)

    def save(self, plan_id: str, plan: Plan, based_on: int, label: str = "") -> Saved:
        """Save a change. When another window saved since `based_on`, both stay and the other's is returned beside."""

        def work(db: sqlite3.Connection) -> tuple[int, int | None]:
            newest = db.execute("SELECT max(id) FROM revisions WHERE plan_id = ?", (plan_id,)).fetchone()[0]
            now = self._store.now()
            # There is no such plan where the file was damaged, or replaced by another, since the plan was opened.
            db.execute("INSERT OR IGNORE INTO plans VALUES (?, ?, ?, ?, 0, NULL)", (plan_id, plan.name, now, now))
            db.execute("UPDATE plans SET name = ?, removed = NULL WHERE id = ?", (plan.name, plan_id))
            made = self._insert(db, plan_id, plan, label)
            db.execute(
                "DELETE FROM revisions WHERE plan_id = ? AND id NOT IN "
                "(SELECT id FROM revisions WHERE plan_id = ? ORDER BY id DESC LIMIT ?)",
                (plan_id, plan_id, KEPT_REVISIONS),
            )
            return made, newest if newest is not None and newest > based_on else None

        made, newer = self._store.write(work)
        other = self._revision(newer) if newer else None
        return Saved(made, other if other and other.elsewhere else None)

    def latest(self, plan_id: str) -> Revision | None:
        """The newest revision of a plan that can be read; damaged ones are passed over, and counted."""
        rows = self._store.read("SELECT id FROM revisions WHERE plan_id = ? ORDER BY id DESC", plan_id)
        return next(
            (replace(r, passed_over=n) for n, (number,) in enumerate(rows) if (r := self._revision(number))), None
        )

    def holds(self, plan_id: str) -> bool:
        """Whether there is such a plan on the shelf, readable or not."""
        return bool(self._store.read("SELECT 1 FROM plans WHERE id = ? AND removed IS NULL", plan_id))

    def history(self, plan_id: str) -> list[Revision]:
        """All kept revisions of a plan, newest first."""
        rows = self._store.read("SELECT id FROM revisions WHERE plan_id = ? ORDER BY id DESC", plan_id)
        return [r for (number,) in rows if (r := self._revision(number))]

    def listed(self) -> list[ShelvedPlan]:
        """The plans on the shelf: pinned first, then the last opened."""
        rows = self._store.read(
            "SELECT p.id, p.name, p.created, (SELECT max(made) FROM revisions r WHERE r.plan_id = p.id), p.opened, "
            "p.pinned FROM plans p WHERE p.removed IS NULL ORDER BY p.pinned DESC, p.opened DESC, p.id"
        )
        return [ShelvedPlan(i, str(n), str(c), str(m or c), str(o), bool(p)) for i, n, c, m, o, p in rows]

    def opened(self, plan_id: str) -> None:
        """Note that a plan was opened now."""
        self._set(plan_id, "opened", self._store.now())

    def pin(self, plan_id: str, pinned: bool) -> None:
        """Pin a plan to the top of the list, or take the pin out."""
        self._set(plan_id, "pinned", int(pinned))

    def remove(self, plan_id: str) -> None:
        """Take a plan off the shelf. It is only marked, so that `restore` can undo it."""
        self._set(plan_id, "removed", self._store.now())

    def restore(self, plan_id: str) -> None:
        """Undo `remove`."""
        self._set(plan_id, "removed", None)

    def _set(self, plan_id: str, column: str, value: str | int | None) -> None:
        statement = f"UPDATE plans SET {column} = ? WHERE id = ?"  # noqa: S608 -- columns are named above, not given
        self._store.write(lambda db: db.execute(statement, (value, plan_id)))

    def _insert(self, db: sqlite3.Connection, plan_id: str, plan: Plan, label: str) -> int:
        row = (plan_id, self._store.now(), self._store.session, label, plan_to_text(plan))
        done = db.execute("INSERT INTO revisions (plan_id, made, session, label, content) VALUES (?, ?, ?, ?, ?)", row)
        return int(done.lastrowid or 0)

    def _revision(self, number: int) -> Revision | None:
        rows = self._store.read("SELECT content, made, label, session FROM revisions WHERE id = ?", number)
        if not rows:
            return None
        content, made, label, session = rows[0]
        try:
            plan = parse_plan(content, "")
        except InputError:
            return None
        return Revision(number, plan, made, label or "", session != self._store.session)
