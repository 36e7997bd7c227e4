"""A run of a machine as a file that a person named: never over one that is there already."""

import sys
from pathlib import Path

from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.probe.recording import written
from gpuplanner.probe.results import Run


def refuse_existing(path: Path | None) -> None:
    """Raises InputError where the file is there: before anything is asked of a machine."""
    if path is not None and path.exists():
        raise InputError(msg("cli.probe.exists", file=shortened(str(path))))


def save(run: Run, path: Path) -> None:
    """Write it and say where on stderr. Raises InputError where it cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(written(run))
    except OSError as fault:
        raise InputError(
            msg("cli.probe.cannot_save", file=shortened(str(path)), reason=fault.strerror or str(fault))
        ) from None
    print(path, file=sys.stderr)
