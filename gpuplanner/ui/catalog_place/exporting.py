"""Writes what a table shows into a CSV file, without leaving half of one behind. No Qt."""

import os
import tempfile
from pathlib import Path

from gpuplanner.messages import InputError, msg


def write_csv(path: Path, text: str) -> None:
    """Write a file, or leave the one that is there as it is. Raises InputError with one sentence when it cannot.

    With a byte order mark, so that spreadsheets read Chinese right.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        draft = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8-sig", newline="") as file:
                file.write(text)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(msg("catalogui.export.failed", file=str(path), why=error.strerror or str(error))) from error
