"""An export of Nsight Systems, opened to be read only. Databases are hostile: time, rows and texts are bounded.

Views, virtual tables and everything but reading are refused. Columns differ by version: what is not there is not asked.
"""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

MAGIC = b"SQLite format 3\x00"
LONGEST_S = 15.0
"""Of reading one export; what was not read by then is left out, and that is said."""
MOST_ROWS = 3_000_000
"""Of one table."""
_MOST_RANGES = 300_000
_LATEST_NS = 2**60
"""36 years: no trace is longer, and sums of such times do not overflow."""
_LONGEST_TEXT = 200
_LARGEST_VALUE = 10_000_000
_BATCH = 50_000
_STEPS = 20_000
"""Instructions of SQLite between two looks at the clock."""
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})


class Database:
    """Tables of one export. `cut`: what was left out, by table, in the words of the summary."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.cut: list[str] = []
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        for pragma in ("query_only=1", "trusted_schema=0", "cell_size_check=1", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        until = time.monotonic() + LONGEST_S
        connection.set_progress_handler(lambda: int(time.monotonic() > until), _STEPS)
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchmany(
            2_000
        )
        self.tables = frozenset(str(name) for (name,) in listed)

    @classmethod
    def of_file(cls, path: Path) -> "Database":
        """Raises sqlite3.Error where it is none."""
        location = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        return cls._opened(sqlite3.connect(location, uri=True, isolation_level=None))

    @classmethod
    def of_bytes(cls, content: bytes) -> "Database":
        """Raises sqlite3.Error where it is none."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        return cls._opened(connection, content)

    @classmethod
    def _opened(cls, connection: sqlite3.Connection, content: bytes | None = None) -> "Database":
        """What is no database leaves no connection open, which would hold the file."""
        try:
            if content is not None:
                connection.deserialize(content)
            return cls(connection)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a table with all of these columns."""
        if table not in self.tables:
            return False
        described = self._connection.execute(f'SELECT * FROM "{table}" LIMIT 0').description  # noqa: S608 - a name of our own list
        return set(columns) <= {column[0] for column in described}

    def numbers(self, table: str, *columns: str) -> npt.NDArray[np.int64]:
        """The rows in which all columns are whole numbers, the first two being times in order; a row a line.

        Empty where the table or a column is not there. Raises sqlite3.Error.
        """
        if not self.has(table, *columns):
            return np.zeros((0, len(columns)), dtype=np.int64)
        asked = ", ".join(f'"{column}"' for column in columns)
        whole = " AND ".join(f"typeof(\"{column}\") = 'integer'" for column in columns)
        first, second = columns[:2]
        cursor = self._connection.execute(
            f'SELECT {asked} FROM "{table}" WHERE {whole} AND "{first}" >= 0'  # noqa: S608 - names of our own
            f' AND "{second}" >= "{first}" AND "{second}" < {_LATEST_NS} LIMIT {MOST_ROWS + 1}'
        )
        batches: list[npt.NDArray[np.int64]] = []
        read = 0
        try:
            while batch := cursor.fetchmany(_BATCH):
                batches.append(np.array(batch, dtype=np.int64))
                read += len(batch)
        except sqlite3.OperationalError as fault:
            self._left(table, fault)
        if read > MOST_ROWS:
            self.cut.append(f"after {MOST_ROWS} rows of {table}")
        found = np.concatenate(batches) if batches else np.zeros((0, len(columns)), dtype=np.int64)
        return found[:MOST_ROWS]

    def _left(self, table: str, fault: sqlite3.OperationalError) -> None:
        """Say that a table was left before its end. Raises the fault where it is not that it took too long."""
        if fault.sqlite_errorname != "SQLITE_INTERRUPT":
            raise fault
        self.cut.append(f"after {LONGEST_S:.0f} s in {table}")

    def texts(self, identifiers: Sequence[int]) -> dict[int, str]:
        """What the table of texts says of some of its numbers. Raises sqlite3.Error."""
        if not self.has("StringIds", "id", "value"):
            return {}
        found: dict[int, str] = {}
        for identifier in identifiers:
            row = self._connection.execute(
                "SELECT substr(value, 1, ?) FROM StringIds WHERE id = ? AND typeof(value) = 'text' LIMIT 1",
                (_LONGEST_TEXT, identifier),
            ).fetchone()
            if row:
                found[identifier] = str(row[0])
        return found

    def gpu_names(self) -> dict[int, str]:
        """The products by the number that the trace gives them. Raises sqlite3.Error."""
        if not self.has("TARGET_INFO_GPU", "id", "name"):
            return {}
        rows = self._connection.execute(
            "SELECT id, substr(name, 1, ?) FROM TARGET_INFO_GPU"
            " WHERE typeof(id) = 'integer' AND typeof(name) = 'text' LIMIT 1024",
            (_LONGEST_TEXT,),
        )
        return {int(number): str(name) for number, name in rows}

    def ranges(self) -> list[tuple[int, int, int, str]]:
        """NVTX ranges that a thread opened and closed: start, end, thread, name. Raises sqlite3.Error."""
        table = "NVTX_EVENTS"
        if not self.has(table, "start", "end", "globalTid", "eventType"):
            return []
        named = ['"text"'] if self.has(table, "text") else []
        joined = ""
        if self.has(table, "textId") and self.has("StringIds", "id", "value"):
            named.append("s.value")
            joined = "LEFT JOIN StringIds AS s ON s.id = n.textId"
        if not named:
            return []
        name = f"substr(coalesce({', '.join(named)}, ''), 1, {_LONGEST_TEXT})"
        rows: list[tuple[int, int, int, str]] = []
        try:
            rows = self._connection.execute(
                f'SELECT n.start, n."end", n.globalTid, {name} FROM {table} AS n {joined}'  # noqa: S608 - names of our own
                " WHERE n.eventType = 59 AND typeof(n.start) = 'integer' AND typeof(n.\"end\") = 'integer'"
                " AND typeof(n.globalTid) = 'integer' AND n.start >= 0"
                f' AND n."end" >= n.start AND n."end" < {_LATEST_NS}'
                f" LIMIT {_MOST_RANGES + 1}"
            ).fetchall()
        except sqlite3.OperationalError as fault:
            self._left(table, fault)
        if len(rows) > _MOST_RANGES:
            self.cut.append(f"after {_MOST_RANGES} rows of {table}")
        return [(int(start), int(end), int(thread), str(name)) for start, end, thread, name in rows[:_MOST_RANGES]]
