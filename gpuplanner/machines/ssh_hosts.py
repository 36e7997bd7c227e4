"""The names of hosts that a person has in their OpenSSH configuration, to be offered. Connects to nothing.

OpenSSH itself reads the configuration when a machine is asked; what is passed over here can still be typed.
"""

import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MOST_HOSTS = 2_000
MOST_FILES = 200
LARGEST_BYTES = 1_000_000
DEEPEST = 16
"""Levels of `Include`, as OpenSSH allows them (readconf.c, READCONF_MAX_DEPTH)."""
_PATTERN = ("*", "?", "!")


def ssh_hosts(home: Path) -> tuple[str, ...]:
    """The hosts of `home`/.ssh/config and the files that it includes, in their order, each once. Patterns are none.

    Never raises: a file that cannot be read, or a line that is none of OpenSSH's, has no hosts.
    """
    folder = home / ".ssh"
    names = _names(folder / "config", folder, home, set(), 0)
    return tuple(dict.fromkeys(islice(names, MOST_HOSTS)))


def _names(path: Path, folder: Path, home: Path, seen: set[Path], depth: int) -> Iterator[str]:
    if depth > DEEPEST or len(seen) >= MOST_FILES or path in seen:
        return
    seen.add(path)
    for line in _text(path).splitlines():
        keyword, words = _split(line)
        if keyword == "host":
            yield from (word for word in words if word.isprintable() and not any(sign in word for sign in _PATTERN))
        elif keyword == "include":
            for word in words:
                for included in _included(word, folder, home):
                    yield from _names(included, folder, home, seen, depth + 1)


def _split(line: str) -> tuple[str, list[str]]:
    """A line's keyword in lower case and its words; OpenSSH takes `Host a` and `Host=a` alike."""
    keyword, _, rest = line.strip().replace("\t", " ").replace("=", " ", 1).partition(" ")
    if keyword.lower() not in {"host", "include"}:
        return "", []
    try:
        return keyword.lower(), shlex.split(rest, comments=True)
    except ValueError:
        return "", []


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(LARGEST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _included(word: str, folder: Path, home: Path) -> list[Path]:
    """The files that an `Include` names: in the folder of the configuration unless the path is whole."""
    path = home / word[2:] if word.startswith("~/") else folder / word
    try:
        found = islice(Path(path.anchor).glob(str(path.relative_to(path.anchor))), MOST_FILES)
        return sorted(found)
    except (OSError, ValueError, NotImplementedError, IndexError):
        # The last two: pathlib, of patterns that it does not take (with a drive, or of dots alone).
        return []
