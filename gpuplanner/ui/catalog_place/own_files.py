"""Takes a person's own price list or entries when they are dropped: checked first, then kept among their own files."""

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuplanner.catalog.overlays import SUFFIXES
from gpuplanner.catalog.problems import Severity
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.paths import shipped
from gpuplanner.ui.background import Cancel
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.own_folder import OVERLAYS
from gpuplanner.ui.places import Context
from gpuplanner.ui.tokens import Verdict

_ENTRIES = re.compile(rb"^(gpus|instances|models)[ \t]*:", re.MULTILINE)
_LOOK_AT_BYTES = 1 << 16


def is_own_file(path: str) -> bool:
    """Whether a file may hold entries of the catalog: any table, and YAML that says so: a training is YAML too."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES or suffix == ".csv" or not Path(path).is_file():
        return suffix == ".csv"
    try:
        with Path(path).open("rb") as file:
            return _ENTRIES.search(file.read(_LOOK_AT_BYTES)) is not None
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that was taken: where it is now, how many entries it has, and what is wrong with it."""

    path: Path
    entries: int
    problems: tuple[Message, ...]


def keep_own_file(path: Path, home: Path) -> Kept:
    """Check a file and copy it among the person's own. Raises InputError when nothing in it can be used."""
    catalog = load_catalog(shipped("catalogs"), [path])
    entries = sum(e.user for table in (catalog.gpus, catalog.instances, catalog.models) for e in table.values())
    faults = tuple(p.message for p in catalog.problems if p.severity is Severity.ERROR)
    if not entries:
        raise InputError(faults[0] if faults else msg("catalogui.own.nothing", file=path.name))
    place = home / OVERLAYS / path.name
    if place.exists():
        raise InputError(msg("catalogui.own.there", file=path.name))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: the name is given when the file is there.
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".taking-") as draft:
            shutil.copyfile(path, Path(draft) / path.name)
            (Path(draft) / path.name).replace(place)
    except OSError as error:
        raise InputError(msg("catalogui.export.failed", file=str(place), why=error.strerror or str(error))) from error
    return Kept(place, entries, faults)


class OwnFiles:
    """Takes dropped files in another thread and says what became of each."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def take(self, paths: Sequence[str]) -> bool:
        """Take the files if all of them may be such. Tells whether they were taken."""
        if not paths or not all(map(is_own_file, paths)):
            return False
        for path in map(Path, paths):
            self._take(path)
        return True

    def _take(self, path: Path) -> None:
        notices, home = self._context.notices, Path(self._context.workspace.home)

        def work(_cancel: Cancel) -> Kept:
            return keep_own_file(path, home)

        def failed(error: Exception) -> None:
            if not isinstance(error, InputError):
                raise error
            notices.say(error.message, Verdict.FAIL)

        title = msg("catalogui.own.reading", file=path.name)
        self._context.jobs.run(work, self._taken, failed, title=title, may_cancel=False)

    def _taken(self, kept: Kept) -> None:
        for problem in kept.problems[:3]:
            self._context.notices.say(problem, Verdict.WARN)
        says = msg("catalogui.own.kept", file=kept.path.name, entries=f"{kept.entries:,}")
        undo = NoticeAction(msg("ui.undo"), lambda: self._take_back(kept.path))
        self._context.notices.say(says, Verdict.PASS, undo, sticky=True)
        self._context.read_again()

    def _take_back(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._context.read_again()
