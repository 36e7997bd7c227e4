"""Where the shipped facts and resources lie, in a checkout and in an installed wheel. Reads nothing."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def is_there(path: Path) -> bool:
    """Whether a path of a person's own leads anywhere; one that no file can have (too long, a NUL in it) does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def shipped(name: str) -> Path:
    """The folder `name` ("catalogs" or "resources") that came with this copy of gpuplanner."""
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
