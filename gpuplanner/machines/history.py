"""The history of machines: runs as recordings, with the verdict of their day, live sessions, and hosts. No secret.

A recording holds what commands printed, and no command prints or is given a password or a key. What leaves the history
because it is full is told to the caller, and can be put back.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from gpuplanner.messages import InputError, msg
from gpuplanner.probe.installed.tools import PREFIX
from gpuplanner.probe.live_session import LiveSession, of_bytes, to_bytes
from gpuplanner.probe.recording import LARGEST_BYTES, read_recording, written
from gpuplanner.probe.results import Run
from gpuplanner.store.machine_shelf import Item, Kept, MachineShelf, Table
from gpuplanner.store.store import Store

RUNS: Table = "runs"
SESSIONS: Table = "live_sessions"
_LONGEST_S, _MOST_GPUS = 1e9, 100_000
"""Beyond these a row of the list was not written by us: it says 0, and hides no other row."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run of the history. `host`: "localhost" is this computer; `began`: ISO 8601 in UTC.

    `tier`: the letters of its tiers, "ab"; `verdict`: as `acceptance.verdicts.Verdict` writes it, "" where nothing
    judged it; `expected`: what it was held against, as a person typed it, "" for nothing; `whole`: that nothing was
    lost or stopped.
    """

    id: int
    host: str
    began: str
    tier: str
    verdict: str
    expected: str
    whole: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A live session of the history: when it began, how long it lasted, of how many GPUs."""

    id: int
    host: str
    began: str
    seconds: float
    gpus: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Left:
    """What had to leave the history; `put_back` undoes it until something else is kept."""

    count: int
    put_back: Callable[[], None]


class RunHistory:
    """What one store keeps of machines."""

    def __init__(self, store: Store, shelf: MachineShelf | None = None) -> None:
        self._shelf = shelf or MachineShelf(store)

    def keep(self, host: str, tier: str, run: Run, verdict: str, expected: str) -> tuple[int, Left]:
        """Keep a run. Returns its number, and what had to leave for it.

        Raises InputError where it is too large or cannot be kept.
        """
        about = {"tier": tier, "verdict": verdict, "expected": expected, "whole": run.whole}
        content = zlib.compress(written(run).encode("utf-8", "surrogatepass"), 6)
        return self._told(self._shelf.keep(RUNS, host, _iso(run.began), about, content))

    def judged(self, run_id: int, verdict: str, expected: str) -> None:
        """Note what a run was found to be when it was held against something else."""
        item = next((each for each in self._shelf.items(RUNS) if each.id == run_id), None)
        if item is not None:
            self._shelf.say(RUNS, run_id, {**item.about, "verdict": verdict, "expected": expected})

    def runs(self, host: str | None = None) -> tuple[KeptRun, ...]:
        """The runs of a host, or of all, the latest first."""
        return tuple(_run(item) for item in self._shelf.items(RUNS, host))

    def read(self, run_id: int) -> Run:
        """A run as it was. Raises InputError where there is none of this number, or it is damaged."""
        unpacking = zlib.decompressobj()
        try:
            content = unpacking.decompress(self._shelf.content(RUNS, run_id), LARGEST_BYTES)
        except zlib.error:
            raise InputError(msg("store.kept_is_damaged", id=run_id)) from None
        return read_recording(content.decode("utf-8", "surrogatepass"), f"#{run_id}")

    def remove(self, run_id: int) -> None:
        """Take a run out; `restore` puts it back for an hour at least."""
        self._shelf.remove(RUNS, run_id)

    def restore(self, run_id: int) -> bool:
        """Put a run back; whether it was still there."""
        return self._shelf.restore(RUNS, run_id)

    def keep_session(self, session: LiveSession) -> tuple[int, Left]:
        """Keep a live session of its target. Raises InputError where it is too large or cannot be kept."""
        about = {"seconds": session.telemetry.ended_s, "gpus": len(session.gpus)}
        return self._told(self._shelf.keep(SESSIONS, session.target, session.began, about, to_bytes(session)))

    def sessions(self, host: str | None = None) -> tuple[KeptSession, ...]:
        """The live sessions of a host, or of all, the latest first."""
        return tuple(_session(item) for item in self._shelf.items(SESSIONS, host))

    def read_session(self, session_id: int) -> LiveSession:
        """A live session as it was. Raises InputError where there is none of this number, or it is damaged."""
        return of_bytes(self._shelf.content(SESSIONS, session_id))

    def remove_session(self, session_id: int) -> None:
        """Take a live session out; `restore_session` puts it back for an hour at least."""
        self._shelf.remove(SESSIONS, session_id)

    def restore_session(self, session_id: int) -> bool:
        """Put a live session back; whether it was still there."""
        return self._shelf.restore(SESSIONS, session_id)

    def hosts(self) -> tuple[str, ...]:
        """The hosts that a person added, in their order."""
        return self._shelf.hosts()

    def add_host(self, name: str) -> None:
        """Add a host, or put back one that was taken out."""
        self._shelf.add_host(name)

    def remove_host(self, name: str) -> None:
        """Take a host out of the list. Its runs stay."""
        self._shelf.remove_host(name)

    def _told(self, kept: Kept) -> tuple[int, Left]:
        def put_back() -> None:
            for table, item_id in kept.left:
                self._shelf.restore(table, item_id)

        return kept.id, Left(len(kept.left), put_back)


def tiers_of(run: Run) -> str:
    """The tiers that a run was asked for, as one word: what reads, and what measures."""
    tools = {id_ for id_ in run.asked if id_.startswith(PREFIX)}
    reads = run.asked.keys() - tools - {"measure"}
    return ("a" if reads else "") + ("b" if "measure" in run.asked else "") + ("c" if tools else "")


def _iso(seconds: float) -> str:
    """A time of the clock as ISO 8601; one that no calendar has is the beginning of time."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC).isoformat(timespec="seconds")


def _run(item: Item) -> KeptRun:
    about = item.about
    words = {name: str(about.get(name, ""))[:200] for name in ("tier", "verdict", "expected")}
    return KeptRun(item.id, item.host, item.made, **words, whole=about.get("whole") is True, size_bytes=item.size_bytes)


def _session(item: Item) -> KeptSession:
    seconds, gpus = item.about.get("seconds"), item.about.get("gpus")
    return KeptSession(
        item.id,
        item.host,
        item.made,
        float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < _LONGEST_S else 0.0,
        gpus if isinstance(gpus, int) and 0 <= gpus < _MOST_GPUS else 0,
        item.size_bytes,
    )
