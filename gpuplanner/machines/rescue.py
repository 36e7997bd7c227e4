"""Live sessions that could not be kept when the window closed, as files until they can. Says nothing to anybody."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.probe.live_session import MOST_BYTES, LiveSession, of_bytes, to_bytes

_FOLDER, _SUFFIX = "not-kept", ".gplive"


@dataclass(frozen=True, slots=True)
class Rescued:
    """What came of one file: of which host it is where it was kept, and why it was not, the file staying there."""

    file: Path
    host: str = ""
    problem: Message | None = None


class Rescue:
    """The files below a home folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / _FOLDER

    def write(self, session: LiveSession) -> bool:
        """Write a session to a file of its own; whether that could be done."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as file:
                file.write(to_bytes(session))
            # Only a whole file has its name.
            Path(file.name).replace(Path(file.name).with_suffix(_SUFFIX))
        except OSError:
            return False
        return True

    def keep_all(self, keep: Callable[[LiveSession], object]) -> tuple[Rescued, ...]:
        """Have every session kept that has a file, by `keep`, which raises InputError where it cannot."""
        return tuple(self._kept(file, keep) for file in sorted(self._folder.glob("*" + _SUFFIX)))

    def _kept(self, file: Path, keep: Callable[[LiveSession], object]) -> Rescued:
        try:
            with file.open("rb") as opened:
                session = of_bytes(opened.read(MOST_BYTES))
            keep(session)
            file.unlink()
        except InputError as fault:
            return Rescued(file, problem=fault.message)
        except OSError as fault:
            why = fault.strerror or str(fault)
            return Rescued(file, problem=msg("liveui.open.failed", file=file.name, why=why))
        return Rescued(file, session.target)
