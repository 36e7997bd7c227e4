"""Writes what is shown into a file, without leaving half of one behind. No Qt."""

import os
import tempfile
from pathlib import Path

from gpuplanner.messages import InputError, msg


def write_csv(path: Path, text: str) -> None:
    """As `write_text`, with a byte order mark, so that spreadsheets read Chinese right."""
    write_text(path, text, "utf-8-sig")


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a file, or leave the one that is there as it is. Raises InputError with one sentence when it cannot."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        draft = Path(name)
        try:
            with os.fdopen(handle, "w", encoding=encoding, newline="") as file:
                file.write(text)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(msg("catalogui.export.failed", file=str(path), why=error.strerror or str(error))) from error
